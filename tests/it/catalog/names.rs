//! Names that differ only in case or width are one name.

use axum::http::StatusCode;
use rentroll::access::project;
use rentroll::actor::Source;
use rentroll::catalog::{provider, tier};
use rentroll::environments::import::{self, Summary};
use rentroll::text::name_key;

use super::english;
use crate::harness::TestApp;

/// Refused beside the field of the name.
fn clashes(answer: &crate::harness::Answer) -> bool {
    (answer.status, answer.texts("#name-error").len()) == (StatusCode::UNPROCESSABLE_ENTITY, 1)
}

// case C03
#[tokio::test]
async fn a_name_in_other_letters_is_taken_too() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    let provider = browser.submit("/providers", "/providers", &[("name", "Weitang Cloud")]).await.location();
    assert!(clashes(&browser.submit("/providers", "/providers", &[("name", "WEITANG ｃｌｏｕｄ")]).await));
    let tier = browser.submit(&provider, "/tiers", &[("name", "H800×8")]).await.location();
    assert!(clashes(&browser.submit(&provider, "/tiers", &[("name", "h８００×8")]).await));
    assert_eq!(browser.get("/providers").await.rows("table.ledger").len(), 1);

    // Renaming into a clash is refused as well; the own name in other letters is no clash.
    let other = browser.submit("/providers", "/providers", &[("name", "浮木")]).await.location();
    assert!(clashes(&browser.submit(&format!("{other}/edit"), &other, &[("name", "weitang cloud")]).await));
    let second = browser.submit(&provider, "/tiers", &[("name", "A100")]).await.location();
    assert!(clashes(&browser.submit(&format!("{second}/edit"), &second, &[("name", "Ｈ800×8")]).await));
    for (path, name) in [(&provider, "WEITANG CLOUD"), (&tier, "Ｈ800×8")] {
        let renamed = browser.submit(&format!("{path}/edit"), path, &[("name", name)]).await;
        assert_eq!(renamed.status, StatusCode::SEE_OTHER, "{}", renamed.text());
    }
    // Two providers may have a tier of one name.
    assert_eq!(browser.submit(&other, "/tiers", &[("name", "h800×8")]).await.status, StatusCode::SEE_OTHER);

    let mut tx = app.write().await;
    let one = project::add(&mut tx, "LLM 预训练".parse().unwrap()).await.unwrap();
    assert_eq!(project::find_or_add(&mut tx, "ｌｌｍ 预训练".parse().unwrap()).await.unwrap().id, one.id);
    tx.commit().await.unwrap();
    let mut tx = app.write().await;
    assert!(project::add(&mut tx, "llm　预训练".parse().unwrap()).await.is_err(), "a space of full width is a space");
}

#[tokio::test]
async fn the_program_and_the_database_have_the_same_key() {
    let app = TestApp::new().await;
    let mut superuser = app.database.superuser().await;
    for name in ["Weitang Cloud", "ＡＷＳ（宁夏）", "H800×8", "Ｈ８００　ＳＸＭ５", "ﬁ① ㎏ Ä", "苇塘云"]
    {
        let key: String =
            sqlx::query_scalar("select app_name_key($1)").bind(name).fetch_one(&mut superuser).await.unwrap();
        assert_eq!(key, name_key(name), "{name}");
    }
}

#[tokio::test]
async fn an_import_finds_what_is_there_under_other_letters() {
    let app = TestApp::new().await;
    let import = async |text: &str, dry_run: bool| -> Summary {
        let actor = app.operator().through(Source::Import);
        let mut tx = app.app.write_bulk(&actor).await.unwrap();
        let read = import::read(text.as_bytes()).named("环境.csv");
        let summary = import::run(&mut tx, &read, dry_run).await.unwrap();
        if summary.is_right() && !dry_run {
            tx.commit().await.unwrap();
        }
        summary
    };
    let file = "project,name,provider,tier,starts_on,ends_on\n\
        LLM,甲,Weitang Cloud,H800,2026-01-01,2026-12-31\n\
        llm,乙,ＷＥＩＴＡＮＧ ＣＬＯＵＤ,h800,2026-01-01,2026-12-31\n";
    let seen = import(file, true).await;
    assert_eq!((seen.missing.lines().len(), seen.environments_new), (3, 2), "{:?}", seen.missing.lines());
    assert!(import(file, false).await.is_right());
    let mut read = app.read().await;
    let providers = provider::list(&mut read).await.unwrap();
    assert_eq!(providers.iter().map(|it| name_key(it.name.as_str())).collect::<Vec<_>>(), ["weitang cloud"]);
    assert_eq!(tier::list(&mut read).await.unwrap().len(), 1);
    read.end().await.unwrap();

    // The file with every name in other letters says nothing new, and the next term goes to the environment that is there.
    let again = import(&file.replace("LLM", "ｌｌｍ").replace("Weitang", "weitang"), false).await;
    assert_eq!((again.rows_new, again.rows_known, again.rows_rejected), (0, 2, 0), "{:?}", again.errors);
    let next = "project,name,provider,tier,starts_on,ends_on\nLlm,甲,WEITANG CLOUD,Ｈ800,2027-01-01,2027-12-31\n";
    let next = import(next, false).await;
    assert_eq!((next.rows_new, next.environments_new), (1, 0), "{:?}", next.errors);
}
