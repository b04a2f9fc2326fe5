//! The columns of the file, and every heading that is taken for one of them.

use crate::locale::Locale;

/// A column of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the contract says what each holds")]
pub enum Column {
    Project,
    Name,
    Provider,
    Tier,
    Scenario,
    Owner,
    Checker,
    StartsOn,
    EndsOn,
    Cycle,
    Renewal,
    Notice,
    Quantity,
    Price,
    Currency,
    Labels,
    Status,
    Priority,
    Watchers,
    Steps,
}

impl Column {
    /// All of them, in the order of the file.
    pub const ALL: [Self; 20] = [
        Self::Project,
        Self::Name,
        Self::Provider,
        Self::Tier,
        Self::Scenario,
        Self::Owner,
        Self::Checker,
        Self::StartsOn,
        Self::EndsOn,
        Self::Cycle,
        Self::Renewal,
        Self::Notice,
        Self::Quantity,
        Self::Price,
        Self::Currency,
        Self::Labels,
        Self::Status,
        Self::Priority,
        Self::Watchers,
        Self::Steps,
    ];

    /// Those without which there is no environment.
    pub const REQUIRED: [Self; 5] = [Self::Project, Self::Name, Self::Provider, Self::Tier, Self::StartsOn];

    /// The name in the file for programs; also the name of the form's field.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Name => "name",
            Self::Provider => "provider",
            Self::Tier => "tier",
            Self::Scenario => "scenario",
            Self::Owner => "owner",
            Self::Checker => "checker",
            Self::StartsOn => "starts_on",
            Self::EndsOn => "ends_on",
            Self::Cycle => "cycle",
            Self::Renewal => "renewal",
            Self::Notice => "notice",
            Self::Quantity => "quantity",
            Self::Price => "price",
            Self::Currency => "currency",
            Self::Labels => "labels",
            Self::Status => "status",
            Self::Priority => "priority",
            Self::Watchers => "watchers",
            Self::Steps => "steps",
        }
    }

    /// Its name in both languages, for who has to write the heading.
    pub fn both_names(self) -> String {
        format!("{} / {}", self.name(), self.chinese()[0])
    }

    /// The Chinese headings: the contract's first, then the pages' own words.
    const fn chinese(self) -> &'static [&'static str] {
        match self {
            Self::Project => &["项目"],
            Self::Name => &["名称", "环境"],
            Self::Provider => &["服务商"],
            Self::Tier => &["档位"],
            Self::Scenario => &["场景"],
            Self::Owner => &["负责人"],
            Self::Checker => &["核对人", "复核人"],
            Self::StartsOn => &["开始日"],
            Self::EndsOn => &["结束日", "到期日"],
            Self::Cycle => &["周期"],
            Self::Renewal => &["续租", "续费"],
            Self::Notice => &["提前通知"],
            Self::Quantity => &["数量"],
            Self::Price => &["单价"],
            Self::Currency => &["币种"],
            Self::Labels => &["标签"],
            Self::Status => &["状态"],
            Self::Priority => &["优先级"],
            Self::Watchers => &["抄送人"],
            Self::Steps => &["提醒天数"],
        }
    }

    /// What a choice calls it.
    pub const fn label(self, locale: Locale) -> &'static str {
        match locale {
            Locale::ZhCn => self.chinese()[0],
            Locale::En => self.name(),
        }
    }

    /// Whether the column says something of the term; else of the environment, and all rows of one must agree.
    pub const fn is_of_term(self) -> bool {
        matches!(
            self,
            Self::StartsOn
                | Self::EndsOn
                | Self::Cycle
                | Self::Renewal
                | Self::Notice
                | Self::Quantity
                | Self::Price
                | Self::Currency
        )
    }

    /// The column of a heading: `starts_on`, `Starts on`, 开始日.
    pub fn find(heading: &str) -> Option<Self> {
        let heading = heading.trim();
        let name = heading.to_lowercase().replace([' ', '-'], "_");
        Self::ALL.into_iter().find(|column| column.name() == name || column.chinese().contains(&heading))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_heading_of_the_contract_finds_its_column() {
        let english = "project,name,provider,tier,scenario,owner,checker,starts_on,ends_on,cycle,renewal,notice,quantity,\
                       price,currency,labels,status,priority,watchers,steps";
        let chinese = "项目,名称,服务商,档位,场景,负责人,核对人,开始日,结束日,周期,续租,提前通知,数量,单价,币种,标签,状态,\
                       优先级,抄送人,提醒天数";
        for headings in [english, chinese] {
            let found: Vec<_> = headings.split(',').map(Column::find).collect();
            assert_eq!(found, Column::ALL.map(Some));
        }
        for (heading, column) in [
            ("复核人", Column::Checker),
            ("续费", Column::Renewal),
            ("到期日", Column::EndsOn),
            (" Starts on ", Column::StartsOn),
        ] {
            assert_eq!(Column::find(heading), Some(column));
        }
        assert_eq!(Column::find("金额"), None);
    }
}
