# 人写和人读的值：文字、数字、日期、周期、标签。

error-text-empty = 这里不能空着。
error-text-length = 最多 { $most } 个字，现在有 { $length } 个，请缩短。
error-text-line-break = 这里只能写一行，其中有换行符（{ $code }），请去掉。
error-text-nul = 其中有无法保存的空字符（NUL，U+0000），请去掉。
error-text-control = 其中有控制字符（{ $code }），请去掉。
error-text-direction = 其中有改变书写方向的字符（{ $code }），请去掉。
error-text-invisible = 其中有看不见的字符（{ $code }），请去掉。
error-email = “{ $value }”不是邮箱地址，要写成 name@example.com 这样。

error-label-key = 标签的等号前面要有名称，写成 名称={ $value } 这样。
error-label-equals = 标签“{ $label }”里没有等号，要写成 team=llm;use=training 这样。
error-label-mark = 标签“{ $key }”里有不能用的 = 或 ;，标签要写成 team=llm;用途=训练 这样。
error-label-twice = 标签“{ $key }”写了两次，留一个。
error-label-count = 标签最多 { $most } 个。

error-encoding = 不支持编码“{ $value }”，可选 UTF-8、UTF-16、GB18030。
error-number-format = 没有“{ $value }”这种数字写法，可选 point（1,234.56）或 comma（1.234,56）。
encoding-utf-8 = UTF-8
encoding-utf-16le = UTF-16 LE
encoding-utf-16be = UTF-16 BE
encoding-gb18030 = GB18030（GBK）
error-decimal = “{ $value }”不是纯数字，要写成 1234.56 这样，不带货币符号、空格和千位分隔符。
error-decimal-digits = “{ $value }”的位数太多，无法精确保存；总共和小数点后都最多 { $most } 位。
error-amount-limit = { $value } 超出金额上限，正负都不能超过 { $most }。
error-quantity-limit = 数量 { $value } 超出范围，要在 -{ $most } 和 { $most } 之间。
error-price-negative = { $value } 小于零，要写 0 或更大的数；不知道就空着。
error-currency = “{ $value }”不是币种：要写 ISO 4217 代码，如 CNY、USD，或自定的 4 到 12 位大写字母、数字、下划线。

error-date = “{ $value }”不是日期，要写成 2026-12-01 这样。
error-date-unreal = 日历上没有“{ $value }”这一天，要写成 2026-12-01 这样真实的日期。
error-date-year = “{ $value }”不在 { $first } 到 { $last } 年之间，请核对年份。
error-moment = “{ $value }”不是日期加时间，要写成 2026-12-01 14:05 这样。
error-period = “{ $value }”不是月份，要写成 2026-03 这样。
error-zone = “{ $value }”不是时区，要写 Asia/Shanghai、Europe/Berlin 这样的名称。
error-cycle = “{ $value }”不是周期，要写 每月、每季、每年、一次性，或不超过 { $most } 的月数，如 14个月。
error-renewal = “{ $value }”不是续费方式，要写 自动续费、手动续费 或 到期不续。
error-notice = “{ $value }”不是提前通知期，要写成 30天、2个月 这样，没有就空着。
error-notice-limit = “{ $value }”作为提前通知期太长，最多 { $months } 个月或 { $days } 天。

error-steps = “{ $value }”不是提醒天数，要写 0 到 { $most } 之间的整数，如 15;7;3;1;0。
error-steps-count = 提醒天数至少写一个，最多 { $most } 个，如 15;7;3;1;0。

cycle-once = 一次性
cycle-monthly = 每月
cycle-quarterly = 每季
cycle-yearly = 每年
cycle-months = 每 { $n } 个月
renewal-automatic = 自动续费
renewal-on-request = 手动续费
renewal-never = 到期不续
notice-days = { $n } 天
notice-months = { $n } 个月
notice-months-days = { $months } { $days }

# 当年的日期不写年份。
date-words = { date-month }{ $day }日（{ date-weekday }）
date-words-year = { $year }年{ date-month }{ $day }日（{ date-weekday }）
date-month = { $month }月
date-weekday = { $weekday ->
    [1] 周一
    [2] 周二
    [3] 周三
    [4] 周四
    [5] 周五
    [6] 周六
   *[7] 周日
 }

list-more = { $first }、{ $rest }
list-last = { $first }、{ $rest }

# 提醒规则，写在页面上和每封提醒的末尾。
rule-steps = 到期前 { $steps } 天{ $single ->
    [0] 各
   *[other] {""}
 }提醒一次
rule-steps-and-day = 到期前 { $steps } 天和当天各提醒一次
rule-day = 到期当天提醒一次
rule-overdue = { $before }；逾期当天一次，之后每周一次，最多 { $weeks } 周，定下来为止
rule-overdue-ended = { $before }；逾期当天一次，之后每周一次，最多 { $weeks } 周，登记退租为止
