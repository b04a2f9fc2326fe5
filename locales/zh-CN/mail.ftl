# 发信：设置哪里不对，邮件为什么没发出去。
error-mail-address = “{ $value }”不是邮箱地址。请写成 name@example.com 或 姓名 <name@example.com>，@ 前面只能用英文字符。

mail-url-scheme = RENTROLL_SMTP_URL 要以 smtp://、smtp+starttls:// 或 smtps:// 开头，例如 smtps://user:password@mail.example.com:465。
mail-url-host = RENTROLL_SMTP_URL：“{ $value }”不是服务器的名字或地址。应写成 smtps://user:password@mail.example.com:465。
mail-url-port = RENTROLL_SMTP_URL：最后一个冒号后面不是端口。写成“主机:端口”，端口是 1 到 65535 的数字，或者不写端口；用户名和密码后面要有 @。
mail-url-credentials = RENTROLL_SMTP_URL：@ 前面的用户名和密码要么都写（user:password），要么都不写。
mail-url-percent = RENTROLL_SMTP_URL：用户名和密码里的百分号要写成 %25；%40 这类写法代表其他字符。
mail-url-extra = RENTROLL_SMTP_URL 写到端口为止。加密方式由 smtp://、smtp+starttls:// 或 smtps:// 决定。
mail-ca-file = RENTROLL_EXTRA_CA_FILE：{ $path } 用不了：{ $reason }。
mail-ca-none = RENTROLL_EXTRA_CA_FILE：{ $path } 里没有证书。应是含“BEGIN CERTIFICATE”的 PEM 文件。

# 设置和服务器对不上
mail-no-starttls = { $server } 不支持 STARTTLS，而 RENTROLL_SMTP_URL 里写的 { $mode } 需要它。这个端口只能用不加密的 { $fit }；可以问问服务器是否在 465 端口提供 smtps://。
mail-wants-starttls = { $server } 要求先加密，而 RENTROLL_SMTP_URL 里写的是 { $mode }。应改为 { $fit }。
mail-wants-tls = { $server } 一连上就要求 TLS，而 RENTROLL_SMTP_URL 里写的是 { $mode }。应改为 { $fit }。
mail-speaks-plain = { $server } 先说明文，而 RENTROLL_SMTP_URL 里写的是 { $mode }。应改为 { $fit }。
mail-starttls-refused = { $server } 声称支持 STARTTLS，却拒绝了：{ $reply }
mail-password-in-clear = RENTROLL_SMTP_URL 里写的是 { $mode } 并带密码，密码会不加密地传到 { $server }。请改用 smtp+starttls:// 或 smtps://，或者去掉用户名和密码。
mail-wants-sign-in = { $server } 要求先登录。请在 RENTROLL_SMTP_URL 里写上 user:password@，例如 smtps://user:password@mail.example.com:465。
mail-no-sign-in = { $server } 没有可用的登录方式（AUTH PLAIN 或 LOGIN）。请从 RENTROLL_SMTP_URL 里去掉用户名和密码，或换一个端口。
mail-sign-in-refused = { $server } 拒绝了 { $user } 的登录：{ $reply }。请检查 RENTROLL_SMTP_URL 里的用户名和密码。
mail-certificate-issuer = { $server } 的证书由不认识的机构签发。如果是自己的机构，请用 RENTROLL_EXTRA_CA_FILE 给出它的证书（PEM）。
mail-certificate-name = { $server } 的证书不是发给 { $host } 的。请改用证书里的名字：{ $reason }。
mail-certificate-expired = { $server } 的证书已过期：{ $reason }。要在服务器上更新。
mail-certificate = { $server } 的证书不可信：{ $reason }。
mail-tls = 按 { $mode } 无法与 { $server } 建立加密连接：{ $reason }。

# 没发成的尝试
mail-unreachable = 连不上 { $server }：{ $reason }。
mail-timeout = { $phase }，{ $server } 没有按时答复。
mail-closed = { $phase }，{ $server } 断开了连接。
mail-network = { $phase }，与 { $server } 的连接出错：{ $reason }。
mail-garbled = { $phase }，{ $server } 的答复不像邮件服务器。
mail-not-now = { $server } 现在不收这封邮件：{ $reply }
mail-bounced = { $server } 拒收这封邮件：{ $reply }
mail-ambiguous = { $server } 已收到整封邮件，但没有确认，可能送达，也可能没有。
mail-outbox = 发件箱 { $path } 无法写入：{ $reason }。

mail-phase-connect = 连接时
mail-phase-greeting = 等待问候时
mail-phase-hello = 打招呼（EHLO）时
mail-phase-tls = 建立加密时
mail-phase-auth = 登录时
mail-phase-mail = 报发件人时
mail-phase-rcpt = 报收件人时
mail-phase-data = 发送正文前
mail-phase-body = 发送正文时
