# Where uploaded documents are kept.
documents-url = "{ $value }" is not an address for documents. Write RENTROLL_DOCUMENTS_URL as s3://bucket/prefix and the access key in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or leave it out to use a folder in the data directory.
documents-folder = The folder for documents, { $folder }, cannot be used: { $reason }. Make it a folder that Rentroll may write to.
documents-bucket = The bucket for documents, { $bucket }, cannot be used: { $reason }. Check the AWS_ variables.
documents-variable-file = { $name } names { $file }, which cannot be read: { $reason }.
documents-too-large = The file is larger than { $limit }, the most that is taken. Upload a smaller one.

# Files attached to things.
doc-heading = Documents
doc-empty = Nothing attached yet.
doc-col-name = File
doc-col-version = Version
doc-col-size = Size
doc-col-who = Attached by
doc-col-when = Attached at
doc-col-note = Note
doc-file = File
doc-file-help = PDF, PNG, JPEG, TXT, CSV, DOCX or XLSX, at most 20 MiB. A file is kept for ever; a newer one is another version.
doc-version-of = New version of
doc-version-of-help = A file of the same name is the next version of it even if nothing is chosen.
doc-note = Note on the file
doc-attach = Attach file
doc-void = Void
doc-void-lead = For a file that was attached by mistake. It stays in the list, marked as void, and can still be read.
doc-reason = Reason
doc-voided = (void: { $reason })
error-document-type = "{ $name }" is not of a kind that is taken here: PDF, PNG, JPEG, TXT, CSV, DOCX or XLSX. Save it as one of these.
error-document-content = What is in "{ $name }" does not fit its name, is damaged, or brings macros. Save it again in the program that it comes from, without macros.
error-document-empty = "{ $name }" is empty.
error-document-name = "{ $name }" cannot be the name of a document: { $reason }
error-document-version-of = Choose a document of the list, or none.
error-document-same = This is the same file as { $name }, version { $number }.
error-document-voided = This document was voided before.
error-documents-many = There are { $most } files here, the most that one thing holds.
error-documents-space = With this file the documents of the project would take more than { $most }.
