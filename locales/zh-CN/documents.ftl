# 上传的文件放在哪里。
documents-url = “{ $value }”不能用作文件存放地址。RENTROLL_DOCUMENTS_URL 要写成 s3://bucket/prefix，密钥写在 AWS_ACCESS_KEY_ID 和 AWS_SECRET_ACCESS_KEY 里；不写则放在数据目录的文件夹里。
documents-folder = 存放文件的文件夹 { $folder } 用不了：{ $reason }。请改成本程序可以写入的文件夹。
documents-bucket = 存放文件的存储桶 { $bucket } 用不了：{ $reason }。请检查 AWS_ 开头的环境变量。
documents-variable-file = { $name } 指向的文件 { $file } 读不了：{ $reason }。
documents-too-large = 文件超过上限 { $limit }，请上传小一点的文件。
