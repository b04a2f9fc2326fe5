//! Resources find their environment, and their lines with their sums follow.

use std::collections::BTreeMap;

use rentroll::actor::{Actor, ProjectRole, Role, Scope};
use rentroll::environments::environment::Environment;
use rentroll::error::Error;
use rentroll::ids::ResourceId;
use rentroll::ledger::binding::{self, Binding, NewBinding};
use rentroll::ledger::filter::SpendFilter;
use rentroll::ledger::resource::{ResourceFilter, Unplaced};
use rentroll::ledger::{resource, spend};

use super::pages::csv_rows;
use super::{BillLine, assert_sums, bill, bill_line, day, entries, import, member, number, sums, unplaced};
use crate::harness::TestApp;

/// Ten days of two machines, and both environments that they may belong to.
async fn story() -> (TestApp, Environment, Environment, ResourceId) {
    let app = TestApp::new().await;
    let one = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    let two = app.open_environment("竹简-评测", "2026-01-01", None).await;
    let mut lines = Vec::new();
    for n in 10..20 {
        lines.push(bill_line("i-1", &format!("2026-03-{n}T00:00:00Z"), "1"));
        lines.push(bill_line("i-2", &format!("2026-03-{n}T00:00:00Z"), "10"));
    }
    import(&app, bill(&lines)).await;
    let mut read = app.read().await;
    let (list, _) = resource::unplaced(&mut read, &ResourceFilter::default()).await.unwrap();
    let id = list.iter().map(Unplaced::resource).find(|row| row.external_id == "i-1").unwrap().id;
    (app, one, two, id)
}

async fn bind(app: &TestApp, resource: ResourceId, to: &Environment, from: &str, until: Option<&str>) -> Binding {
    let mut tx = app.write().await;
    let new = NewBinding { resource, environment: to.id, starts_on: day(from), ends_on: until.map(day) };
    let binding = binding::bind(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
    binding
}

async fn of(app: &TestApp, environment: &Environment) -> Vec<String> {
    let filter = SpendFilter { environment: Some(environment.id.to_string()), ..SpendFilter::default() };
    let shown: rust_decimal::Decimal = entries(app, &filter).await.iter().filter_map(|row| row.billed).sum();
    let sums = sums(app, &filter).await;
    assert_eq!(sums.is_empty(), shown.is_zero(), "the lines and their sum agree: {sums:?} {shown}");
    sums
}

#[tokio::test]
async fn ticked_resources_are_bound_at_once_each_from_its_first_line() {
    let (app, one, ..) = story().await;
    let browser = app.sign_in(Role::Administrator).await;
    let (list, action) = ("/ledger/unplaced?sort=largest", "/ledger/unplaced/bindings");
    let environment = one.id.to_string();
    let form = browser.get(list).await.form(action).1;
    let typed = [("submit_id", form["submit_id"].as_str()), ("environment", &environment), ("back", &form["back"])];
    let none = browser.post(action, &typed).await;
    assert_eq!(none.status, axum::http::StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(none.form(action).1["back"], list, "the list as it was");
    assert_eq!(none.texts(".form-errors p").last().unwrap(), "至少勾选一个资源。");

    let page = browser.get(list).await;
    let (names, days) = (page.attributes("input[form=assign]", "name"), page.attributes("input[form=assign]", "value"));
    assert_eq!(days, ["2026-03-10", "2026-03-10"]);
    let form = page.form(action).1;
    let typed = [
        (names[0].as_str(), days[0].as_str()),
        (&names[1], &days[1]),
        ("environment", &environment),
        ("submit_id", &form["submit_id"]),
        ("back", &form["back"]),
    ];
    let bound = browser.post(action, &typed).await;
    assert_eq!(bound.location(), list, "back to where it was ticked");
    assert!(unplaced(&app).await.is_empty());
    assert_eq!(of(&app, &one).await, ["USD 110"]);
    let entries: Vec<_> = app.history().await.into_iter().filter(|entry| entry.action == "resource.bound").collect();
    assert_eq!(entries.len(), 2, "an entry each");
    assert_eq!(entries[0].request_id, entries[1].request_id, "of one request");
    assert_sums(&app).await;
}

#[tokio::test]
async fn a_binding_moves_past_lines_and_places_later_ones() {
    let (app, one, two, machine) = story().await;
    assert_eq!(unplaced(&app).await.len(), 2);
    let first = bind(&app, machine, &one, "2026-03-10", Some("2026-03-14")).await;
    bind(&app, machine, &two, "2026-03-15", None).await;
    assert_eq!((of(&app, &one).await, of(&app, &two).await), (vec!["USD 5".to_owned()], vec!["USD 5".to_owned()]));
    assert_eq!(unplaced(&app).await, [("i-2".to_owned(), "USD".to_owned(), 10, "100".to_owned())]);
    assert_sums(&app).await;

    // The next bill finds its place at once.
    import(&app, bill(&[bill_line("i-1", "2026-03-25T00:00:00Z", "3"), bill_line("i-1", "2026-03-12T00:00:00Z", "4")]))
        .await;
    assert_eq!((of(&app, &one).await, of(&app, &two).await), (vec!["USD 9".to_owned()], vec!["USD 8".to_owned()]));
    assert_sums(&app).await;

    let mut tx = app.write().await;
    binding::unbind(&mut tx, first.id, first.version).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(of(&app, &one).await, Vec::<String>::new());
    assert_eq!(unplaced(&app).await[1], ("i-1".to_owned(), "USD".to_owned(), 6, "9".to_owned()));
    // Its days are free again.
    bind(&app, machine, &two, "2026-03-01", Some("2026-03-14")).await;
    assert_eq!(of(&app, &two).await, ["USD 17"]);
    assert_sums(&app).await;
    let acts: Vec<String> = app.actions().await.into_iter().filter(|act| act.starts_with("resource.")).collect();
    assert_eq!(acts, ["resource.bound", "resource.bound", "resource.unbound", "resource.bound"]);
    assert_eq!(app.history().await[0].image()["count"], 6, "the entry says how many lines moved");
}

#[tokio::test]
async fn two_bindings_never_overlap_and_one_is_taken_back_once() {
    let (app, one, two, machine) = story().await;
    let binding = bind(&app, machine, &one, "2026-03-10", Some("2026-03-14")).await;
    let mut tx = app.write().await;
    let new = NewBinding { resource: machine, environment: two.id, starts_on: day("2026-03-14"), ends_on: None };
    let Err(Error::Invalid(errors)) = binding::bind(&mut tx, &new).await else { panic!("overlapping days") };
    assert_eq!((errors.0[0].field.as_ref(), errors.0[0].message.key), ("starts_on", "error-binding-overlap"));
    drop(tx);
    for (version, outcome) in [(binding.version + 1, "stale"), (binding.version, "done"), (binding.version, "stale")] {
        let mut tx = app.write().await;
        match binding::unbind(&mut tx, binding.id, version).await {
            Ok(_) => tx.commit().await.unwrap(),
            Err(Error::Conflict(_)) => assert_eq!(outcome, "stale"),
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(unplaced(&app).await.len(), 2);
    assert_sums(&app).await;
}

// A corrected line of a bill: the reversal stays beside it wherever it is bound.
#[tokio::test]
async fn a_reversal_moves_with_its_line() {
    let (app, one, two, machine) = story().await;
    let filter = SpendFilter { resource: Some("i-1".to_owned()), ..SpendFilter::default() };
    let line = entries(&app, &filter).await[0].clone();
    let mut tx = app.write().await;
    spend::void(&mut tx, line.id).await.unwrap();
    tx.commit().await.unwrap();
    let binding = bind(&app, machine, &one, "2026-03-01", None).await;
    assert_eq!(of(&app, &one).await, ["USD 9"]);
    assert_eq!((entries(&app, &filter).await.len(), sums(&app, &filter).await), (11, vec!["USD 9".to_owned()]));
    assert_sums(&app).await;
    // Who sees only the project sees that the line was taken back.
    let mut read = app.app.read(&member(one.project_id, ProjectRole::Viewer)).await.unwrap();
    assert!(spend::get(read.connection(), line.id).await.unwrap().reversed_by.is_some());
    drop(read);
    let mut tx = app.write().await;
    binding::unbind(&mut tx, binding.id, binding.version).await.unwrap();
    tx.commit().await.unwrap();
    bind(&app, machine, &two, "2026-03-01", None).await;
    assert_eq!(of(&app, &two).await, ["USD 9"]);
    assert_sums(&app).await;
    // The bill met again does not bring the voided line back.
    let again = import(&app, bill(&[bill_line("i-1", &format!("{}T00:00:00Z", line.charged_on), "1")])).await;
    assert_eq!((again.rows_new, again.rows_known, again.rows_missing), (0, 1, 19));
}

// check C30: what is unplaced is seen by those who see everything; placing wants the right in both.
#[tokio::test]
async fn the_work_list_is_for_those_who_see_everything() {
    let (app, one, _, machine) = story().await;
    let manager = member(one.project_id, ProjectRole::Manager);
    let mut read = app.app.read(&manager).await.unwrap();
    assert!(resource::unplaced(&mut read, &ResourceFilter::default()).await.unwrap().0.is_empty());
    assert!(resource::unplaced_sums(&mut read).await.unwrap().is_empty());
    assert!(matches!(resource::get(read.connection(), machine).await, Err(Error::NotFound)));
    drop(read);
    let new = NewBinding { resource: machine, environment: one.id, starts_on: day("2026-03-01"), ends_on: None };
    let mut tx = app.app.write(&manager).await.unwrap();
    assert!(matches!(binding::bind(&mut tx, &new).await, Err(Error::Forbidden(_))));
    drop(tx);
    let auditor = Actor {
        role: Role::Auditor,
        scope: Scope { all: Some(ProjectRole::Viewer), projects: BTreeMap::new() },
        ..Actor::command_line("auditor")
    };
    let mut read = app.app.read(&auditor).await.unwrap();
    assert_eq!(resource::unplaced(&mut read, &ResourceFilter::default()).await.unwrap().0.len(), 2);
    drop(read);
    let mut tx = app.app.write(&auditor).await.unwrap();
    assert!(matches!(binding::bind(&mut tx, &new).await, Err(Error::Forbidden(_))));
    drop(tx);

    let binding = bind(&app, machine, &one, "2026-03-01", None).await;
    let mut read = app.app.read(&manager).await.unwrap();
    assert_eq!(
        resource::get(read.connection(), machine).await.unwrap().external_id,
        "i-1",
        "what is bound to the project is seen"
    );
    drop(read);
    let mut tx = app.app.write(&manager).await.unwrap();
    assert!(matches!(binding::unbind(&mut tx, binding.id, binding.version).await, Err(Error::Forbidden(_))));
}

// A bill that is being booked and a binding at the same moment: every line ends where the binding says.
#[tokio::test]
async fn a_binding_beside_an_import_misses_no_line() {
    let (app, one, _, machine) = story().await;
    let more: Vec<_> = (20..30).map(|n| bill_line("i-1", &format!("2026-03-{n}T00:00:00Z"), "1")).collect();
    let (summary, binding) = tokio::join!(import(&app, bill(&more)), bind(&app, machine, &one, "2026-03-01", None));
    assert_eq!((summary.rows_new, binding.environment_id), (10, one.id));
    assert_eq!(of(&app, &one).await, ["USD 20"]);
    assert_eq!(unplaced(&app).await.len(), 1);
    assert_sums(&app).await;
}

// Many small acts in any order, and after each the sums are those of the lines.
#[tokio::test]
async fn sums_stay_those_of_the_lines_through_many_acts() {
    let (app, one, two, machine) = story().await;
    let mut bound: Vec<Binding> = Vec::new();
    // A sequence that looks random and is the same each time.
    let mut state = 20_260_316_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for step in 0..30 {
        let on = format!("2026-03-{:02}", 1 + next(28));
        let environment = if next(2) == 0 { &one } else { &two };
        let mut tx = app.write().await;
        let zone = tx.organisation().zone;
        let done = match next(5) {
            0 => {
                let new = NewBinding {
                    resource: machine,
                    environment: environment.id,
                    starts_on: day(&on),
                    ends_on: Some(day(&on)),
                };
                binding::bind(&mut tx, &new).await.map(|binding| bound.push(binding))
            }
            1 if !bound.is_empty() => {
                let binding = bound.swap_remove(usize::try_from(next(bound.len() as u64)).unwrap());
                binding::unbind(&mut tx, binding.id, binding.version).await.map(|_| ())
            }
            2 => {
                let rows = entries(&app, &SpendFilter::default()).await;
                let row = &rows[usize::try_from(next(rows.len() as u64)).unwrap()];
                spend::void(&mut tx, row.id).await.map(|_| ())
            }
            _ => {
                let amount = rust_decimal::Decimal::new(i64::try_from(next(2_000)).unwrap() - 1_000, 2);
                let new =
                    spend::NewSpend::of_days(environment.id, day(&on), day(&on), amount, "CNY".parse().unwrap(), zone);
                spend::record(&mut tx, new).await.map(|_| ())
            }
        };
        match done {
            Ok(()) => tx.commit().await.unwrap(),
            Err(Error::Conflict(_) | Error::Invalid(_)) => drop(tx),
            Err(other) => panic!("step {step}: {other}"),
        }
        assert_sums(&app).await;
    }
}

// A cell that somebody changed past the program shows.
#[tokio::test]
async fn a_sum_that_differs_from_its_lines_is_found() {
    let (app, ..) = story().await;
    let mut superuser = app.database.superuser().await;
    for sql in ["update spend_month set billed = billed + 1", "delete from spend_resource"] {
        sqlx::query(sql).execute(&mut superuser).await.unwrap();
    }
    let mut read = app.read().await;
    let found = rentroll::ledger::rollup::verify(&mut read).await.unwrap();
    let of: Vec<_> = found.iter().map(|it| (it.rollup, it.kept)).collect();
    assert_eq!(
        of,
        [("spend_month", false), ("spend_month", true), ("spend_resource", false), ("spend_resource", false)]
    );
}

// case S10: the one header that sorts: both ways, page by page, in the file too; another word is refused.
#[tokio::test]
async fn unplaced_resources_are_sorted_by_amount_currency_by_currency() {
    let app = TestApp::new().await;
    let names: Vec<&'static str> = (0..60).map(|n| &*format!("i-{n:02}").leak()).collect();
    let mut lines = Vec::new();
    for (n, name) in names.iter().enumerate() {
        let amount: &'static str = format!("{}.5", n % 20).leak();
        let line = bill_line(name, "2026-03-10T00:00:00Z", amount);
        lines.push(BillLine { currency: if n % 3 == 0 { "CNY" } else { "USD" }, ..line });
    }
    lines.push(BillLine { category: "Credit", ..bill_line("i-minus", "2026-03-10T00:00:00Z", "-7") });
    import(&app, bill(&lines)).await;
    let browser = app.sign_in(Role::Administrator).await;
    for (word, sorted) in [("largest", "descending"), ("smallest", "ascending")] {
        let (mut shown, mut next) = (Vec::new(), Some(format!("/ledger/unplaced?sort={word}")));
        while let Some(address) = next {
            let page = browser.get(&address).await;
            assert_eq!(page.attributes("table.unplaced th[aria-sort]", "aria-sort"), [sorted]);
            shown.extend(page.rows("table.unplaced").iter().map(|row| (row[0].clone(), row[4].clone())));
            next = page.attributes(".pager a", "href").first().cloned();
        }
        let distinct: std::collections::BTreeSet<_> = shown.iter().map(|row| &row.0).collect();
        assert_eq!((shown.len(), distinct.len()), (61, 61), "{word}");
        let key = |row: &(String, String)| {
            let (amount, currency) = row.1.split_once(' ').unwrap();
            let amount = number(amount);
            (currency != "CNY", if word == "largest" { -amount } else { amount })
        };
        assert!(shown.windows(2).all(|pair| key(&pair[0]) <= key(&pair[1])), "{word}: {shown:?}");
        let file = csv_rows(&browser.get(&format!("/ledger/unplaced.csv?sort={word}")).await);
        let of_file: Vec<_> = file.iter().map(|row| row[3].clone()).collect();
        assert_eq!(of_file, shown.iter().map(|row| row.0.clone()).collect::<Vec<_>>());
    }
    let first = browser.get("/ledger/unplaced").await;
    let header = first.attributes("table.unplaced th a", "href");
    assert_eq!(header, ["/ledger/unplaced?sort=largest"]);
    for wrong in ["sort=colour", "sort=largest&after=x", "sort=largest&after=CNY:x:1"] {
        let answer = browser.get(&format!("/ledger/unplaced?{wrong}")).await;
        assert_eq!(answer.status, axum::http::StatusCode::UNPROCESSABLE_ENTITY, "{wrong}");
    }
}
