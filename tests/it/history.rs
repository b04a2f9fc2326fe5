//! The history as people read it: the page, its filter, its files.

use rentroll::access::person::{self, NewPerson};
use rentroll::access::project;
use rentroll::actor::{Actor, Role};
use rentroll::audit::{self, EntryFilter};
use rentroll::catalog::provider;
use rentroll::dates::Zone;
use rentroll::locale::Locale;

use crate::harness::{Answer, Browser, TestApp};

/// Somebody who signed in, with the right in one project, where one is named.
async fn reader(app: &TestApp, role: Role, project: Option<rentroll::ids::ProjectId>) -> Browser {
    let browser = app.sign_in(role).await;
    if let Some(project) = project {
        sqlx::query(
            "insert into membership (project_id, user_id, role, created_at)
             select $1, u.id, 'viewer', u.created_at from user_account u where u.role = $2",
        )
        .bind(project.0)
        .bind(role.code())
        .execute(&mut app.database.superuser().await)
        .await
        .expect("a membership");
    }
    browser
}

fn sentences(page: &Answer) -> Vec<String> {
    page.texts(".history p")
}

const HOSTILE: [&str; 3] = ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "=cmd|' /C calc'!A0"];

// case A04: what people typed is text in the history, wherever it stands.
#[tokio::test]
async fn a_hostile_name_is_text_in_the_history_and_in_its_file() {
    let app = TestApp::new().await;
    let browser = reader(&app, Role::Administrator, None).await;
    for name in HOSTILE {
        let mut tx = app.app.write(&app.operator().because(name)).await.unwrap();
        provider::add(&mut tx, name.parse().unwrap()).await.unwrap();
        tx.commit().await.unwrap();
    }
    let mut superuser = app.database.superuser().await;
    sqlx::query("update provider set note = name").execute(&mut superuser).await.unwrap();

    let page = browser.get("/history").await;
    assert_eq!(page.texts("main script, main img, main [onerror]"), Vec::<String>::new());
    for name in HOSTILE {
        assert!(sentences(&page).iter().any(|sentence| sentence.contains(name)), "{name} in a sentence");
        assert!(page.texts(".history ins").iter().any(|value| value == name), "{name} in a value after");
    }
    let file = browser.get("/history.csv").await.text();
    for line in file.split("\r\n") {
        assert!(!line.contains(",=cmd") && !line.contains(",\"=cmd"), "a formula: {line}");
    }
    let json: serde_json::Value = serde_json::from_slice(&browser.get("/history.json").await.bytes).unwrap();
    assert!(json.as_array().unwrap().iter().any(|row| row["object"] == HOSTILE[0]), "programs get every letter");
}

// case A04: the same names in a mail, and in the preview of a file before anything is saved.
#[tokio::test]
async fn a_hostile_name_is_text_in_a_mail_and_in_a_preview() {
    let app = TestApp::new().await;
    for name in HOSTILE {
        app.open_environment(name, "2026-01-01", Some("2026-03-31")).await;
    }
    app.remind().await;
    let mails = app.mails();
    for name in HOSTILE {
        let mail = mails.iter().find(|mail| mail.subject.contains(name)).expect("a mail about it");
        assert!(mail.text.contains(name), "{}", mail.text);
        let html = scraper::Html::parse_document(&mail.html);
        let active = scraper::Selector::parse("script, img, [onerror]").unwrap();
        assert_eq!(html.select(&active).count(), 0, "{}", mail.html);
        assert!(html.root_element().text().collect::<String>().contains(name), "{}", mail.html);
    }

    let browser = reader(&app, Role::Administrator, None).await;
    for name in HOSTILE {
        let quoted = name.replace('"', "\"\"");
        let file =
            format!("project,name,provider,tier,starts_on,ends_on\n\"{quoted}\",训练,\"{quoted}\",H800,2026-01-01,\n");
        let page = browser.upload("/imports/environments", &[], ("file", "表.csv", file.as_bytes())).await;
        assert_eq!(page.texts("main script, main img, main [onerror]"), Vec::<String>::new());
        assert_eq!(page.rows("table.rows")[0][2], name, "{}", page.text());
    }
}

// case A05: what happened stays with the name of its time, whatever becomes of the thing.
#[tokio::test]
async fn a_renamed_thing_keeps_the_names_that_it_had() {
    let app = TestApp::new().await;
    let browser = reader(&app, Role::Administrator, None).await;
    let mut tx = app.write().await;
    provider::add(&mut tx, "苇塘云".parse().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    let mut superuser = app.database.superuser().await;
    sqlx::query("update provider set name = '芦苇云'").execute(&mut superuser).await.unwrap();

    let page = browser.get("/history?kind=provider").await;
    let told = sentences(&page);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("postgres") && told[0].ends_with("在系统之外改了服务商 芦苇云"), "{told:?}");
    assert_eq!(told[1], "命令行（test） 新增了服务商 苇塘云");
    assert_eq!(page.texts(".changes dt"), ["名称", "名称"]);
    assert_eq!(page.texts(".changes del"), ["苇塘云"]);
    assert_eq!(page.texts(".changes ins"), ["芦苇云", "苇塘云"]);
    assert_eq!(page.texts("details .changes dd"), ["— → 苇塘云"], "what was set at first is folded");
}

// case A05: nothing is deleted; what was renamed, ended and voided keeps every earlier entry under the name of its time.
#[tokio::test]
async fn a_voided_environment_keeps_its_history() {
    let app = TestApp::new().await;
    let browser = reader(&app, Role::Administrator, None).await;
    let opened = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-03-31")).await;
    let id = opened.id;
    let page = format!("/environments/{id}");
    for (form, action, fields) in [
        ("edit", page.as_str(), &[("name", "竹简-评测")][..]),
        ("end", "/end", &[("ended_on", "2026-03-15")]),
        ("void", "/void", &[("reason", "开错了")]),
    ] {
        let answer = browser.submit(&format!("{page}/{form}"), action, fields).await;
        assert_eq!(answer.status, 303, "{form}: {}", answer.text());
    }
    let told = sentences(&browser.get(&format!("/history?kind=environment&object={id}")).await);
    let names = ["竹简-评测", "竹简-评测", "竹简-评测", "竹简-预训练"];
    assert_eq!(told.len(), names.len(), "{told:?}");
    for (sentence, name) in told.iter().zip(names) {
        assert!(sentence.contains(name), "{told:?}");
    }
    assert!(told[0].contains("开错了"), "{told:?}");
    let shown = sentences(&browser.get(&page).await);
    assert!(told.iter().all(|sentence| shown.contains(sentence)), "its own page tells the same: {shown:?}");
    let file = browser.get("/history.csv?kind=environment").await.text();
    assert!(file.contains("登记了环境 竹简-预训练") && file.contains("作废了环境 竹简-评测"), "{file}");
}

// case A06: who is gone still has a name in the history.
#[tokio::test]
async fn a_disabled_user_keeps_the_name_in_the_history() {
    let app = TestApp::new().await;
    let browser = reader(&app, Role::Administrator, None).await;
    app.add_user("bailu@palmfan.example", Role::Member).await;
    let mut read = app.read().await;
    let user = sqlx::query_as::<_, (i64, i64)>(
        "select u.id, p.id from user_account u join person p on p.id = u.person_id where p.name = 'bailu'",
    )
    .fetch_one(read.connection())
    .await
    .unwrap();
    read.end().await.unwrap();
    let bailu = Actor {
        kind: rentroll::actor::ActorKind::Person,
        user: Some(rentroll::ids::UserId(user.0)),
        person: Some(rentroll::ids::PersonId(user.1)),
        name: "bailu".into(),
        ..app.operator()
    };
    let mut tx = app.app.write(&bailu).await.unwrap();
    provider::add(&mut tx, "苇塘云".parse().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    let mut superuser = app.database.superuser().await;
    sqlx::query("update user_account set disabled_at = created_at where id = $1")
        .bind(user.0)
        .execute(&mut superuser)
        .await
        .unwrap();
    sqlx::query("update person set name = '—' where id = $1").bind(user.1).execute(&mut superuser).await.unwrap();
    let told = sentences(&browser.get("/history?kind=provider").await);
    assert_eq!(told, ["bailu 新增了服务商 苇塘云"]);
}

// cases P02, P03: the history of another project is not there, for the page, its filter and its files.
#[tokio::test]
async fn the_history_of_another_project_is_invisible() {
    let app = TestApp::new().await;
    let mut tx = app.write().await;
    let mine = project::add(&mut tx, "竹简大模型".parse().unwrap()).await.unwrap();
    let other = project::add(&mut tx, "客服语音".parse().unwrap()).await.unwrap();
    provider::add(&mut tx, "苇塘云".parse().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    let browser = reader(&app, Role::Member, Some(mine.id)).await;
    let all = browser.get("/history").await;
    let told = sentences(&all).join("\n");
    assert!(told.contains("竹简大模型") && told.contains("苇塘云"), "one's own, and what all share: {told}");
    assert!(!told.contains("登录账号"), "log-ins are the administrators': {told}");
    let addresses = [
        "/history".to_owned(),
        format!("/history?project={}", other.id),
        format!("/history?kind=project&object={}", other.id),
        "/history?who=test".to_owned(),
        "/history.csv".to_owned(),
        format!("/history.json?project={}", other.id),
    ];
    for address in addresses {
        let answer = browser.get(&address).await;
        assert_eq!(answer.status, 200, "{address}");
        assert!(!answer.text().contains("客服语音"), "{address}: {}", answer.text());
    }
}

// case A12: old days are found where they are, page by page.
#[tokio::test]
async fn days_of_the_past_are_read_in_pages_newest_first() {
    let app = TestApp::new().await;
    for (day, count) in [("2026-03-20", 30), ("2026-03-21", 25), ("2026-03-25", 4)] {
        app.go_to(day);
        for n in 0..count {
            let mut tx = app.write().await;
            provider::add(&mut tx, format!("{day} {n}").parse().unwrap()).await.unwrap();
            tx.commit().await.unwrap();
        }
    }
    let browser = reader(&app, Role::Administrator, None).await;
    let first = browser.get("/history?from=2026-03-20&to=2026-03-22").await;
    let next = first.attributes("a[rel=next]", "href").remove(0);
    let second = browser.get(&next).await;
    let told = [sentences(&first), sentences(&second)].concat();
    assert_eq!((sentences(&first).len(), told.len()), (50, 55));
    let newest_first = ["2026-03-21 24", "2026-03-21 0", "2026-03-20 29", "2026-03-20 0"];
    for (place, name) in [0, 24, 25, 54].into_iter().zip(newest_first) {
        assert!(told[place].ends_with(name), "{place}: {}", told[place]);
    }
    assert!(second.attributes("a[rel=next]", "href").is_empty());
}

#[tokio::test]
async fn the_filter_finds_by_person_kind_project_request_and_day() {
    let app = TestApp::new().await;
    app.go_to("2026-03-20");
    let actor = Actor::command_line("chen");
    let mut tx = app.app.write(&actor).await.unwrap();
    let project = project::add(&mut tx, "竹简大模型".parse().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    app.go_to("2026-03-22");
    let mut tx = app.write().await;
    provider::add(&mut tx, "苇塘云".parse().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    let browser = reader(&app, Role::Administrator, None).await;

    let one = ["命令行（chen） 新增了项目 竹简大模型"];
    for query in [
        "who=CHEN".to_owned(),
        "kind=project".to_owned(),
        format!("project={}", project.id),
        format!("kind=project&object={}", project.id),
        format!("request={}", actor.request_id),
        "from=2026-03-20&to=2026-03-21".to_owned(),
        "from=2026-03-20&to=2026-03-20&who=&kind=".to_owned(),
    ] {
        assert_eq!(sentences(&browser.get(&format!("/history?{query}")).await), one, "{query}");
    }
    let none = browser.get("/history?who=nobody").await;
    assert_eq!(none.texts(".empty p"), ["没有符合筛选条件的记录。"]);
    assert_eq!(browser.get("/history?from=yesterday").await.status, 422);
}

// case X06 for this list: the file has what the filter matches, all of it, and not only the page.
#[tokio::test]
async fn the_files_have_every_match_and_the_page_has_fifty() {
    let app = TestApp::new().await;
    let browser = reader(&app, Role::Administrator, None).await;
    for i in 0..60 {
        let mut tx = app.write().await;
        provider::add(&mut tx, format!("provider {i:02}").parse().unwrap()).await.unwrap();
        tx.commit().await.unwrap();
    }
    let page = browser.get("/history?kind=provider").await;
    let first = sentences(&page);
    assert_eq!(first.len(), 50);
    let next = page.attributes(".pager a", "href").pop().expect("a next page");
    let second = sentences(&browser.get(&next).await);
    assert_eq!(second.len(), 10);
    assert!(first[0].ends_with("provider 59") && second[9].ends_with("provider 00"), "newest first");

    // From the second page, the files still have all.
    let files = browser.get(&next).await.attributes(".exports a", "href");
    assert_eq!(files, ["/history.csv?kind=provider", "/history.xlsx?kind=provider", "/history.json?kind=provider"]);
    let csv = browser.get(&files[0]).await;
    assert!(csv.bytes.starts_with(b"\xef\xbb\xbf"), "Excel needs the mark");
    let mut reader = csv::Reader::from_reader(&csv.bytes[3..]);
    let heads: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(
        heads,
        [
            "记录号",
            "时间（含时区）",
            "按哪天运行",
            "操作人",
            "来源",
            "项目",
            "对象类别",
            "对象编号",
            "对象",
            "动作",
            "字段",
            "改前",
            "改后",
            "原因",
            "请求号"
        ]
    );
    assert_eq!(reader.records().count(), 60);
    let disposition = csv.headers["content-disposition"].to_str().unwrap();
    assert!(disposition.starts_with("attachment;"), "{disposition}");
    assert_eq!(
        serde_json::from_slice::<Vec<serde_json::Value>>(&browser.get(&files[2]).await.bytes).unwrap().len(),
        60
    );
    assert!(browser.get(&files[1]).await.bytes.starts_with(b"PK"), "a workbook");
}

#[tokio::test]
async fn the_file_has_one_row_for_each_changed_field() {
    let app = TestApp::new().await;
    let browser = reader(&app, Role::Administrator, None).await;
    let mut tx = app.write().await;
    provider::add(&mut tx, "苇塘云".parse().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    let mut superuser = app.database.superuser().await;
    sqlx::query("update provider set name = '芦苇云', note = '改名'").execute(&mut superuser).await.unwrap();
    let rows: Vec<serde_json::Value> =
        serde_json::from_slice(&browser.get("/history.json?kind=provider").await.bytes).unwrap();
    let cells: Vec<_> = rows.iter().map(|row| [&row["action"], &row["field"], &row["before"], &row["after"]]).collect();
    let expected = serde_json::json!([
        ["provider.update", "name", "苇塘云", "芦苇云"],
        ["provider.update", "note", null, "改名"],
        ["provider.added", "name", null, "苇塘云"],
    ]);
    assert_eq!(serde_json::json!(cells), expected);
}

#[tokio::test]
async fn a_change_names_records_instead_of_their_numbers() {
    let app = TestApp::new().await;
    let mut tx = app.write().await;
    let new = NewPerson::named("林小满", Some("xiaoman@palmfan.example")).unwrap();
    let person = person::find_or_add(&mut tx, new).await.unwrap();
    tx.commit().await.unwrap();
    app.add_user("someone@palmfan.example", Role::Member).await;
    let mut superuser = app.database.superuser().await;
    sqlx::query("update user_account set person_id = $1").bind(person.id.0).execute(&mut superuser).await.unwrap();
    let mut read = app.read().await;
    let filter = EntryFilter { kind: Some("user_account".into()), ..EntryFilter::default() };
    let entries = audit::list(&mut read, &filter, 10).await.unwrap();
    let change = &entries[0].changes()[0];
    assert_eq!(
        (change.label(&Locale::ZhCn), change.is(&Locale::ZhCn, &Zone::default())),
        ("人员".into(), "林小满".into())
    );
    assert_eq!(change.was(&Locale::En, &Zone::default()), "someone");
}

// case A12, in short: with many entries no page of the history reads them all; every filter goes through an index.
#[tokio::test]
async fn no_page_of_the_history_reads_all_of_it() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-03-31")).await;
    let member = reader(&app, Role::Member, Some(environment.project_id)).await;
    let administrator = reader(&app, Role::Administrator, None).await;
    let mut superuser = app.database.superuser().await;
    let request = uuid::Uuid::now_v7();
    let many = "insert into audit_entry (at, source, actor_kind, actor_name, action, object_kind, object_id, object_name,
                                         project_id, shared, request_id, bytes)
                select '2026-03-01T00:00:00Z'::timestamptz + n * interval '1 second', 'page', 'person', 'person ' || n % 40,
                       kind || '.changed', kind, n % 500, 'thing ' || n % 500,
                       case when kind = 'environment' then $1 + n % 3 end, kind = 'provider',
                       case when n = 77 then $2 else gen_random_uuid() end, '{\"after\":{},\"changes\":{}}'
                from generate_series(1, 20000) n, lateral (select (array['environment', 'provider', 'term'])[1 + n % 3] as kind) k";
    sqlx::query(many).bind(environment.project_id.0).bind(request).execute(&mut superuser).await.unwrap();
    sqlx::query("analyze audit_entry").execute(&mut superuser).await.unwrap();
    for browser in [&administrator, &member] {
        for address in [
            "/history".to_owned(),
            "/history?kind=provider".to_owned(),
            "/history?kind=environment&object=42".to_owned(),
            format!("/history?project={}", environment.project_id),
            format!("/history?request={request}"),
            "/history?who=person+7".to_owned(),
            "/history?from=2026-03-01&to=2026-03-02".to_owned(),
            "/history?before=9000".to_owned(),
            format!("/environments/{}", environment.id),
            format!("/providers/{}", environment.provider_id),
        ] {
            let page = browser.get(&address).await;
            assert_eq!(page.status, 200, "{address}");
        }
    }
    // A connection tells what it read at the latest when it ends.
    app.app.db.close().await;
    let others = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
                  and backend_type = 'client backend'";
    app.app.bulk.close().await;
    while sqlx::query_scalar::<_, i64>(others).fetch_one(&mut superuser).await.unwrap() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let (whole, indexed): (i64, i64) =
        sqlx::query_as("select seq_scan, idx_scan from pg_stat_user_tables where relname = 'audit_entry'")
            .fetch_one(&mut superuser)
            .await
            .unwrap();
    assert_eq!(whole, 0, "read as a whole");
    assert!(indexed >= 20, "{indexed} times through an index");
}
