//! Signing in and out, and everything that a stranger may try.

use axum::http::{Method, StatusCode, header};
use chrono::TimeDelta;
use rentroll::access::{session, sweep, user};
use rentroll::actor::Role;
use uuid::Uuid;

use super::{is_known, request};
use crate::harness::{Answer, Browser, PASSWORD, TestApp};

async fn try_password(browser: &Browser, email: &str, password: &str) -> Answer {
    browser.submit("/sign-in", "/sign-in", &[("email", email), ("password", password)]).await
}

#[tokio::test]
async fn a_person_signs_in_and_out() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Member).await;
    let page = browser.get("/account").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text().contains("member@palmfan.example"));

    let answer = browser.post("/sign-out", &[]).await;
    assert_eq!((answer.status, answer.location().as_str()), (StatusCode::SEE_OTHER, "/sign-in"));
    assert_eq!(answer.headers["clear-site-data"], "\"cache\", \"storage\"");
    assert_eq!(browser.cookie("__Host-session"), None);
    assert_eq!(browser.get("/account").await.status, StatusCode::SEE_OTHER);

    let history: Vec<(String, String)> =
        app.history().await.into_iter().rev().map(|entry| (entry.actor_name, entry.action)).collect();
    let last: Vec<(&str, &str)> = history.iter().map(|(who, what)| (who.as_str(), what.as_str())).collect();
    assert!(last.ends_with(&[("member", "user.signed_in"), ("member", "user.signed_out")]), "{last:?}");
}

#[tokio::test]
async fn the_cookie_is_bound_to_host_and_https_and_unseen_by_scripts() {
    let app = TestApp::new().await;
    app.add_user("a@palmfan.example", Role::Member).await;
    let answer = try_password(&app.browser(), "A@PALMFAN.example", PASSWORD).await;
    let cookies = answer.headers.get_all(header::SET_COOKIE).iter().map(|cookie| cookie.to_str().unwrap());
    let mut cookies: Vec<&str> = cookies.collect();
    cookies.sort_unstable();
    assert!(cookies[0].starts_with("__Host-device=") && cookies[1].starts_with("__Host-session="), "{cookies:?}");
    for cookie in cookies {
        for attribute in ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"] {
            assert!(cookie.contains(attribute), "{attribute} is missing: {cookie}");
        }
        assert!(!cookie.contains("Domain"), "{cookie}");
    }
    let page = app.browser().get("/sign-in").await;
    assert_eq!(page.headers[header::CACHE_CONTROL], "no-store");
    assert_eq!(page.headers["x-content-type-options"], "nosniff");
    assert_eq!(page.headers["referrer-policy"], "same-origin");
    assert!(page.headers["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));
}

// case P06: a token that was there before signing in is not the one after it, and the old one is dead.
#[tokio::test]
async fn signing_in_changes_the_session() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Member).await;
    let before = browser.cookie("__Host-session").unwrap();
    browser.sign_in("member@palmfan.example").await;
    assert_ne!(browser.cookie("__Host-session").unwrap(), before);
    let thief = app.browser();
    thief.set_cookie("__Host-session", &before);
    assert_eq!(thief.get("/account").await.status, StatusCode::SEE_OTHER);

    // A token that a stranger planted never becomes a session.
    let planted = app.browser();
    planted.set_cookie("__Host-session", "planted");
    planted.sign_in("member@palmfan.example").await;
    assert_ne!(planted.cookie("__Host-session").unwrap(), "planted");
    thief.set_cookie("__Host-session", "planted");
    assert_eq!(thief.get("/account").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_address_look_the_same() {
    let app = TestApp::new().await;
    let id = app.add_user("known@palmfan.example", Role::Member).await;
    let ended = app.add_user("ended@palmfan.example", Role::Member).await;
    let mut tx = app.write().await;
    user::disable(&mut tx, ended, 1).await.unwrap();
    tx.commit().await.unwrap();

    let mut answers = Vec::new();
    for (email, password) in [
        ("known@palmfan.example", "a password that is wrong"),
        ("unknown@palmfan.example", PASSWORD),
        ("ended@palmfan.example", PASSWORD),
        ("not an address \u{0}", PASSWORD),
    ] {
        let answer = try_password(&app.browser(), email, password).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(!answer.headers.contains_key(header::SET_COOKIE));
        assert!(!answer.text().contains(password), "a password never comes back");
        answers.push(answer.texts("[role=alert]"));
    }
    assert_eq!(answers[0], ["邮箱和密码对不上。"]);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");

    // All are in the history, the known one under its name; nothing of what was typed is.
    let failed: Vec<_> =
        app.history().await.into_iter().filter(|entry| entry.action == "user.sign_in_failed").collect();
    assert_eq!(failed.len(), 4);
    assert!(failed.iter().any(|entry| entry.object_id == Some(id.0) && entry.actor_name == "known"));
    let unknown = failed.iter().find(|entry| entry.object_id.is_none()).unwrap();
    assert_eq!(unknown.sentence(&rentroll::locale::Locale::ZhCn), "登录失败：未知账号");
    for entry in failed {
        assert!(!String::from_utf8(entry.bytes).unwrap().contains("palmfan"));
    }
}

#[tokio::test]
async fn ten_failures_make_an_account_wait_whether_it_exists_or_not() {
    let app = TestApp::new().await;
    app.add_user("known@palmfan.example", Role::Member).await;
    for email in ["known@palmfan.example", "unknown@palmfan.example"] {
        for _ in 0..10 {
            assert_eq!(
                try_password(&app.browser(), email, "wrong").await.texts("[role=alert]"),
                ["邮箱和密码对不上。"]
            );
        }
        let answer = try_password(&app.browser(), &email.to_uppercase(), PASSWORD).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(answer.texts("[role=alert]"), ["失败次数太多，等 15 分钟再试。"], "{email}");
    }
    app.app.clock.advance(TimeDelta::minutes(14));
    let answer = try_password(&app.browser(), "known@palmfan.example", PASSWORD).await;
    assert_eq!(answer.texts("[role=alert]"), ["失败次数太多，等 1 分钟再试。"]);
    app.app.clock.advance(TimeDelta::minutes(1));
    app.browser().sign_in("known@palmfan.example").await;
}

#[tokio::test]
async fn the_right_password_forgives_earlier_slips() {
    let app = TestApp::new().await;
    app.add_user("known@palmfan.example", Role::Member).await;
    for _ in 0..3 {
        for _ in 0..5 {
            try_password(&app.browser(), "known@palmfan.example", "wrong").await;
        }
        app.browser().sign_in("known@palmfan.example").await;
    }
}

#[tokio::test]
async fn tries_at_once_are_counted_one_by_one() {
    let app = TestApp::new().await;
    let tries = (0..30).map(|_| async {
        let mut tx = app.app.machine(&rentroll::actor::Actor::visitor()).await.ok()?;
        let client = session::Client {
            user_agent: String::new(),
            address: Some("203.0.113.7".parse().unwrap()),
            request_id: Uuid::now_v7(),
            session: None,
            device: None,
        };
        rentroll::access::sign_in_failure::count(&mut tx, "known@palmfan.example", &client).await.ok()?;
        tx.commit().await.ok()
    });
    let counted = futures_util::future::join_all(tries).await.into_iter().flatten().count();
    assert_eq!(counted, 10);
}

#[tokio::test]
async fn many_failures_out_of_one_network_make_it_wait() {
    let app = TestApp::new().await;
    let count = async |account: usize, address: &str| {
        let client = session::Client {
            user_agent: String::new(),
            address: Some(address.parse().unwrap()),
            request_id: Uuid::now_v7(),
            session: None,
            device: None,
        };
        let mut tx = app.app.machine(&rentroll::actor::Actor::visitor()).await.unwrap();
        let counted = rentroll::access::sign_in_failure::count(&mut tx, &format!("{account}@x.example"), &client).await;
        if counted.is_ok() {
            tx.commit().await.unwrap();
        }
        counted.is_ok()
    };
    for account in 0..100 {
        assert!(count(account, &format!("203.0.113.{account}")).await);
    }
    assert!(!count(100, "203.0.113.200").await);
    assert!(count(100, "198.51.100.1").await, "another network does not wait");
}

// check C36: whoever hammers at an address makes strangers wait, not the owner in a browser that is known.
#[tokio::test]
async fn a_stranger_who_tries_an_address_does_not_shut_its_owner_out() {
    let app = TestApp::new().await;
    app.add_user("known@palmfan.example", Role::Member).await;
    app.add_user("other@palmfan.example", Role::Member).await;
    let (own, new) = (app.browser(), app.browser());
    own.sign_in("known@palmfan.example").await;
    own.submit("/account", "/sign-out", &[]).await;
    let other = app.browser();
    other.sign_in("other@palmfan.example").await;
    let forged = app.browser();
    forged.set_cookie("__Host-device", "forged");

    let stranger = app.browser();
    let waits = async |browser: &Browser, password: &str| {
        let answer = try_password(browser, "known@palmfan.example", password).await;
        answer.texts("[role=alert]").first().is_some_and(|text| text.contains("失败次数太多"))
    };
    for _ in 0..10 {
        assert!(!waits(&stranger, "wrong").await);
    }
    assert!(waits(&new, PASSWORD).await, "a browser that nobody knows waits");
    assert!(waits(&other, PASSWORD).await, "the cookie is another person's");
    assert!(waits(&forged, PASSWORD).await, "the cookie is nobody's");
    own.sign_in("known@palmfan.example").await;
    assert!(waits(&new, PASSWORD).await, "which gives the stranger no more tries");

    // In the known browser tries are counted, too; those of others go on being counted for themselves.
    own.submit("/account", "/sign-out", &[]).await;
    app.app.clock.advance(TimeDelta::minutes(15));
    for _ in 0..10 {
        assert!(!waits(&own, "wrong").await);
    }
    assert!(waits(&own, PASSWORD).await);
    new.sign_in("known@palmfan.example").await;
}

#[tokio::test]
async fn a_browser_is_forgotten_in_the_end() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Member).await;
    app.app.clock.advance(TimeDelta::days(179));
    assert!(is_known(&app, &browser, "member@palmfan.example").await);
    app.app.clock.advance(TimeDelta::days(1));
    assert!(!is_known(&app, &browser, "member@palmfan.example").await);
    let mut tx = app.app.machine(&app.operator()).await.unwrap();
    assert_eq!(sweep::expired(&mut tx).await.unwrap().devices, 1);
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn behind_a_trusted_proxy_the_last_hop_that_is_no_proxy_counts() {
    let app = TestApp::trusting(&["10.0.0.0/8"]).await;
    app.add_user("a@palmfan.example", Role::Member).await;
    let body = format!("email=a%40palmfan.example&password={}", PASSWORD.replace(' ', "+"));
    // The browser forged the first line; each proxy added its own.
    let forwarded = [
        ("host", "localhost"),
        ("sec-fetch-site", "same-origin"),
        ("x-forwarded-for", "192.0.2.66, 10.0.0.9"),
        ("x-forwarded-for", "203.0.113.7"),
        ("x-forwarded-for", "10.0.0.2"),
    ];
    let sign_in = async |peer: &str| {
        let browser = app.browser();
        let mut form = request(&browser, Method::POST, "/sign-in", &forwarded, &body);
        let peer: std::net::SocketAddr = peer.parse().unwrap();
        form.extensions_mut().insert(axum::extract::ConnectInfo(peer));
        assert_eq!(browser.exchange(form).await.status, StatusCode::SEE_OTHER);
        let page = browser.get("/account").await;
        let here = page.rows("table.sessions").into_iter().find(|row| row[0].contains("就是这里")).unwrap();
        here[1].clone()
    };
    assert_eq!(sign_in("10.0.0.1:4000").await, "203.0.113.7");
    assert_eq!(sign_in("198.51.100.3:4000").await, "198.51.100.3", "who is no proxy is not believed");
}

#[tokio::test]
async fn a_session_ends_when_it_is_idle_and_at_the_latest_after_a_day() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Member).await;
    for _ in 0..3 {
        app.app.clock.advance(TimeDelta::hours(7));
        assert_eq!(browser.get("/account").await.status, StatusCode::OK);
    }
    app.app.clock.advance(TimeDelta::hours(3) + TimeDelta::seconds(1));
    assert_eq!(browser.get("/account").await.status, StatusCode::SEE_OTHER, "24 hours are over");

    browser.sign_in("member@palmfan.example").await;
    app.app.clock.advance(TimeDelta::hours(8) + TimeDelta::seconds(1));
    assert_eq!(browser.get("/account").await.status, StatusCode::SEE_OTHER, "8 idle hours are over");

    let mut tx = app.app.machine(&app.operator()).await.unwrap();
    let swept = sweep::expired(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(swept, sweep::Swept { sessions: 2, devices: 0, links: 0, failures: 0, submissions: 0 });
}

#[tokio::test]
async fn the_eleventh_session_ends_the_oldest() {
    let app = TestApp::new().await;
    let first = app.sign_in(Role::Member).await;
    let mut others = Vec::new();
    for _ in 0..10 {
        app.app.clock.advance(TimeDelta::seconds(1));
        let browser = app.browser();
        browser.sign_in("member@palmfan.example").await;
        others.push(browser);
    }
    assert_eq!(first.get("/account").await.status, StatusCode::SEE_OTHER);
    for browser in others {
        assert_eq!(browser.get("/account").await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_page_leads_to_sign_in_and_back_and_a_file_says_401() {
    let app = TestApp::new().await;
    app.add_user("a@palmfan.example", Role::Administrator).await;
    let browser = app.browser();
    let answer = browser.get("/people?q=%E9%99%88&role=member").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    let sign_in = answer.location();
    assert!(sign_in.starts_with("/sign-in?to=%2Fpeople"), "{sign_in}");
    let fields = [("email", "a@palmfan.example"), ("password", PASSWORD)];
    let answer = browser.submit(&sign_in, "/sign-in", &fields).await;
    assert_eq!(answer.location(), "/people?q=%E9%99%88&role=member");

    for path in ["/people.csv", "/people.json", "/people.xlsx"] {
        assert_eq!(app.browser().get(path).await.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    assert_eq!(app.browser().post("/people", &[]).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn nobody_is_sent_elsewhere_after_signing_in() {
    let app = TestApp::new().await;
    app.add_user("a@palmfan.example", Role::Member).await;
    for to in ["//evil.example", "https://evil.example", "/%5Cevil.example", "%2F%2Fevil.example"] {
        let fields = [("email", "a@palmfan.example"), ("password", PASSWORD)];
        let answer = app.browser().submit(&format!("/sign-in?to={to}"), "/sign-in", &fields).await;
        assert_eq!(answer.location(), "/", "{to}");
    }
    let planted = [("email", "a@palmfan.example"), ("password", PASSWORD), ("to", "//evil.example")];
    assert_eq!(app.browser().post("/sign-in", &planted).await.location(), "/");
}

// case P08
#[tokio::test]
async fn opening_an_address_never_signs_out() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Member).await;
    assert_eq!(browser.get("/sign-out").await.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(browser.get("/account").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_form_from_another_site_is_refused() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    let host = ("host", "localhost");
    for headers in [
        vec![host, ("origin", "https://evil.example")],
        vec![host, ("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")],
        vec![host, ("sec-fetch-site", "same-site")],
        vec![host],
    ] {
        let forged = request(&browser, Method::POST, "/sign-out", &headers, "");
        assert_eq!(browser.exchange(forged).await.status, StatusCode::FORBIDDEN, "{headers:?}");
    }
    assert_eq!(browser.get("/account").await.status, StatusCode::OK, "still signed in");
}

#[tokio::test]
async fn over_plain_http_the_page_says_what_to_do_instead_of_failing_in_silence() {
    let app = TestApp::new().await;
    app.add_user("a@palmfan.example", Role::Member).await;
    let browser = app.browser();
    let plain = [("host", "ledger.example"), ("sec-fetch-site", "same-origin"), ("accept-language", "en")];
    let page = browser.exchange(request(&browser, Method::GET, "/sign-in", &plain, "")).await;
    assert!(page.texts("[role=alert]")[0].contains("https://"), "{}", page.text());
    assert!(page.texts("input[type=password]").is_empty());
    let body = format!("email=a%40palmfan.example&password={}", PASSWORD.replace(' ', "+"));
    let answer = browser.exchange(request(&browser, Method::POST, "/sign-in", &plain, &body)).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(!answer.headers.contains_key(header::SET_COOKIE));
    assert!(answer.texts("[role=alert]")[0].contains("https://"));
}

#[tokio::test]
async fn the_language_is_switched_before_and_after_signing_in_and_stays() {
    let app = TestApp::new().await;
    app.add_user("a@palmfan.example", Role::Member).await;
    let browser = app.browser();
    assert_eq!(browser.get("/sign-in").await.texts("h1"), ["登录"]);
    let answer = browser.submit("/sign-in?to=%2Faccount", "/language", &[]).await;
    assert_eq!(answer.location(), "/sign-in?to=%2Faccount");
    assert_eq!(browser.get("/sign-in").await.texts("h1"), ["Sign in"]);

    // The person's own language, once signed in: the organisation's until one is chosen.
    browser.sign_in("a@palmfan.example").await;
    assert_eq!(browser.get("/account").await.attributes("html", "lang"), ["zh-CN"]);
    let answer = browser.submit("/account", "/language", &[]).await;
    assert_eq!(answer.location(), "/account");
    assert_eq!(browser.get("/account").await.attributes("html", "lang"), ["en"]);
    let other = app.browser();
    other.sign_in("a@palmfan.example").await;
    assert_eq!(other.get("/account").await.attributes("html", "lang"), ["en"]);

    let answer = browser.post("/language", &[("locale", "fr"), ("to", "/")]).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(browser.post("/language", &[("locale", "en"), ("to", "//evil.example")]).await.location(), "/");
}

#[tokio::test]
async fn below_a_path_everything_still_leads_where_it_should() {
    let app = TestApp::behind("http://localhost/ledger").await;
    app.add_user("a@palmfan.example", Role::Member).await;
    let browser = app.browser();
    let answer = browser.get("/account").await;
    assert_eq!(answer.location(), "/ledger/sign-in?to=%2Faccount");
    browser.sign_in("a@palmfan.example").await;
    assert_eq!(browser.get("/account").await.status, StatusCode::OK);
    let answer = browser.submit("/account", "/language", &[]).await;
    assert_eq!(answer.location(), "/ledger/account");
}
