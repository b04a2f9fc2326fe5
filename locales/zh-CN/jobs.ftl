# 定时任务：各做什么，每次跑了什么。

job-reminders = 排出到期提醒并发出。
job-renewals-title = 自动续费入账
job-reminders-title = 到期提醒
job-sweep-title = 定期清理
job-gone = 旧版本的任务
job-renewals = 到期且自动续费的租期，登记下一期；新租期开始时，改用它的数量。
job-sweep = 清理过期的会话、用过的链接、旧的运行记录和没传完的文件。

skipped-before-hour = 还没到发送时间
skipped-later = 稍后再试
skipped-nobody = 没有人可以通知
skipped-outbox = 在发件箱里等：还没设置发信服务器
skipped-settings = 暂停：发信服务器不接受当前设置
skipped-superseded = 已由后一次提醒代替
skipped-withdrawn = 不再需要

# ---- 页面
jobs-title = 任务运行记录
jobs-lead = 定时任务检查了什么、做了什么、跳过了什么和原因。一小时内没事可做的运行合成一行。
jobs-job = 任务
jobs-every-job = 全部任务
jobs-what = 显示
jobs-every-run = 全部运行
jobs-busy = 只看做了事的
jobs-empty = 没有符合条件的运行。服务运行时任务自动执行，也可以用命令 jobs run 执行。
jobs-started-at = 开始时间
jobs-as-of = 按 { $date } 运行
jobs-runs = 次数
jobs-checked = 检查
jobs-matched = 符合
jobs-done = 完成
jobs-failed = 失败
jobs-skipped = 跳过与原因
jobs-skipped-one = { $n } 项{ $why }
jobs-error = 失败
