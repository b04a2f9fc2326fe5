//! The class of every table; a test compares this list with the catalogue.

/// What a table is for decides what may be done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Append-only.
    Ledger,
    /// Everything people edit; every change is audited; nothing is deleted.
    Record,
    /// The program's own bookkeeping: no audit entries.
    Machine,
}

/// Every table, its class, and whether its rows belong to projects (forced row-level security).
pub const TABLES: &[(&str, Class, bool)] = &[
    ("attempt", Class::Ledger, true),
    ("audit_entry", Class::Ledger, true),
    ("audit_private", Class::Machine, false),
    ("bill_import", Class::Ledger, false),
    ("binding", Class::Record, true),
    ("contract", Class::Record, false),
    ("deadline", Class::Record, true),
    ("delivery", Class::Machine, true),
    ("delivery_message", Class::Machine, true),
    ("device", Class::Machine, false),
    ("document", Class::Ledger, true),
    ("document_void", Class::Ledger, true),
    ("environment", Class::Record, true),
    ("environment_watcher", Class::Record, true),
    ("exchange_rate", Class::Ledger, false),
    ("job_run", Class::Machine, false),
    ("membership", Class::Record, true),
    ("one_time_link", Class::Machine, false),
    ("organisation", Class::Record, false),
    ("output_entry", Class::Ledger, true),
    ("person", Class::Record, false),
    ("price", Class::Record, false),
    ("project", Class::Record, true),
    ("provider", Class::Record, false),
    ("provider_contact", Class::Record, false),
    ("provider_incident", Class::Record, false),
    ("reminder", Class::Machine, true),
    ("resource", Class::Record, true),
    ("saved_filter", Class::Record, false),
    ("scale_change", Class::Ledger, true),
    ("session", Class::Machine, false),
    ("sign_in_failure", Class::Machine, false),
    ("spend", Class::Ledger, true),
    ("spend_day", Class::Machine, true),
    ("spend_month", Class::Machine, true),
    ("spend_month_total", Class::Machine, true),
    ("spend_resource", Class::Machine, true),
    ("spend_reversal", Class::Ledger, true),
    ("spend_total", Class::Machine, true),
    ("submission", Class::Machine, false),
    ("term", Class::Record, true),
    ("tier", Class::Record, false),
    ("user_account", Class::Record, false),
];
