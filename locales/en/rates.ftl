# Exchange rates: the list, the form, the file that brings them in.

rates-title = Exchange rates
rates-lead = One unit of the first currency is so many of the second. A day's rate is the last one on or before it.
rates-col-base = From
rates-col-quote = To
rates-col-date = Day
rates-col-rate = Rate
rates-col-source = Source
rate-source-ecb = European Central Bank
rate-source-manual = By hand
rates-filter-currency = Currency
rates-filter-from = From
rates-filter-to = To
rates-filter-apply = Filter
rates-filter-clear = Show all
rates-empty = No rate yet: amounts in other currencies stay unconverted. Add one below, or import a file.
rates-empty-filter = No rate matches this filter.
rates-add = Add a rate
rates-add-help = A rate that is there is never changed: what was converted with it stays as it is.
rates-import = Import rates
rates-import-lead = The European Central Bank's daily file or history (CSV), or a file with the columns base,quote,date,rate. You see what it brings before anything is saved.
rates-import-file = File
rates-import-upload = Look at the file
rates-preview-title = Import { $name }
rates-preview = { $rows ->
    [one] 1 row
   *[other] { $rows } rows
 }: { $new } new, { $known } known, { $bad } with problems; { $rates ->
    [one] 1 new rate
   *[other] { $rates } new rates
 }
rates-preview-days = Days from { $first } to { $last }
rates-preview-bad = { $bad ->
    [one] 1 row needs
   *[other] { $bad } rows need
 } a change; nothing was saved.
rates-preview-file-bad = The file cannot be imported; nothing was saved.
rates-preview-none = The ledger has all of these rates already: there is nothing to import.
rates-import-confirm = { $rates ->
    [one] Import 1 rate
   *[other] Import { $rates } rates
 }
rates-import-other = Choose another file
rates-error-row = Row
rates-error-column = Column
rates-error-value = Value
rates-error-message = What is wrong

error-rate-source = "{ $value }" is not a source of rates; write ecb or manual.
error-rate-pair = Both currencies are { $currency }; a rate needs two.
error-rate-positive = { $value } is not a rate; write a number above zero.
error-rate-differs = { $base }/{ $quote } on { $day } is { $present } in the ledger, and what was converted with it stays; write another day, or leave it out.
error-rates-place = "{ $value }" is not a place in the list; open the list again.
rates-packed = This is a packed file: unpack it and import the CSV in it.
rates-unreadable = The file cannot be read to its end ({ $reason }); download it again.
rates-file-empty = The file is empty.
rates-no-rows = There is a header and no row below it: the file brings no rate.
rates-header = The first row must hold base,quote,date,rate, or Date and currencies as in the European Central Bank's files.
rates-column = The column { $column } does not belong here: each currency but the euro once.
rates-row-width = The row has { $count } cells, the header has { $expected }.
rates-twice = Row { $row } has { $earlier } for the same day: keep one of the two.
rates-file-size = The file is larger than { $most }, the most that is read: split it.
rates-race = Somebody added rates at the same time. Nothing was saved; import the file again.
