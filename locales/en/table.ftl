# Lists as files.
table-yes = yes
table-no = no
table-format-unknown = "{ $value }" is not a file format of Rentroll; write csv, csv-plain, xlsx or json.
table-too-many-rows = The list has more than { $limit } rows, and an Excel sheet holds no more. Narrow the filter, or take CSV.
table-text-too-long = Row { $row }, column { $column }: the text is longer than the { $limit } characters that an Excel cell holds. Take CSV instead.
