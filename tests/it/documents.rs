//! Documents: attached in versions to environments, providers, contracts and outputs; voided, never lost; served so that nothing in
//! them runs.

use axum::http::StatusCode;
use rentroll::access::{membership, project};
use rentroll::actor::{ProjectRole, Role};
use rentroll::locale::Locale;

use crate::harness::{Answer, Browser, TestApp};

/// Chooses a file on a thing's page and sends the form.
async fn attach(browser: &Browser, page: &str, file: (&str, &[u8]), more: &[(&str, &str)]) -> Answer {
    let (action, mut fields) = browser.get(page).await.form("/documents");
    fields.remove("file");
    fields.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    browser.upload(&action, &fields, ("file", file.0, file.1)).await
}

/// A thing of each kind that holds documents: the addresses of their pages.
async fn things(app: &TestApp, browser: &Browser) -> [String; 4] {
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-12-31")).await;
    let provider = format!("/providers/{}", environment.provider_id);
    let agreed = [("number", "WT-2026-07"), ("title", "H800 整机"), ("starts_on", "2026-01-01")];
    let form = format!("{provider}/contracts/new");
    let contract = browser.submit(&form, "/contracts", &agreed).await.location();
    let id = environment.id.to_string();
    let made = [("environment", id.as_str()), ("period", "2026-02"), ("quantity", "551"), ("unit", "十亿 token")];
    let output = browser.submit("/ledger/outputs/new", "/ledger/outputs", &made).await.location();
    [format!("/environments/{id}"), provider, contract, output]
}

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers.get(name).map_or("", |value| value.to_str().unwrap())
}

/// What keeps a file from being anything but a file.
fn assert_inert(answer: &Answer, what: &str) {
    assert_eq!(answer.status, StatusCode::OK, "{what}");
    assert!(header(answer, "content-disposition").starts_with("attachment; "), "{what}");
    assert_eq!(header(answer, "x-content-type-options"), "nosniff", "{what}");
    assert_eq!(
        header(answer, "content-security-policy"),
        "default-src 'none'; sandbox; frame-ancestors 'none'",
        "{what}"
    );
    assert_eq!(header(answer, "cross-origin-resource-policy"), "same-origin", "{what}");
    assert_eq!(header(answer, "cache-control"), "no-store", "{what}");
    let kind = header(answer, "content-type");
    assert!(!["html", "svg", "xml;", "script"].iter().any(|active| kind.contains(active)), "{what}: {kind}");
}

/// An office file of these names and nothing else; every entry claims to be 4 GiB large.
fn office(names: &[&str]) -> Vec<u8> {
    let mut file = b"PK\x03\x04".to_vec();
    for name in names {
        file.extend(b"PK\x01\x02");
        file.extend([0xff; 24]);
        file.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        file.extend([0; 16]);
        file.extend(name.as_bytes());
    }
    let count = u16::try_from(names.len()).unwrap().to_le_bytes();
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count, count].concat());
    file.extend([0, 0, 0, 0, 4, 0, 0, 0, 0, 0]);
    file
}

#[tokio::test]
async fn a_file_is_attached_to_everything_that_holds_documents_and_comes_back_as_it_was() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    for page in things(&app, &browser).await {
        assert!(browser.get(&page).await.texts(".empty").contains(&"还没有文件。".to_owned()), "{page}");
        let answer =
            attach(&browser, &page, ("算力合同（终稿）.pdf", b"%PDF-1.7 x"), &[("document_note", "盖章件")]).await;
        assert_eq!((answer.status, answer.text()), (StatusCode::SEE_OTHER, String::new()), "{page}");
        assert_eq!(answer.location(), page);
        let shown = browser.get(&page).await;
        let row = &shown.rows("table.documents")[0];
        assert_eq!(row[..4], ["算力合同（终稿）.pdf", "1", "10 B", "administrator"], "{page}");
        assert_eq!(row[5], "盖章件", "{page}");
        assert!(shown.texts(".history p")[0].contains("上传了文件 算力合同（终稿）.pdf"), "{page}");
        let file = browser.get(&shown.attributes("table.documents td:first-child a", "href")[0]).await;
        assert_eq!((header(&file, "content-type"), file.bytes.as_slice()), ("application/pdf", &b"%PDF-1.7 x"[..]));
        let name = "filename*=UTF-8''%E7%AE%97%E5%8A%9B%E5%90%88%E5%90%8C%EF%BC%88%E7%BB%88%E7%A8%BF%EF%BC%89.pdf";
        assert!(header(&file, "content-disposition").ends_with(name), "{}", header(&file, "content-disposition"));
        assert_inert(&file, &page);
    }
    let attached = app.history().await.into_iter().find(|entry| entry.action == "document.attached").unwrap();
    let sentence = attached.sentence(&Locale::En);
    assert_eq!(sentence, "administrator attached 算力合同（终稿）.pdf to 竹简-预训练 2026-02");
}

#[tokio::test]
async fn a_newer_file_is_a_version_and_the_old_one_stays() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    let [page, ..] = things(&app, &browser).await;
    let send =
        async |name, bytes: &'static [u8], more: &[(&str, &str)]| attach(&browser, &page, (name, bytes), more).await;
    send("合同.pdf", b"%PDF-1", &[]).await;
    send("合同.pdf", b"%PDF-2", &[]).await;
    send("别的.txt", b"x", &[]).await;
    let shown = browser.get(&page).await;
    let newest = shown.attributes("table.documents td:first-child a", "href")[0].clone();
    let id = newest.rsplit('/').next().unwrap();
    assert_eq!(send("签字.pdf", b"%PDF-3", &[("version_of", id)]).await.status, StatusCode::SEE_OTHER);
    let shown = browser.get(&page).await;
    let names: Vec<String> = shown.rows("table.documents").iter().map(|row| row[..2].join(" ")).collect();
    assert_eq!(names, ["签字.pdf 3", "合同.pdf 2", "合同.pdf 1", "别的.txt 1"]);
    let links = shown.attributes("table.documents td:first-child a", "href");
    for (link, bytes) in links.iter().zip([&b"%PDF-3"[..], b"%PDF-2", b"%PDF-1", b"x"]) {
        assert_eq!(browser.get(link).await.bytes, bytes, "{link}");
    }
    let again = send("签字.pdf", b"%PDF-3", &[("document_note", "又传一次")]).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(again.texts("#file-error"), ["这和 签字.pdf 第 3 版是同一个文件。"]);
    assert_eq!(again.form("/documents").1["document_note"], "又传一次", "nothing typed is lost");
    assert_eq!(send("c.txt", b"c", &[("version_of", "999")]).await.texts("#version_of-error").len(), 1);

    let void = format!("{newest}/void");
    assert_eq!(browser.submit(&void, &void, &[]).await.status, StatusCode::UNPROCESSABLE_ENTITY, "without a reason");
    assert_eq!(browser.submit(&void, &void, &[("reason", "传错了")]).await.location(), page);
    assert_eq!(browser.get(&void).await.status, StatusCode::CONFLICT);
    let shown = browser.get(&page).await;
    assert_eq!(shown.rows("table.documents")[1][5], "（已作废：传错了）");
    assert_eq!(browser.get(&newest).await.bytes, b"%PDF-2", "a voided one can still be read");
    assert!(shown.texts(".history p")[0].ends_with("的文件 合同.pdf。原因：传错了"), "{:?}", shown.texts(".history p"));
}

// case C03: the same form sent twice is one document, and two people at once make two versions.
#[tokio::test]
async fn two_uploads_at_once_are_two_versions_and_the_same_form_is_one() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    let [page, ..] = things(&app, &browser).await;
    let (action, fields) = browser.get(&page).await.form("/documents");
    let fields = [("submit_id", fields["submit_id"].as_str())];
    for _ in 0..2 {
        assert_eq!(browser.upload(&action, &fields, ("file", "a.txt", b"0")).await.location(), page);
    }
    let (one, other) =
        tokio::join!(attach(&browser, &page, ("a.txt", b"1"), &[]), attach(&browser, &page, ("a.txt", b"2"), &[]));
    assert_eq!([one.status, other.status], [StatusCode::SEE_OTHER; 2]);
    let versions: Vec<_> =
        browser.get(&page).await.rows("table.documents").into_iter().map(|row| row[1].clone()).collect();
    assert_eq!(versions, ["3", "2", "1"]);
}

// C41, in short: what a hostile file could be is refused with the reason, or saved and served so that nothing in it runs.
#[tokio::test]
async fn a_hostile_file_is_refused_or_served_inert() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    let [page, ..] = things(&app, &browser).await;
    let script = b"<html><script>alert(1)</script></html>".as_slice();
    let too_large = [b"%PDF-".as_slice(), &vec![b'x'; (20 << 20) - 4]].concat();
    let book = ["[Content_Types].xml", "xl/workbook.xml"];
    let refused: &[(&str, &[u8], &str)] = &[
        ("图.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "这里不收"),
        ("a.html", script, "这里不收"),
        ("a.pdf.exe", b"MZ", "这里不收"),
        ("a.xlsm", &office(&book), "这里不收"),
        ("42.zip", &office(&["0.zip"]), "这里不收"),
        ("a.pdf", script, "内容和文件名不符"),
        ("a.pdf", b"\n%PDF-1.7", "内容和文件名不符"),
        ("a.png", b"\xff\xd8\xff\xe0", "内容和文件名不符"),
        ("a.jpg", b"GIF89a", "内容和文件名不符"),
        ("a.txt", b"MZ\0\0", "内容和文件名不符"),
        ("a.docx", &office(&book), "内容和文件名不符"),
        ("a.xlsx", &office(&[&book[..], &["xl/vbaProject.bin"]].concat()), "内容和文件名不符"),
        ("a.xlsx", &office(&["0.zip"]), "内容和文件名不符"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "内容和文件名不符"),
        ("empty.pdf", b"", "是空文件"),
        ("large.pdf", &too_large, "文件超过上限 20 MiB"),
        ("a\u{202E}fdp.txt", b"x", "不能用作文件名"),
        ("a\u{200B}.txt", b"x", "不能用作文件名"),
        (&format!("{}.txt", "长".repeat(120)), b"x", "不能用作文件名"),
        ("..", b"x", "这里不收"),
        ("../", b"x", "不能用作文件名"),
        ("", b"", "选一个文件"),
    ];
    for (name, bytes, said) in refused {
        let answer = attach(&browser, &page, (name, bytes), &[]).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{name:?}: {}", answer.text());
        let errors = answer.texts("#file-error");
        assert!(errors.len() == 1 && errors[0].contains(said), "{name:?}: {errors:?}");
    }
    let nul = attach(&browser, &page, ("a\0b.txt", b"x"), &[]).await;
    assert!(nul.status.is_client_error(), "a name with NUL: {}", nul.status);
    assert!(browser.get(&page).await.rows("table.documents").is_empty(), "nothing of it is kept");

    let largest = &too_large[..20 << 20];
    let served: &[(&str, &[u8], &str, &str)] = &[
        ("..\\..\\etc/passwd.txt", script, "passwd.txt", "text/plain; charset=utf-8"),
        ("a.pdf", b"%PDF-1.7\n<script>alert(1)</script>", "a.pdf", "application/pdf"),
        ("a.jpg", b"\xff\xd8\xff\xe0PK\x03\x04<?php", "a.jpg", "image/jpeg"),
        ("a\"; filename=b.html;.txt", b"x", "a\"; filename=b.html;.txt", "text/plain; charset=utf-8"),
        ("old.csv", b"\xb5\xda=cmd|'/c calc'!A1", "old.csv", "application/octet-stream"),
        ("bomb.xlsx", &office(&book), "bomb.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ("largest.pdf", largest, "largest.pdf", "application/pdf"),
    ];
    for (name, bytes, shown, kind) in served {
        // As a browser sends a name with a quotation mark.
        let sent = name.replace('"', "%22");
        assert_eq!(attach(&browser, &page, (&sent, bytes), &[]).await.status, StatusCode::SEE_OTHER, "{name}");
        let list = browser.get(&page).await;
        let row = list.rows("table.documents").into_iter().next_back().unwrap();
        assert_eq!(row[0], shown.replace('"', "%22"));
        let link = list.attributes("table.documents td:first-child a", "href").pop().unwrap();
        let file = browser.get(&link).await;
        assert_inert(&file, name);
        assert_eq!((header(&file, "content-type"), file.bytes == *bytes), (*kind, true), "{name}");
    }
}

// case P03: a document of another project looks like one that does not exist; who only reads changes nothing.
#[tokio::test]
async fn a_document_is_seen_by_whoever_sees_what_it_hangs_on() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    let [environment, provider, ..] = things(&app, &browser).await;
    for page in [&environment, &provider] {
        attach(&browser, page, ("a.txt", b"x"), &[]).await;
    }
    let user = app.add_user("operator@palmfan.example", Role::Member).await;
    let mut tx = app.write().await;
    let other = project::add(&mut tx, "另一个".parse().unwrap()).await.unwrap();
    membership::add(&mut tx, other.id, user, ProjectRole::Operator).await.unwrap();
    tx.commit().await.unwrap();
    let stranger = app.browser();
    stranger.sign_in("operator@palmfan.example").await;
    let link = |page: &Answer| page.attributes("table.documents td:first-child a", "href")[0].clone();
    let secret = link(&browser.get(&environment).await);
    for path in [secret.clone(), format!("{secret}/void")] {
        assert_eq!(stranger.get(&path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    let id = uuid::Uuid::now_v7().to_string();
    let fields = [("submit_id", id.as_str())];
    let sent = stranger.upload(&format!("{environment}/documents"), &fields, ("file", "a.txt", b"y")).await;
    assert_eq!(sent.status, StatusCode::NOT_FOUND);
    assert_eq!(stranger.get(&link(&stranger.get(&provider).await)).await.bytes, b"x", "the catalogue is read by all");

    let auditor = app.sign_in(Role::Auditor).await;
    assert_eq!(auditor.get(&secret).await.bytes, b"x");
    assert_eq!(auditor.upload(&format!("{environment}/documents"), &fields, ("file", "a.txt", b"y")).await.status, 403);
    assert_eq!(app.browser().get(&secret).await.status, StatusCode::SEE_OTHER, "to sign in");
}

/// How many objects lie in a part of the store.
fn stored(app: &TestApp, part: &str) -> usize {
    let mut open = vec![app.folder().join("documents").join(part)];
    let mut count = 0;
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir().into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { count += 1 }
        }
    }
    count
}

// A file that was refused, or looked at and never confirmed, does not lie in the store for ever.
#[tokio::test]
async fn what_was_uploaded_and_never_confirmed_goes_after_some_days() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    let [page, ..] = things(&app, &browser).await;
    attach(&browser, &page, ("a.txt", b"kept"), &[]).await;
    assert_eq!((stored(&app, "sha256"), stored(&app, "waiting")), (1, 0), "attached is kept");
    browser.upload("/imports/environments", &[], ("file", "salaries.csv", b"name,salary\nA,1\n")).await;
    let rates = b"base,quote,date,rate\nUSD,CNY,2026-03-02,7\n";
    let preview = browser.upload("/imports/rates", &[], ("file", "rates.csv", rates)).await.location();
    assert_eq!((stored(&app, "sha256"), stored(&app, "waiting")), (1, 2));

    let sweep = rentroll::jobs::find("sweep").unwrap();
    // The store goes by the machine's own clock.
    let uploaded = rentroll::clock::Clock::System.now();
    app.app.clock.set(uploaded + chrono::TimeDelta::days(6));
    rentroll::jobs::run(&app.app, sweep, None).await.unwrap();
    assert_eq!((stored(&app, "sha256"), stored(&app, "waiting")), (1, 2), "over a long weekend it can be confirmed");
    app.app.clock.set(uploaded + chrono::TimeDelta::days(8));
    rentroll::jobs::run(&app.app, sweep, None).await.unwrap();
    assert_eq!((stored(&app, "sha256"), stored(&app, "waiting")), (1, 0));
    let browser = app.browser();
    browser.sign_in("administrator@palmfan.example").await;
    assert_eq!(browser.get(&preview).await.status, StatusCode::NOT_FOUND);
    let link = browser.get(&page).await.attributes("table.documents td:first-child a", "href")[0].clone();
    assert_eq!(browser.get(&link).await.bytes, b"kept");
}

// Damage in the store breaks a download instead of passing for the document.
#[tokio::test]
async fn a_damaged_file_is_not_served_as_the_document() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    let [page, ..] = things(&app, &browser).await;
    attach(&browser, &page, ("a.txt", b"sound"), &[]).await;
    let hash: Vec<u8> =
        sqlx::query_scalar("select sha256 from document").fetch_one(&mut app.database.superuser().await).await.unwrap();
    let hash = hex::encode(hash);
    let file = app.folder().join("documents/sha256").join(&hash[..2]).join(&hash[2..]);
    std::fs::write(file, b"wrong").unwrap();
    let link = browser.get(&page).await.attributes("table.documents td:first-child a", "href")[0].clone();
    assert_ne!(browser.get(&link).await.bytes, b"wrong");
}
