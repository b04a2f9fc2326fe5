# 列表导出成文件。
table-yes = 是
table-no = 否
table-format-unknown = 没有“{ $value }”这种文件格式，要写 csv、csv-plain、xlsx 或 json。
table-too-many-rows = 列表超过 { $limit } 行，Excel 一张表装不下。请缩小筛选范围，或改用 CSV。
table-text-too-long = 第 { $row } 行 { $column } 列：文字超过 Excel 单元格上限 { $limit } 个字符，请改用 CSV。
