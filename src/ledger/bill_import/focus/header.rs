//! The header of a FOCUS file: which columns it must have, which are read, which version it tells.

use std::fmt;

use crate::locale::Message;
use crate::row_error::RowError;

/// A version of FOCUS, as the header tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// June 2024.
    V1_0,
    /// November 2024.
    V1_1,
    /// June 2025.
    V1_2,
    /// December 2025.
    V1_3,
    /// 2026.
    V1_4,
}

impl Version {
    /// Its number.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1_0 => "1.0",
            Self::V1_1 => "1.1",
            Self::V1_2 => "1.2",
            Self::V1_3 => "1.3",
            Self::V1_4 => "1.4",
        }
    }

    pub(super) fn of(has: impl Fn(&str) -> bool) -> Self {
        match (has("ServiceProviderName"), has("ProviderName")) {
            (true, false) => Self::V1_4,
            (true, true) => Self::V1_3,
            _ if has("InvoiceId") => Self::V1_2,
            _ if has("SkuMeter") => Self::V1_1,
            _ => Self::V1_0,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The columns that every version makes mandatory; [`super::open`] asks for them.
pub const MANDATORY: [&str; 19] = [
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "ContractedCost",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "PricingQuantity",
    "PricingUnit",
    "ServiceCategory",
    "ServiceName",
];

/// Columns that only another dataset of FOCUS has, and its name.
const OTHER_DATASETS: [(&str, &str); 3] = [
    ("ContractCommitmentId", "Contract Commitment"),
    ("BillingPeriodStatus", "Billing Period"),
    ("InvoiceIssueStatus", "Invoice Detail"),
];

/// Declares the columns that are read: their place in the list and their name in FOCUS.
macro_rules! columns {
    ($($name:ident = $focus:literal,)*) => {
        /// A column that is read.
        #[derive(Clone, Copy)]
        pub(super) enum Column { $($name,)* }

        /// The columns that are read.
        pub(super) const COLUMNS: &[&str] = &[$($focus),*];
    };
}

columns! {
    BillingAccount = "BillingAccountId",
    SubAccount = "SubAccountId",
    Service = "ServiceName",
    ServiceCategory = "ServiceCategory",
    Category = "ChargeCategory",
    Class = "ChargeClass",
    ChargeStart = "ChargePeriodStart",
    ChargeEnd = "ChargePeriodEnd",
    BillingStart = "BillingPeriodStart",
    BillingEnd = "BillingPeriodEnd",
    Quantity = "PricingQuantity",
    Unit = "PricingUnit",
    List = "ListCost",
    Contracted = "ContractedCost",
    Billed = "BilledCost",
    Effective = "EffectiveCost",
    Currency = "BillingCurrency",
    Description = "ChargeDescription",
    Tags = "Tags",
    ResourceId = "ResourceId",
    ResourceName = "ResourceName",
    ResourceType = "ResourceType",
    Region = "RegionId",
    Provider = "ProviderName",
    ServiceProvider = "ServiceProviderName",
}

/// What the header lacks. Where it is the header of another dataset, that is the one thing said.
pub(super) fn missing(names: &[&str], has: impl Fn(&str) -> bool) -> Vec<RowError> {
    let mut missing: Vec<&'static str> = MANDATORY.into_iter().filter(|column| !has(column)).collect();
    if !has("ProviderName") && !has("ServiceProviderName") {
        missing.push(if has("HostProviderName") { "ServiceProviderName" } else { "ProviderName" });
    }
    if missing.is_empty() {
        return Vec::new();
    }
    if let Some((column, dataset)) = OTHER_DATASETS.into_iter().find(|(column, _)| has(column)) {
        return vec![RowError::new(1, column, column, Message::new("focus-other-dataset").with("dataset", dataset))];
    }
    if missing.len() > MANDATORY.len() {
        return vec![RowError::new(1, "", &names.join(","), Message::new("focus-no-header"))];
    }
    let error = |column| RowError::new(1, column, "", Message::new("focus-column-missing").with("column", column));
    missing.into_iter().map(error).collect()
}
