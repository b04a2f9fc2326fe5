//! From the link that `rentroll serve` prints to the first administrator.

use axum::http::StatusCode;
use chrono::TimeDelta;
use rentroll::access::one_time_link;
use rentroll::access::user;
use rentroll::actor::{Actor, Role};

use crate::harness::{Browser, PASSWORD, TestApp};

async fn link(app: &TestApp) -> Option<String> {
    let mut tx = app.app.machine(&Actor::set_up()).await.unwrap();
    let token = one_time_link::issue_set_up(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    token.map(|token| format!("/set-up/{}", token.reveal()))
}

fn fields(locale: &'static str) -> [(&'static str, &'static str); 6] {
    [
        ("organisation", "蒲扇智能"),
        ("locale", locale),
        ("name", "陈白露"),
        ("email", "bailu@palmfan.example"),
        ("password", PASSWORD),
        ("password_again", PASSWORD),
    ]
}

async fn users(app: &TestApp) -> usize {
    let mut read = app.read().await;
    user::list(read.connection()).await.unwrap().len()
}

// case P13: no default account; the first start gives a link.
#[tokio::test]
async fn the_set_up_link_leads_to_a_signed_in_administrator_in_both_languages() {
    for (locale, title, settings) in [("zh-CN", "初始设置", "设置"), ("en", "Set up Rentroll", "Settings")] {
        let app = TestApp::new().await;
        let browser = app.browser();
        browser.set_cookie("__Host-language", locale);
        let link = link(&app).await.unwrap();
        let page = browser.get(&link).await;
        assert_eq!((page.status, page.texts("h1")), (StatusCode::OK, vec![title.to_owned()]));

        let answer = browser.submit(&link, &link, &fields(locale)).await;
        assert_eq!((answer.status, answer.location().as_str()), (StatusCode::SEE_OTHER, "/"));
        let page = browser.get("/settings").await;
        assert_eq!((page.status, page.texts("h1")), (StatusCode::OK, vec![settings.to_owned()]));
        assert_eq!(page.texts(".reader a"), ["陈白露"]);
        let organisation = app.read().await.organisation().clone();
        assert_eq!((organisation.name.as_str(), organisation.locale.tag()), ("蒲扇智能", locale));

        let actors: Vec<(String, String)> =
            app.history().await.into_iter().rev().map(|entry| (entry.actor_name, entry.action)).collect();
        assert_eq!(actors.last().unwrap(), &("陈白露".to_owned(), "user.signed_in".to_owned()));
        assert!(actors.contains(&("set-up link".to_owned(), "user.added".to_owned())), "{actors:?}");
    }
}

// case P12: no page for a first user once any user exists.
#[tokio::test]
async fn once_a_user_exists_no_set_up_link_opens() {
    let app = TestApp::new().await;
    let open = link(&app).await.unwrap();
    let browser = app.browser();
    let (action, mut form) = browser.get(&open).await.form(&open);
    form.extend(fields("zh-CN").map(|(name, value)| (name.to_owned(), value.to_owned())));
    app.add_user("first@palmfan.example", Role::Member).await;

    assert_eq!(link(&app).await, None, "none is given out");
    let page = browser.get(&open).await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert!(page.texts("input[name=password]").is_empty());
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(browser.post(&action, &form).await.status, StatusCode::NOT_FOUND);
    let spoilt: Vec<(&str, &str)> = form.iter().copied().filter(|(name, _)| *name != "email").collect();
    assert_eq!(browser.post(&action, &spoilt).await.status, StatusCode::NOT_FOUND);
    assert_eq!(users(&app).await, 1);
}

#[tokio::test]
async fn a_set_up_link_works_for_an_hour_and_the_newest_only() {
    let app = TestApp::new().await;
    let older = link(&app).await.unwrap();
    let newer = link(&app).await.unwrap();
    assert_eq!(app.browser().get(&older).await.status, StatusCode::NOT_FOUND);
    assert_eq!(app.browser().get(&newer).await.status, StatusCode::OK);
    assert_eq!(app.browser().get("/set-up/guessed").await.status, StatusCode::NOT_FOUND);
    app.app.clock.advance(TimeDelta::hours(1));
    assert_eq!(app.browser().get(&newer).await.status, StatusCode::NOT_FOUND);
    // Only hashes are kept.
    let token = newer.trim_start_matches("/set-up/");
    let mut superuser = app.database.superuser().await;
    let kept: Vec<Vec<u8>> =
        sqlx::query_scalar("select token_hash from one_time_link").fetch_all(&mut superuser).await.unwrap();
    assert_eq!(kept, [rentroll::access::token::hash_of(token)]);
}

#[tokio::test]
async fn the_set_up_form_sent_twice_is_one_administrator_and_both_answers_sign_in() {
    let app = TestApp::new().await;
    let link = link(&app).await.unwrap();
    let (action, mut form) = app.browser().get(&link).await.form(&link);
    form.extend(fields("zh-CN").map(|(name, value)| (name.to_owned(), value.to_owned())));
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let send = async || {
        let browser: Browser = app.browser();
        let answer = browser.post(&action, &form).await;
        (browser, answer)
    };
    let ((one, first), (two, second)) = tokio::join!(send(), send());
    assert_eq!((first.status, second.status), (StatusCode::SEE_OTHER, StatusCode::SEE_OTHER), "{}", second.text());
    assert_eq!((first.location(), second.location()), ("/".to_owned(), "/".to_owned()));
    for browser in [one, two] {
        assert_eq!(browser.get("/account").await.status, StatusCode::OK);
    }
    assert_eq!(users(&app).await, 1);
    assert_eq!(app.actions().await.iter().filter(|action| *action == "user.added").count(), 1);
}

#[tokio::test]
async fn what_is_wrong_is_said_beside_its_field_and_nothing_typed_is_lost() {
    let app = TestApp::new().await;
    let link = link(&app).await.unwrap();
    let browser = app.browser();
    let answer = browser
        .submit(
            &link,
            &link,
            &[
                ("organisation", "蒲扇智能"),
                ("name", "nul\u{0}"),
                ("email", "bailu"),
                ("password", "short"),
                ("password_again", "other"),
            ],
        )
        .await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(answer.texts("#name-error")[0].contains("U+0000"));
    assert!(answer.texts("#email-error")[0].contains("bailu"));
    assert!(answer.texts("#password-error")[0].contains("15"));
    assert!(answer.texts("#password_again-error")[0].contains("不一样"));
    assert_eq!(answer.attributes("input[name=organisation]", "value"), ["蒲扇智能"]);
    assert!(answer.attributes("input[type=password]", "value").is_empty(), "a password never comes back");
    assert_eq!(users(&app).await, 0);
    // The link still opens.
    assert_eq!(browser.submit(&link, &link, &fields("zh-CN")).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn somebody_known_by_an_address_only_gets_the_name_of_the_form() {
    let app = TestApp::new().await;
    let mut tx = app.write().await;
    let known = rentroll::access::person::NewPerson::addressed(&"bailu@palmfan.example".parse().unwrap()).unwrap();
    rentroll::access::person::add(&mut tx, known).await.unwrap();
    tx.commit().await.unwrap();
    let link = link(&app).await.unwrap();
    let browser = app.browser();
    browser.submit(&link, &link, &fields("zh-CN")).await;
    assert_eq!(browser.get("/account").await.texts(".reader a"), ["陈白露"]);
}
