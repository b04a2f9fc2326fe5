//! The words of the history: which sentence tells of which action, and what records, fields and values are called.

use serde_json::Value;

use crate::locale::Message;

/// Fields of an image that a sentence may use as arguments.
pub(super) const SENTENCE_FIELDS: &[&str] = &[
    "ends_on",
    "starts_on",
    "quantity",
    "quantity_before",
    "quantity_after",
    "environment",
    "project",
    "provider",
    "rows_new",
    "rows_known",
    "file_name",
    "role",
    "unit",
    "due_on",
    "closed",
    "person",
    "holder",
];

/// The sentence's key of an action; actions without one of their own get the general sentence of their verb.
pub(super) fn sentence_key(action: &str) -> &'static str {
    SENTENCES.iter().find(|(name, _)| *name == action).map_or_else(
        || match action.rsplit('.').next() {
            Some("added" | "recorded") => "hist-added",
            Some("ended") => "hist-ended",
            Some("voided") => "hist-voided",
            _ => "hist-changed",
        },
        |(_, key)| key,
    )
}

/// Actions that have a sentence of their own in `locales/*/history.ftl`.
const SENTENCES: &[(&str, &str)] = &[
    ("term.renewed", "hist-term-renewed"),
    ("environment.opened", "hist-environment-opened"),
    ("environment.ended", "hist-environment-ended"),
    ("scale.changed", "hist-scale-changed"),
    ("scale.followed", "hist-scale-followed"),
    ("bill.imported", "hist-bill-imported"),
    ("environments.imported", "hist-environments-imported"),
    ("rates.imported", "hist-rates-imported"),
    ("resource.bound", "hist-resource-bound"),
    ("resource.unbound", "hist-resource-unbound"),
    ("spend.recorded", "hist-spend-recorded"),
    ("spend.reversed", "hist-spend-reversed"),
    ("output.recorded", "hist-output-recorded"),
    ("output.reversed", "hist-output-reversed"),
    ("document.attached", "hist-document-attached"),
    ("document.voided", "hist-document-voided"),
    ("user.signed_in", "hist-user-signed-in"),
    ("user.signed_out", "hist-user-signed-out"),
    ("user.sign_in_failed", "hist-user-sign-in-failed"),
    ("user.invited", "hist-user-invited"),
    ("user.password_changed", "hist-user-password-changed"),
    ("user.link_asked", "hist-user-link-asked"),
    ("user.link_not_mailed", "hist-user-link-not-mailed"),
    ("user.sessions_ended", "hist-user-sessions-ended"),
    ("user.disabled", "hist-user-disabled"),
    ("user.enabled", "hist-user-enabled"),
    ("environment.resumed", "hist-environment-resumed"),
    ("deadline.added", "hist-deadline-added"),
    ("deadline.moved", "hist-deadline-moved"),
    ("deadline.reopened", "hist-deadline-reopened"),
    ("deadline.closed", "hist-deadline-closed"),
    ("reminder.sent", "hist-reminder-sent"),
    ("reminder.retried", "hist-reminder-retried"),
];

/// What a date is called within a sentence: of which kind the image of a deadline is.
pub(super) fn what_words(image: &Value) -> Message {
    match image["kind"].as_str() {
        Some("expiry") => Message::new("hist-what-expiry"),
        Some("cancel_by") => Message::new("hist-what-cancel-by"),
        _ => Message::new("noun-deadline"),
    }
}

/// The dates that an entry about a reminder tells of, each with its kind.
pub(super) fn dates_words(image: &Value) -> Message {
    let date = |image: &Value| {
        let day = image["due_on"].as_str().unwrap_or_default();
        Message::new("hist-date").with("what", what_words(image)).with("date", day)
    };
    let dates = image["deadlines"].as_array().map(Vec::as_slice).unwrap_or_default();
    Message::listed(dates.iter().map(date).collect()).unwrap_or_else(|| Message::new("noun-deadline"))
}

/// The key of a noun's name.
pub(super) fn noun_key(kind: &str) -> &'static str {
    NOUNS.iter().find(|(name, _)| *name == kind).map_or("noun-thing", |(_, key)| key)
}

/// Every noun that has a history, with the key of its name: for the filter.
pub const fn nouns() -> &'static [(&'static str, &'static str)] {
    NOUNS
}

const NOUNS: &[(&str, &str)] = &[
    ("organisation", "noun-organisation"),
    ("person", "noun-person"),
    ("user_account", "noun-user"),
    ("project", "noun-project"),
    ("membership", "noun-membership"),
    ("provider", "noun-provider"),
    ("provider_contact", "noun-contact"),
    ("contract", "noun-contract"),
    ("provider_incident", "noun-incident"),
    ("tier", "noun-tier"),
    ("price", "noun-price"),
    ("environment", "noun-environment"),
    ("environment_watcher", "noun-watcher"),
    ("term", "noun-term"),
    ("scale_change", "noun-scale-change"),
    ("saved_filter", "noun-saved-filter"),
    ("deadline", "noun-deadline"),
    ("resource", "noun-resource"),
    ("binding", "noun-binding"),
    ("spend", "noun-spend"),
    ("output_entry", "noun-output"),
    ("document", "noun-document"),
    ("bill_import", "noun-bill-import"),
    ("exchange_rate", "noun-exchange-rate"),
];

/// A field's name; fields without one are shown as the record names them.
pub fn field_words(field: &str) -> Message {
    let named = |key: &str| {
        let name = key.trim_start_matches("hist-field-");
        name.len() == field.len() && name.bytes().zip(field.bytes()).all(|(a, b)| a == b || (a == b'-' && b == b'_'))
    };
    match FIELDS.iter().find(|key| named(key)) {
        Some(key) => Message::new(key),
        None => Message::new("hist-value").with("value", field),
    }
}

/// The names of fields, by the record's own names: `hist-field-ends-on` is `ends_on`.
const FIELDS: &[&str] = &[
    "hist-field-account",
    "hist-field-all-projects",
    "hist-field-amount",
    "hist-field-anchor-day",
    "hist-field-base",
    "hist-field-billed",
    "hist-field-billing-mode",
    "hist-field-category",
    "hist-field-changes-on",
    "hist-field-checker",
    "hist-field-checker-id",
    "hist-field-closed",
    "hist-field-contracted",
    "hist-field-cost-centre",
    "hist-field-cost-kind",
    "hist-field-created-at",
    "hist-field-credential",
    "hist-field-currency",
    "hist-field-cycle",
    "hist-field-cycle-months",
    "hist-field-deadline-id",
    "hist-field-description",
    "hist-field-disabled-at",
    "hist-field-due-on",
    "hist-field-effective",
    "hist-field-email",
    "hist-field-ended-at",
    "hist-field-ended-on",
    "hist-field-ends-at",
    "hist-field-ends-on",
    "hist-field-environment",
    "hist-field-environment-id",
    "hist-field-expansion-procedure",
    "hist-field-expansion-terms",
    "hist-field-external-id",
    "hist-field-form",
    "hist-field-former",
    "hist-field-gpu-count",
    "hist-field-gpu-memory-gb",
    "hist-field-gpu-model",
    "hist-field-has-password",
    "hist-field-id",
    "hist-field-interconnect",
    "hist-field-job",
    "hist-field-kind",
    "hist-field-labels",
    "hist-field-link",
    "hist-field-list",
    "hist-field-locale",
    "hist-field-name",
    "hist-field-network",
    "hist-field-note",
    "hist-field-notice",
    "hist-field-notice-days",
    "hist-field-notice-months",
    "hist-field-number",
    "hist-field-owner",
    "hist-field-owner-id",
    "hist-field-period",
    "hist-field-person",
    "hist-field-person-id",
    "hist-field-person-name",
    "hist-field-phone",
    "hist-field-portal",
    "hist-field-price",
    "hist-field-priority",
    "hist-field-project",
    "hist-field-project-id",
    "hist-field-provider",
    "hist-field-provider-id",
    "hist-field-quantity",
    "hist-field-quantity-after",
    "hist-field-quantity-before",
    "hist-field-quote",
    "hist-field-rate",
    "hist-field-rated-on",
    "hist-field-ready-days",
    "hist-field-reason",
    "hist-field-region",
    "hist-field-reminder-steps",
    "hist-field-renewal",
    "hist-field-resource-id",
    "hist-field-role",
    "hist-field-scenario",
    "hist-field-second-hand",
    "hist-field-send-at",
    "hist-field-service",
    "hist-field-sessions",
    "hist-field-severity",
    "hist-field-sla",
    "hist-field-source",
    "hist-field-starts-at",
    "hist-field-starts-on",
    "hist-field-status",
    "hist-field-sub-account",
    "hist-field-support-channel",
    "hist-field-support-hours",
    "hist-field-term-id",
    "hist-field-tier",
    "hist-field-tier-id",
    "hist-field-title",
    "hist-field-type",
    "hist-field-unit",
    "hist-field-user",
    "hist-field-user-id",
    "hist-field-valid-from",
    "hist-field-value",
    "hist-field-void-reason",
    "hist-field-voided-at",
    "hist-field-voided-by",
    "hist-field-website",
    "hist-field-withdrawn-at",
    "hist-field-zone",
];

/// A value of a field: the name of the record that it is the number of, the word of a code, or the value itself.
pub(super) fn value_words(field: &str, value: &str, name: Option<&str>) -> Message {
    if let Some(name) = name {
        return Message::new("hist-value").with("value", name);
    }
    match value {
        // Only a bill line may have none.
        "" if field == "environment" => Message::new("ledger-unplaced"),
        "" => Message::new("hist-nothing"),
        "true" => Message::new("table-yes"),
        "false" => Message::new("table-no"),
        value => {
            let known = VALUES.iter().find(|(fields, code, _)| *code == value && fields.contains(&field));
            known.map_or_else(|| Message::new("hist-value").with("value", value), |(_, _, key)| Message::new(key))
        }
    }
}

/// Values of fixed sets: the fields that hold them, the code, the key of its word.
const VALUES: &[(&[&str], &str, &str)] = &[
    (&["renewal"], "automatic", "renewal-automatic"),
    (&["renewal"], "on_request", "renewal-on-request"),
    (&["renewal"], "never", "renewal-never"),
    (&["scenario"], "debug", "scenario-debug"),
    (&["scenario"], "training", "scenario-training"),
    (&["scenario"], "fine_tuning", "scenario-fine-tuning"),
    (&["scenario"], "inference", "scenario-inference"),
    (&["scenario"], "evaluation", "scenario-evaluation"),
    (&["scenario"], "batch", "scenario-batch"),
    (&["priority"], "core", "priority-core"),
    (&["priority"], "normal", "priority-normal"),
    (&["priority"], "low", "priority-low"),
    (&["status"], "active", "state-active"),
    (&["status"], "ended", "state-ended"),
    (&["status"], "voided", "state-voided"),
    (&["form"], "bare_metal", "form-bare-metal"),
    (&["form"], "card", "form-card"),
    (&["form"], "service", "form-service"),
    (&["form"], "owned", "form-owned"),
    (&["billing_mode"], "hourly", "billing-hourly"),
    (&["billing_mode"], "monthly", "billing-monthly"),
    (&["billing_mode"], "usage", "billing-usage"),
    (&["billing_mode"], "reserved", "billing-reserved"),
    (&["billing_mode"], "spot", "billing-spot"),
    (&["unit"], "card_hour", "unit-card-hour"),
    (&["unit"], "instance_hour", "unit-instance-hour"),
    (&["unit"], "instance_month", "unit-instance-month"),
    (&["unit"], "instance_year", "unit-instance-year"),
    (&["severity"], "minor", "severity-minor"),
    (&["severity"], "major", "severity-major"),
    (&["severity"], "outage", "severity-outage"),
    (&["kind"], "instance", "kind-instance"),
    (&["kind"], "pool", "kind-pool"),
    (&["kind"], "service", "kind-service"),
    (&["kind"], "line", "kind-line"),
    (&["kind"], "storage", "kind-storage"),
    (&["kind"], "maintenance", "kind-maintenance"),
    (&["kind"], "voucher", "kind-voucher"),
    (&["kind"], "expiry", "deadline-expiry"),
    (&["kind"], "cancel_by", "deadline-cancel-by"),
    (&["closed"], "renewed", "deadline-renewed"),
    (&["closed"], "ended", "deadline-ended"),
    (&["closed"], "voided", "deadline-voided"),
    (&["closed"], "withdrawn", "deadline-withdrawn"),
    (&["closed"], "done", "deadline-done"),
    (&["role"], "administrator", "role-administrator"),
    (&["role"], "auditor", "role-auditor"),
    (&["role"], "member", "role-member"),
    (&["role"], "manager", "role-manager"),
    (&["role"], "operator", "role-operator"),
    (&["role"], "viewer", "role-viewer"),
    (&["credential"], "changed", "credential-changed"),
    (&["locale"], "zh-CN", "language-zh-cn"),
    (&["locale"], "en", "language-en"),
];

/// Through which path an entry came.
pub fn source_words(source: &str) -> Message {
    Message::new(match source {
        "page" => "source-page",
        "api" => "source-api",
        "import" => "source-import",
        "command_line" => "source-command-line",
        "job" => "source-job",
        "mail_link" => "source-mail-link",
        _ => "source-database",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale::Locale;

    #[test]
    fn a_field_is_called_by_its_own_name_in_both_languages() {
        assert_eq!(Locale::ZhCn.say(&field_words("ends_on")), "到期日（含当日）");
        assert_eq!(Locale::En.say(&field_words("ends_on")), "Last day (included)");
        assert_eq!(Locale::En.say(&field_words("no_such_field")), "no_such_field");
    }

    #[test]
    fn every_word_of_the_history_is_there() {
        let keys = SENTENCES.iter().chain(NOUNS).map(|(_, key)| *key);
        let keys = keys.chain(FIELDS.iter().copied()).chain(VALUES.iter().map(|(_, _, key)| *key));
        for key in keys {
            for locale in Locale::ALL {
                let nothing = SENTENCE_FIELDS.iter().fold(Message::new(key), |message, name| message.with(name, ""));
                let more = ["who", "thing", "kind", "what", "date", "dates"];
                let said = locale.say(&more.iter().fold(nothing, |message, name| message.with(name, "")));
                assert_ne!(said, key, "{locale}");
            }
        }
    }

    #[test]
    fn a_value_reads_as_the_word_of_its_field() {
        let said = |field, value| Locale::En.say(&value_words(field, value, None));
        assert_eq!(said("renewal", "on_request"), "on request");
        assert_eq!(said("note", "on_request"), "on_request");
        assert_eq!(said("note", ""), "—");
        assert_eq!(Locale::En.say(&value_words("owner_id", "7", Some("林小满"))), "林小满");
    }
}
