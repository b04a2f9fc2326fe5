//! A log-in for somebody, from the administrator's click to the first page they see.

use axum::http::StatusCode;
use chrono::TimeDelta;
use rentroll::access::invitation;
use rentroll::actor::Role;
use rentroll::error::Error;
use rentroll::locale::Locale;
use rentroll::mail::{Mailbox, Mailer, Outbox};

use crate::harness::{Answer, Browser, PASSWORD, TestApp};

/// The one link of a mail, below the base path.
fn link(text: &str) -> String {
    let at = text.find("/choose-password/").expect("a link");
    text[at..].split_whitespace().next().unwrap().to_owned()
}

async fn choose(browser: &Browser, link: &str) -> Answer {
    browser.submit(link, link, &[("password", PASSWORD), ("password_again", PASSWORD)]).await
}

#[tokio::test]
async fn an_invited_person_chooses_a_password_and_is_signed_in_in_both_languages() {
    for (locale, subject, title) in [
        ("zh-CN", "蒲扇智能：设置你的算力租赁台账密码", "设置密码"),
        ("en", "蒲扇智能: choose your password for Rentroll", "Choose a password"),
    ] {
        let app = TestApp::new().await;
        let administrator = app.sign_in(Role::Administrator).await;
        let fields =
            [("name", "林小满"), ("email", "xiaoman@palmfan.example"), ("locale", locale), ("right", "member_all")];
        let answer = administrator.submit("/people/new", "/people", &fields).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "mailed, so nothing is shown: {}", answer.text());
        let mails = app.mails();
        assert_eq!(mails.len(), 1);
        assert_eq!((mails[0].to.address(), mails[0].subject.as_str()), ("xiaoman@palmfan.example", subject));
        let link = link(&mails[0].text);
        assert!(mails[0].text.contains(&format!("http://localhost{link}")));
        assert!(mails[0].html.contains(&link));

        let browser = app.browser();
        browser.set_cookie("__Host-language", locale);
        let page = browser.get(&link).await;
        assert_eq!((page.status, page.texts("h1")), (StatusCode::OK, vec![title.to_owned()]));
        let answer = choose(&browser, &link).await;
        assert_eq!((answer.status, answer.location().as_str()), (StatusCode::SEE_OTHER, "/"), "{}", answer.text());
        let page = browser.get("/account").await;
        assert_eq!(page.texts(".reader a"), ["林小满"]);
        assert_eq!(page.attributes("html", "lang"), [locale]);
        assert_eq!(browser.get(&link).await.status, StatusCode::NOT_FOUND, "it worked once");
        let actions = app.actions().await;
        let last: Vec<&str> = actions.iter().map(String::as_str).collect();
        assert!(
            last.ends_with(&["person.added", "user.added", "user.invited", "user.password_changed", "user.signed_in"]),
            "{last:?}"
        );
        // The history holds neither the link nor the address.
        for entry in app.history().await {
            let bytes = String::from_utf8(entry.bytes).unwrap();
            assert!(!bytes.contains(link.trim_start_matches("/choose-password/")) && !bytes.contains("xiaoman@"));
        }
    }
}

#[tokio::test]
async fn without_mail_the_link_is_shown_once_to_whoever_hands_it_over() {
    let from = Mailbox::new("", "ledger@rentroll.example").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let outbox = Outbox { path: folder.path().join("outbox"), from };
    let app = TestApp::with_mailer("2026-03-16T02:00:00Z", Mailer::Directory(outbox)).await;
    let administrator = app.sign_in(Role::Administrator).await;
    let page = administrator.get("/people/new").await;
    let (action, mut form) = page.form("/people");
    for (name, value) in [("name", "林小满"), ("email", "xiaoman@palmfan.example"), ("right", "member")] {
        form.insert(name.to_owned(), value.to_owned());
    }
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let answer = administrator.post(&action, &form).await;
    assert_eq!(answer.status, StatusCode::OK);
    let shown = link(&answer.texts("pre.link")[0]);
    // The same form again is the same act: the person, without the link.
    let again = administrator.post(&action, &form).await;
    assert_eq!(again.status, StatusCode::SEE_OTHER);
    assert!(again.location().starts_with("/people/"));
    let added = app.actions().await.into_iter().filter(|action| action == "user.added").count();
    assert_eq!(added, 2, "the administrator and this one");
    assert_eq!(choose(&app.browser(), &shown).await.status, StatusCode::SEE_OTHER);

    // A new link for a forgotten password; the sessions end when it is used.
    let person = again.location();
    let signed_in = app.browser();
    signed_in.sign_in("xiaoman@palmfan.example").await;
    let first = administrator.submit(&person, "/link", &[]).await;
    let second = administrator.submit(&person, "/link", &[]).await;
    let (first, second) = (link(&first.texts("pre.link")[0]), link(&second.texts("pre.link")[0]));
    assert_eq!(app.browser().get(&first).await.status, StatusCode::NOT_FOUND, "only the newest works");
    assert_eq!(signed_in.get("/account").await.status, StatusCode::OK);
    assert_eq!(choose(&app.browser(), &second).await.status, StatusCode::SEE_OTHER);
    assert_eq!(signed_in.get("/account").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_link_lasts_72_hours_and_dies_with_the_log_in() {
    let app = TestApp::new().await;
    let add = async |email: &str| {
        let added = invitation::add_user(&app.app, &app.operator(), email, "林小满", Role::Member, None, None).await;
        added.unwrap()
    };
    let added = add("a@palmfan.example").await;
    assert!(added.is_mailed());
    let link = added.link.unwrap();
    app.app.clock.advance(TimeDelta::hours(72) - TimeDelta::seconds(1));
    assert_eq!(app.browser().get(&link).await.status, StatusCode::OK);
    app.app.clock.advance(TimeDelta::seconds(1));
    assert_eq!(app.browser().get(&link).await.status, StatusCode::NOT_FOUND);

    let added = add("b@palmfan.example").await;
    let mut tx = app.write().await;
    rentroll::access::user::disable(&mut tx, added.user.id, added.user.version).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(app.browser().get(&added.link.unwrap()).await.status, StatusCode::NOT_FOUND);
}

// The first mail went to somebody else's mailbox: with the address the link in it ends, and the page says what to do.
#[tokio::test]
async fn a_corrected_address_ends_the_links_in_the_wrong_mailbox() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let fields = [("name", "林小满"), ("email", "xaioman@palmfan.example"), ("right", "member")];
    let person = administrator.submit("/people/new", "/people", &fields).await.location();
    let wrong = link(&app.mails()[0].text);
    assert_eq!(administrator.get(&person).await.texts("p.notice"), Vec::<String>::new());
    let edit = format!("{person}/edit");
    let correct = async |email: &str| {
        let answer = administrator.submit(&edit, &person, &[("email", email)]).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    };
    correct("Xaioman@palmfan.example").await;
    assert_eq!(app.browser().get(&wrong).await.status, StatusCode::OK, "the same mailbox");

    correct("xiaoman@palmfan.example").await;
    assert_eq!(app.browser().get(&wrong).await.status, StatusCode::NOT_FOUND);
    let page = administrator.get(&person).await;
    assert!(page.texts("p.notice")[0].contains("没有可用的链接"), "{:?}", page.texts("p.notice"));
    let answer = administrator.submit(&person, "/link", &[]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    let mail = app.mails().pop().unwrap();
    assert_eq!(mail.to.address(), "xiaoman@palmfan.example");
    assert_eq!(administrator.get(&person).await.texts("p.notice"), Vec::<String>::new());
    assert_eq!(choose(&app.browser(), &link(&mail.text)).await.status, StatusCode::SEE_OTHER);
    assert_eq!(administrator.get(&person).await.texts("p.notice"), Vec::<String>::new(), "nothing is to be done");
}

#[tokio::test]
async fn a_password_chosen_twice_with_one_form_is_one_act_and_both_answers_sign_in() {
    let app = TestApp::new().await;
    let added =
        invitation::add_user(&app.app, &app.operator(), "a@palmfan.example", "林小满", Role::Member, None, None).await;
    let link = added.unwrap().link.unwrap();
    let (action, mut form) = app.browser().get(&link).await.form(&link);
    for name in ["password", "password_again"] {
        form.insert(name.to_owned(), PASSWORD.to_owned());
    }
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let (one, two) = (app.browser(), app.browser());
    let (first, second) = tokio::join!(one.post(&action, &form), two.post(&action, &form));
    assert_eq!((first.status, second.status), (StatusCode::SEE_OTHER, StatusCode::SEE_OTHER), "{}", second.text());
    assert_eq!(app.actions().await.iter().filter(|action| *action == "user.password_changed").count(), 1);
    // One of the two sessions may have ended with the change; the password works.
    app.browser().sign_in("a@palmfan.example").await;
    let weak = [("password", "a@palmfan.example"), ("password_again", "a@palmfan.example")];
    assert_eq!(app.browser().post(&action, &weak).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_command_line_adds_a_user_with_a_password_or_a_link() {
    let app = TestApp::new().await;
    let actor = app.operator();
    let add = async |email: &str, name: &str, password: Option<&str>| {
        let password = password.map(str::to_owned);
        invitation::add_user(&app.app, &actor, email, name, Role::Auditor, Some(Locale::En), password).await
    };
    let added = add("a@palmfan.example", "Chen Bailu", Some(PASSWORD)).await.unwrap();
    assert!(added.link.is_none() && added.user.has_password && added.user.all_projects);
    assert_eq!(app.mails().len(), 0);
    app.browser().sign_in("a@palmfan.example").await;

    // Somebody who is known gets the log-in under the name that they have, and no other.
    let mut tx = app.write().await;
    let known = rentroll::access::person::NewPerson::named("Lin Xiaoman", Some("xiaoman@palmfan.example")).unwrap();
    let known = rentroll::access::person::add(&mut tx, known).await.unwrap();
    tx.commit().await.unwrap();
    let Err(Error::Invalid(errors)) = add("Xiaoman@palmfan.example", "Renamed", None).await else { panic!("refused") };
    assert_eq!(errors.0[0].field, "name");
    assert!(errors.0[0].message.to_string().contains("the address of Lin Xiaoman"), "{}", errors.0[0].message);
    assert_eq!(app.mails().len(), 0);
    let added = add("xiaoman@palmfan.example", "Lin Xiaoman", None).await.unwrap();
    assert_eq!((added.user.person_id, added.user.name.as_str()), (known.id, "Lin Xiaoman"));
    assert!(added.link.unwrap().starts_with("/choose-password/"));
    assert_eq!(app.mails()[0].subject, "蒲扇智能: choose your password for Rentroll");

    // cases A02 and A11: the actor is the command line.
    let entry = app.history().await.into_iter().find(|entry| entry.action == "user.added").unwrap();
    assert_eq!((entry.actor_name.as_str(), entry.source.as_str()), ("command line (test)", "command_line"));

    let Err(Error::Invalid(errors)) = add("nobody", "", Some("short")).await else { panic!("refused") };
    let fields: Vec<&str> = errors.0.iter().map(|error| error.field.as_ref()).collect();
    assert_eq!(fields, ["email", "name", "password"]);
    let Err(Error::Invalid(errors)) = add("a@palmfan.example", "Chen", None).await else { panic!("refused") };
    assert_eq!(errors.0[0].message.key, "error-user-exists");
}
