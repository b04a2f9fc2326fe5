# 提醒：邮件里写什么，以及到期与邮件两方面的页面。

# ---- 邮件标题：要做什么，看怎么续费
reminder-subject-expiry = 【还有 { $n } 天】{ $environment } { $renewal ->
    [automatic] { $date }到期，自动续费
    [never] { $date }到期不续
   *[on_request] 到期，{ $date }前定是否续费
 }
reminder-subject-expiry-today = 【今天到期】{ $environment }，今晚 24 点{ $renewal ->
    [automatic] 自动续费
    [never] 停止服务，不再续费
   *[on_request] 停止服务
 }
reminder-subject-expiry-past = 【已到期 { $n } 天】{ $environment } { $renewal ->
    [automatic] 应已自动续费，还没登记新的租期
    [never] 到期不续，还没登记退租
   *[on_request] 还没定是否续费
 }
reminder-subject-cancel = 【还有 { $n } 天】{ $environment } { $renewal ->
    [never] 到期不续，{ $date }前通知服务商
   *[on_request] 不续须在 { $date }前通知
 }
reminder-subject-cancel-today = 【今天截止】{ $environment } { $renewal ->
    [never] 到期不续，今天通知服务商
   *[on_request] 不续须今天通知
 }
reminder-subject-cancel-past = 【已逾期 { $n } 天】{ $environment } 通知截止日已过{ $renewal ->
    [automatic] ，将自动续费
    [never] ，核对是否已通知服务商
   *[on_request] {""}
 }
reminder-subject-bounced = 【没人处理】{ $environment } { $when }，{ $name } 的邮箱退信
reminder-subject-unnamed = 【没人处理】{ $environment } { $when }，没有能收到邮件的负责人
reminder-when-expiry = { $n ->
    [0] 今天到期
    [1] 明天到期
   *[other] 还有 { $n } 天到期
 }
reminder-when-past = 已到期 { $n } 天
reminder-when-cancel = 不续须在 { $date }前通知
reminder-when-cancel-past = 通知截止日 { $date }已过

# ---- 邮件正文
reminder-greeting = { $name }：
reminder-expiry = { $environment }（{ $project }）{ reminder-when-expiry }，{ $renewal ->
    [automatic] { $day_after }自动续费。
    [never] 不再续费。
   *[on_request] 还没定是否续费。
 }
reminder-expiry-past = { $environment }（{ $project }）{ reminder-when-past }，{ $renewal ->
    [automatic] 应已自动续费，还没登记新的租期。
    [never] 按约定不续，还没登记退租。
   *[on_request] 还没登记续费或退租。
 }
reminder-cancel = { $environment }（{ $project }）{ $renewal ->
    [automatic] 不续须在 { $date }前通知，{ reminder-cancel-left }；不通知，{ $day_after }就自动续费。
    [never] 到期不续，须在 { $date }前通知服务商，{ reminder-cancel-left }。
   *[on_request] 不续须在 { $date }前通知，{ reminder-cancel-left }。
 }
reminder-cancel-left = { $n ->
    [0] 今天是最后一天
   *[other] 还有 { $n } 天
 }
reminder-cancel-past = { $environment }（{ $project }）{ $renewal ->
    [automatic] 的通知截止日是 { $date }，已过 { $n } 天；{ $day_after }将自动续费。
    [never] 到期不续，通知截止日是 { $date }，已过 { $n } 天，核对是否已通知服务商。
   *[on_request] 的通知截止日是 { $date }，已过 { $n } 天。
 }
reminder-stop-by = 不再需要的话，最迟 { $date }取消续费。
reminder-stop-over = 取消续费的最后一天是 { $date }，已过。
reminder-save = { $n ->
    [0] 今天之内保存好数据
   *[other] 到期前保存好数据
 }；还要接着用，先安排好替换的环境。
reminder-late = 这条提醒本应 { $date }发出，迟发。
reminder-link = { $renewal ->
    [automatic] 查看环境：
    [never] 查看环境：
   *[on_request] 去决定：
 }
reminder-rule = 提醒规则：{ $rule }。{ $next }
reminder-next = 下一封：{ $date }。
reminder-next-none = 这是最后一封。
reminder-why = 发给你，因为你是{ $part }；同时发给 { $others }。
reminder-why-alone = 只发给你，因为你是{ $part }。
reminder-why-bounced = 发给你，因为你是{ $part }，而 { $name } 的邮箱退信：{ $reply }
reminder-why-nobody = 发给你，因为你是{ $part }，而环境上登记的人都收不到邮件。
reminder-other = { $name }（{ $part }）
reminder-part-owner = 负责人
reminder-part-checker = 复核人
reminder-part-watcher = 抄送人
reminder-part-manager = 项目经理
reminder-part-administrator = 管理员

# ---- 邮件里的逐行事实
reminder-line-environment = 环境：
reminder-line-project = 项目：
reminder-line-provider = 服务商：
reminder-line-tier = 档位：
reminder-line-quantity = 数量：
reminder-line-first-day = 开始日：
reminder-line-last-day = 到期日：
reminder-line-left = 还有：
reminder-line-cancel-by = 通知截止日：
reminder-line-renewal = 续费方式：
reminder-line-cost = 每期费用：
reminder-line-if-nothing = 不处理会怎样：
reminder-value = { $value }
reminder-days = { $n } 天
reminder-included = { $date }，含当日
reminder-no-notice = 无须提前通知
reminder-unknown = 未知
reminder-amount = { $currency ->
    [CNY] { $amount } 元
    [USD] { $amount } 美元
   *[other] { $amount } { $currency }
 }
reminder-cost = { $total }（{ $price } × { $quantity }，{ $cycle }）
reminder-nothing-stops = { $date }0 点停止服务
reminder-nothing-renews = { $date }自动续费，约 { $amount }
reminder-nothing-renews-unknown = { $date }自动续费，金额未知
reminder-nothing-renews-until = { $date }自动续费，续到 { $until }，约 { $amount }
reminder-nothing-renews-until-unknown = { $date }自动续费，续到 { $until }，金额未知
reminder-nothing-over = 服务随时可能停止，数据随时可能被删除
reminder-nothing-renewed = 服务商可能已自动续费，请登记新的租期

# ---- 什么时候到期
lead-renewals = 什么时候到期，谁来定
due-overdue = 已逾期
due-within = { $n } 天内
due-present = 已逾期和 30 天内
due-all = 全部日期
due-open-ended = 无到期日
due-whose = 谁的
due-project = 项目
due-every-project = 全部项目
due-apply = 查看
due-empty = 没有符合条件的日期。环境登记了到期日，就会出现在这里。
due-empty-add = 登记环境
due-days-left = 还有
due-environment = 环境
due-environment-id = 环境编号
due-kind = 事项
due-date = 日期
due-if-nothing = 不处理会怎样
due-owner = 负责人
due-renewal = 续费方式
due-told = 提醒
due-mails-sent = 已发封数
due-last-sent-at = 最近一封
due-next-mail-on = 下一封
due-no-end = 无到期日
due-mail-failed = 没有送达
due-mails = 已发 { $n } 封
due-next = 下一封 { $date }
due-rule = { $rule }。
due-see-reminders = 全部提醒
due-see-deliveries = 全部提醒邮件
due-see-jobs = 任务运行记录
due-runs-on = 一直用下去
due-stops = 次日停止服务
due-renews = 次日自动续费
due-may-be-gone = 服务随时可能停止，数据随时可能被删除
due-may-be-renewed = 服务商可能已自动续费，请登记新的租期
due-renews-without-notice = 不通知就会自动续费
due-will-renew = 到期自动续费
due-notice-lapses = 错过通知期
error-cursor = 列表里没有这个位置，重新打开列表。

# ---- 提醒
reminders-title = 提醒
reminders-lead = 排好的、已发的和收回的每一次提醒。
reminders-id = 编号
reminders-project = 项目
reminders-environment-id = 环境编号
reminders-environment = 环境
reminders-kind = 事项
reminders-deadline-on = 日期
reminders-step = 提前天数
reminders-person = 收件人
reminders-due-on = 发送日
reminders-state = 状态
reminders-sent-at = 发出时间
reminders-reply = 服务器答复
reminders-every-state = 全部状态
reminders-from = 从
reminders-to = 到
reminders-empty = 没有符合条件的提醒。登记到期日后，一分钟内就会排好。
reminders-days-before = { $n ->
    [0] 当天
   *[other] 提前 { $n } 天
 }
reminders-days-after = 逾期 { $n } 天
reminder-planned = 已排
reminder-due = 待发
reminder-sent = 已发
reminder-failed = 没有送达
reminder-superseded = 由后一次代替
reminder-withdrawn = 已收回
error-reminder-state = 提醒没有“{ $value }”这种状态，要写 planned、due、sent、failed、superseded 或 withdrawn。

# ---- 邮件
deliveries-title = 邮件
deliveries-lead = 发给了谁，发信服务器怎么答复。
deliveries-mail-off = 还没设置发信服务器：邮件先放在发件箱文件夹里，设置好后再发出。
deliveries-state = 状态
deliveries-of-all = 全部环境的邮件
deliveries-empty = 没有符合条件的邮件。到了发送日才会生成邮件。
deliveries-made = 生成时间
deliveries-subject = 标题
deliveries-person = 收件人
deliveries-address = 邮箱
deliveries-tries = 尝试次数
deliveries-reply = 服务器答复
deliveries-environment = 环境
deliveries-run-on = 运行日
deliveries-sent-at = 发出时间
deliveries-escalation = 环境上登记的人邮箱退信，所以发了这一封。
deliveries-retry = 重发
deliveries-attempts = 每次尝试
deliveries-no-attempts = 还没有尝试过。
deliveries-tried-at = 时间
deliveries-outcome = 结果
deliveries-phase = 进行到
deliveries-text = 邮件内容
delivery-pending = 等待发送
delivery-outbox = 在发件箱
delivery-leased = 正在发送
delivery-sent = 已发
delivery-bounced = 退信
delivery-dead = 已放弃
delivery-cancelled = 已收回
delivery-failed = 退信或已放弃
attempt-sent = 已发
attempt-retry = 稍后再试
attempt-bounced = 退信
attempt-configuration = 设置不被接受
attempt-ambiguous = 可能送达
attempt-late-finish = 结束得太晚
attempt-cancelled = 已收回
attempt-outbox = 已写入发件箱
error-delivery-state = 邮件没有“{ $value }”这种状态，要写 pending、outbox、leased、sent、bounced、dead、cancelled 或 failed。
error-delivery-not-failed = 这封邮件没有退信也没有放弃，不用重发。
