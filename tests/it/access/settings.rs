//! The organisation's settings and the state of mail.

use axum::http::StatusCode;
use rentroll::actor::Role;
use rentroll::mail::{Mailbox, Mailer, Outbox};

use crate::harness::{Browser, TestApp};

#[tokio::test]
async fn an_administrator_changes_the_settings_and_others_read_them() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let page = administrator.get("/settings").await;
    let (action, late) = page.form("/settings");
    assert_eq!(late["reminder_steps"], "15;7;3;1;0");
    assert_eq!(late["send_at"], "09:00");
    let fields = [
        ("name", "纸鸢研究院"),
        ("zone", "Europe/Berlin"),
        ("currency", "USD"),
        ("send_at", "08:30"),
        ("reminder_steps", "30;7"),
    ];
    let answer = administrator.submit("/settings", "/settings", &fields).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    let organisation = app.read().await.organisation().clone();
    assert_eq!(
        (organisation.name.as_str(), organisation.zone.as_str(), organisation.currency.as_str()),
        ("纸鸢研究院", "Europe/Berlin", "USD")
    );
    assert_eq!(organisation.reminder_steps.days(), [30, 7]);
    let rule = administrator.get("/settings").await.texts(".preview").pop().unwrap();
    assert!(rule.contains("30、7"), "the rule said in words: {rule}");

    // An edit that started before that one.
    let late: Vec<(&str, &str)> = late.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let answer = administrator.post(&action, &late).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert!(answer.rows("[role=alert] table").iter().any(|row| row[1] == "纸鸢研究院" && row[2] == "蒲扇智能"));

    let member = app.sign_in(Role::Member).await;
    let page = member.get("/settings").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.texts("main form").is_empty());
    assert!(page.texts(".facts dd").contains(&"Europe/Berlin".to_owned()));
    assert_eq!(member.post("/settings", &late).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn two_administrators_who_save_at_once_are_one_change_and_one_page_with_both() {
    let app = TestApp::new().await;
    let (first, second) = (app.sign_in(Role::Administrator).await, app.browser());
    second.sign_in("administrator@palmfan.example").await;
    for round in 0..4 {
        let (_, form) = first.get("/settings").await.form("/settings");
        let saved = async |browser: &Browser, name: String| {
            let mut fields: Vec<(&str, &str)> =
                form.iter().map(|(field, value)| (field.as_str(), value.as_str())).collect();
            fields.retain(|(field, _)| *field != "name" && *field != "submit_id");
            let submit_id = uuid::Uuid::now_v7().to_string();
            fields.extend([("name", name.as_str()), ("submit_id", submit_id.as_str())]);
            browser.post("/settings", &fields).await.status
        };
        let (one, two) = tokio::join!(saved(&first, format!("甲{round}")), saved(&second, format!("乙{round}")));
        let mut statuses = [one, two];
        statuses.sort();
        assert_eq!(statuses, [StatusCode::SEE_OTHER, StatusCode::CONFLICT]);
    }
}

#[tokio::test]
async fn settings_that_cannot_be_are_said_beside_their_fields() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let fields =
        [("name", " "), ("zone", "Mars/Olympus"), ("currency", "¥"), ("send_at", "25:00"), ("reminder_steps", "400")];
    let answer = administrator.submit("/settings", "/settings", &fields).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    for (field, quoted) in
        [("zone", "Mars/Olympus"), ("currency", "¥"), ("send_at", "25:00"), ("reminder_steps", "400")]
    {
        let error = answer.texts(&format!("#{field}-error")).pop().unwrap_or_default();
        assert!(error.contains(quoted), "{field}: {error}");
        assert_eq!(answer.attributes(&format!("input[name={field}]"), "value"), [quoted]);
    }
    assert!(!answer.texts("#name-error").is_empty());
}

#[tokio::test]
async fn a_test_mail_goes_to_the_administrator_who_asks_for_it() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let answer = administrator.submit("/settings", "/settings/test-mail", &[]).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(answer.texts("[role=status]")[0].contains("250 kept"), "{:?}", answer.texts("[role=status]"));
    let mails = app.mails();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].to.address(), "administrator@palmfan.example");
    let member = app.sign_in(Role::Member).await;
    assert_eq!(member.post("/settings/test-mail", &[]).await.status, StatusCode::FORBIDDEN);
    assert_eq!(app.mails().len(), 1);
}

#[tokio::test]
async fn without_a_mail_server_the_page_says_where_mails_wait() {
    let folder = tempfile::tempdir().unwrap();
    let from = Mailbox::new("", "ledger@rentroll.example").unwrap();
    let outbox = Outbox { path: folder.path().join("outbox"), from };
    let app = TestApp::with_mailer("2026-03-16T02:00:00Z", Mailer::Directory(outbox)).await;
    let administrator = app.sign_in(Role::Administrator).await;
    let page = administrator.get("/settings").await;
    assert!(page.text().contains("RENTROLL_SMTP_URL"));
    let answer = administrator.submit("/settings", "/settings/test-mail", &[]).await;
    assert!(answer.texts("[role=status]")[0].contains("待发文件夹"), "{:?}", answer.texts("[role=status]"));
    assert_eq!(std::fs::read_dir(folder.path().join("outbox")).unwrap().count(), 1);
}

// case A13: a broken mail server is said in words, without the password of its address.
#[tokio::test]
async fn a_mail_server_that_cannot_be_reached_is_named_without_its_password() {
    use rentroll::mail::SmtpSettings;
    // A port that nobody listens on: bound here, and closed at once.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!("smtps://ledger:planted-secret@127.0.0.1:{port}").parse().unwrap();
    let from = Mailbox::new("", "ledger@rentroll.example").unwrap();
    let settings = SmtpSettings::new(config, from, None).unwrap();
    let app = TestApp::with_mailer("2026-03-16T02:00:00Z", Mailer::Smtp(settings)).await;
    let administrator = app.sign_in(Role::Administrator).await;
    let answer = administrator.submit("/settings", "/settings/test-mail", &[]).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(
        answer.texts("[role=status]")[0].contains(&format!("127.0.0.1:{port}")),
        "{:?}",
        answer.texts("[role=status]")
    );
    assert!(answer.text().contains("ledger@127.0.0.1"), "{}", answer.text());
    assert!(!answer.text().contains("planted-secret"));
}
