//! An edit that started from a version which is not the present one any more: both are shown, nothing is lost.

use crate::web::forms::Fields;

/// Both versions of what was edited, where they differ.
#[derive(Debug, Clone)]
pub struct Stale {
    /// Who changed it in between.
    pub who: String,
    /// The fields that differ.
    pub differences: Vec<Difference>,
}

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The key of the field's label.
    pub label: &'static str,
    /// What the ledger has now.
    pub present: String,
    /// What the person typed.
    pub typed: String,
}

impl Stale {
    /// Compares what the ledger has now with what was typed, field by field: `(name, label)`.
    pub fn new(who: String, present: &Fields, typed: &Fields, fields: &[(&str, &'static str)]) -> Self {
        let differs = |name: &str| present.get(name).trim() != typed.get(name).trim();
        let differences = fields.iter().filter(|(name, _)| differs(name)).map(|(name, label)| Difference {
            label,
            present: present.get(name).to_owned(),
            typed: typed.get(name).to_owned(),
        });
        Self { who, differences: differences.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        let present = Fields::new().with("name", "a").with("note", "x");
        let typed = Fields::new().with("name", "a ").with("note", "y");
        let stale = Stale::new("陈白露".to_owned(), &present, &typed, &[("name", "l-name"), ("note", "l-note")]);
        let difference = Difference { label: "l-note", present: "x".to_owned(), typed: "y".to_owned() };
        assert_eq!(stale.differences, [difference]);
    }
}
