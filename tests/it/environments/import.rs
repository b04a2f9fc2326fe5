//! The file of environments: by command and by page.

use std::fmt::Write as _;

use futures_util::TryStreamExt as _;
use rentroll::actor::{Actor, ProjectRole, Role, Scope, Source};
use rentroll::deadline::{Closed, Kind};
use rentroll::environments::environment::{self, Status};
use rentroll::environments::import::{self, Summary};
use rentroll::environments::roll::{self, EnvironmentFilter};
use rentroll::environments::term::{self, NewTerm};
use rentroll::environments::{renewal, term_row};
use rentroll::locale::Locale;
use rentroll::table::Format;

use super::{day, deadlines};
use crate::harness::TestApp;

const FILE: &str = "\
project,name,provider,tier,scenario,owner,checker,starts_on,ends_on,cycle,renewal,notice,quantity,price,currency,labels,status,priority,watchers,steps
竹简大模型,预训练,苇塘云,H800×8,training,bailu@palmfan.example,shuang@palmfan.example,2025-03-17,2026-03-16,yearly,automatic,2 months,4,68000.50,CNY,team=llm,active,core,xiaoman@palmfan.example,30;15;0
竹简大模型,预训练,苇塘云,H800×8,training,bailu@palmfan.example,shuang@palmfan.example,2026-03-17,2027-03-16,yearly,automatic,2 months,4,61000,CNY,team=llm,active,core,xiaoman@palmfan.example,30;15;0
客服语音,微调,浮木,\"A100, 单卡\",fine_tuning,bailu@palmfan.example,,2026-01-31,2026-02-27,monthly,on_request,,1,,,,ended,normal,,
客服语音,推理,浮木,\"A100, 单卡\",,,,2026-01-01,,14 months,never,,2.5,0,USD,,active,low,,
";

async fn run_as(app: &TestApp, actor: &Actor, text: &str, dry_run: bool) -> Summary {
    let mut tx = app.app.write_bulk(&actor.clone().through(Source::Import)).await.expect("a transaction");
    let summary =
        import::run(&mut tx, &import::read(text.as_bytes()).named("环境.csv"), dry_run).await.expect("a summary");
    if summary.is_right() && !dry_run {
        tx.commit().await.expect("committed");
    }
    summary
}

async fn run(app: &TestApp, text: &str) -> Summary {
    run_as(app, &app.operator(), text, false).await
}

fn counts(summary: &Summary) -> [usize; 4] {
    [summary.rows_read, summary.rows_new, summary.rows_known, summary.rows_rejected]
}

async fn exported(app: &TestApp, format: Format) -> String {
    let read = app.read().await;
    let (locale, zone) = (read.organisation().locale, read.organisation().zone);
    let rows = term_row::batches(read, EnvironmentFilter::default());
    let chunks: Vec<_> =
        term_row::TABLE.stream_batches(format, locale, zone, rows).try_collect().await.expect("a file");
    String::from_utf8(chunks.concat()).expect("text")
}

// Two files at once: the second waits for the first, however long it takes, and is compared with what it left.
#[tokio::test]
async fn a_second_import_waits_for_the_first_and_finds_its_rows() {
    let app = TestApp::new().await;
    let mut first = app.app.write_bulk(&app.operator().through(Source::Import)).await.expect("a transaction");
    let parsed = import::read(FILE.as_bytes()).named("环境.csv");
    assert_eq!(counts(&import::run(&mut first, &parsed, false).await.expect("a summary")), [4, 4, 0, 0]);
    let finish = async {
        // Longer than a page waits for a row.
        tokio::time::sleep(std::time::Duration::from_millis(2_500)).await;
        first.commit().await.expect("committed");
    };
    let (second, ()) = tokio::join!(run(&app, FILE), finish);
    assert_eq!(counts(&second), [4, 0, 4, 0]);
    assert_eq!(app.actions().await.iter().filter(|action| *action == "environments.imported").count(), 1);
}

// case I02, case I08, case A02, case A10, case A11 (a file of many)
#[tokio::test]
async fn a_file_goes_in_once_and_every_record_has_one_entry() {
    let app = TestApp::new().await;
    let seen = run_as(&app, &app.operator(), FILE, true).await;
    assert_eq!((counts(&seen), seen.environments_new), ([4, 4, 0, 0], 3));
    assert_eq!(seen.missing.lines().len(), 2 + 2 + 2 + 3, "projects, providers, tiers, people");
    assert_eq!(app.history().await.len(), 0, "a look changes nothing");

    let summary = run(&app, &format!("\u{FEFF}{FILE}")).await;
    assert_eq!(counts(&summary), [4, 4, 0, 0]);
    let history = app.history().await;
    let count = |action: &str| history.iter().filter(|entry| entry.action == action).count();
    for (action, expected) in [
        ("project.added", 2),
        ("provider.added", 2),
        ("tier.added", 2),
        ("person.added", 3),
        ("environment.opened", 3),
        ("term.added", 4),
        ("watcher.added", 1),
        ("deadline.added", 2),
        ("environments.imported", 1),
    ] {
        assert_eq!(count(action), expected, "{action}");
    }
    assert_eq!(history.len(), 20);
    assert!(history.iter().all(|entry| entry.source == "import" && entry.actor_name == "command line (test)"));
    assert!(history.iter().all(|entry| entry.request_id == history[0].request_id), "one request");
    assert!(
        history[0].sentence(&Locale::En).contains("环境.csv: 4 new rows, 0 known"),
        "{}",
        history[0].sentence(&Locale::En)
    );

    let again = run(&app, FILE).await;
    assert_eq!(counts(&again), [4, 0, 4, 0]);
    assert_eq!(app.history().await.len(), 20, "the same file again adds nothing");
}

#[tokio::test]
async fn states_and_deadlines_follow_from_the_file() {
    let app = TestApp::new().await;
    run(&app, FILE).await;
    let mut read = app.read().await;
    let rows = roll::list(&mut read, &EnvironmentFilter::default(), 10).await.unwrap().rows;
    let [long, open, ended] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((long.name.as_str(), long.last_on), ("预训练", Some(day("2027-03-16"))));
    assert_eq!((open.name.as_str(), open.days_left, open.quantity.to_string().as_str()), ("推理", None, "2.5"));
    assert_eq!((ended.name.as_str(), ended.status, ended.ended_on), ("微调", Status::Ended, Some(day("2026-02-27"))));
    assert_eq!(
        deadlines(&app, long.id).await,
        [(Kind::CancelBy, "2027-01-16".to_owned(), None), (Kind::Expiry, "2027-03-16".to_owned(), None)],
        "only the last term of the chain"
    );
    assert_eq!(deadlines(&app, ended.id).await, []);
    let environment = environment::get(read.connection(), long.id).await.unwrap();
    assert_eq!(
        (environment.anchor_day, environment.reminder_steps.unwrap().to_string()),
        (Some(17), "30;15;0".to_owned())
    );
}

// case X13, case X01, case I15: what comes out goes back in, in the files for people too.
#[tokio::test]
async fn the_file_of_terms_goes_back_in() {
    let app = TestApp::new().await;
    // A number that can be read in two ways is asked about; our own file asks nothing.
    run(&app, &FILE.replacen("61000", "2.1250", 1)).await;
    for format in [Format::CsvPlain, Format::Csv] {
        let file = exported(&app, format).await;
        let known = run(&app, &file).await;
        assert_eq!((counts(&known), &known.errors), ([4, 0, 4, 0], &Vec::new()), "{file}");
        let other = TestApp::new().await;
        let new = run(&other, &file).await;
        assert_eq!((counts(&new), &new.errors), ([4, 4, 0, 0], &Vec::new()));
        assert_eq!(exported(&other, Format::CsvPlain).await, exported(&app, Format::CsvPlain).await);
    }
    let plain = exported(&app, Format::CsvPlain).await;
    assert!(plain.starts_with(
        "project,name,provider,tier,scenario,owner,checker,starts_on,ends_on,cycle,renewal,notice,quantity,price,currency,labels,status,priority,watchers,steps\n"
    ));
    assert!(plain.contains(",2026-01-31,2026-02-27,monthly,"), "a date is the date that was written: {plain}");
}

// case I04, case I12, case I16, case I17: nothing is written, every row and column is named, the counts add up.
#[tokio::test]
async fn one_bad_row_keeps_the_whole_file_out_and_is_named() {
    let app = TestApp::new().await;
    let mut file = String::from("项目;名称;服务商;档位;开始日;单价;币种\n");
    for row in 2..=20 {
        let price = if row == 7 { "-1" } else { "5" };
        let date = if row == 12 { "2026-13-01" } else { "2026-12-01" };
        let name = if row == 15 { "A\0B".to_owned() } else { format!("环境{row}") };
        writeln!(file, "竹简;{name};苇塘云;H800;{date};{price};CNY").unwrap();
    }
    let summary = run(&app, &file).await;
    assert_eq!(counts(&summary), [19, 16, 0, 3]);
    let json = summary.json(Locale::En);
    let errors: Vec<_> = json["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| {
            (error["row"].as_u64().unwrap(), error["column"].as_str().unwrap(), error["value"].as_str().unwrap())
        })
        .collect();
    assert_eq!(errors, [(7, "单价", "-1"), (12, "开始日", "2026-13-01"), (15, "名称", "A\u{FFFD}B")]);
    assert_eq!(
        json["errors"][1]["message"],
        "\"2026-13-01\" is not in the calendar; write a real day, like 2026-12-01."
    );
    assert_eq!(json["rows_read"], 19);
    assert_eq!(app.history().await.len(), 0);
}

#[tokio::test]
async fn a_row_that_differs_from_the_ledger_is_an_error_and_new_terms_join_their_environment() {
    let app = TestApp::new().await;
    run(&app, FILE).await;
    let head = FILE.lines().next().unwrap();
    let differs = FILE.lines().nth(1).unwrap().replace("68000.50", "1.00").replace("bailu", "nobody");
    let summary = run(&app, &format!("{head}\n{differs}\n")).await;
    let found: Vec<_> =
        summary.errors.iter().map(|error| (error.column.as_str(), error.value.as_str(), error.message.key)).collect();
    assert_eq!(found, [("owner", "nobody@palmfan.example", "import-differs"), ("price", "1", "import-differs")]);
    let overlap = FILE.lines().nth(1).unwrap().replace("2025-03-17", "2024-03-17");
    let summary = run(&app, &format!("{head}\n{overlap}\n")).await;
    assert_eq!(summary.errors[0].message.key, "import-overlaps");

    // A column that the file does not have is not compared; a term before the others takes its place in the chain.
    let earlier = "project,name,provider,tier,starts_on,ends_on,cycle\n竹简大模型,预训练,苇塘云,H800×8,2024-03-17,2025-03-16,yearly\n";
    assert_eq!(counts(&run(&app, earlier).await), [1, 1, 0, 0]);
    let mut read = app.read().await;
    let rows = roll::list(&mut read, &EnvironmentFilter::default(), 10).await.unwrap().rows;
    let terms = term::of_environment(read.connection(), rows[0].id).await.unwrap();
    let numbers: Vec<_> = terms.iter().map(|term| (term.number, term.starts_on.to_string())).collect();
    assert_eq!(numbers, [(1, "2024-03-17".to_owned()), (2, "2025-03-17".to_owned()), (3, "2026-03-17".to_owned())]);
}

// Who may: a member writes into the projects of the membership, and makes no projects.
#[tokio::test]
async fn a_member_imports_only_into_own_projects() {
    let app = TestApp::new().await;
    let environment = app.open_environment("在用", "2026-01-01", None).await;
    let scope = Scope { all: None, projects: [(environment.project_id, ProjectRole::Operator)].into() };
    let member = Actor { role: Role::Member, scope, ..app.operator() };
    let head = "project,name,provider,tier,starts_on\n";
    let own = run_as(&app, &member, &format!("{head}竹简大模型,新的,苇塘云,H800×8,2026-01-01\n"), false).await;
    assert_eq!(counts(&own), [1, 1, 0, 0]);
    let other = run_as(&app, &member, &format!("{head}别的项目,新的,苇塘云,H800×8,2026-01-01\n"), false).await;
    assert_eq!((other.errors[0].column.as_str(), other.errors[0].message.key), ("project", "error-project-unknown"));
    let viewer = Actor {
        scope: Scope { all: None, projects: [(environment.project_id, ProjectRole::Viewer)].into() },
        ..member
    };
    let refused = run_as(&app, &viewer, &format!("{head}竹简大模型,更新的,苇塘云,H800×8,2026-01-01\n"), false).await;
    assert_eq!((refused.errors[0].column.as_str(), refused.errors[0].message.key), ("project", "error-forbidden"));
}

// What is renewed, edited and ended by hand comes out as it is.
#[tokio::test]
async fn what_was_done_by_hand_is_in_the_file() {
    let app = TestApp::new().await;
    let environment = app.open_environment("甲", "2026-01-01", Some("2026-03-31")).await;
    let mut tx = app.write().await;
    let last = term::last(tx.connection(), environment.id).await.unwrap();
    let new = renewal::NewRenewal {
        until: renewal::Until::Day(day("2026-06-30")),
        ..renewal::NewRenewal::same_again(&last, 1)
    };
    renewal::renew(&mut tx, environment.id, &new).await.unwrap();
    let moved = NewTerm { starts_on: day("2026-01-05"), ..last.facts() };
    term::change(&mut tx, last.id, last.version, &moved).await.unwrap();
    environment::end(&mut tx, environment.id, environment.version, day("2026-06-30")).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(deadlines(&app, environment.id).await.iter().filter(|it| it.2 == Some(Closed::Ended)).count(), 1);
    let file = exported(&app, Format::CsvPlain).await;
    let rows: Vec<&str> = file.lines().skip(1).collect();
    assert_eq!(
        rows,
        [
            "竹简大模型,甲,苇塘云,H800×8,,owner@palmfan.example,checker@palmfan.example,2026-01-05,2026-03-31,once,on_request,,1,,,,ended,normal,,",
            "竹简大模型,甲,苇塘云,H800×8,,owner@palmfan.example,checker@palmfan.example,2026-04-01,2026-06-30,once,on_request,,1,,,,ended,normal,,",
        ]
    );
}

#[tokio::test]
async fn an_environment_that_has_ended_gets_no_further_term() {
    let app = TestApp::new().await;
    run(&app, FILE).await;
    let more =
        "project,name,provider,tier,starts_on,ends_on\n客服语音,微调,浮木,\"A100, 单卡\",2026-05-01,2026-05-31\n";
    let summary = run(&app, more).await;
    assert_eq!(counts(&summary), [1, 0, 0, 1]);
    assert_eq!(summary.errors[0].message.key, "import-ended");
}
