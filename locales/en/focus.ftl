# Bills in the FOCUS format: what is wrong with a file.

focus-not-text = This is an Excel, zip or Parquet file: save the bill as CSV (or .csv.gz) and import that
focus-encoding = The text is not UTF-8: save the file as "CSV UTF-8" and import that
focus-empty = The file is empty
focus-unreadable = The file cannot be read to its end ({ $reason }): download it again
focus-file-size = The file is larger than { $most } unpacked: split it by billing period
focus-record-size = This row is larger than { $most }: a quotation mark is probably not closed
focus-cell-size = The cell is larger than { $most }: a quotation mark is probably not closed
focus-column-count = The file has { $count } columns, at most { $most } are read
focus-no-header = None of FOCUS's columns is in the first row: the file must be a FOCUS Cost and Usage bill with its header in row 1
focus-other-dataset = This is FOCUS's dataset "{ $dataset }", which is not imported as a bill: choose the Cost and Usage file
focus-column-missing = The mandatory column { $column } is missing: export the bill again with all mandatory columns of FOCUS
focus-column-twice = The column { $column } is there twice: remove one
focus-row-width = The row has { $count } cells, the header has { $expected }: a quotation mark or a separator is probably wrong
focus-value-missing = The cell must have a value
focus-time = "{ $value }" is not a time: write it like 2026-03-01T00:00:00Z
focus-span = The end must be after { $start }: in FOCUS the end is the first moment that no longer counts
focus-category = "{ $value }" is not a charge category: Usage, Purchase, Tax, Credit or Adjustment
focus-class = "{ $value }" is not a charge class: empty or Correction
focus-id-length = The text is longer than { $most } bytes
focus-id-number = "{ $value }" is an id that a spreadsheet has turned into a number: import the original file
focus-tags = "{ $value }" is not a JSON object of tags: write them like {"{"}"team":"research"{"}"}
