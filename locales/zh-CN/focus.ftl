# FOCUS 格式的账单：文件里哪里不对。

focus-not-text = 这是 Excel、zip 或 Parquet 文件：把账单另存为 CSV（或 .csv.gz）再导入
focus-encoding = 文字不是 UTF-8 编码：另存为“CSV UTF-8”再导入
focus-empty = 文件是空的
focus-unreadable = 文件没法读完（{ $reason }）：重新下载一份
focus-file-size = 文件解开后超过 { $most }：按账单周期拆开
focus-record-size = 这一行超过 { $most }：多半有引号没有闭合
focus-cell-size = 这一格超过 { $most }：多半有引号没有闭合
focus-column-count = 文件有 { $count } 列，最多读 { $most } 列
focus-no-header = 第一行里没有 FOCUS 的任何一列：要用 FOCUS 的 Cost and Usage 账单，表头在第 1 行
focus-other-dataset = 这是 FOCUS 的“{ $dataset }”数据集，不能当账单导入：换成 Cost and Usage 文件
focus-column-missing = 缺少必有的列 { $column }：重新导出账单，带上 FOCUS 全部必有列
focus-column-twice = { $column } 列出现了两次：去掉一列
focus-row-width = 这一行有 { $count } 格，表头有 { $expected } 格：多半是引号或分隔符不对
focus-value-missing = 这一格必须有值
focus-time = “{ $value }”不是时间，要写成 2026-03-01T00:00:00Z 这样
focus-span = 结束要晚于 { $start }：FOCUS 的结束时间是不再计入的第一刻
focus-category = “{ $value }”不是费用性质：只能是 Usage、Purchase、Tax、Credit 或 Adjustment
focus-class = “{ $value }”不是 ChargeClass：留空或写 Correction
focus-id-length = 文字超过 { $most } 字节
focus-id-number = “{ $value }”是被表格软件改成数字的编号：请导入原始文件
focus-tags = “{ $value }”不是 JSON 对象形式的标签，要写成 {"{"}"team":"research"{"}"} 这样
