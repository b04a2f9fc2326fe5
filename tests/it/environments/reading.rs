//! The import page where a file does not tell by itself how it is to be read.

use axum::http::StatusCode;
use rentroll::actor::Role;
use rentroll::environments::roll::{self, EnvironmentFilter};

use crate::harness::{Answer, Browser, TestApp};

const HEAD: &str = "项目,名称,服务商,档位,开始日,到期日";

async fn look(browser: &Browser, bytes: &[u8]) -> Answer {
    browser.upload("/imports/environments", &[], ("file", "环境.csv", bytes)).await
}

/// Sends the form of the preview that reads the file again.
async fn again(browser: &Browser, seen: &Answer, said: &[(&str, &str)]) -> Answer {
    send(browser, seen, "/imports/environments", said).await
}

async fn send(browser: &Browser, seen: &Answer, to: &str, said: &[(&str, &str)]) -> Answer {
    let (action, form) = seen.form(to);
    let mut fields: Vec<(&str, &str)> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    fields.retain(|(name, _)| !said.iter().any(|(said, _)| said == name));
    fields.extend(said);
    browser.post(&action, &fields).await
}

async fn english(app: &TestApp) -> Browser {
    let browser = app.sign_in(Role::Administrator).await;
    browser.post("/language", &[("locale", "en"), ("to", "/")]).await;
    browser
}

// case I01: one file in four encodings gives one preview, which says the encoding and lets another be chosen.
#[tokio::test]
async fn the_same_file_gives_the_same_preview_in_every_encoding() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    let text = format!("{HEAD}\n竹简,㐀与𠮷,苇塘云,H800,2026-01-01,2026-03-31\n");
    let utf_16: Vec<u8> = format!("\u{FEFF}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let gb18030 = encoding_rs::GB18030.encode(&text).0.into_owned();
    let mut previews = Vec::new();
    for (bytes, name) in [
        (text.clone().into_bytes(), "UTF-8"),
        (format!("\u{FEFF}{text}").into_bytes(), "UTF-8"),
        (utf_16, "UTF-16 LE"),
        (gb18030.clone(), "GB18030 (GBK)"),
    ] {
        let seen = look(&browser, &bytes).await;
        assert_eq!((seen.status, seen.texts(".reading p")), (StatusCode::OK, vec![format!("Found: {name}")]));
        assert_eq!(seen.texts("select[name=encoding] option[selected]"), [name]);
        previews.push((seen.texts(".lead"), seen.rows("table.rows")));
    }
    assert!(previews.windows(2).all(|pair| pair[0] == pair[1]), "{previews:?}");
    assert_eq!(previews[0].1[0][3], "㐀与𠮷");

    // What somebody chooses is done, and can be taken back; the choice goes with the form that writes.
    let seen = look(&browser, &gb18030).await;
    let wrong = again(&browser, &seen, &[("encoding", "utf_8")]).await;
    assert_eq!(
        (wrong.status, wrong.texts(".reading p")),
        (StatusCode::UNPROCESSABLE_ENTITY, vec!["Chosen: UTF-8".to_owned()])
    );
    assert!(wrong.rows("table.errors")[0][3].contains("no text in this encoding"), "{:?}", wrong.rows("table.errors"));
    let right = again(&browser, &wrong, &[("encoding", "gb18030")]).await;
    assert_eq!(right.rows("table.rows")[0][3], "㐀与𠮷");
    assert_eq!(right.form("/imports/environments/confirm").1["encoding"], "gb18030");
    assert_eq!(send(&browser, &right, "/imports/environments/confirm", &[]).await.location(), "/environments");
    let mut read = app.read().await;
    let rows = roll::list(&mut read, &EnvironmentFilter::default(), 10).await.unwrap().rows;
    assert_eq!((rows.len(), rows[0].name.as_str()), (1, "㐀与𠮷"));

    let unknown = again(&browser, &seen, &[("encoding", "ebcdic")]).await;
    assert_eq!(unknown.status, StatusCode::UNPROCESSABLE_ENTITY);
    let gone = again(&browser, &seen, &[("sha256", &"0".repeat(64))]).await;
    assert_eq!(gone.status, StatusCode::UNPROCESSABLE_ENTITY);
    let workbook = look(&browser, b"PK\x03\x04...").await;
    assert_eq!(workbook.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(workbook.rows("table.errors")[0][3].contains("Save it as CSV there"));
}

// case I06: a number that can be read in two ways is asked by row, column and value; the answer reads it.
#[tokio::test]
async fn how_numbers_are_written_is_asked_and_never_guessed() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    let text = format!("{HEAD},单价,币种\n竹简,预训练,苇塘云,H800,2026年1月1日,2026/3/31,1.000,CNY\n");
    let seen = look(&browser, text.as_bytes()).await;
    assert_eq!(seen.status, StatusCode::UNPROCESSABLE_ENTITY);
    let errors = seen.rows("table.errors");
    assert_eq!((errors.len(), &errors[0][..3]), (1, &["2".to_owned(), "单价".to_owned(), "1.000".to_owned()][..]));
    assert!(errors[0][3].contains("can be read in two ways") && errors[0][3].contains("\"Numbers\""), "{errors:?}");
    for (said, price) in [("point", "1"), ("comma", "1000")] {
        let read = again(&browser, &seen, &[("numbers", said)]).await;
        assert_eq!(read.status, StatusCode::OK);
        assert_eq!(read.rows("table.rows")[0][5], "2026-01-01");
        assert_eq!(read.form("/imports/environments/confirm").1["numbers"], said);
        if price == "1000" {
            send(&browser, &read, "/imports/environments/confirm", &[]).await;
        }
    }
    let mut read = app.read().await;
    let rows = roll::list(&mut read, &EnvironmentFilter::default(), 10).await.unwrap().rows;
    assert_eq!(rows[0].price, Some(1000.into()));

    let last = format!("{HEAD}\n竹简,微调,苇塘云,H800,3/4/2026,\n");
    let errors = look(&browser, last.as_bytes()).await.rows("table.errors");
    assert_eq!((errors.len(), errors[0][2].as_str()), (1, "3/4/2026"));
    assert!(errors[0][3].contains("Write the year first"), "{errors:?}");
}

// case I07: blank columns are nothing; what is there twice, or unknown, is listed by name, and somebody says which is which.
#[tokio::test]
async fn doubled_and_unknown_columns_are_chosen_on_the_preview() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    let text = format!("{HEAD},金额,金额,币种,,,\n竹简,预训练,苇塘云,H800,2026-01-01,,5,7,CNY,,,\n");
    let seen = look(&browser, text.as_bytes()).await;
    assert_eq!(seen.status, StatusCode::UNPROCESSABLE_ENTITY);
    let asked: Vec<_> = seen.texts(".reading label").into_iter().filter(|it| it.contains("金额")).collect();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].starts_with("Column 7: 金额") && asked[1].starts_with("Column 8: 金额"), "{asked:?}");
    let twice = again(&browser, &seen, &[("column-7", "price"), ("column-8", "price")]).await;
    assert_eq!(twice.status, StatusCode::UNPROCESSABLE_ENTITY);
    let said = again(&browser, &twice, &[("column-7", "left_out"), ("column-8", "price")]).await;
    assert_eq!(said.status, StatusCode::OK);
    assert_eq!(send(&browser, &said, "/imports/environments/confirm", &[]).await.location(), "/environments");
    let mut read = app.read().await;
    let rows = roll::list(&mut read, &EnvironmentFilter::default(), 10).await.unwrap().rows;
    assert_eq!(rows[0].price, Some(7.into()));
}

// case I10: a row that is known already is not written again, and the preview tells it from the new ones.
#[tokio::test]
async fn known_rows_are_told_and_not_written_again() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    let one = format!("{HEAD}\n竹简,预训练,苇塘云,H800,2026-01-01,2026-03-31\n");
    let seen = look(&browser, one.as_bytes()).await;
    send(&browser, &seen, "/imports/environments/confirm", &[]).await;
    let before = app.history().await.len();
    let two = format!("{one}竹简,微调,苇塘云,H800,2026-01-01,2026-03-31\n");
    let seen = look(&browser, two.as_bytes()).await;
    let states: Vec<_> = seen.rows("table.rows").iter().map(|row| (row[1].clone(), row[3].clone())).collect();
    let state = |state: &str, name: &str| (state.to_owned(), name.to_owned());
    assert_eq!(states, [state("known", "预训练"), state("new", "微调")]);
    send(&browser, &seen, "/imports/environments/confirm", &[]).await;
    let written: Vec<_> =
        app.actions().await.into_iter().skip(before).filter(|it| it == "environment.opened").collect();
    assert_eq!(written.len(), 1, "{written:?}");
    // A row that is there twice in one file is a slip, and told.
    let doubled = format!("{two}竹简,微调,苇塘云,H800,2026-01-01,2026-03-31\n");
    assert_eq!(look(&browser, doubled.as_bytes()).await.rows("table.errors")[0][0], "4");
}
