//! Typed ids: a term's id cannot be passed where an environment's is wanted.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx::Type, serde::Serialize, serde::Deserialize,
        )]
        #[sqlx(transparent)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = std::num::ParseIntError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    )*};
}

ids! {
    /// Somebody named in the ledger.
    PersonId
    /// A person's log-in.
    UserId
    /// A person's right in one project.
    MembershipId
    /// A project of the organisation.
    ProjectId
    /// Who rents compute to us.
    ProviderId
    /// Somebody at a provider.
    ContactId
    /// What was agreed with a provider.
    ContractId
    /// What went wrong at a provider.
    IncidentId
    /// One offer of a provider.
    TierId
    /// A dated price of a tier.
    PriceId
    /// One rented thing.
    EnvironmentId
    /// One period of an environment's rent.
    TermId
    /// A change of an environment's quantity.
    ScaleChangeId
    /// A date with a consequence.
    DeadlineId
    /// One message due to one person.
    ReminderId
    /// What a bill line charges for.
    ResourceId
    /// Which environment a resource belongs to, from when to when.
    BindingId
    /// One line of cost.
    SpendId
    /// One line of what was produced.
    OutputId
    /// One file of bill lines, imported.
    BillImportId
    /// A dated rate between two currencies.
    ExchangeRateId
    /// One version of a file that is attached to something.
    DocumentId
    /// One recorded change.
    AuditEntryId
    /// One run of a job.
    JobRunId
}
