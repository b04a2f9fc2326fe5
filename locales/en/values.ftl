# Values that people write and read: text, numbers, dates, cycles, labels.

error-text-empty = Something must stand here.
error-text-length = At most { $most } characters; this has { $length }.
error-text-line-break = This must stay on one line: it contains a line break ({ $code }).
error-text-nul = This contains a NUL character (U+0000), which cannot be stored; remove it.
error-text-control = This contains a control character ({ $code }); remove it.
error-text-direction = This contains a mark that turns the direction of writing ({ $code }); remove it.
error-text-invisible = This contains an invisible character ({ $code }); remove it.
error-email = "{ $value }" is not an e-mail address; write it like name@example.com.

error-label-key = A label needs a name before the equals sign: write name={ $value }.
error-label-equals = The label "{ $label }" has no equals sign; write labels like team=llm;use=training.
error-label-mark = The label "{ $key }" contains = or ; where neither may stand; write labels like team=llm;use=training.
error-label-twice = The label "{ $key }" is there twice; keep one.
error-label-count = At most { $most } labels.

error-encoding = "{ $value }" is not an encoding that files are read in; choose UTF-8, UTF-16 or GB18030.
error-number-format = "{ $value }" is not a way of writing numbers; choose point (1,234.56) or comma (1.234,56).
encoding-utf-8 = UTF-8
encoding-utf-16le = UTF-16 LE
encoding-utf-16be = UTF-16 BE
encoding-gb18030 = GB18030 (GBK)
error-decimal = "{ $value }" is not a plain number; write it like 1234.56, without currency signs, spaces or thousands separators.
error-decimal-digits = "{ $value }" has more digits than can be kept exactly; at most { $most } digits in all and after the point.
error-amount-limit = { $value } is beyond the largest amount, { $most }, of either sign.
error-quantity-limit = { $value } is not a quantity that can be kept; it must lie between -{ $most } and { $most }.
error-price-negative = { $value } is below zero; write 0 or more, or leave it empty if it is not known.
error-currency = "{ $value }" is not a currency; write a code of ISO 4217 like CNY or USD, or one of your own of 4 to 12 capitals, digits and underscores.

error-date = "{ $value }" is not a date; write it like 2026-12-01.
error-date-unreal = "{ $value }" is not in the calendar; write a real day, like 2026-12-01.
error-date-year = "{ $value }" is not between { $first } and { $last }; check the year.
error-moment = "{ $value }" is not a date with a time; write it like 2026-12-01 14:05.
error-period = "{ $value }" is not a month; write it like 2026-03.
error-zone = "{ $value }" is not a time zone; write a name like Asia/Shanghai or Europe/Berlin.
error-cycle = "{ $value }" is not a cycle; write monthly, quarterly, yearly, once, or a number of months up to { $most }, like 14 months.
error-renewal = "{ $value }" is not a kind of renewal; write automatic, on_request or never.
error-notice = "{ $value }" is not a notice; write it like 30 days or 2 months, or leave it empty.
error-notice-limit = "{ $value }" is too long for a notice; at most { $months } months or { $days } days.

error-steps = "{ $value }" is not a reminder step; write whole days from 0 to { $most }, like 15;7;3;1;0.
error-steps-count = Write at least one reminder step and at most { $most }, like 15;7;3;1;0.

cycle-once = once
cycle-monthly = monthly
cycle-quarterly = quarterly
cycle-yearly = yearly
cycle-months = every { $n } months
renewal-automatic = automatic
renewal-on-request = on request
renewal-never = never
notice-days = { $n ->
    [one] 1 day
   *[other] { $n } days
 }
notice-months = { $n ->
    [one] 1 month
   *[other] { $n } months
 }
notice-months-days = { $months } { $days }

# In English always with the year.
date-words = { date-weekday } { $day } { date-month } { $year }
date-words-year = { date-weekday } { $day } { date-month } { $year }
date-weekday = { $weekday ->
    [1] Mon
    [2] Tue
    [3] Wed
    [4] Thu
    [5] Fri
    [6] Sat
   *[7] Sun
 }
date-month = { $month ->
    [1] Jan
    [2] Feb
    [3] Mar
    [4] Apr
    [5] May
    [6] Jun
    [7] Jul
    [8] Aug
    [9] Sep
    [10] Oct
    [11] Nov
   *[12] Dec
 }

list-more = { $first }, { $rest }
list-last = { $first } and { $rest }

# What the reminder rule is; said on pages and at the foot of every reminder.
rule-steps = One reminder { $steps } { $single ->
    [1] day
   *[other] days
 } before
rule-steps-and-day = One reminder { $steps } { $single ->
    [1] day
   *[other] days
 } before and one on the day
rule-day = One reminder on the day
rule-overdue = { $before }; one when overdue, then weekly until decided, { $weeks } weeks at most
rule-overdue-ended = { $before }; one when overdue, then weekly until its end is recorded, { $weeks } weeks at most
