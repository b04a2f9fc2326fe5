# 上传的文件放在哪里。
documents-url = “{ $value }”不能用作文件存放地址。RENTROLL_DOCUMENTS_URL 要写成 s3://bucket/prefix，密钥写在 AWS_ACCESS_KEY_ID 和 AWS_SECRET_ACCESS_KEY 里；不写则放在数据目录的文件夹里。
documents-folder = 存放文件的文件夹 { $folder } 用不了：{ $reason }。请改成本程序可以写入的文件夹。
documents-bucket = 存放文件的存储桶 { $bucket } 用不了：{ $reason }。请检查 AWS_ 开头的环境变量。
documents-variable-file = { $name } 指向的文件 { $file } 读不了：{ $reason }。
documents-too-large = 文件超过上限 { $limit }，请上传小一点的文件。

# 各条目上传的文件。
doc-heading = 文件
doc-empty = 还没有文件。
doc-col-name = 文件
doc-col-version = 版本
doc-col-size = 大小
doc-col-who = 上传人
doc-col-when = 上传时间
doc-col-note = 备注
doc-file = 文件
doc-file-help = PDF、PNG、JPEG、TXT、CSV、DOCX 或 XLSX，最大 20 MiB。文件永久保留，更新的文件另存为新版本。
doc-version-of = 作为新版本替代
doc-version-of-help = 不选时，同名文件自动成为下一个版本。
doc-note = 文件备注
doc-attach = 上传文件
doc-void = 作废
doc-void-lead = 用于传错的文件。作废后仍留在列表里，标明已作废，还可以查看。
doc-reason = 原因
doc-voided = （已作废：{ $reason }）
error-document-type = 这里不收“{ $name }”这种文件，只收 PDF、PNG、JPEG、TXT、CSV、DOCX、XLSX。请另存为其中一种。
error-document-content = “{ $name }”的内容和文件名不符，或文件已损坏，或带有宏。请在原来的软件里重新保存，去掉宏。
error-document-empty = “{ $name }”是空文件。
error-document-name = “{ $name }”不能用作文件名：{ $reason }
error-document-version-of = 从列表里选一个文件，或不选。
error-document-same = 这和 { $name } 第 { $number } 版是同一个文件。
error-document-voided = 这个文件已经作废过。
error-documents-many = 这里已有 { $most } 个文件，达到上限。
error-documents-space = 加上这个文件，项目的文件总量会超过 { $most }。
