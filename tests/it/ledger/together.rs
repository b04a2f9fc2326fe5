//! What happens when an import and people write the same sums at the same time.

use std::time::Duration;

use rentroll::environments::environment::Environment;
use rentroll::error::Error;
use rentroll::ids::SpendId;
use rentroll::ledger::binding::{self, NewBinding};
use rentroll::ledger::charge::Category;
use rentroll::ledger::filter::SpendFilter;
use rentroll::ledger::spend::{self, NewSpend};
use rust_decimal::Decimal;
use sqlx::{Executor as _, PgConnection};

use super::{BillLine, assert_sums, bill, bill_line, day, entries, import, number, sums};
use crate::harness::TestApp;

const ROUNDS: u32 = 12;

/// An entry of the provider that sends the bills, in the same month and currency.
fn entry(of: &Environment, category: Category, billed: &str) -> NewSpend {
    let (on, zone) = (day("2026-03-05"), rentroll::dates::Zone::default());
    let new = NewSpend::of_days(of.id, on, on, number(billed), "USD".parse().unwrap(), zone);
    NewSpend { category, ..new }
}

/// Each round a bill of 3 USD with lines of both categories, so that it writes two cells of the month.
async fn import_bills(app: &TestApp) {
    for round in 0..ROUNDS {
        let of = |category, hour: u32, billed| {
            let start = format!("2026-03-05T{hour:02}:{round:02}:00Z");
            BillLine { category, ..bill_line("i-1", &start, billed) }
        };
        import(app, bill(&[of("Usage", 1, "5"), of("Credit", 2, "-2")])).await;
    }
}

/// Corrects an entry; gives the new one. A page that waited long for an import says so, and its reader tries again.
async fn correct(app: &TestApp, id: SpendId, new: &NewSpend) -> SpendId {
    loop {
        let mut tx = app.write().await;
        match spend::correct(&mut tx, id, new.clone()).await {
            Ok(spend) => {
                tx.commit().await.unwrap();
                return spend.id;
            }
            Err(Error::Conflict(message)) if message.key == "error-provider-busy" => {}
            Err(error) => panic!("a correction beside an import: {error}"),
        }
    }
}

/// Each round an entry of 7 USD goes from one category to the other, against the order in which an import writes their sums and
/// along it; then the newest line of the bills that is in force is corrected to nothing. Gives what those lines were worth.
async fn correct_entries(app: &TestApp, environment: &Environment) -> Decimal {
    let mut tx = app.write().await;
    let mut last = spend::record(&mut tx, entry(environment, Category::Usage, "7")).await.unwrap().id;
    tx.commit().await.unwrap();
    let mut corrected = Decimal::ZERO;
    for round in 0..ROUNDS {
        let category = if round % 2 == 0 { Category::Credit } else { Category::Usage };
        last = correct(app, last, &entry(environment, category, "7")).await;
        let rows = entries(app, &SpendFilter::default()).await;
        if let Some(line) = rows.iter().find(|row| row.import_id.is_some() && row.reversed_by.is_none()) {
            correct(app, line.id, &entry(environment, line.category, "0")).await;
            corrected += line.billed.unwrap();
        }
    }
    corrected
}

/// An environment to which the bills' resource is bound, with one line of 1 USD.
async fn story() -> (TestApp, Environment) {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    import(&app, bill(&[bill_line("i-1", "2026-03-04T00:00:00Z", "1")])).await;
    let resource = entries(&app, &SpendFilter::default()).await[0].resource_id.unwrap();
    let mut tx = app.write().await;
    let starts_on = day("2026-03-01");
    let new = NewBinding { resource, environment: environment.id, starts_on, ends_on: None };
    binding::bind(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
    (app, environment)
}

/// What would wait for ever fails instead, and says what did not come.
async fn in_time<T>(what: &str, story: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(2), Box::pin(story))
        .await
        .unwrap_or_else(|_| panic!("two minutes were too short: {what}"))
}

/// Waits until so many transactions of this test wait for locks.
async fn until_waiting(superuser: &mut PgConnection, count: i64) {
    let waiting =
        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    while sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut *superuser).await.unwrap() < count {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn imports_and_corrections_of_one_provider_never_block_each_other() {
    let (app, environment) = story().await;
    let story = async { tokio::join!(import_bills(&app), correct_entries(&app, &environment)) };
    let ((), corrected) = in_time("imports and corrections side by side", story).await;
    let total = Decimal::from(1 + 7 + 3 * ROUNDS) - corrected;
    assert_eq!(sums(&app, &SpendFilter::default()).await, [format!("USD {}", total.normalize())]);
    assert_sums(&app).await;
}

// The worst moment on purpose: an import begins while a correction has taken its entry back and not yet recorded the new one,
// whose sum the import writes before the other.
#[tokio::test]
async fn an_import_that_meets_a_correction_halfway_waits_for_it() {
    let (app, environment) = story().await;
    let mut tx = app.write().await;
    let wrong = spend::record(&mut tx, entry(&environment, Category::Usage, "7")).await.unwrap();
    tx.commit().await.unwrap();
    let mut superuser = app.database.superuser().await;
    let hold = "create function hold() returns trigger language plpgsql as
                    'begin perform pg_advisory_xact_lock(4711); return new; end';
                create trigger hold before insert on spend for each row when (new.corrects_id is not null)
                    execute function hold();
                select pg_advisory_lock(4711)";
    superuser.execute(hold).await.unwrap();

    let correction = async {
        let mut tx = app.write().await;
        tx.connection().execute("set local lock_timeout = '1min'").await.unwrap();
        spend::correct(&mut tx, wrong.id, entry(&environment, Category::Credit, "-7")).await.unwrap();
        tx.commit().await.unwrap();
    };
    let credit = BillLine { category: "Credit", ..bill_line("i-1", "2026-03-05T01:00:00Z", "-2") };
    let text = bill(&[bill_line("i-1", "2026-03-05T00:00:00Z", "5"), credit]);
    let importing = async {
        until_waiting(&mut app.database.superuser().await, 1).await;
        import(&app, text).await
    };
    let release = async {
        until_waiting(&mut superuser, 2).await;
        superuser.execute("select pg_advisory_unlock(4711)").await.unwrap();
    };
    let story = async { tokio::join!(correction, importing, release) };
    let ((), summary, ()) = Box::pin(in_time("an import that waits for a correction", story)).await;
    assert_eq!((summary.rows_new, summary.errors.listed), (2, vec![]));
    assert_eq!(sums(&app, &SpendFilter::default()).await, ["USD -3"]);
    assert_sums(&app).await;
}
