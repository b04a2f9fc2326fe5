//! People and their log-ins, as an administrator keeps them.

use axum::http::StatusCode;
use rentroll::access::{person, project};
use rentroll::actor::{ProjectRole, Role};

use crate::harness::{Browser, TestApp};

/// The path of a person's page.
async fn page_of(administrator: &Browser, email: &str) -> String {
    let list = administrator.get(&format!("/people?q={email}")).await;
    list.attributes("table.people tbody a", "href").pop().expect("the person is in the list")
}

#[tokio::test]
async fn people_are_listed_found_and_turned_into_files() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    app.add_user("bailu@palmfan.example", Role::Member).await;
    let mut tx = app.write().await;
    person::add(&mut tx, person::NewPerson::named("=林小满", None).unwrap()).await.unwrap();
    tx.commit().await.unwrap();

    let rows = administrator.get("/people").await.rows("table.people");
    assert_eq!(
        rows,
        [
            ["=林小满", "—", "—", "无登录账号"],
            ["administrator", "administrator@palmfan.example", "管理员：人员、设置、全部项目", "可以登录"],
            ["bailu", "bailu@palmfan.example", "成员：参与列给他的项目", "可以登录"],
        ]
    );
    let found = async |query: &str| administrator.get(&format!("/people?{query}")).await.rows("table.people").len();
    assert_eq!((found("q=BAILU").await, found("q=palmfan").await, found("role=none").await), (1, 2, 1));
    assert_eq!(found("q=nobody").await, 0);

    let csv = administrator.get("/people.csv?q=bailu").await;
    let text = csv.text();
    assert!(text.starts_with('\u{feff}'), "{text}");
    assert_eq!(text.lines().count(), 2);
    assert!(text.contains("bailu@palmfan.example"));
    let json: serde_json::Value = serde_json::from_slice(&administrator.get("/people.json").await.bytes).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 3);
    assert_eq!(json[2]["role"], "member");
    assert_eq!(administrator.get("/people.xlsx").await.status, StatusCode::OK);
    let guarded = administrator.get("/people.csv").await.text();
    assert!(guarded.contains("'=林小满"), "{guarded}");
}

#[tokio::test]
async fn a_long_list_goes_on_by_name() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let mut tx = app.write().await;
    for n in 0..60 {
        person::add(&mut tx, person::NewPerson::named(&format!("person {n:02}"), None).unwrap()).await.unwrap();
    }
    tx.commit().await.unwrap();
    let page = administrator.get("/people?role=none").await;
    let mut names: Vec<String> = page.rows("table.people").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(names.len(), 50);
    let next = page.attributes("a[rel=next]", "href").pop().unwrap();
    let page = administrator.get(&next).await;
    names.extend(page.rows("table.people").into_iter().map(|row| row[0].clone()));
    assert_eq!(names, (0..60).map(|n| format!("person {n:02}")).collect::<Vec<_>>());
    assert!(page.attributes("a[rel=next]", "href").is_empty());
}

#[tokio::test]
async fn only_an_administrator_changes_people() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let person = page_of(&administrator, "administrator@palmfan.example").await;
    for role in [Role::Auditor, Role::Member] {
        let browser = app.sign_in(role).await;
        assert_eq!(browser.get("/people").await.status, StatusCode::OK);
        let page = browser.get(&person).await;
        assert_eq!(page.status, StatusCode::OK);
        assert_eq!(page.texts("main form").len(), 0, "no button that would fail");
        for path in ["/people/new".to_owned(), format!("{person}/edit")] {
            assert_eq!(browser.get(&path).await.status, StatusCode::FORBIDDEN, "{path}");
        }
        for path in ["", "/log-in", "/right", "/link", "/disable", "/enable"] {
            assert_eq!(browser.post(&format!("{person}{path}"), &[]).await.status, StatusCode::FORBIDDEN, "{path}");
        }
        assert_eq!(browser.post("/people", &[]).await.status, StatusCode::FORBIDDEN);
    }
}

#[tokio::test]
async fn a_persons_data_are_edited_and_a_late_edit_loses_nothing() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    app.add_user("bailu@palmfan.example", Role::Member).await;
    let person = page_of(&administrator, "bailu@palmfan.example").await;
    let edit = format!("{person}/edit");
    let (action, mut late) = administrator.get(&edit).await.form(&person);

    let fields = [("name", "陈白露"), ("email", "bailu@palmfan.example"), ("locale", "en")];
    let answer = administrator.submit(&edit, &person, &fields).await;
    assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, person.clone()));
    let page = administrator.get(&person).await;
    assert_eq!(page.texts("h1"), ["陈白露"]);
    assert!(page.texts(".history p")[0].contains("陈白露"), "{:?}", page.texts(".history p"));

    late.insert("name".into(), "Chen Bailu".into());
    let late: Vec<(&str, &str)> = late.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let answer = administrator.post(&action, &late).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert!(answer.texts("[role=alert] p")[0].contains("administrator"), "who was faster");
    let rows = answer.rows("[role=alert] table");
    assert_eq!(rows, [["姓名", "陈白露", "Chen Bailu"], ["语言", "en", ""]]);
    assert_eq!(answer.attributes("input[name=name]", "value"), ["Chen Bailu"]);
    // Sent again, it goes through.
    let (action, again) = answer.form(&person);
    let again: Vec<(&str, &str)> = again.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(administrator.post(&action, &again).await.status, StatusCode::SEE_OTHER);
    assert_eq!(administrator.get(&person).await.texts("h1"), ["Chen Bailu"]);
}

#[tokio::test]
async fn what_cannot_be_is_said_beside_its_field() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let fields = [("name", "nul\u{0}"), ("email", "not an address"), ("right", "member")];
    let answer = administrator.submit("/people/new", "/people", &fields).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(answer.texts("#name-error")[0].contains("U+0000"));
    assert!(answer.texts("#email-error")[0].contains("not an address"));
    assert_eq!(answer.attributes("#right option[selected]", "value"), ["member"]);
    let taken = [("name", "x"), ("email", "Administrator@palmfan.example")];
    let answer = administrator.submit("/people/new", "/people", &taken).await;
    assert_eq!(answer.texts("#email-error"), ["这个邮箱已经有人用了。"]);
    let needed = [("name", "x"), ("right", "member")];
    let answer = administrator.submit("/people/new", "/people", &needed).await;
    assert_eq!(answer.texts("#email-error"), ["要登录的人必须有邮箱。"]);
    let person = page_of(&administrator, "administrator@palmfan.example").await;
    let answer = administrator.submit(&format!("{person}/edit"), &person, &[("email", "")]).await;
    assert_eq!(answer.texts("#email-error"), ["要登录的人必须有邮箱。"]);
    assert_eq!(administrator.get("/people/4711").await.status, StatusCode::NOT_FOUND);
}

// cases A06 and P07
#[tokio::test]
async fn a_disabled_person_is_out_at_once_and_stays_in_the_history_by_name() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let user = app.add_user("bailu@palmfan.example", Role::Member).await;
    let browser = app.browser();
    browser.sign_in("bailu@palmfan.example").await;
    let person = page_of(&administrator, "bailu@palmfan.example").await;

    let answer = administrator.submit(&person, "/disable", &[]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    assert_eq!(browser.get("/account").await.status, StatusCode::SEE_OTHER);
    assert!(!super::is_known(&app, &browser, "bailu@palmfan.example").await, "nor is the browser known any more");
    let fields = [("email", "bailu@palmfan.example"), ("password", crate::harness::PASSWORD)];
    assert_eq!(browser.submit("/sign-in", "/sign-in", &fields).await.status, StatusCode::UNPROCESSABLE_ENTITY);
    let page = administrator.get(&person).await;
    assert!(page.texts(".facts .state")[0].contains("已停用"));
    let sentences = page.texts(".history p");
    assert!(sentences.iter().any(|sentence| sentence == "administrator 停用了 bailu 的登录账号"), "{sentences:?}");
    assert!(sentences.iter().any(|sentence| sentence == "bailu 登录"), "{sentences:?}");
    let history = administrator.get("/history?who=bailu").await;
    assert!(!history.texts(".history p").is_empty());

    administrator.submit(&person, "/enable", &[]).await;
    app.browser().sign_in("bailu@palmfan.example").await;
    let mut read = app.read().await;
    let user = rentroll::access::user::get(read.connection(), user).await.unwrap();
    assert_eq!((user.disabled_at, user.version), (None, 3));
}

// case P07: a lowered right ends the other sessions at once.
#[tokio::test]
async fn a_lowered_role_counts_at_once_and_the_last_administrator_stays() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let own = page_of(&administrator, "administrator@palmfan.example").await;
    for (action, fields) in [("/disable", &[][..]), ("/right", &[("right", "member")][..])] {
        let answer = administrator.submit(&own, action, fields).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{action}");
        assert!(answer.texts("[role=alert]")[0].contains("唯一的管理员"), "{action}");
    }
    app.add_user("second@palmfan.example", Role::Administrator).await;
    let second = app.browser();
    second.sign_in("second@palmfan.example").await;
    let answer = second.submit(&own, "/right", &[("right", "auditor")]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert_eq!(administrator.get("/account").await.status, StatusCode::SEE_OTHER, "signed out");
    administrator.sign_in("administrator@palmfan.example").await;
    assert_eq!(administrator.get("/people/new").await.status, StatusCode::FORBIDDEN);
    assert_eq!(administrator.post("/settings", &[]).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn two_administrators_cannot_take_each_other_away_at_once() {
    let app = TestApp::new().await;
    let (one, two) = (
        app.add_user("one@x.example", Role::Administrator).await,
        app.add_user("two@x.example", Role::Administrator).await,
    );
    let disable = async |user| {
        let mut tx = app.write().await;
        rentroll::access::user::disable(&mut tx, user, 1).await?;
        tx.commit().await
    };
    let (first, second) = tokio::join!(disable(one), disable(two));
    assert_eq!([first.is_ok(), second.is_ok()].iter().filter(|ok| **ok).count(), 1);
}

#[tokio::test]
async fn a_known_person_gets_a_log_in() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let answer = administrator.submit("/people/new", "/people", &[("name", "林小满")]).await;
    let person = answer.location();
    let refused = administrator.submit(&person, "/log-in", &[("right", "member")]).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.texts("[role=alert]")[0].contains("邮箱"));
    administrator.submit(&format!("{person}/edit"), &person, &[("email", "xiaoman@palmfan.example")]).await;
    let answer = administrator.submit(&person, "/log-in", &[("right", "member")]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "mailed");
    assert_eq!(app.mails().len(), 1);
}

// Nobody is taken over or renamed by a form that adds somebody else.
#[tokio::test]
async fn a_known_address_is_refused_and_names_whose_it_is() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let first = [("name", "李 所有"), ("email", "owner@example.com")];
    let person = administrator.submit("/people/new", "/people", &first).await.location();
    for right in ["member", ""] {
        let second = [("name", "Carol Checker"), ("email", "OWNER@example.com"), ("right", right)];
        let answer = administrator.submit("/people/new", "/people", &second).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        let said = answer.texts("#email-error").concat();
        assert!(said.contains("李 所有") && said.contains("开通登录"), "{said}");
        assert_eq!(answer.attributes("#known", "href"), [person.as_str()]);
        assert_eq!(answer.attributes("input[name=name]", "value"), ["Carol Checker"], "what was typed is kept");
    }
    assert_eq!(administrator.get(&person).await.texts("h1"), ["李 所有"]);
    assert_eq!(app.mails().len(), 0);
    assert_eq!(app.actions().await.iter().filter(|action| *action == "user.added").count(), 1, "the administrator");
}

// A member without any project still leaves entries of their own: signing in, choosing a language, naming a person.
#[tokio::test]
async fn who_reaches_few_projects_can_still_record_what_belongs_to_none() {
    let app = TestApp::new().await;
    let mut tx = app.write().await;
    let project = project::add(&mut tx, "竹简大模型".parse().unwrap()).await.unwrap();
    let user = app.add_user("bailu@palmfan.example", Role::Member).await;
    rentroll::access::membership::add(&mut tx, project.id, user, ProjectRole::Operator).await.unwrap();
    tx.commit().await.unwrap();
    let browser = app.browser();
    browser.sign_in("bailu@palmfan.example").await;
    browser.submit("/account", "/language", &[]).await;
    assert!(app.actions().await.contains(&"person.changed".to_owned()));
}
