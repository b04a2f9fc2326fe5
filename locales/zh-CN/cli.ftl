# 命令行：最后说什么，怎么用才对。

cli-cause = { $what }：{ $cause }
cli-variable = { $name } 用不了：{ $cause }
cli-log = RENTROLL_LOG 写的是“{ $value }”，看不懂：{ $cause }。写一个级别，如 info，或者分部分写，如 info,rentroll=debug。
cli-database-url-scheme = DATABASE_URL 要以 postgres:// 开头，例如 postgres://user:password@host/database。
cli-database-url = DATABASE_URL 看不懂：{ $cause }。要写成 postgres://user:password@host/database 这样。
cli-mail-from-missing = 设了 RENTROLL_SMTP_URL，但没有设 RENTROLL_MAIL_FROM：写上所有邮件的发件人，例如 算力租赁台账 <ledger@example.com>。
cli-migrations-missing = 数据库还缺 { $n } 个迁移：
    {"  "}{ $names }
    升到这个版本：  rentroll migrate
cli-migrated = { $n ->
    [0] 不用迁移，数据库已是 { $newest }
   *[other] 执行了 { $n } 个迁移，数据库现在是 { $newest }
 }

# ---- serve
cli-listening = 监听地址 { $url }
cli-set-up = 在这里设立第一位管理员（链接只能用一次，一小时内有效）：
    { $link }
cli-listen = 不能监听 { $address }：{ $cause }。用 RENTROLL_LISTEN 换一个地址和端口，例如 127.0.0.1:8081。
cli-listen-taken = { $address } 已被占用，别的程序在那里监听。用 RENTROLL_LISTEN 换一个端口，例如 127.0.0.1:8081。
cli-serve-stops = 正在停止，等手头的请求做完
cli-public-url-http = RENTROLL_PUBLIC_URL 是 { $url }：不用 https，浏览器不会带上登录凭据，在这个地址上谁也登录不了。在前面放一个 https 代理，或者用 localhost。
cli-public-url-missing-for-sign-in = 别的机器能打开页面（{ $address }），但走 http 只有 localhost 能登录。在前面放一个 https 代理，把它的地址写进 RENTROLL_PUBLIC_URL。
cli-public-url-missing-for-mail = 没有设 RENTROLL_PUBLIC_URL：提醒邮件里没有链接，邀请也发不出去。设成大家访问的地址。

# ---- doctor
cli-doctor-ok = 正常  { $name } { $message }
cli-doctor-ill = 要看  { $name } { $message }
cli-doctor-variables = 可以用：{ $names }
cli-doctor-variables-none = 一个都没有设
cli-doctor-variable-unknown = 设了 { $name }，但这个版本没有这个变量。看  rentroll --help
cli-doctor-variable-meant = 设了 { $name }，但这个版本没有这个变量。是不是想写 { $nearest }？
cli-doctor-embedded = PostgreSQL { $version }，Rentroll 自带的服务
cli-doctor-given = PostgreSQL { $version }，由 DATABASE_URL 指定
cli-doctor-migrations = { $n } 个迁移都已执行
cli-doctor-roles = rentroll_app 在 { $n } 张表上都受行级安全约束
cli-doctor-roles-open = 这些表没有开行级安全：{ $tables }。有人在外面改了表：alter table … enable row level security, force row level security;
cli-doctor-clock = 数据库和这台机器的时间一致
cli-doctor-mail = { $server } 收 { $from } 发的邮件
cli-doctor-mail-silent = 邮件服务器没有说哪里不对。
cli-doctor-outbox = 没有设邮件服务器（RENTROLL_SMTP_URL），邮件先放在 { $path }
cli-doctor-public-url = 邮件里的链接以 { $url } 开头
cli-doctor-no-public-url = 没有设（RENTROLL_PUBLIC_URL），只在本机用时不需要
cli-doctor-documents = 存放在 { $place }
cli-doctor-keys = { $path } 别人进不了
cli-doctor-keys-open = { $path } 别人能进。关上：  chmod go= { $path }
cli-doctor-disk = { $path } 还有 { $free }
cli-doctor-disk-full = { $path } 只剩 { $free }，少于 1 GiB 时导入和数据库都可能停下。腾出空间。

# ---- export
cli-filter-pair = “{ $value }”不是筛选条件，要写成 project=3 这样。
cli-filter-key = 这个清单没有“{ $key }”这个筛选条件。{ $known ->
    [none] 它不能筛选。
   *[other] 可以用：{ $known }。
 }
cli-export-wants-out = 用 --json 时标准输出放的是结果，清单要写进文件：--out FILE。
cli-export-progress = 已写 { $n } 行
cli-exported = 已把 { $n } 行写进 { $path }
cli-out = { $path } 写不了：{ $cause }。用 --out 换一个文件。
cli-out-ending = 不能写成 .{ $ending } 文件；请用 csv、xlsx 或 json 结尾，或者加上 --format。
cli-out-broke = { $name } 中断了：{ $cause }

# ---- user
cli-user-added = { $name } 可以用这个密码登录
cli-user-mailed = { $name } 通过发到 { $email } 的链接设密码（只能用一次，72 小时内有效）：
    { $link }
cli-user-link = { $name } 在这里设密码（链接只能用一次，72 小时内有效）：
    { $link }
cli-user-no-password = 标准输入里没有密码：把它放在第一行。

# ---- jobs
cli-job = { $name }（每 { $minutes } 分钟）：{ $why }
    { $last }
cli-job-never = 还没有运行过
cli-job-last = 上次运行 { $at }：{ $result }
cli-job-last-as-of = 上次运行 { $at }，按 { $date } 运行：{ $result }
cli-job-failed = 没有成功：{ $cause }
cli-job-ran = { $name }：{ $result }
cli-job-report = 看了 { $checked } 项，要办 { $matched } 项，办了 { $done } 项，没办成 { $failed } 项
cli-job-skipped = 没有办 { $n } 项：{ $why }

# ---- import
cli-file = { $path } 读不了：{ $cause }。
cli-file-folder = { $path } 是文件夹，请写其中的文件。
cli-file-large = { $path } 超过 { $most }，这种文件不会这么大。
cli-row-error = 第 { $row } 行：{ $message }
cli-cell-error = 第 { $row } 行“{ $column }”写的是“{ $value }”：{ $message }
cli-imported = 读了 { $read } 行：新增 { $new } 行，已有 { $known } 行
cli-would-import = 读了 { $read } 行，什么都没有改动：会新增 { $new } 行，已有 { $known } 行
cli-import-refused = 什么都没有改动：{ $read } 行里有 { $rejected } 行不对。
cli-import-makes = 会新建：{ $what }
cli-import-progress = 已读 { $n } 行
cli-bill-total = { $currency }：应付 { $billed }，摊销 { $effective }，原价 { $list }
cli-bill-missing = 台账里同一账期还有 { $n } 行不在文件里，都保留
cli-import-unreadable = 什么都没有改动：文件读不了。
