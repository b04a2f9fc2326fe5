//! What holds for every page: it opens in both languages, its words are words, its headers keep it safe.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use rentroll::access::person::{self, NewPerson};
use rentroll::access::project;
use rentroll::actor::Role;
use rentroll::app;
use rentroll::catalog::{provider, tier};
use rentroll::locale::Locale;
use rentroll::web::routes::{Needs, Route};

use crate::harness::{Answer, Browser, TestApp};
use crate::tidy::{files_of, keys_of};

/// A little of everything, so that the pages show more than their empty states.
async fn furnish(app: &TestApp) {
    let mut tx = app.write().await;
    let provider = provider::add(&mut tx, "苇塘云".parse().expect("furnished")).await.expect("furnished");
    tier::find_or_add(&mut tx, provider.id, "H800×8".parse().expect("furnished")).await.expect("furnished");
    let project = project::add(&mut tx, "竹简大模型".parse().expect("furnished")).await.expect("furnished");
    let owner = NewPerson::named("陈白露", Some("bailu@palmfan.example")).expect("furnished");
    let owner = person::find_or_add(&mut tx, owner).await.expect("furnished");
    tx.commit().await.expect("furnished");
    let mut superuser = app.database.superuser().await;
    let sql = "
        insert into environment (project_id, name, provider_id, tier_id, owner_id, created_at)
            select $1, '竹简-预训练', t.provider_id, t.id, $2, t.created_at from tier t;";
    sqlx::query(sql).bind(project.id.0).bind(owner.id.0).execute(&mut superuser).await.expect("furnished");
    for sql in [
        "insert into term (project_id, environment_id, number, starts_on, ends_on, created_at)
             select project_id, id, 1, '2026-01-01', '2026-03-31', created_at from environment",
        "insert into deadline (kind, project_id, environment_id, term_id, due_on, created_at)
             select 'expiry', t.project_id, t.environment_id, t.id, t.ends_on, t.created_at from term t",
        "insert into deadline (kind, project_id, environment_id, term_id, due_on, created_at)
             select 'cancel_by', t.project_id, t.environment_id, t.id, t.ends_on - 20, t.created_at from term t",
        "insert into spend_month (period, provider_id, project_id, environment_id, category, currency, lines, list, contracted,
             billed, effective, list_unknown, contracted_unknown, billed_unknown, effective_unknown)
             select '2026-03-01', provider_id, project_id, id, 'usage', 'CNY', 3, 0, 0, 68000.125, 0, 0, 0, 1, 0 from environment",
        "insert into spend_month (period, provider_id, category, currency, lines, list, contracted,
             billed, effective, list_unknown, contracted_unknown, billed_unknown, effective_unknown)
             select '2026-03-01', provider_id, 'usage', 'USD', 2, 0, 0, 9.5, 0, 0, 0, 0, 0 from environment",
        "insert into output_entry (project_id, environment_id, period, unit, quantity, recorded_at)
             select project_id, id, '2026-02-01', '十亿 token', 551, created_at from environment",
        "insert into job_run (job, started_at, worker, checked, done, failed) values ('reminders', '2026-03-16T01:00:00Z', 'w', 12, 3, 1)",
    ] {
        sqlx::query(sql).execute(&mut superuser).await.expect("furnished");
    }
}

/// The GET routes of the table that name no single thing.
fn pages() -> Vec<Route> {
    let (_, table) = app::routes().finish();
    table.into_iter().filter(|route| route.method == Method::GET && !route.path.contains('{')).collect()
}

fn is_file(path: &str) -> bool {
    [".csv", ".xlsx", ".json", ".ics"].iter().any(|ending| path.ends_with(ending))
}

async fn speak(app: &TestApp, locale: Locale) {
    sqlx::query("update person set locale = $1")
        .bind(locale.tag())
        .execute(&mut app.database.superuser().await)
        .await
        .expect("spoken");
}

/// Words on a page that are the name of a text instead of the text.
fn raw_keys(page: &Answer, keys: &BTreeSet<String>) -> Vec<String> {
    let text = page.texts("html").join(" ") + " " + &page.attributes("[aria-label]", "aria-label").join(" ");
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.filter(|word| word.contains('-') && keys.contains(*word)).map(str::to_owned).collect()
}

#[tokio::test]
async fn every_page_opens_for_an_administrator_in_both_languages() {
    let keys: BTreeSet<String> = files_of("locales/en", "ftl").iter().flat_map(|file| keys_of(&file.text)).collect();
    for furnished in [false, true] {
        let app = TestApp::new().await;
        if furnished {
            furnish(&app).await;
        }
        let browser = app.sign_in(Role::Administrator).await;
        for locale in Locale::ALL {
            speak(&app, locale).await;
            for route in pages() {
                let answer = browser.get(route.path).await;
                let what = format!("{} in {locale}, furnished: {furnished}", route.path);
                let away = answer.status == StatusCode::SEE_OTHER;
                assert!(answer.status == StatusCode::OK || away, "{what}: {} {}", answer.status, answer.text());
                let html =
                    answer.headers.get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
                if is_file(route.path) || away || !html {
                    continue;
                }
                assert_eq!(answer.attributes("html", "lang"), [locale.tag()], "{what}");
                assert_eq!(raw_keys(&answer, &keys), Vec::<String>::new(), "{what}");
                assert_eq!(answer.texts("h1").len(), 1, "{what}: one heading");
                let title = answer.texts("title").join("");
                assert!(!title.starts_with('·') && title.contains(" · "), "{what}: the title is {title:?}");
            }
        }
    }
}

// case N (sub-path), X12: below a path of its own, every address on every page begins with it.
#[tokio::test]
async fn below_a_path_every_address_begins_with_it() {
    let app = TestApp::behind("http://localhost/rent/roll").await;
    furnish(&app).await;
    let browser = app.sign_in(Role::Administrator).await;
    for route in pages().iter().filter(|route| !is_file(route.path)) {
        let page = browser.get(route.path).await;
        for (selector, name) in [("a", "href"), ("link", "href"), ("form", "action"), ("script", "src"), ("img", "src")]
        {
            for address in page.attributes(selector, name) {
                let ours = address.starts_with("/rent/roll/") || address.starts_with('#');
                assert!(ours || !address.starts_with('/'), "{}: {address}", route.path);
            }
        }
    }
}

/// Where the links of a page lead within the program, without the place on the page.
fn links(page: &Answer) -> Vec<String> {
    let ours = page.attributes("a", "href").into_iter().filter(|address| address.starts_with('/'));
    ours.map(|address| address.split('#').next().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn every_link_leads_somewhere() {
    let app = TestApp::new().await;
    furnish(&app).await;
    let browser = app.sign_in(Role::Administrator).await;
    let (mut to_see, mut seen, mut dead) = (vec!["/".to_owned()], BTreeSet::new(), Vec::new());
    while let Some(address) = to_see.pop() {
        // A list has as many addresses as filters; each page is looked at once with one.
        let (path, query) = address.split_once('?').unwrap_or((&address, ""));
        let names: String = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default()).collect();
        if !seen.insert(format!("{path}?{names}")) {
            continue;
        }
        let page = browser.get(&address).await;
        if !page.status.is_success() && !page.status.is_redirection() {
            dead.push(format!("{address}: {}", page.status));
        }
        if !is_file(path) {
            to_see.extend(links(&page));
        }
    }
    assert!(seen.len() > 20, "the walk goes on from page to page: {seen:?}");
    assert_eq!(dead, Vec::<String>::new());
}

fn assert_is_guarded(what: &str, headers: &HeaderMap) {
    let of = |name: &str| headers.get(name).map(|value| value.to_str().expect("ASCII")).unwrap_or_default();
    let policy = of("content-security-policy");
    for rule in ["default-src 'none'", "frame-ancestors 'none'"] {
        assert!(policy.contains(rule), "{what}: {policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains("http:") && !policy.contains('*'), "{what}: {policy}");
    assert_eq!(of("x-content-type-options"), "nosniff", "{what}");
    assert_eq!(of("referrer-policy"), "same-origin", "{what}");
    assert_eq!(of("cross-origin-opener-policy"), "same-origin", "{what}");
    assert_eq!(of("x-frame-options"), "DENY", "{what}");
    for cookie in headers.get_all("set-cookie") {
        let cookie = cookie.to_str().expect("ASCII");
        let lower = cookie.to_ascii_lowercase();
        assert!(cookie.starts_with("__Host-"), "{what}: {cookie}");
        for attribute in ["secure", "httponly", "path=/", "samesite=lax"] {
            assert!(lower.contains(attribute), "{what}: {cookie} has no {attribute}");
        }
        assert!(cookie.len() < 200, "{what}: {cookie}");
    }
}

// check C32: the headers of every answer, whatever its status; nothing of it is kept by anybody but for static files.
#[tokio::test]
async fn every_answer_has_the_headers_that_keep_it_safe() {
    assert_answers_are_guarded("http://localhost").await;
}

#[tokio::test]
async fn below_a_path_every_answer_has_them_too() {
    // The second path could be taken for that of the static files.
    assert_answers_are_guarded("http://localhost/rent").await;
    assert_answers_are_guarded("http://localhost/static").await;
}

async fn assert_answers_are_guarded(public_url: &str) {
    let app = TestApp::behind(public_url).await;
    let (signed_in, stranger) = (app.sign_in(Role::Administrator).await, app.browser());
    let mut answers = Vec::new();
    for browser in [&signed_in, &stranger] {
        for route in app::routes().finish().1 {
            let path = route.path.replace("{id}", "1");
            if path.contains('{') || path == "/sign-out" {
                continue;
            }
            // A form without its fields, and one from nowhere: refused, and refused safely.
            let answer = match route.method {
                Method::GET => browser.get(&path).await,
                _ => browser.post(&path, &[]).await,
            };
            answers.push((format!("{} {path}", route.method), answer));
        }
        answers.push(("nowhere".into(), browser.get("/nowhere").await));
        answers.push(("nowhere.json".into(), browser.get("/nowhere.json").await));
        answers.push(("a bad filter".into(), browser.get("/history?from=x").await));
        answers.push(("a wrong method".into(), browser.send(Method::DELETE, "/history", None).await));
        answers.push(("nothing static".into(), browser.get("/static/app.css").await));
        answers.push(("the last form".into(), browser.post("/sign-out", &[]).await));
    }
    let kept = |path: &str| answers.iter().any(|(what, answer)| what == path && answer.status == StatusCode::OK);
    assert!(kept("GET /environments.csv") && kept("GET /settings"), "pages and files are among them");
    for (what, answer) in &answers {
        assert_is_guarded(what, &answer.headers);
        assert_eq!(answer.headers.get("cache-control").unwrap(), "no-store", "{what}");
        if let Some(kind) = answer.headers.get("content-type").map(|kind| kind.to_str().unwrap())
            && kind.starts_with("text/")
        {
            assert!(kind.contains("charset=utf-8"), "{what}: {kind}");
        }
    }
    let style = stranger.get("/sign-in").await.attributes("link[rel=stylesheet]", "href").pop().unwrap();
    let style = stranger.get(style.strip_prefix(app.app.base.as_str()).expect("below the path")).await;
    assert_eq!(style.status, StatusCode::OK);
    assert_is_guarded("the style", &style.headers);
    assert_eq!(style.headers["cache-control"], "public, max-age=31536000, immutable");
}

#[tokio::test]
async fn who_has_not_signed_in_is_sent_there_and_data_is_refused() {
    let app = TestApp::new().await;
    let stranger = app.browser();
    for route in pages().iter().filter(|route| route.needs != Needs::Nothing) {
        let answer = stranger.get(route.path).await;
        if is_file(route.path) {
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", route.path);
        } else {
            assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", route.path);
            assert!(answer.location().starts_with("/sign-in?to="), "{}: {}", route.path, answer.location());
        }
    }
}

// case P08: an address that changes something answers to GET that it does not.
#[tokio::test]
async fn a_missing_page_and_a_wrong_method_are_pages_too() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    for (locale, missing, wrong, home) in [
        (Locale::ZhCn, "找不到", "这个地址不接受这种请求", "总览"),
        (Locale::En, "Not found", "This address does not take that kind of request", "Overview"),
    ] {
        speak(&app, locale).await;
        let answer = browser.get("/nowhere").await;
        assert_eq!((answer.status, answer.texts("h1")), (StatusCode::NOT_FOUND, vec![missing.to_owned()]));
        assert!(answer.texts("nav a").contains(&home.to_owned()), "one finds on from there");
        let answer = browser.send(Method::DELETE, "/history", None).await;
        assert_eq!((answer.status, answer.texts("h1")), (StatusCode::METHOD_NOT_ALLOWED, vec![wrong.to_owned()]));
        assert_eq!(answer.headers["allow"], "GET,HEAD");
        let posts = app::routes().finish().1.into_iter().filter(|route| route.method == Method::POST);
        let gets: BTreeSet<_> = pages().iter().map(|route| route.path).collect();
        for route in posts.filter(|route| !route.path.contains('{') && !gets.contains(route.path)) {
            let answer = browser.get(route.path).await;
            assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "GET {}", route.path);
        }
    }
    let problem = browser.get("/nowhere.json").await;
    let body: serde_json::Value = serde_json::from_slice(&problem.bytes).unwrap();
    assert_eq!((problem.status, body["title"].as_str()), (StatusCode::NOT_FOUND, Some("Not found")));
}

#[tokio::test]
async fn a_page_of_another_site_cannot_embed_or_forge() {
    let app = TestApp::new().await;
    let browser = app.browser();
    let request = |mode: &str| {
        let request = Request::builder().uri("/history").header("host", "localhost");
        request.header("sec-fetch-site", "cross-site").header("sec-fetch-mode", mode).body(Body::empty()).unwrap()
    };
    assert_eq!(browser.exchange(request("no-cors")).await.status, StatusCode::FORBIDDEN);
    assert_ne!(browser.exchange(request("navigate")).await.status, StatusCode::FORBIDDEN);
}

async fn overview(app: &TestApp, role: Role) -> (Browser, Answer) {
    let browser = app.sign_in(role).await;
    let page = browser.get("/").await;
    (browser, page)
}

#[tokio::test]
async fn the_overview_says_what_is_due_what_it_cost_and_what_came_of_it() {
    let app = TestApp::new().await;
    furnish(&app).await;
    let (browser, page) = overview(&app, Role::Administrator).await;
    let actions = "续费退租";
    assert_eq!(
        page.rows("table.due"),
        [
            ["已逾期 5 天", "竹简-预训练", "通知截止", "3月11日（周三）", "竹简大模型", "陈白露", actions],
            ["还有 15 天", "竹简-预训练", "到期", "3月31日（周二）", "竹简大模型", "陈白露", actions],
        ]
    );
    assert_eq!(page.attributes("table.due .days", "class"), ["days days-past", "days days-near"]);
    assert_eq!(
        page.rows("table.spend"),
        [["CNY", "68,000.13另有 1 行金额未知", "0.00", "0.00"], ["USD", "9.50", "9.50", "0.00"]]
    );
    assert_eq!(page.rows("table.outputs"), [["2026-02", "竹简-预训练", "551 十亿 token"]]);
    assert_eq!(page.texts(".strip"), ["提醒任务 2026-03-16 09:00 +08:00 跑过：检查 12，发出 3，失败 1"]);
    assert!(page.texts(".notice").iter().any(|notice| notice.starts_with("有 2 行账单还没归属到环境。")));
    assert_eq!(page.texts(".alert"), Vec::<String>::new());

    let mine = browser.get("/?whose=mine").await;
    assert_eq!(mine.rows("table.due"), Vec::<Vec<String>>::new(), "nothing is the administrator's own");
}

// docs/model.md 7: nobody to remind is a red line, and names the environment.
#[tokio::test]
async fn the_overview_says_whose_reminders_reach_nobody() {
    let app = TestApp::new().await;
    furnish(&app).await;
    sqlx::query("update environment set owner_id = null").execute(&mut app.database.superuser().await).await.unwrap();
    let (_, page) = overview(&app, Role::Administrator).await;
    let alerts = page.texts(".alert");
    assert!(alerts.len() == 1 && alerts[0].contains("竹简-预训练"), "{alerts:?}");
    assert!(alerts[0].contains("管理员"), "and who is told instead: {alerts:?}");
}

#[tokio::test]
async fn an_empty_overview_says_where_to_begin_and_a_viewer_is_not_offered_it() {
    let app = TestApp::new().await;
    let (_, page) = overview(&app, Role::Administrator).await;
    assert_eq!(page.texts(".empty li a"), ["登记环境", "导入环境表", "导入账单"]);
    let (_, page) = overview(&app, Role::Auditor).await;
    assert_eq!(page.texts(".empty li a"), Vec::<String>::new());
    assert!(page.texts(".empty")[0].contains("找项目的经办或管理员"));
}

// case P03: the numbers of a reader without projects are not those of the house.
#[tokio::test]
async fn the_overview_of_somebody_without_projects_is_empty() {
    let app = TestApp::new().await;
    furnish(&app).await;
    let (_, page) = overview(&app, Role::Member).await;
    for secret in ["竹简", "68,000", "9.50", "551"] {
        assert!(!page.texts("main").join(" ").contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn an_address_that_names_nothing_is_not_found_in_the_readers_language() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    for path in ["/environments/abc", "/environments/%00", "/environments/99999999999999999999", "/nowhere"] {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(answer.texts("h1"), ["找不到"], "{path}");
    }
    let answer = browser.get("/history?before=abc").await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(answer.texts("main p")[1], "筛选项 before 不能是“abc”；请写整数。");
    assert_eq!(app.browser().get("/api/v1/nothing").await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_menu_says_where_a_page_lies() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    for (page, entry) in [
        ("/", "/"),
        ("/settings", "/settings"),
        ("/people/new", "/settings"),
        ("/projects", "/settings"),
        ("/jobs", "/renewals"),
        ("/providers", "/environments"),
        ("/imports/environments", "/environments"),
        ("/imports/bill", "/ledger"),
        ("/rates", "/ledger"),
    ] {
        assert_eq!(browser.get(page).await.attributes("nav [aria-current]", "href"), [entry], "{page}");
    }
    assert!(browser.get("/account").await.attributes("nav [aria-current]", "href").is_empty());
}

#[tokio::test]
async fn a_filter_that_cannot_be_read_leads_to_the_list_without_it() {
    let app = TestApp::behind("http://localhost/rent").await;
    let browser = app.sign_in(Role::Administrator).await;
    let page = browser.get("/history?from=x").await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(page.attributes("main .actions a", "href"), ["/rent/history", "/rent/"]);
    let nowhere = browser.get("/nowhere?from=x").await;
    assert_eq!(nowhere.attributes("main .actions a", "href"), ["/rent/"]);
}

// A filter's value that nobody knows is refused by the parameter's name, with the words it may hold, on every list that has
// such a parameter; the whole list would look like a part of it.
#[tokio::test]
async fn a_value_that_no_filter_knows_is_refused_by_its_name() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    sqlx::query("update person set locale = 'en'").execute(&mut app.database.superuser().await).await.unwrap();
    for (path, parameter, words) in [
        ("/", "whose", "all, mine"),
        ("/renewals", "whose", "all, mine"),
        ("/renewals", "within", "present, overdue, 7, 15, 30, all, open-ended"),
        ("/reminders", "state", "planned, due, sent, failed, superseded, withdrawn"),
        ("/deliveries", "state", "pending, outbox, leased, sent, bounced, dead, cancelled, failed"),
        ("/jobs", "job", "renewals, reminders, sweep"),
        ("/jobs", "what", "all, busy"),
        ("/people", "role", "administrator, auditor, member, none"),
        ("/environments", "status", "active, ended, voided"),
        ("/environments", "scenario", "debug, training, fine_tuning, inference, evaluation, batch"),
        ("/history", "kind", "organisation, person, user_account"),
    ] {
        let answer = browser.get(&format!("{path}?{parameter}=zz")).await;
        assert_eq!(answer.status, 422, "{path} {parameter}");
        let said = format!("The filter {parameter} cannot be \"zz\"; write one of: {words}");
        assert!(
            answer.texts("main p").iter().any(|told| told.starts_with(&said)),
            "{path}: {:?}",
            answer.texts("main p")
        );
        let known = words.split(", ").next().unwrap();
        assert_eq!(browser.get(&format!("{path}?{parameter}={known}")).await.status, 200, "{path} {parameter}={known}");
    }
    for (path, parameter, wanted) in [
        ("/environments", "project", "a whole number"),
        ("/renewals", "project", "a whole number"),
        ("/history", "from", "a day like 2026-12-01"),
        ("/history", "request", "the number of a request as the history gives it"),
    ] {
        let answer = browser.get(&format!("{path}?{parameter}=zz")).await;
        assert_eq!(answer.status, 422, "{path} {parameter}");
        let said = format!("The filter {parameter} cannot be \"zz\"; write {wanted}.");
        assert!(answer.texts("main p").contains(&said), "{path}: {:?}", answer.texts("main p"));
    }
    for (parameter, wanted) in
        [("project", "the number or the name exactly as it is"), ("import", "the number as the list gives it")]
    {
        let answer = browser.get(&format!("/ledger?{parameter}=zz")).await;
        let said = format!("The filter {parameter} finds no \"zz\"; write {wanted}.");
        assert!(answer.texts("main p").contains(&said), "{parameter}: {:?}", answer.texts("main p"));
    }
}

// A day that no calendar of ours has is refused as any other, wherever a day may stand.
#[tokio::test]
async fn days_beyond_the_calendar_are_refused() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    for day in ["-99999-01-01", "-262143-01-01", "262142-12-31", "1989-12-31", "2026-02-30"] {
        for path in [
            "/reminders?from=",
            "/reminders?to=",
            "/reminders.csv?to=",
            "/history?from=",
            "/history.csv?to=",
            "/ledger?from=",
        ] {
            let answer = browser.get(&format!("{path}{day}")).await;
            assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}{day}: {}", answer.text());
        }
        for path in ["/reminders?after=", "/renewals?after="] {
            let answer = browser.get(&format!("{path}{day}:1")).await;
            assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}{day}:1: {}", answer.text());
        }
    }
    assert_eq!(browser.get("/reminders?from=2026/3/1").await.status, StatusCode::OK, "as spreadsheets write it");
}

// Probes and what is the same for everybody need no database, whoever asks.
#[tokio::test]
async fn probes_and_static_files_do_not_ask_who_it_is() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    let page = browser.get("/settings").await;
    let styles = page.attributes("link[rel=stylesheet]", "href").remove(0);
    let mut blocker = app.database.superuser().await;
    sqlx::raw_sql("begin; lock table session in access exclusive mode").execute(&mut blocker).await.unwrap();
    assert_eq!(browser.get("/healthz").await.status, StatusCode::OK);
    assert_eq!(browser.get(&styles).await.status, StatusCode::OK);
    assert_eq!(browser.get("/settings").await.status, StatusCode::SERVICE_UNAVAILABLE);
}
