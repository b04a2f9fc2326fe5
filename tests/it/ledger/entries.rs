//! Entries that people record, correct and void, and what they add up to.

use chrono::{DateTime, Utc};
use rentroll::actor::ProjectRole;
use rentroll::environments::environment::Environment;
use rentroll::error::Error;
use rentroll::ids::SpendId;
use rentroll::ledger::charge::{Category, CostKind};
use rentroll::ledger::exchange_rate::{self, NewRate};
use rentroll::ledger::filter::{Chosen, SpendFilter};
use rentroll::ledger::spend::{self, NewSpend, Spend};

use super::{assert_sums, day, entries, member, number, period, sums, totals};
use crate::harness::TestApp;

fn instant(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// An entry of one day.
fn entry(of: &Environment, on: &str, billed: &str, currency: &str) -> NewSpend {
    let zone = rentroll::dates::Zone::default();
    NewSpend::of_days(of.id, day(on), day(on), number(billed), currency.parse().unwrap(), zone)
}

async fn record(app: &TestApp, new: NewSpend) -> Spend {
    let mut tx = app.write().await;
    let spend = spend::record(&mut tx, new).await.unwrap();
    tx.commit().await.unwrap();
    spend
}

async fn add_rate(app: &TestApp, base: &str, quote: &str, on: &str, rate: &str) {
    let mut tx = app.write().await;
    let new =
        NewRate { base: base.parse().unwrap(), quote: quote.parse().unwrap(), rated_on: day(on), rate: number(rate) };
    exchange_rate::add(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
}

fn filter(key: &str, value: &str) -> SpendFilter {
    rentroll::web::query::from_pairs(vec![(key.to_owned(), value.to_owned())]).unwrap()
}

/// What is shown under the list: each currency with its converted sum, the house total, what has no rate.
async fn house(app: &TestApp, filter: &SpendFilter) -> (Vec<String>, Option<String>, Vec<String>) {
    let totals = totals(app, filter).await;
    let converted = totals.currencies.iter().map(|it| {
        let converted = it.converted.as_ref().map_or("no rate".to_owned(), |it| it.billed.plain());
        format!("{} {} = {converted}", it.currency, it.billed)
    });
    (
        converted.collect(),
        totals.total.as_ref().map(|total| totals.in_house(&total.billed)),
        totals
            .unconverted
            .iter()
            .map(|it| format!("{} {} on {} days from {}", it.currency, it.billed, it.days, it.first))
            .collect(),
    )
}

// case M14: the last minute of a month belongs to it, the first of the next does not.
#[tokio::test]
async fn the_month_of_an_entry_is_that_of_its_day_in_the_organisations_zone() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    for (start, billed) in [("2026-01-31T15:59:00Z", "1"), ("2026-01-31T16:00:00Z", "2")] {
        let new = NewSpend {
            charge_start: instant(start),
            charge_end: instant("2026-02-28T16:00:00Z"),
            ..entry(&environment, "2026-01-31", billed, "CNY")
        };
        record(&app, new).await;
    }
    assert_eq!(sums(&app, &filter("period", "2026-01")).await, ["CNY 1"]);
    assert_eq!(sums(&app, &filter("period", "2026-02")).await, ["CNY 2"]);
    assert_eq!(sums(&app, &filter("to", "2026-02")).await, ["CNY 3"]);
    let last = record(&app, entry(&environment, "2026-02-28", "4", "CNY")).await;
    assert_eq!(last.period, period("2026-02"));
    assert_eq!(last.charge_end, instant("2026-02-28T16:00:00Z"), "the last day is included");
    assert_eq!(last.class, None, "a hand entry of the month is no correction of an earlier one");
    assert_sums(&app).await;
}

// case M01, case M02: two currencies are two sums; a total only at rates, the rest is listed.
#[tokio::test]
async fn currencies_never_add_up_without_a_rate() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    record(&app, entry(&environment, "2026-03-02", "100", "USD")).await;
    record(&app, entry(&environment, "2026-03-02", "700", "CNY")).await;
    record(&app, entry(&environment, "2026-03-03", "5", "SGD")).await;
    let all = SpendFilter::default();
    assert_eq!(sums(&app, &all).await, ["CNY 700", "SGD 5", "USD 100"]);
    let (shown, total, unconverted) = house(&app, &all).await;
    assert_eq!(shown, ["CNY 700 = 700", "SGD 5 = no rate", "USD 100 = no rate"]);
    assert_eq!(total.as_deref(), Some("700.00"));
    assert_eq!(unconverted, ["SGD 5 on 1 days from 2026-03-03", "USD 100 on 1 days from 2026-03-02"]);

    add_rate(&app, "USD", "CNY", "2026-02-27", "7.2").await;
    for filter in [all, filter("environment", &environment.id.to_string()), filter("project", "竹简大模型")] {
        let (shown, total, unconverted) = house(&app, &filter).await;
        assert_eq!(shown, ["CNY 700 = 700", "SGD 5 = no rate", "USD 100 = 720"]);
        assert_eq!(total.as_deref(), Some("1,420.00"));
        assert_eq!(unconverted, ["SGD 5 on 1 days from 2026-03-03"]);
    }
}

// case M06, case M03: each day has its rate; the total is the sum of what is shown.
#[tokio::test]
async fn back_dated_entries_take_the_rate_of_their_day() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    add_rate(&app, "EUR", "CNY", "2026-01-05", "8").await;
    add_rate(&app, "EUR", "USD", "2026-01-05", "1.25").await;
    add_rate(&app, "USD", "CNY", "2026-02-02", "7").await;
    for (on, billed) in [("2026-01-04", "1"), ("2026-01-05", "10"), ("2026-02-01", "10"), ("2026-02-02", "10.005")] {
        record(&app, entry(&environment, on, billed, "USD")).await;
    }
    record(&app, entry(&environment, "2026-01-07", "3", "EUR")).await;
    let (shown, total, unconverted) = house(&app, &SpendFilter::default()).await;
    // 10 × 8 / 1.25 twice through the euro, then 10.005 × 7 = 70.035, which rounds half up.
    assert_eq!(shown, ["EUR 3 = 24", "USD 31.005 = 198.04"]);
    assert_eq!(total.as_deref(), Some("222.04"));
    assert_eq!(unconverted, ["USD 1 on 1 days from 2026-01-04"]);
}

// case M04, case M10, case M11: small and large amounts are kept digit by digit.
#[tokio::test]
async fn amounts_keep_every_digit() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    for (billed, currency) in [("500", "JPY"), ("0.1", "CNY"), ("0.2", "CNY"), ("0.005", "CNY"), ("1.2345", "KWD")] {
        record(&app, entry(&environment, "2026-03-02", billed, currency)).await;
    }
    record(&app, entry(&environment, "2026-03-03", "99999999999.99", "USD")).await;
    record(&app, entry(&environment, "2026-03-03", "99999999999.99", "USD")).await;
    record(&app, entry(&environment, "2026-03-03", "0.000125", "USD")).await;
    let totals = totals(&app, &SpendFilter::default()).await;
    let shown: Vec<String> =
        totals.currencies.iter().map(|it| format!("{} {}", it.currency, it.shown(&it.billed))).collect();
    assert_eq!(shown, ["CNY 0.305", "JPY 500", "KWD 1.2345", "USD 199,999,999,999.980125"]);
    assert_sums(&app).await;
}

// case I18: a refund is negative, and can be edited like anything else.
#[tokio::test]
async fn a_refund_is_corrected_like_any_entry() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    record(&app, entry(&environment, "2026-03-02", "200", "CNY")).await;
    let refund = NewSpend { category: Category::Credit, ..entry(&environment, "2026-03-05", "-196.84", "CNY") };
    let wrong = record(&app, refund.clone()).await;
    let (charge_start, charge_end) = (instant("2026-02-03T16:00:00Z"), instant("2026-02-04T16:00:00Z"));
    let mut tx = app.write().await;
    let right = spend::correct(&mut tx, wrong.id, NewSpend { charge_start, charge_end, ..refund }).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!((right.period, right.billed), (period("2026-02"), Some(number("-196.84"))));
    assert_eq!(sums(&app, &filter("period", "2026-03")).await, ["CNY 200"]);
    assert_eq!(sums(&app, &filter("period", "2026-02")).await, ["CNY -196.84"]);
    // The first one is still there, and the one that takes it back, in the month of the first.
    let march: Vec<_> = entries(&app, &filter("period", "2026-03")).await.iter().map(|it| it.billed.unwrap()).collect();
    assert_eq!(march, [number("196.84"), number("-196.84"), number("200")]);
    assert_sums(&app).await;
}

#[tokio::test]
async fn an_entry_is_taken_back_once() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    let spend =
        record(&app, NewSpend { cost_kind: Some(CostKind::Power), ..entry(&environment, "2026-03-02", "8", "CNY") })
            .await;
    let mut tx = app.app.write(&app.operator().because("记错了项目")).await.unwrap();
    let reversal = spend::void(&mut tx, spend.id).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(
        (reversal.billed, reversal.reverses_id, reversal.cost_kind),
        (Some(number("-8")), Some(spend.id), Some(CostKind::Power))
    );
    assert_eq!(sums(&app, &SpendFilter::default()).await, ["CNY 0"]);
    let mut read = app.read().await;
    assert_eq!(spend::get(read.connection(), spend.id).await.unwrap().reversed_by, Some(reversal.id));
    drop(read);

    for again in [spend.id, reversal.id] {
        let mut tx = app.write().await;
        let refused = spend::void(&mut tx, again).await;
        assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    }
    let mut tx = app.write().await;
    assert!(matches!(
        spend::correct(&mut tx, spend.id, entry(&environment, "2026-03-02", "9", "CNY")).await,
        Err(Error::Conflict(_))
    ));
    drop(tx);
    let history = app.history().await;
    let acts: Vec<_> =
        history.iter().filter(|it| it.object_kind == "spend").map(|it| (it.action.as_str(), it.object_id)).collect();
    assert_eq!(acts, [("spend.reversed", Some(spend.id.0)), ("spend.recorded", Some(spend.id.0))]);
    assert_eq!(history[0].reason.as_deref(), Some("记错了项目"));
    assert_sums(&app).await;
}

// Two people correct the same entry at once: one of them is told.
#[tokio::test]
async fn two_corrections_at_once_are_one() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    let spend = record(&app, entry(&environment, "2026-03-02", "8", "CNY")).await;
    let mut one = app.write().await;
    spend::void(&mut one, spend.id).await.unwrap();
    let mut two = app.write().await;
    let (second, ()) = tokio::join!(spend::void(&mut two, spend.id), async { one.commit().await.unwrap() });
    assert!(matches!(second, Err(Error::Conflict(_))), "{second:?}");
    assert_sums(&app).await;
}

// check C30: another project's entries look like ones that do not exist.
#[tokio::test]
async fn entries_are_seen_and_written_only_in_ones_own_project() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    let spend = record(&app, entry(&environment, "2026-03-02", "8", "USD")).await;
    let stranger = member(rentroll::ids::ProjectId(environment.project_id.0 + 1), ProjectRole::Manager);
    let viewer = member(environment.project_id, ProjectRole::Viewer);
    let operator = member(environment.project_id, ProjectRole::Operator);

    let mut read = app.app.read(&stranger).await.unwrap();
    assert!(matches!(spend::get(read.connection(), spend.id).await, Err(Error::NotFound)));
    let chosen = Chosen::default();
    assert_eq!(rentroll::ledger::spend_list::list(&mut read, &chosen).await.unwrap().rows, []);
    assert_eq!(rentroll::ledger::total::of(&mut read, &chosen).await.unwrap().currencies, []);
    let named = filter("environment", &environment.id.to_string());
    assert!(matches!(rentroll::ledger::filter::Chosen::of(&mut read, &named).await, Err(Error::Invalid(_))));
    drop(read);
    let mut tx = app.app.write(&stranger).await.unwrap();
    assert!(matches!(spend::void(&mut tx, spend.id).await, Err(Error::NotFound)));
    drop(tx);

    let mut read = app.app.read(&viewer).await.unwrap();
    assert_eq!(rentroll::ledger::spend_list::list(&mut read, &chosen).await.unwrap().rows.len(), 1);
    let seen = rentroll::ledger::total::of(&mut read, &chosen).await.unwrap();
    assert_eq!(seen.currencies[0].billed.plain(), "8");
    drop(read);
    let mut tx = app.app.write(&viewer).await.unwrap();
    assert!(matches!(spend::void(&mut tx, spend.id).await, Err(Error::Forbidden(_))));
    drop(tx);

    // An operator of the one project adds to sums over all projects without being able to read them.
    let mut tx = app.app.write(&operator).await.unwrap();
    spend::correct(&mut tx, spend.id, entry(&environment, "2026-03-02", "9", "USD")).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(sums(&app, &SpendFilter::default()).await, ["USD 9"]);
    assert_sums(&app).await;
}

// case X10 (sums and counts of the list and the totals agree), and paging by key.
#[tokio::test]
async fn pages_follow_one_another_without_a_gap_or_a_double() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    let mut tx = app.write().await;
    for n in 0..120 {
        let on = format!("2026-0{}-1{}", 1 + n % 3, n % 10);
        spend::record(&mut tx, entry(&environment, &on, "1", "CNY")).await.unwrap();
    }
    tx.commit().await.unwrap();
    for start in
        [SpendFilter::default(), filter("project", "竹简大模型"), filter("environment", &environment.id.to_string())]
    {
        let (mut seen, mut filter): (Vec<SpendId>, _) = (Vec::new(), start);
        for rows in [50, 50, 20] {
            let page = entries(&app, &filter).await;
            assert_eq!(page.len(), rows);
            filter.before = page.last().map(rentroll::ledger::spend_list::SpendRow::key);
            seen.extend(page.iter().map(|row| row.id));
        }
        let distinct: std::collections::BTreeSet<_> = seen.iter().collect();
        assert_eq!(distinct.len(), 120);
    }
    assert_eq!(totals(&app, &SpendFilter::default()).await.lines(), 120);
}

#[test]
fn what_a_person_types_is_read_field_by_field() {
    let zone = rentroll::dates::Zone::default();
    let read = |changes: &[(&str, &'static str)]| {
        let mut fields = std::collections::BTreeMap::from([
            ("environment", "7"),
            ("category", "usage"),
            ("charged_on", "2026-03-30"),
            ("billed", "12.50"),
            ("currency", "CNY"),
        ]);
        fields.extend(changes.iter().copied());
        let fields: std::collections::BTreeMap<String, &'static str> =
            fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        NewSpend::parse(&|name| fields.get(name).copied().unwrap_or_default(), zone).map_err(|errors| {
            errors.0.into_iter().map(|error| (error.field.into_owned(), error.message.key)).collect::<Vec<_>>()
        })
    };
    let good = read(&[("charged_until", "2026-03-31"), ("tax_rate", "6%")]).unwrap();
    assert_eq!(
        (good.charge_start, good.charge_end),
        (instant("2026-03-29T16:00:00Z"), instant("2026-03-31T16:00:00Z"))
    );
    assert_eq!(
        (good.list, good.effective, good.tax_rate),
        (None, None, Some(number("0.06"))),
        "what is not said is unknown"
    );
    let wrong = |field: &str, key| vec![(field.to_owned(), key)];
    // case M10
    assert_eq!(read(&[("billed", "100000000000")]).unwrap_err(), wrong("billed", "error-amount-limit"));
    assert_eq!(read(&[("billed", "")]).unwrap_err(), wrong("billed", "error-spend-amount"));
    // case I16
    assert_eq!(read(&[("description", "A\0B")]).unwrap_err(), wrong("description", "error-text-nul"));
    assert_eq!(read(&[("charged_until", "2026-03-29")]).unwrap_err(), wrong("charged_until", "error-spend-days"));
    assert_eq!(read(&[("environment", ""), ("category", "x")]).unwrap_err().len(), 2);
}

#[tokio::test]
async fn nothing_is_booked_on_an_environment_that_was_voided() {
    let app = TestApp::new().await;
    let opened = app.open_environment("opened by mistake", "2026-01-01", Some("2026-12-31")).await;
    let mut tx = app.write().await;
    rentroll::environments::environment::void(&mut tx, opened.id, opened.version).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = app.write().await;
    let refused = spend::record(&mut tx, entry(&opened, "2026-03-10", "10", "CNY")).await;
    assert!(matches!(refused, Err(Error::Invalid(errors)) if errors.0[0].field == "environment"));
}
