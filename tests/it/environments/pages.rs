//! Environments on the pages, as a person meets them.

use axum::http::StatusCode;
use rentroll::actor::Role;
use rentroll::dates::{Cycle, Notice, Renewal};
use rentroll::deadline::Kind;
use rentroll::deadlines::reminder::{self, ReminderFilter, ReminderRow, Standing};
use rentroll::environments::environment;
use rentroll::environments::term::{self, NewTerm};

use super::day;
use crate::harness::{Browser, TestApp};

async fn english(app: &TestApp) -> Browser {
    let browser = app.sign_in(Role::Administrator).await;
    browser.post("/language", &[("locale", "en"), ("to", "/")]).await;
    browser
}

const NEW: &[(&str, &str)] = &[
    ("project", "竹简大模型"),
    ("name", "竹简-预训练"),
    ("provider", "苇塘云"),
    ("tier", "H800×8"),
    ("owner", "bailu@palmfan.example"),
    ("starts_on", "2026-03-17"),
    ("ends_on", "2027-03-16"),
    ("cycle", "yearly"),
    ("price", "68000"),
    ("quantity", "4"),
];

// case R09 (the default first day), case A10: the page says what is made with it, asks once, and a double click is one act.
#[tokio::test]
async fn an_environment_is_opened_after_the_page_said_what_is_made_with_it() {
    let app = TestApp::at("2026-04-26T17:30:00Z").await;
    let browser = english(&app).await;
    let form = browser.get("/environments/new").await;
    assert_eq!(form.form("/environments").1["starts_on"], "2026-04-27", "today in Shanghai");

    let asked = browser.submit("/environments/new", "/environments", NEW).await;
    assert_eq!(asked.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(
        asked.texts(".notice li"),
        [
            "Project \"竹简大模型\"",
            "Provider \"苇塘云\"",
            "Tier \"H800×8\" of 苇塘云",
            "Person without a log-in: bailu@palmfan.example"
        ]
    );
    let (_, agreed) = asked.form("/environments");
    let agreed: Vec<(&str, &str)> = agreed.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let first = browser.post("/environments", &agreed).await;
    let second = browser.post("/environments", &agreed).await;
    assert_eq!((first.status, second.location()), (StatusCode::SEE_OTHER, first.location()));

    let page = browser.get(&first.location()).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.texts("h1")[0].starts_with("竹简-预训练"));
    assert!(page.texts(".lead")[0].contains("Tue 16 Mar 2027"), "{:?}", page.texts(".lead"));
    assert_eq!(page.rows("table.terms")[0][1..3], ["2026-03-17", "2027-03-16"]);
    assert_eq!(page.attributes(".term-bar rect", "class"), ["term-now"], "the chain as a bar");
    assert!(page.texts(".mark-today")[0].contains("2026-04-27"));
    assert!(page.text().contains("272,000.00 CNY (agreed)"));
    let opened = app.actions().await.iter().filter(|action| *action == "environment.opened").count();
    assert_eq!(opened, 1);
}

#[tokio::test]
async fn a_checker_who_is_the_owner_is_said_to_be_no_second_person() {
    let app = TestApp::at("2026-04-26T17:30:00Z").await;
    let browser = english(&app).await;
    let mut fields = NEW.to_vec();
    let owner = fields.iter().find(|(name, _)| *name == "owner").unwrap().1;
    fields.retain(|(name, _)| *name != "checker");
    fields.push(("checker", owner));
    let (_, agreed) = browser.submit("/environments/new", "/environments", &fields).await.form("/environments");
    let agreed: Vec<(&str, &str)> = agreed.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let page = browser.get(&browser.post("/environments", &agreed).await.location()).await;
    assert_eq!(page.texts(".facts small"), ["the owner too: nobody else checks"]);
}

// case R08, case E07, case R24, case I16: what cannot be comes back with everything that was typed.
#[tokio::test]
async fn what_cannot_be_comes_back_with_what_was_typed() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    for (field, value, message) in [
        ("name", "   ", "Something must stand here."),
        ("name", "a\r\nBcc: x@evil", "This must stay on one line: it contains a line break (U+000D)."),
        ("name", "A\0B", "This contains a NUL character (U+0000), which cannot be stored; remove it."),
        ("ends_on", "2027-02-29", "\"2027-02-29\" is not in the calendar; write a real day, like 2026-12-01."),
        ("price", "-1", "-1 is below zero; write 0 or more, or leave it empty if it is not known."),
    ] {
        let mut fields = NEW.to_vec();
        fields.retain(|(name, _)| *name != field);
        fields.push((field, value));
        let answer = browser.submit("/environments/new", "/environments", &fields).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}");
        assert_eq!(answer.texts(".field-error"), [message]);
        assert_eq!(answer.form("/environments").1["tier"], "H800×8");
    }
    assert!(!app.actions().await.contains(&"environment.opened".to_owned()));
}

// case R07
#[tokio::test]
async fn a_form_saved_without_a_change_changes_nothing_at_any_hour() {
    let app = TestApp::new().await;
    let term = NewTerm {
        cycle: Cycle::MONTHLY,
        price: Some("9800.50".parse().unwrap()),
        currency: Some("CNY".parse().unwrap()),
        ..NewTerm::between(day("2026-01-01"), Some(day("2026-03-31")))
    };
    let environment = app.open_environment_with("竹简-预训练", term).await;
    let mut read = app.read().await;
    let before = term::last(read.connection(), environment.id).await.unwrap();
    app.add_user("saver@palmfan.example", Role::Administrator).await;
    let history = app.history().await.len();
    for time in ["2026-03-16T17:00:00Z", "2026-03-17T00:00:00Z", "2026-03-17T07:00:00Z", "2026-03-17T15:30:00Z"] {
        app.app.clock.set(time.parse().unwrap());
        let browser = app.browser();
        browser.sign_in("saver@palmfan.example").await;
        let saved = browser.submit(&format!("/terms/{}/edit", before.id), &format!("/terms/{}", before.id), &[]).await;
        assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.text());
        let path = format!("/environments/{}", environment.id);
        let saved = browser.submit(&format!("{path}/edit"), &path, &[]).await;
        assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.text());
    }
    let mut read = app.read().await;
    assert_eq!(term::last(read.connection(), environment.id).await.unwrap(), before);
    assert_eq!(environment::get(read.connection(), environment.id).await.unwrap(), environment);
    let actions = app.actions().await.split_off(history);
    assert!(actions.iter().all(|action| action == "user.signed_in"), "{actions:?}");
}

// case C01
#[tokio::test]
async fn a_second_editor_sees_both_versions_and_loses_nothing() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-03-31")).await;
    let browser = english(&app).await;
    let path = format!("/environments/{}", environment.id);
    let page = browser.get(&format!("{path}/edit")).await;
    let first = browser.submit(&format!("{path}/edit"), &path, &[("labels", "team=a"), ("reason", "new team")]).await;
    assert_eq!(first.status, StatusCode::SEE_OTHER);
    let (_, mut late) = page.form(&path);
    late.insert("note".to_owned(), "mine".to_owned());
    let late: Vec<(&str, &str)> = late.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let answer = browser.post(&path, &late).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert_eq!(answer.rows(".form-errors table"), [["Labels", "team=a", ""], ["Note", "", "mine"]]);
    let (_, again) = answer.form(&path);
    assert_eq!(again["note"], "mine");
    let again: Vec<(&str, &str)> = again.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(
        browser.post(&path, &again).await.status,
        StatusCode::SEE_OTHER,
        "now it starts from the present version"
    );

    let mut read = app.read().await;
    let term = term::last(read.connection(), environment.id).await.unwrap();
    let path = format!("/terms/{}", term.id);
    let page = browser.get(&format!("{path}/edit")).await;
    browser.submit(&format!("{path}/edit"), &path, &[("ends_on", "2026-06-30")]).await;
    let (_, mut late) = page.form(&path);
    late.insert("notice".to_owned(), "30 days".to_owned());
    let late: Vec<(&str, &str)> = late.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let answer = browser.post(&path, &late).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    let rows = answer.rows(".form-errors table");
    assert_eq!(rows, [["Ends on", "2026-06-30", "2026-03-31"], ["Notice", "", "30 days"]]);
}

// case R24, case C03: the page shows what the renewal comes to, and saves exactly that, once.
#[tokio::test]
async fn a_renewal_shows_its_last_day_and_cost_before_it_is_saved() {
    let app = TestApp::new().await;
    let term = NewTerm {
        cycle: Cycle::MONTHLY,
        quantity: 4.into(),
        price: Some(68_000.into()),
        currency: Some("CNY".parse().unwrap()),
        ..NewTerm::between(day("2026-01-31"), Some(day("2026-03-30")))
    };
    let environment = app.open_environment_with("竹简-预训练", term).await;
    let browser = english(&app).await;
    let path = format!("/environments/{}", environment.id);
    let page = browser.get(&format!("{path}/renewals/new")).await;
    assert_eq!(
        page.texts(".preview p"),
        ["New last day Sat 30 May 2026, about 544,000.00 CNY for the term", "2026-03-31 – 2026-05-30 · 2 cycles"]
    );
    let asked = browser.get(&format!("{path}/renewals/new?cycles=12&price=61000")).await;
    assert!(asked.texts(".preview p")[0].contains("Tue 30 Mar 2027, about 2,928,000.00 CNY"));
    let odd = browser.get(&format!("{path}/renewals/new?ends_on=2026-04-10")).await;
    assert_eq!(odd.texts(".preview p")[0], "New last day Fri 10 Apr 2026; the cost is unknown");

    let wrong = browser.submit(&format!("{path}/renewals/new"), "/renewals", &[("cycles", "0")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(wrong.texts(".field-error").len(), 1);
    let (_, fields) = asked.form("/renewals");
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    for _ in 0..2 {
        let saved = browser.post(&format!("{path}/renewals"), &fields).await;
        assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.text());
    }
    let shown = browser.get(&path).await;
    let terms = shown.rows("table.terms");
    assert_eq!((terms.len(), terms[1][2].as_str(), terms[1][7].as_str()), (2, "2027-03-30", "61,000.00 CNY"));
    assert!(shown.texts(".history li p")[0..].iter().any(|it| it.contains("renewed 竹简-预训练 to 2027-03-30")));
}

// case R24: a stray day at the end of a month is no cycle.
#[tokio::test]
async fn a_renewal_offers_as_many_cycles_as_the_term_has_and_says_how_many_there_can_be() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    for (name, starts_on, ends_on, preview) in [
        ("甲", "2026-11-30", "2026-12-31", "2027-01-01 – 2027-01-31 · 1 cycle"),
        ("乙", "2026-10-30", "2026-11-30", "2026-12-01 – 2026-12-31 · 1 cycle"),
        ("丙", "2027-01-31", "2027-02-28", "2027-03-01 – 2027-03-31 · 1 cycle"),
        ("丁", "2026-06-30", "2026-09-30", "2026-10-01 – 2026-12-31 · 3 cycles"),
    ] {
        let term = NewTerm { cycle: Cycle::MONTHLY, ..NewTerm::between(day(starts_on), Some(day(ends_on))) };
        let environment = app.open_environment_with(name, term).await;
        let form = format!("/environments/{}/renewals/new", environment.id);
        assert_eq!(browser.get(&form).await.texts(".preview p")[1], preview);
        let many = browser.get(&format!("{form}?cycles=9999")).await;
        let said = many.texts("#cycles-error").remove(0);
        assert!(said.starts_with("\"9999\"") && said.contains("a whole number from 1 to 20"), "{said}");
        let typed = browser.get(&format!("{form}?price=1e3&currency=CNY")).await;
        assert!(typed.texts("#price-error")[0].starts_with("\"1e3\" is not a plain number"), "{}", typed.text());
    }
}

#[tokio::test]
async fn a_renewal_form_comes_back_with_all_that_is_wrong_and_all_that_was_typed() {
    let app = TestApp::new().await;
    let term = NewTerm { cycle: Cycle::MONTHLY, ..NewTerm::between(day("2026-03-01"), Some(day("2026-03-31"))) };
    let environment = app.open_environment_with("竹简-预训练", term).await;
    let browser = english(&app).await;
    let form = format!("/environments/{}/renewals/new", environment.id);
    let typed =
        [("ends_on", "2026-03-31"), ("notice", "soon"), ("price", "¥68"), ("currency", ""), ("reason", "cheaper")];
    let answer = browser.submit(&form, "/renewals", &typed).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    for field in ["ends_on", "notice", "price", "currency"] {
        assert_eq!(answer.texts(&format!("#{field}-error")).len(), 1, "{field}: {}", answer.text());
    }
    assert!(answer.texts("#ends_on-error")[0].contains("begins on 2026-04-01"));
    let (_, kept) = answer.form("/renewals");
    for (name, value) in typed {
        assert_eq!(kept[name], value, "{name}");
    }
    let previewed = browser.get(&format!("{form}?ends_on=2026-03-31&notice=soon")).await;
    assert_eq!(previewed.texts(".field-error").len(), 2, "the preview says it, too");

    // Without a rhythm the last day is asked for, with the words of every empty field.
    let once = app.open_environment("竹简-评测", "2026-01-01", Some("2026-03-31")).await;
    let form = format!("/environments/{}/renewals/new", once.id);
    assert!(browser.get(&form).await.texts(".field-error").is_empty());
    let answer = browser.submit(&form, "/renewals", &[]).await;
    assert_eq!(answer.texts("#ends_on-error"), ["Something must stand here."]);
}

#[tokio::test]
async fn what_cannot_be_renewed_says_why_and_leads_on() {
    let app = TestApp::new().await;
    let (never, open) = (
        NewTerm { renewal: Renewal::Never, ..NewTerm::between(day("2026-01-01"), Some(day("2026-03-31"))) },
        NewTerm::between(day("2026-01-01"), None),
    );
    let browser = english(&app).await;
    for (name, term, why) in [("甲", never, "not renewed"), ("乙", open, "no last day")] {
        let environment = app.open_environment_with(name, term).await;
        let mut read = app.read().await;
        let last = term::last(read.connection(), environment.id).await.unwrap();
        let path = format!("/environments/{}", environment.id);
        let follows = last.id.to_string();
        let sent = [("follows", follows.as_str()), ("ends_on", "2026-06-30"), ("renewal", "on_request")];
        let submit_id = uuid::Uuid::now_v7().to_string();
        let sent: Vec<(&str, &str)> = sent.into_iter().chain([("submit_id", submit_id.as_str())]).collect();
        for answer in
            [browser.get(&format!("{path}/renewals/new")).await, browser.post(&format!("{path}/renewals"), &sent).await]
        {
            assert_eq!(answer.status, StatusCode::CONFLICT);
            assert!(answer.texts(".lead")[0].contains(why), "{}", answer.text());
            assert_eq!(answer.attributes("main .actions a", "href"), [format!("/terms/{}/edit", last.id)]);
        }
        // Nothing leads there: neither the environment's page nor a list offers what cannot be done.
        let renew = format!("{path}/renewals/new");
        let lists = ["/renewals?within=all", "/renewals?within=open-ended", "/"];
        for page in [path.as_str()].into_iter().chain(lists) {
            let links = browser.get(page).await.attributes("main a", "href");
            assert!(!links.contains(&renew), "{page}");
        }
        // The way on: another kind of renewal, and a last day.
        let edit = format!("/terms/{}", last.id);
        let changed = [("renewal", "on_request"), ("ends_on", "2026-03-31")];
        assert_eq!(browser.submit(&format!("{edit}/edit"), &edit, &changed).await.status, StatusCode::SEE_OTHER);
        assert_eq!(browser.get(&renew).await.status, StatusCode::OK);
        for page in [path.as_str(), "/renewals?within=all"] {
            assert!(browser.get(page).await.attributes("main a", "href").contains(&renew), "{page}");
        }
        browser.submit(&format!("{path}/end"), "/end", &[("ended_on", "2026-03-20")]).await;
        let ended = browser.get(&format!("{path}/renewals/new")).await;
        assert_eq!(ended.attributes("main .actions a", "href"), [format!("{path}/end")]);
    }
}

#[tokio::test]
async fn other_forms_tell_everything_at_once_too() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-03-31")).await;
    let browser = english(&app).await;
    let mut read = app.read().await;
    let term = term::last(read.connection(), environment.id).await.unwrap();
    let path = format!("/terms/{}", term.id);
    let typed =
        [("starts_on", "2026-04-01"), ("ends_on", "2026-03-31"), ("quantity", "x"), ("price", "1"), ("currency", "")];
    let answer = browser.submit(&format!("{path}/edit"), &path, &typed).await;
    let wrong = ["ends_on", "quantity", "currency"].map(|field| answer.texts(&format!("#{field}-error")).len());
    assert_eq!((answer.status, wrong), (StatusCode::UNPROCESSABLE_ENTITY, [1, 1, 1]), "{}", answer.text());

    // An empty day is the same mistake everywhere, and said in the same words.
    let path = format!("/environments/{}", environment.id);
    for (form, action, field) in [
        (format!("/terms/{}/edit", term.id), format!("/terms/{}", term.id), "starts_on"),
        (format!("{path}/end"), "/end".to_owned(), "ended_on"),
        (format!("{path}/scale-changes"), "/scale-changes".to_owned(), "changes_on"),
        ("/environments/new".to_owned(), "/environments".to_owned(), "starts_on"),
        ("/ledger/new".to_owned(), "/ledger".to_owned(), "charged_on"),
        ("/rates".to_owned(), "/rates".to_owned(), "rated_on"),
        (format!("/tiers/{}", environment.tier_id), "/prices".to_owned(), "valid_from"),
    ] {
        let answer = browser.submit(&form, &action, &[(field, " ")]).await;
        assert_eq!(answer.texts(&format!("#{field}-error")), ["Something must stand here."], "{form}");
    }
}

#[tokio::test]
async fn quantity_end_resume_and_void_have_their_pages() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-03-31")).await;
    let browser = english(&app).await;
    let path = format!("/environments/{}", environment.id);
    let scale = [("quantity", "6"), ("changes_on", "2026-03-10"), ("reason", "more data")];
    let saved = browser.submit(&format!("{path}/scale-changes"), "/scale-changes", &scale).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.text());
    let shown = browser.get(&path).await;
    assert_eq!(shown.rows("table.scale"), [["2026-03-10", "1", "6", "administrator", "more data"]]);

    let late = browser.submit(&format!("{path}/end"), "/end", &[("ended_on", "2026-04-01")]).await;
    assert_eq!(late.status, StatusCode::UNPROCESSABLE_ENTITY);
    browser.submit(&format!("{path}/end"), "/end", &[("ended_on", "2026-03-20"), ("reason", "done")]).await;
    let shown = browser.get(&path).await;
    assert_eq!(shown.texts("h1 .state"), ["Ended"]);
    assert!(shown.texts(".lead")[0].contains("20 Mar 2026"));
    browser.submit(&format!("{path}/end"), "/resume", &[]).await;
    assert_eq!(browser.get(&path).await.texts("h1 .state"), ["Active"]);
    let form = browser.get(&format!("{path}/void")).await;
    assert!(form.texts(".lead")[0].contains("This cannot be taken back."));
    let silent = browser.submit(&format!("{path}/void"), "/void", &[("reason", " ")]).await;
    assert_eq!(silent.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(silent.texts("#reason-error"), ["Say why, so that somebody understands it later."]);
    assert_eq!(browser.get(&path).await.texts("h1 .state"), ["Active"]);
    browser.submit(&format!("{path}/void"), "/void", &[("reason", "twice")]).await;
    let shown = browser.get(&path).await;
    assert_eq!(shown.texts("h1 .state"), ["Voided"]);
    assert!(shown.texts(".lead").is_empty(), "its term has an end date, so nothing may say that there is none");
    assert!(shown.texts(".history li p").iter().any(|it| it.contains("voided") && it.contains("twice")));
    assert!(browser.get("/environments").await.texts(".empty").len() == 1);
}

// case X06, case X10, case X03
#[tokio::test]
async fn the_file_has_the_rows_of_the_filter_in_the_order_of_the_page() {
    let app = TestApp::new().await;
    for number in 0..53 {
        app.open_environment(&format!("训练{number:02}"), "2026-01-01", Some("2026-03-31")).await;
    }
    app.open_environment("推理", "2026-01-01", Some("2026-03-20")).await;
    let browser = english(&app).await;
    let first = browser.get("/environments?q=训练").await;
    assert_eq!(first.texts(".totals"), ["53 environments, 53 in use"]);
    let next = first.attributes(".pager a", "href").remove(0);
    let second = browser.get(&next).await;
    let mut on_pages: Vec<String> = [first.rows("table.environments"), second.rows("table.environments")]
        .concat()
        .into_iter()
        .map(|row| row[0].clone())
        .collect();
    assert_eq!((on_pages.len(), second.attributes(".pager a", "href").len()), (53, 0));
    let href = second.attributes(".exports a", "href").remove(0);
    let file = browser.get(&href).await;
    let text = file.text();
    let lines: Vec<&str> = text.trim_start_matches('\u{FEFF}').lines().collect();
    let in_file: Vec<String> = lines[1..].iter().map(|line| line.split(',').nth(2).unwrap().to_owned()).collect();
    assert_eq!(in_file, on_pages);
    on_pages.sort();
    on_pages.dedup();
    assert_eq!(on_pages.len(), 53);
    for ending in ["xlsx", "json"] {
        let file = browser.get(&format!("/environments.{ending}?q=训练")).await;
        assert_eq!(file.status, StatusCode::OK);
    }
    let terms = browser.get("/terms.csv?q=推理").await.text();
    assert_eq!(terms.lines().count(), 2);
}

// case S07
#[tokio::test]
async fn the_list_takes_the_same_number_of_queries_for_one_and_for_many() {
    let app = TestApp::new().await;
    app.open_environment("环境0", "2026-01-01", Some("2026-03-31")).await;
    let browser = english(&app).await;
    let (page, one) = app.queries_of(browser.get("/environments")).await;
    assert_eq!(page.rows("table.environments").len(), 1);
    for number in 1..60 {
        app.open_environment(&format!("环境{number}"), "2026-01-01", Some("2026-03-31")).await;
    }
    let (page, many) = app.queries_of(browser.get("/environments")).await;
    assert_eq!(page.rows("table.environments").len(), 50);
    assert_eq!(one.len(), many.len(), "{one:?} {many:?}");
    assert!((5..=12).contains(&many.len()), "{many:?}");
}

// The form tells when the new dates will be told, and to whom; the job then plans just these.
#[tokio::test]
async fn a_renewal_names_its_reminders_before_it_is_saved() {
    let app = TestApp::new().await;
    let term = NewTerm {
        cycle: Cycle::MONTHLY,
        notice: Notice::parse("30 days").unwrap(),
        ..NewTerm::between(day("2026-03-01"), Some(day("2026-03-31")))
    };
    let environment = app.open_environment_with("竹简-预训练", term).await;
    let browser = english(&app).await;
    let form = format!("/environments/{}/renewals/new", environment.id);
    let told = browser.get(&form).await.texts(".preview li");
    assert_eq!(
        told,
        [
            "Cancel by 2026-03-31: reminders on 2026-03-16, 2026-03-24, 2026-03-28, 2026-03-30, 2026-03-31 to 宋霜降, 陈白露",
            "Last day 2026-04-30: reminders on 2026-04-15, 2026-04-23, 2026-04-27, 2026-04-29, 2026-04-30 to 宋霜降, 陈白露",
        ]
    );
    let never = browser.get(&format!("{form}?cycles=1&renewal=never&notice=")).await.texts(".preview li");
    assert_eq!(never.len(), 1, "without a notice there is no day to give it by");

    assert_eq!(browser.submit(&form, "/renewals", &[]).await.status, StatusCode::SEE_OTHER);
    let mut tx = app.write().await;
    reminder::plan(&mut tx).await.unwrap();
    tx.unchanged();
    tx.commit().await.unwrap();
    let mut read = app.read().await;
    let rows = reminder::list(&mut read, &ReminderFilter::default(), 500).await.unwrap();
    for (kind, sentence) in [(Kind::CancelBy, &told[0]), (Kind::Expiry, &told[1])] {
        let of = |it: &&ReminderRow| it.kind == kind && it.step >= 0 && it.standing != Standing::Withdrawn;
        let mut days: Vec<_> = rows.iter().filter(of).map(|row| row.due_on.to_string()).collect();
        let mut people: Vec<_> = rows.iter().filter(of).map(|row| row.person.clone()).collect();
        days.dedup();
        people.sort();
        people.dedup();
        let expected = format!("reminders on {} to {}", days.join(", "), people.join(", "));
        assert!(sentence.ends_with(&expected), "{sentence}: {expected}");
    }
}

// case P01, case P03
#[tokio::test]
async fn another_projects_environment_does_not_exist_and_a_reader_changes_nothing() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-03-31")).await;
    let stranger = app.sign_in(Role::Member).await;
    let path = format!("/environments/{}", environment.id);
    assert_eq!(stranger.get(&path).await.status, StatusCode::NOT_FOUND);
    assert!(!stranger.get("/environments").await.text().contains("竹简"));
    assert_eq!(stranger.get(&format!("{path}/edit")).await.status, StatusCode::NOT_FOUND, "nor does its form");
    for path in ["/environments.csv", "/terms.csv"] {
        assert!(!stranger.get(path).await.text().contains("竹简"));
    }
    let auditor = app.browser();
    app.add_user("auditor@palmfan.example", Role::Auditor).await;
    auditor.sign_in("auditor@palmfan.example").await;
    assert_eq!(auditor.post(&format!("{path}/void"), &[("version", "1")]).await.status, StatusCode::FORBIDDEN);
}

const HEAD: &str = "project,name,provider,tier,starts_on,ends_on\n";

// case I12: the preview says what would happen; only the second form writes, and it writes what was shown.
#[tokio::test]
async fn a_file_is_looked_at_before_it_is_written() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    assert_eq!(browser.get("/imports/environments").await.status, StatusCode::OK);
    let bad = format!("{HEAD}竹简,预训练,苇塘云,H800,2026-13-01,\n竹简,推理,苇塘云,H800,2026-01-01,\n");
    let seen = browser.upload("/imports/environments", &[], ("file", "环境.csv", bad.as_bytes())).await;
    assert_eq!(seen.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(seen.rows("table.errors")[0][..3], ["2", "starts_on", "2026-13-01"]);
    assert_eq!(seen.texts(".lead"), ["2 rows: 1 new, 0 known, 1 with problems; 1 new environment"]);

    let good = format!("{HEAD}竹简,预训练,苇塘云,H800,2026-01-01,2026-03-31\n");
    let seen = browser.upload("/imports/environments", &[], ("file", "C:\\表\\环境.csv", good.as_bytes())).await;
    assert_eq!(seen.status, StatusCode::OK);
    assert_eq!(seen.texts("h1"), ["环境.csv"]);
    assert_eq!(
        seen.rows("table.rows"),
        [["2", "new", "竹简", "预训练", "苇塘云 · H800", "2026-01-01", "2026-03-31", "1", "unknown", ""]]
    );
    assert_eq!(seen.texts(".notice li").len(), 3);
    assert!(!app.actions().await.contains(&"environment.opened".to_owned()));
    let (_, fields) = seen.form("/imports/environments/confirm");
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    for _ in 0..2 {
        let written = browser.post("/imports/environments/confirm", &fields).await;
        assert_eq!(written.status, StatusCode::SEE_OTHER, "{}", written.text());
    }
    assert_eq!(browser.get("/environments").await.rows("table.environments").len(), 1);
    let history = app.history().await;
    let imports: Vec<_> = history.iter().filter(|entry| entry.action == "environments.imported").collect();
    assert_eq!(
        (imports.len(), imports[0].actor_name.as_str(), imports[0].source.as_str()),
        (1, "administrator", "import")
    );

    let gone = browser.post("/imports/environments/confirm", &[("sha256", &"0".repeat(64))]).await;
    assert_eq!(gone.status, StatusCode::UNPROCESSABLE_ENTITY);
    let none = browser.upload("/imports/environments", &[], ("file", "", b"")).await;
    assert_eq!(
        (none.status, none.texts(".field-error")),
        (StatusCode::UNPROCESSABLE_ENTITY, vec!["Choose a file.".to_owned()])
    );
    let large = vec![b'a'; 20 * 1024 * 1024 + 1];
    let large = browser.upload("/imports/environments", &[], ("file", "a.csv", &large)).await;
    assert_eq!(large.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(large.texts(".field-error")[0].contains("larger than 20 MiB"), "{:?}", large.texts(".field-error"));
}
