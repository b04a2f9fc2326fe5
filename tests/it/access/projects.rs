//! Projects and who works on them.

use axum::http::StatusCode;
use rentroll::access::{membership, project};
use rentroll::actor::{ProjectRole, Role};
use rentroll::ids::ProjectId;

use crate::harness::{Browser, TestApp};

/// Somebody signed in with a right in one project.
async fn member(app: &TestApp, name: &str, project: ProjectId, role: ProjectRole) -> Browser {
    let email = format!("{name}@palmfan.example");
    let user = app.add_user(&email, Role::Member).await;
    let mut tx = app.write().await;
    membership::add(&mut tx, project, user, role).await.unwrap();
    tx.commit().await.unwrap();
    let browser = app.browser();
    browser.sign_in(&email).await;
    browser
}

async fn add_project(app: &TestApp, name: &str) -> ProjectId {
    let mut tx = app.write().await;
    let project = project::add(&mut tx, name.parse().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    project.id
}

#[tokio::test]
async fn a_project_is_added_and_edited_and_a_late_edit_loses_nothing() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let fields =
        [("name", "竹简大模型"), ("cost_centre", "CC-17"), ("ends_on", "2026-12-31"), ("reminder_steps", "30，15，7")];
    let answer = administrator.submit("/projects/new", "/projects", &fields).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    let page = answer.location();
    let shown = administrator.get(&page).await;
    assert_eq!(shown.texts("h1"), ["竹简大模型"]);
    let facts = shown.texts(".facts dd");
    assert_eq!((facts[0].as_str(), facts[1].as_str()), ("CC-17", "2026-12-31"));
    assert!(facts[2].contains("30、15、7"), "the rule in words: {}", facts[2]);
    assert_eq!(administrator.get("/projects").await.rows("table.projects"), [["竹简大模型", "CC-17", "2026-12-31"]]);

    let edit = format!("{page}/edit");
    let (action, mut late) = administrator.get(&edit).await.form(&page);
    administrator.submit(&edit, &page, &[("cost_centre", "CC-18")]).await;
    late.insert("cost_centre".into(), "CC-19".into());
    let late: Vec<(&str, &str)> = late.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let answer = administrator.post(&action, &late).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert_eq!(answer.rows("[role=alert] table"), [["成本中心", "CC-18", "CC-19"]]);

    let wrong = [("name", "x"), ("ends_on", "2026-02-30"), ("reminder_steps", "abc")];
    let answer = administrator.submit("/projects/new", "/projects", &wrong).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(answer.texts("#ends_on-error")[0].contains("2026-02-30"));
    assert!(answer.texts("#reminder_steps-error")[0].contains("abc"));
    let answer = administrator.submit("/projects/new", "/projects", &[("name", "竹简大模型")]).await;
    assert!(answer.texts("#name-error")[0].contains("竹简大模型"));
}

#[tokio::test]
async fn a_manager_keeps_the_members_and_rights_change_at_once() {
    let app = TestApp::new().await;
    let id = add_project(&app, "竹简大模型").await;
    let page = format!("/projects/{id}");
    let manager = member(&app, "manager", id, ProjectRole::Manager).await;
    let user = app.add_user("xiaoman@palmfan.example", Role::Member).await;
    let newcomer = app.browser();
    newcomer.sign_in("xiaoman@palmfan.example").await;
    assert_eq!(newcomer.get(&page).await.status, StatusCode::NOT_FOUND);

    let fields = [("user", user.to_string()), ("role", "viewer".to_owned())];
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = manager.submit(&page, &format!("{page}/members"), &fields).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    let seen = newcomer.get(&page).await;
    assert_eq!(seen.status, StatusCode::OK, "the right is there at the next request");
    assert!(seen.texts("main form").is_empty(), "no button that would fail");
    assert_eq!(newcomer.get(&format!("{page}/edit")).await.status, StatusCode::FORBIDDEN);

    // A second right in the same project is refused.
    let mut again = fields.clone();
    again.push(("submit_id", "01890000-0000-7000-8000-000000000001"));
    let answer = manager.post(&format!("{page}/members"), &again).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(answer.texts("#user-error")[0].contains("已经在项目里"));

    let mut read = app.read().await;
    let members = membership::list(read.connection(), id).await.unwrap();
    let theirs = members.iter().find(|member| member.user_id == user).unwrap();
    let row = format!("{page}/members/{}", theirs.id);
    manager.submit(&page, &row, &[("role", "manager")]).await;
    assert_eq!(newcomer.get(&format!("{page}/edit")).await.status, StatusCode::OK);
    let answer = manager.submit(&page, &format!("{row}/end"), &[]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert_eq!(newcomer.get(&page).await.status, StatusCode::NOT_FOUND, "gone at once");
    let changed: Vec<String> =
        app.actions().await.into_iter().filter(|action| action.starts_with("membership")).collect();
    assert_eq!(changed, ["membership.added", "membership.added", "membership.changed", "membership.ended"]);
}

// case P01 and check C30: the right is enforced on the server, and another project does not exist.
#[tokio::test]
async fn who_may_not_manage_cannot_and_other_projects_do_not_exist() {
    let app = TestApp::new().await;
    let (own, other) = (add_project(&app, "竹简大模型").await, add_project(&app, "客服语音").await);
    let operator = member(&app, "operator", own, ProjectRole::Operator).await;
    let manager = member(&app, "manager", own, ProjectRole::Manager).await;
    let victim = app.add_user("victim@palmfan.example", Role::Member).await;
    let mut tx = app.write().await;
    let foreign = membership::add(&mut tx, other, victim, ProjectRole::Viewer).await.unwrap();
    tx.commit().await.unwrap();
    let user = victim.to_string();
    let submit = ("submit_id", "01890000-0000-7000-8000-000000000002");
    let add = [submit, ("user", user.as_str()), ("role", "manager")];
    let edit = [submit, ("version", "1"), ("name", "taken over"), ("role", "manager")];

    for (browser, project, expected) in [
        (&operator, own, StatusCode::FORBIDDEN),
        (&operator, other, StatusCode::NOT_FOUND),
        (&manager, other, StatusCode::NOT_FOUND),
    ] {
        let page = format!("/projects/{project}");
        assert_eq!(browser.post(&page, &edit).await.status, expected);
        assert_eq!(browser.get(&format!("{page}/edit")).await.status, expected);
        assert_eq!(browser.post(&format!("{page}/members"), &add).await.status, expected);
        assert_eq!(browser.post(&format!("{page}/members"), &[submit]).await.status, expected);
    }
    // Another project's member under one's own project.
    for end in ["", "/end"] {
        let path = format!("/projects/{own}/members/{}{end}", foreign.id);
        assert_eq!(manager.post(&path, &edit).await.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(operator.get("/projects").await.rows("table.projects").len(), 1);
    assert_eq!(manager.get("/projects/new").await.status, StatusCode::FORBIDDEN);
    assert_eq!(manager.post("/projects", &edit).await.status, StatusCode::FORBIDDEN);
    let mut read = app.read().await;
    assert_eq!(membership::get(read.connection(), foreign.id).await.unwrap(), foreign);
}
