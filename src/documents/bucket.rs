//! The way to a bucket: what the usual variables say, and whom to trust.

use std::path::Path;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::{Certificate, ClientOptions};

use crate::locale::Message;

/// The certificate authorities of the file that are trusted beside the usual ones.
pub(super) fn authorities(file: Option<&Path>) -> Result<Vec<Certificate>, Message> {
    let Some(path) = file else { return Ok(Vec::new()) };
    let refused =
        |reason: String| Message::new("mail-ca-file").with("path", path.display().to_string()).with("reason", reason);
    let pem = std::fs::read(path).map_err(|error| refused(error.to_string()))?;
    Certificate::from_pem_bundle(&pem).map_err(|error| refused(error.to_string()))
}

/// The store's settings from `AWS_*`. `NAME_FILE` holds the value of `NAME`, unless it is a variable of its own.
pub(super) fn settings(
    variables: impl Iterator<Item = (String, String)>,
    authorities: &[Certificate],
) -> Result<AmazonS3Builder, Message> {
    let known = |name: &str| name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>().ok();
    let client = authorities.iter().cloned().fold(ClientOptions::new(), ClientOptions::with_root_certificate);
    let mut settings = AmazonS3Builder::new().with_client_options(client);
    for (name, value) in variables.filter(|(name, value)| name.starts_with("AWS_") && !value.is_empty()) {
        if let Some(key) = known(&name) {
            // An operator who writes http:// means it.
            if name.starts_with("AWS_ENDPOINT") && value.starts_with("http://") {
                settings = settings.with_allow_http(true);
            }
            settings = settings.with_config(key, value);
        } else if let Some(key) = name.strip_suffix("_FILE").and_then(known) {
            let secret = std::fs::read_to_string(&value).map_err(|error| {
                Message::new("documents-variable-file")
                    .with("name", name.as_str())
                    .with("file", value.as_str())
                    .with("reason", error.to_string())
            })?;
            settings = settings.with_config(key, secret.trim());
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale::Locale;

    #[test]
    fn authorities_that_cannot_be_read_are_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(authorities(None).unwrap().is_empty());
        let file = folder.path().join("authority.pem");
        let message = authorities(Some(&file)).unwrap_err();
        assert!(Locale::En.say(&message).contains("authority.pem"), "{message}");
    }

    #[test]
    fn a_secret_may_stand_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        std::fs::write(&file, "from the file\n").unwrap();
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let settings = settings(
            [
                variable("AWS_SECRET_ACCESS_KEY_FILE", file.to_str().unwrap()),
                variable("AWS_CONFIG_FILE", "/nowhere"),
                variable("AWS_REGION", "cn-north-1"),
                variable("PATH", "/bin"),
            ]
            .into_iter(),
            &[],
        )
        .unwrap();
        let value = |key: &str| settings.get_config_value(&key.parse().unwrap());
        assert_eq!(value("aws_secret_access_key").as_deref(), Some("from the file"));
        assert_eq!(value("aws_region").as_deref(), Some("cn-north-1"));

        let missing = variable("AWS_ACCESS_KEY_ID_FILE", "/nowhere/key");
        let message = super::settings([missing].into_iter(), &[]).unwrap_err();
        assert!(Locale::En.say(&message).starts_with("AWS_ACCESS_KEY_ID_FILE names /nowhere/key"), "{message}");
    }
}
