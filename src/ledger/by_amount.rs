//! The work list of unplaced resources by amount: the largest or the smallest first, currency by currency, because amounts of
//! different currencies do not compare. The house currency comes before the others.

use rust_decimal::Decimal;

use crate::error::Result;
use crate::ids::ProviderId;
use crate::ledger::filter;
use crate::ledger::resource::{ResourceFilter, ResourceRow};
use crate::money::{self, Currency};
use crate::tx::Read;

/// By which amount the work list is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByAmount {
    /// The largest first.
    Largest,
    /// The smallest first.
    Smallest,
}

/// The place of a resource in a list by amount: that of its first currency, the house currency before others.
pub(super) fn place(rows: &[&ResourceRow], house: &Currency) -> Option<String> {
    let first = rows.iter().min_by_key(|row| (row.currency != *house, row.currency.as_str().to_owned()))?;
    Some(format!("{}:{}:{}", first.currency, first.billed.plain(), first.id))
}

fn parse_place(text: &str) -> Result<(Currency, Decimal, i64)> {
    let parts: Vec<&str> = text.split(':').collect();
    let read = || match parts[..] {
        [currency, billed, id] => Some((currency.parse().ok()?, money::parse_decimal(billed).ok()?, id.parse().ok()?)),
        _ => None,
    };
    read().ok_or_else(|| filter::unknown("after", text))
}

/// The unplaced resources by amount, each at the place of its first currency.
pub(super) async fn ids(
    read: &mut Read,
    asked: &ResourceFilter,
    order: ByAmount,
    provider: Option<ProviderId>,
    limit: i64,
) -> Result<Vec<i64>> {
    let after = asked.after.as_deref().map(parse_place).transpose()?;
    let house = read.organisation().currency.clone();
    let sign = match order {
        ByAmount::Largest => Decimal::NEGATIVE_ONE,
        ByAmount::Smallest => Decimal::ONE,
    };
    let ids = sqlx::query_scalar!(
        r#"select m.resource_id as "id!" from (
               select distinct on (m.resource_id) m.resource_id, m.currency, sum(m.billed) * $2::numeric as billed
               from spend_resource m
               where m.environment_id is null and m.lines <> 0
                 and ($3::bigint is null
                      or exists (select from resource r where r.id = m.resource_id and r.provider_id = $3))
               group by m.resource_id, m.currency order by m.resource_id, m.currency <> $1, m.currency) m
           where $4::text is null
              or (m.currency <> $1, m.currency, m.billed, -m.resource_id) > ($4 <> $1, $4, $5::numeric * $2, -$6::bigint)
           order by m.currency <> $1, m.currency, m.billed, m.resource_id desc limit $7"#,
        house.as_str(),
        sign as _,
        provider.map(|id| id.0),
        after.as_ref().map(|(currency, ..)| currency.as_str()),
        after.as_ref().map(|(_, billed, _)| *billed) as _,
        after.as_ref().map(|(.., id)| *id),
        limit,
    );
    Ok(ids.fetch_all(read.connection()).await?)
}
