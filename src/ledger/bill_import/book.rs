//! The work on a bill's lines, set-wise in temporary tables that end with the transaction.

use std::collections::BTreeMap;

use serde_json::json;
use sqlx::types::Json;
use tokio::sync::mpsc;

use super::file::Fingerprint;
use super::lines::{BilledResource, Copied};
use super::{FileTotal, Summary, Unknown};
use crate::audit::{Change, Object};
use crate::dates::Period;
use crate::error::{Error, Result};
use crate::ids::{BillImportId, ProviderId};
use crate::ledger::rollup;
use crate::locale::Message;
use crate::money::{Currency, Sum};
use crate::text::{Name, name_key};
use crate::tx::Tx;

/// Makes the temporary tables, and gives the work its time. One import of a provider at a time, by its name, because the
/// provider may be new.
pub(super) async fn prepare(tx: &mut Tx, provider: &Name) -> Result<()> {
    sqlx::raw_sql(
        "set local lock_timeout = '15min'; set local idle_in_transaction_session_timeout = '15min'; set local work_mem = '64MB';
         create temp table bill_line (
             number integer, resource integer, period date, account text, sub_account text, service text, category text,
             class text, charge_start timestamptz, charge_end timestamptz, charged_on date, quantity numeric,
             unit text, list numeric, contracted numeric, billed numeric, effective numeric, currency text, description text,
             tags jsonb, row_key uuid) on commit drop;
         create temp table bill_resource (
             number integer, account text, external_id text, name text, type text, region text, sub_account text,
             service text, category text, resource_id bigint) on commit drop;
         create temp table bill_sum (
             period date, charged_on date, provider_id bigint, resource_id bigint, category text, cost_kind text,
             currency text, project_id bigint, environment_id bigint, lines bigint, list numeric, contracted numeric,
             billed numeric, effective numeric, list_unknown bigint, contracted_unknown bigint, billed_unknown bigint,
             effective_unknown bigint) on commit drop",
    )
    .execute(tx.connection())
    .await?;
    let provider = name_key(provider.as_str());
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended('bill of ' || $1::text, 0))", provider)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Copies the lines as they come.
pub(super) async fn copy_lines(tx: &mut Tx, mut chunks: mpsc::Receiver<Vec<u8>>) -> Result<()> {
    let mut copy = tx.connection().copy_in_raw("copy bill_line from stdin").await?;
    while let Some(chunk) = chunks.recv().await {
        copy.send(chunk).await?;
    }
    copy.finish().await?;
    sqlx::raw_sql("analyze bill_line (account, period, row_key, resource, charged_on)")
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// What the lines of one currency add up to, and how many do not say an amount: list, contracted, billed, effective.
type InFile = (String, Sum, Sum, Sum, i64, i64, i64, i64);

/// Adds the file's totals to the summary, and how its lines compare with the ledger; drops the known ones.
pub(super) async fn compare(tx: &mut Tx, provider: ProviderId, summary: &mut Summary) -> Result<()> {
    let totals: Vec<InFile> = sqlx::query_as(
        "select currency, coalesce(sum(billed), 0), coalesce(sum(effective), 0), coalesce(sum(list), 0),
                count(*) filter (where list is null), count(*) filter (where contracted is null),
                count(*) filter (where billed is null), count(*) filter (where effective is null)
         from bill_line group by currency",
    )
    .fetch_all(tx.connection())
    .await?;
    let count = |number: i64| u64::try_from(number).unwrap_or_default();
    for (currency, billed, effective, list, no_list, no_contracted, no_billed, no_effective) in totals {
        let currency: Currency = currency.parse().map_err(|message: Message| Error::internal(message))?;
        let total = FileTotal { billed: billed.plain(), effective: effective.plain(), list: list.plain() };
        summary.totals.insert(currency, total);
        let Unknown { list, contracted, billed, effective } = &mut summary.unknown;
        *list += count(no_list);
        *contracted += count(no_contracted);
        *billed += count(no_billed);
        *effective += count(no_effective);
    }
    let groups: Vec<(String, Period)> =
        sqlx::query_as("select account, period from bill_line group by 1, 2 order by 2, 1")
            .fetch_all(tx.connection())
            .await?;
    let (accounts, group_periods): (Vec<String>, Vec<Period>) = groups.into_iter().unzip();
    summary.periods.clone_from(&group_periods);
    summary.periods.dedup();
    let (known, known_in_force): (i64, i64) = sqlx::query_as(
        "with known as (delete from bill_line l using spend s
                        where s.period = any($1) and s.period = l.period and s.row_key = l.row_key returning s.id)
         select count(*), count(*) filter (where not exists (select from spend_reversal v where v.spend_id = known.id))
         from known",
    )
    .bind(&summary.periods)
    .fetch_one(tx.connection())
    .await?;
    let in_force: i64 = sqlx::query_scalar(
        "select count(*) from spend s join unnest($1::text[], $2::date[]) g (account, period)
             on g.account = s.account and g.period = s.period
         where s.period = any($3) and s.provider_id = $4 and s.row_key is not null
           and not exists (select from spend_reversal v where v.spend_id = s.id)",
    )
    .bind(&accounts)
    .bind(&group_periods)
    .bind(&summary.periods)
    .bind(provider.0)
    .fetch_one(tx.connection())
    .await?;
    summary.rows_known = count(known);
    summary.rows_new = summary.rows_read - summary.rows_rejected - summary.rows_known;
    summary.rows_missing = count(in_force - known_in_force);
    Ok(())
}

/// What an import's own row and its entry in the history say about the file.
pub(super) struct Facts {
    pub provider: ProviderId,
    pub provider_name: Name,
    pub file_name: String,
    pub fingerprint: Fingerprint,
    pub digest: [u8; 32],
}

/// Books the lines that are left, and records the import.
pub(super) async fn book(
    tx: &mut Tx,
    facts: &Facts,
    summary: &Summary,
    resources: &[BilledResource],
) -> Result<BillImportId> {
    find_resources(tx, facts.provider, resources).await?;
    let now = tx.now();
    let (id, first): (BillImportId, i64) =
        sqlx::query_as("select nextval('bill_import_id_seq'), nextval('spend_id')").fetch_one(tx.connection()).await?;
    sqlx::query(
        "insert into spend (period, provider_id, account, sub_account, resource_id, project_id, environment_id, service,
                            category, class, charge_start, charge_end, charged_on, quantity, unit, list, contracted,
                            billed, effective, currency, description, tags, import_id, import_row, row_key, recorded_at)
         select l.period, $1, l.account, l.sub_account, r.resource_id, b.project_id, b.environment_id, l.service, l.category,
                l.class, l.charge_start, l.charge_end, l.charged_on, l.quantity, l.unit, l.list, l.contracted,
                l.billed, l.effective, l.currency, l.description, l.tags, $2, l.number, l.row_key, $3
         from bill_line l
         join bill_resource r on r.number = l.resource
         left join binding b on b.resource_id = r.resource_id and b.withdrawn_at is null and b.starts_on <= l.charged_on
              and (b.ends_on is null or b.ends_on >= l.charged_on)
         order by l.period, l.number",
    )
    .bind(facts.provider.0)
    .bind(id)
    .bind(now)
    .execute(tx.connection())
    .await?;
    let last: i64 = sqlx::query_scalar("select currval('spend_id')").fetch_one(tx.connection()).await?;
    sqlx::query(
        "insert into bill_sum
         select period, charged_on, provider_id, resource_id, category, cost_kind, currency, project_id, environment_id,
                count(*), coalesce(sum(list), 0), coalesce(sum(contracted), 0), coalesce(sum(billed), 0),
                coalesce(sum(effective), 0), count(*) filter (where list is null),
                count(*) filter (where contracted is null), count(*) filter (where billed is null),
                count(*) filter (where effective is null)
         from spend where period = any($1) and id between $2 and $3 and import_id = $4
         group by 1, 2, 3, 4, 5, 6, 7, 8, 9",
    )
    .bind(&summary.periods)
    .bind(first)
    .bind(last)
    .bind(id)
    .execute(tx.connection())
    .await?;
    rollup::add_table(tx, "bill_sum").await?;
    record(tx, facts, summary, id, (first, last)).await?;
    Ok(id)
}

/// Finds the resources that the lines name, and adds those that no bill named before.
async fn find_resources(tx: &mut Tx, provider: ProviderId, resources: &[BilledResource]) -> Result<()> {
    let mut copy = tx
        .connection()
        .copy_in_raw("copy bill_resource (number, account, external_id, name, type, region, sub_account, service, category) from stdin")
        .await?;
    for some in resources.chunks(1_000).enumerate().map(|(i, some)| (i * 1_000, some)) {
        let mut chunk = Vec::new();
        for (i, resource) in some.1.iter().enumerate() {
            Copied(&mut chunk)
                .text(&(some.0 + i).to_string())
                .text(&resource.account)
                .text(&resource.external_id)
                .text(&resource.name)
                .text(&resource.kind)
                .text(&resource.region)
                .text(&resource.sub_account)
                .text(&resource.service)
                .text(resource.category)
                .end();
        }
        copy.send(chunk).await?;
    }
    copy.finish().await?;
    sqlx::raw_sql("analyze bill_resource (number, external_id)").execute(tx.connection()).await?;
    let now = tx.now();
    sqlx::query(
        "insert into resource (provider_id, account, external_id, name, type, region, sub_account, service, category, created_at)
         select $1, account, external_id, name, type, region, sub_account, service, category, $2
         from bill_resource b
         where exists (select from bill_line l where l.resource = b.number)
         order by number
         on conflict on constraint resource_key do nothing",
    )
    .bind(provider.0)
    .bind(now)
    .execute(tx.connection())
    .await?;
    sqlx::query(
        "update bill_resource b set resource_id = r.id from resource r
         where r.provider_id = $1 and r.account = b.account and r.external_id = b.external_id
           and r.sub_account = b.sub_account and r.service = b.service and r.category = b.category",
    )
    .bind(provider.0)
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// One row for the import and one entry of the history, whatever the number of lines.
async fn record(tx: &mut Tx, facts: &Facts, summary: &Summary, id: BillImportId, ids: (i64, i64)) -> Result<()> {
    let (now, who) = (tx.now(), tx.actor().name.clone());
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    sqlx::query!(
        "insert into bill_import (id, provider_id, file_name, file_sha256, file_bytes, format, rows_read, rows_new, rows_known,
                                  rows_missing, totals, rows_digest, periods, first_id, last_id, person_name, created_at)
         overriding system value
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
        id.0,
        facts.provider.0,
        facts.file_name,
        facts.fingerprint.sha256.as_slice(),
        number(facts.fingerprint.bytes),
        summary.format,
        number(summary.rows_read),
        number(summary.rows_new),
        number(summary.rows_known),
        number(summary.rows_missing),
        Json(&summary.totals) as _,
        facts.digest.as_slice(),
        &summary.periods as _,
        ids.0,
        ids.1,
        who,
        now,
    )
    .execute(tx.connection())
    .await?;
    let totals: &BTreeMap<Currency, FileTotal> = &summary.totals;
    let after = json!({
        "provider": facts.provider_name, "file_name": facts.file_name, "file_sha256": hex::encode(facts.fingerprint.sha256),
        "file_bytes": facts.fingerprint.bytes, "format": summary.format, "rows_read": summary.rows_read,
        "rows_new": summary.rows_new, "rows_known": summary.rows_known, "rows_missing": summary.rows_missing,
        "unknown": summary.unknown, "totals": totals, "periods": summary.periods, "rows_digest": hex::encode(facts.digest),
    });
    let object =
        Object { kind: "bill_import", id: Some(id.0), name: facts.file_name.clone(), project: None, shared: false };
    tx.record_change(Change { action: "bill.imported", object, before: None, after }).await
}
