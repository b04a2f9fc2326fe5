# Mail: what is wrong with its settings, and why a message did not go out.
error-mail-address = "{ $value }" is not an e-mail address. Write name@example.com or Name <name@example.com>, with plain letters before the @.

mail-url-scheme = RENTROLL_SMTP_URL must begin with smtp://, smtp+starttls:// or smtps://, for example smtps://user:password@mail.example.com:465.
mail-url-host = RENTROLL_SMTP_URL: "{ $value }" is not the name or address of a server. Expected: smtps://user:password@mail.example.com:465.
mail-url-port = RENTROLL_SMTP_URL: what stands after the last colon is not a port. Write host:port with a number from 1 to 65535, or leave the port out; a user and a password end with @.
mail-url-credentials = RENTROLL_SMTP_URL: before the @ both are needed, user:password, or neither.
mail-url-percent = RENTROLL_SMTP_URL: in user and password, write a percent sign as %25; %40 and the like stand for other characters.
mail-url-extra = RENTROLL_SMTP_URL ends after the port. The kind of encryption is chosen by smtp://, smtp+starttls:// or smtps://.
mail-ca-file = RENTROLL_EXTRA_CA_FILE: { $path } cannot be used: { $reason }.
mail-ca-none = RENTROLL_EXTRA_CA_FILE: { $path } holds no certificate. Expected: a PEM file with "BEGIN CERTIFICATE".

# Settings that do not fit the server
mail-no-starttls = { $server } does not offer STARTTLS, which { $mode } in RENTROLL_SMTP_URL needs. At this port only { $fit } would fit, without encryption; ask whether the server offers smtps:// at port 465.
mail-wants-starttls = { $server } wants encryption first, and RENTROLL_SMTP_URL says { $mode }. { $fit } would fit.
mail-wants-tls = { $server } expects TLS from the first byte, and RENTROLL_SMTP_URL says { $mode }. { $fit } would fit.
mail-speaks-plain = { $server } begins in plain text, and RENTROLL_SMTP_URL says { $mode }. { $fit } would fit.
mail-starttls-refused = { $server } offers STARTTLS but refused it: { $reply }
mail-password-in-clear = RENTROLL_SMTP_URL says { $mode } with a password, which would travel to { $server } unencrypted. Use smtp+starttls:// or smtps://, or leave user and password out.
mail-wants-sign-in = { $server } wants a sign-in first. Put user:password@ into RENTROLL_SMTP_URL, as in smtps://user:password@mail.example.com:465.
mail-no-sign-in = { $server } offers no sign-in that Rentroll knows (AUTH PLAIN or LOGIN). Leave user and password out of RENTROLL_SMTP_URL, or use another port.
mail-sign-in-refused = { $server } refused the sign-in of { $user }: { $reply }. Check user and password in RENTROLL_SMTP_URL.
mail-certificate-issuer = The certificate of { $server } is signed by an authority that Rentroll does not know. If it is your own, give its certificate (PEM) as RENTROLL_EXTRA_CA_FILE.
mail-certificate-name = The certificate of { $server } is not for the name { $host }. Use the name that stands in the certificate: { $reason }.
mail-certificate-expired = The certificate of { $server } has expired: { $reason }. It must be renewed there.
mail-certificate = The certificate of { $server } cannot be trusted: { $reason }.
mail-tls = No encrypted connection to { $server } with { $mode }: { $reason }.

# Tries that failed
mail-unreachable = { $server } cannot be reached: { $reason }.
mail-timeout = { $server } did not answer in time { $phase }.
mail-closed = { $server } ended the connection { $phase }.
mail-network = The connection to { $server } failed { $phase }: { $reason }.
mail-garbled = { $server } did not answer as a mail server does { $phase }.
mail-not-now = { $server } does not take the message now: { $reply }
mail-bounced = { $server } refused the message for good: { $reply }
mail-ambiguous = { $server } got the whole message but did not confirm it. It may arrive or not.
mail-outbox = The outbox { $path } cannot be written: { $reason }.

mail-phase-connect = while connecting
mail-phase-greeting = before its greeting
mail-phase-hello = at the greeting (EHLO)
mail-phase-tls = while encryption was being set up
mail-phase-auth = at sign-in
mail-phase-mail = when given the sender
mail-phase-rcpt = when given the recipient
mail-phase-data = before the message
mail-phase-body = during the message
