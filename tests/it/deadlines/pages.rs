//! What the pages show of dates, reminders, mails and runs.

use axum::http::StatusCode;
use rentroll::actor::Role;
use rentroll::dates::{Notice, Renewal};
use rentroll::environments::term::NewTerm;

use super::delivering::mailer_to;
use super::{day, sql};
use crate::harness::TestApp;
use crate::harness::smtp_sink::{At, Fault, SmtpSink};

/// The first words of every cell of a column.
fn column(rows: &[Vec<String>], at: usize) -> Vec<&str> {
    rows.iter().map(|row| row[at].as_str()).collect()
}

async fn three_environments(app: &TestApp) {
    app.open_environment("甲", "2025-04-01", Some("2026-03-31")).await;
    app.open_environment("乙", "2025-04-01", Some("2026-03-14")).await;
    app.open_environment("丙", "2025-04-01", None).await;
    let automatic = NewTerm {
        renewal: Renewal::Automatic,
        notice: Notice::parse("30 days").unwrap(),
        ..NewTerm::between(day("2025-06-01"), Some(day("2026-05-31")))
    };
    app.open_environment_with("丁", automatic).await;
}

// case R39: the same number of days as in the mail; case R40 and R37: what has no end stands apart.
#[tokio::test]
async fn the_renewals_page_shows_what_ends_when_and_who_was_told() {
    let app = TestApp::new().await;
    three_environments(&app).await;
    app.remind().await;
    let browser = app.sign_in(Role::Administrator).await;
    let page = browser.get("/renewals").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text());
    assert_eq!(
        page.texts(".chips a"),
        ["已逾期和 30 天内 2", "已逾期 1", "7 天内 0", "15 天内 1", "30 天内 1", "全部日期 4", "无到期日 1"]
    );
    let rows = page.rows("table.renewals");
    assert_eq!(column(&rows, 1), ["乙竹简大模型", "甲竹简大模型"]);
    assert_eq!(column(&rows, 3), ["3月14日（周六）", "3月31日（周二）"]);
    assert_eq!(column(&rows, 4), ["服务随时可能停止，数据随时可能被删除", "次日停止服务"]);
    assert_eq!(column(&rows, 6), ["已发 2 封下一封 2026-03-22", "已发 2 封下一封 2026-03-24"]);
    assert_eq!(page.attributes("table.renewals .days", "class"), ["days days-past", "days days-near"]);

    // What a run for a later day has sent is not announced again.
    app.remind_as_of("2026-03-24").await;
    let rows = browser.get("/renewals").await.rows("table.renewals");
    assert_eq!(column(&rows, 6)[1], "已发 4 封下一封 2026-03-28");

    let all = browser.get("/renewals?within=all").await.rows("table.renewals");
    assert_eq!(column(&all, 4)[2..], ["不通知就会自动续费", "次日自动续费"]);
    let open_ended = browser.get("/renewals?within=open-ended").await.rows("table.renewals");
    assert_eq!(column(&open_ended, 1), ["丙竹简大模型"]);
    assert_eq!(
        browser.get("/renewals?whose=mine").await.texts(".empty p").len(),
        2,
        "nothing of the administrator's own"
    );
    let wrong = browser.get("/renewals?within=8").await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(wrong.text().contains("筛选项 within 不能是“8”，只能是其中之一：present, overdue, 7"), "{}", wrong.text());

    let file = browser.get("/renewals.json?within=all").await;
    let rows: serde_json::Value = serde_json::from_slice(&file.bytes).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 4);
    assert_eq!((&rows[1]["days_left"], &rows[1]["mails_sent"]), (&15.into(), &4.into()));
}

#[tokio::test]
async fn the_reminders_page_and_its_files_tell_the_state_of_each() {
    let app = TestApp::new().await;
    app.open_environment("甲", "2025-04-01", Some("2026-03-31")).await;
    app.remind().await;
    let browser = app.sign_in(Role::Auditor).await;
    let page = browser.get("/reminders").await;
    let rows = page.rows("table.reminders");
    assert_eq!(rows.len(), 26, "five steps and eight overdue ones, for two people");
    assert_eq!(rows[0][..5], ["2026-03-16", "甲", "到期", "2026-03-31", "提前 15 天"].map(str::to_owned));
    assert_eq!(rows[0][6], "已发");
    assert_eq!(rows.last().unwrap()[4], "逾期 50 天");
    let planned = browser.get("/reminders?state=planned").await.rows("table.reminders");
    assert_eq!(planned.len(), 24);
    let csv = browser.get("/reminders.csv?state=sent").await.text();
    assert_eq!(csv.lines().count(), 3, "{csv}");
    let wrong = browser.get("/reminders?state=lost").await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(browser.get("/reminders?after=here").await.status, StatusCode::UNPROCESSABLE_ENTITY);
}

// A list longer than a page goes on where the page ended, and shows every row once.
#[tokio::test]
async fn long_lists_go_on_page_by_page() {
    let app = TestApp::new().await;
    for i in 0..6 {
        app.open_environment(&format!("环境 {i}"), "2025-04-01", Some("2026-03-31")).await;
    }
    app.remind().await;
    let browser = app.sign_in(Role::Administrator).await;
    let (mut path, mut sizes) = (Some("/reminders?state=planned".to_owned()), Vec::new());
    while let Some(here) = path {
        let page = browser.get(&here).await;
        sizes.push(page.rows("table.reminders").len());
        path = page.attributes(".pager a", "href").pop();
    }
    assert_eq!(sizes, [50, 50, 44]);
}

// A refused mail is seen with the server's words; one click tries it again; twice is once.
#[tokio::test]
async fn a_refused_mail_is_shown_and_can_be_tried_again() {
    let sink = SmtpSink::start().await;
    let app = TestApp::with_mailer("2026-03-16T02:00:00Z", mailer_to(&sink.url())).await;
    app.open_environment("甲", "2025-04-01", Some("2026-03-31")).await;
    sink.script([Some(Fault::code(At::Rcpt, 550).for_recipient("owner@palmfan.example"))]);
    app.remind().await;
    let browser = app.sign_in(Role::Administrator).await;
    let page = browser.get("/deliveries").await;
    let rows = page.rows("table.deliveries");
    assert_eq!(rows.len(), 2);
    let failed = browser.get("/deliveries?state=failed").await;
    let rows = failed.rows("table.deliveries");
    assert_eq!(rows[0][3..], ["退信", "1", "550 scripted"].map(str::to_owned));
    assert!(rows[0][1].starts_with("【还有 15 天】甲"), "{}", rows[0][1]);

    let link = failed.attributes("table.deliveries th a", "href").pop().unwrap();
    let show = browser.get(&link).await;
    assert_eq!(show.rows("table.attempts")[0][1..], ["退信", "rcpt", "550 scripted"].map(str::to_owned));
    assert!(show.texts("pre")[0].contains("到期日："), "the letter is there to read");
    let answer = browser.submit(&link, "/retry", &[]).await;
    assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, link.clone()));
    assert_eq!(app.history().await[0].action, "reminder.retried");
    assert_eq!(app.remind().await.done, 1);
    assert_eq!(browser.get("/deliveries?state=failed").await.texts(".empty p").len(), 1);

    // What was sent cannot be sent again, whatever a form says.
    let id = uuid::Uuid::now_v7().to_string();
    let answer = browser.post(&format!("{link}/retry"), &[("submit_id", &id)]).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert_eq!(browser.get("/deliveries/none").await.status, StatusCode::NOT_FOUND);
}

// Another project's mails look like none.
#[tokio::test]
async fn a_member_of_another_project_sees_none_of_it() {
    let app = TestApp::new().await;
    app.open_environment("甲", "2025-04-01", Some("2026-03-31")).await;
    app.remind().await;
    let browser = app.sign_in(Role::Member).await;
    for list in ["/renewals?within=all", "/reminders", "/deliveries"] {
        assert_eq!(browser.get(list).await.rows("table.ledger").len(), 0, "{list}");
    }
    let id: uuid::Uuid = sqlx::query_scalar("select id from delivery limit 1")
        .fetch_one(&mut app.database.superuser().await)
        .await
        .unwrap();
    assert_eq!(browser.get(&format!("/deliveries/{id}")).await.status, StatusCode::NOT_FOUND);
    let submit = uuid::Uuid::now_v7().to_string();
    let answer = browser.post(&format!("/deliveries/{id}/retry"), &[("submit_id", &submit)]).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
}

// case R33
#[tokio::test]
async fn the_page_of_runs_says_what_each_did_and_left() {
    let app = TestApp::at("2026-03-16T00:30:00Z").await;
    app.open_environment("甲", "2025-04-01", Some("2026-03-31")).await;
    app.remind().await;
    app.remind_as_of("2026-03-24").await;
    sql(&app, "insert into job_run (job, started_at, worker, error) values ('sweep', '2026-03-16T00:31:00Z', 'a:1', 'disk full')").await;
    let browser = app.sign_in(Role::Administrator).await;
    let rows = browser.get("/jobs").await.rows("table.runs");
    assert_eq!(column(&rows, 1), ["定期清理", "到期提醒", "到期提醒"]);
    assert_eq!(rows[0][7], "失败 disk full");
    assert!(rows[1][0].ends_with("按 2026-03-24 运行"), "{}", rows[1][0]);
    assert_eq!(rows[1][2..7], ["1", "1", "2", "2", "0"].map(str::to_owned));
    assert_eq!(rows[2][7], "2 项还没到发送时间");
    assert_eq!(browser.get("/jobs?what=busy&job=reminders").await.rows("table.runs").len(), 1);
}

// case N04: every page in both languages.
#[tokio::test]
async fn the_pages_speak_both_languages() {
    let app = TestApp::new().await;
    three_environments(&app).await;
    app.remind().await;
    let browser = app.sign_in(Role::Administrator).await;
    let id: uuid::Uuid = sqlx::query_scalar("select id from delivery limit 1")
        .fetch_one(&mut app.database.superuser().await)
        .await
        .unwrap();
    let pages = ["/renewals?within=all", "/reminders", "/deliveries", &format!("/deliveries/{id}"), "/jobs"];
    for (language, word) in [("zh-CN", "到期续费"), ("en", "Renewals")] {
        sql(&app, &format!("update person set locale = '{language}'")).await;
        for path in pages {
            let page = browser.get(path).await;
            assert_eq!(page.status, StatusCode::OK, "{path}");
            assert!(page.text().contains(word), "{path} in {language}");
        }
    }
}
