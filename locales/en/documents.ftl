# Where uploaded documents are kept.
documents-url = "{ $value }" is not an address for documents. Write RENTROLL_DOCUMENTS_URL as s3://bucket/prefix and the access key in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or leave it out to use a folder in the data directory.
documents-folder = The folder for documents, { $folder }, cannot be used: { $reason }. Make it a folder that Rentroll may write to.
documents-bucket = The bucket for documents, { $bucket }, cannot be used: { $reason }. Check the AWS_ variables.
documents-variable-file = { $name } names { $file }, which cannot be read: { $reason }.
documents-too-large = The file is larger than { $limit }, the most that is taken. Upload a smaller one.
