//! A connection that breaks while a commit is under way: nobody can tell from the error whether it took place, so the form's own
//! id is looked up when it is sent again (check C6).

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rentroll::actor::Actor;
use rentroll::catalog::provider;
use rentroll::error::{Error, Result};
use rentroll::postgres::database;
use rentroll::tx::Tx;
use sqlx::PgPool;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;

use crate::harness::TestApp;

/// What the proxy does to the next commit that passes.
const LET_PASS: u8 = 0;
/// The database never hears of it.
const CUT_BEFORE: u8 = 1;
/// The database commits, and its answer is lost.
const CUT_AFTER: u8 = 2;

/// Stands between the program and the database. Gives its port.
async fn proxy(upstream: (String, u16), next: Arc<AtomicU8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect((upstream.0.as_str(), upstream.1)).await.unwrap();
            tokio::spawn(carry(client, server, next.clone()));
        }
    });
    port
}

async fn carry(mut client: TcpStream, mut server: TcpStream, next: Arc<AtomicU8>) {
    let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                let commits = asked[..length].windows(7).any(|bytes| bytes == b"COMMIT\0");
                let fault = if commits { next.swap(LET_PASS, Ordering::SeqCst) } else { LET_PASS };
                if fault == CUT_BEFORE || server.write_all(&asked[..length]).await.is_err() {
                    return;
                }
                if fault == CUT_AFTER {
                    // The answer is there, so the commit took place; the program never reads it.
                    server.readable().await.ok();
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                if client.write_all(&answered[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// What every handler does with a form.
async fn send(pool: &PgPool, app: &TestApp, submit_id: Uuid, name: &str) -> Result<String> {
    let mut tx = Tx::write(pool, &Actor::command_line("test"), app.now()).await?;
    if let Some(location) = tx.sent_before(submit_id).await? {
        return Ok(location);
    }
    let provider = provider::add(&mut tx, name.parse().unwrap()).await?;
    let location = format!("/providers/{}", provider.id);
    tx.sent(submit_id, &location).await?;
    tx.commit().await?;
    Ok(location)
}

#[tokio::test]
async fn a_form_whose_commit_was_cut_off_is_one_act_when_it_is_sent_again() {
    const FORMS: usize = 60;
    let app = TestApp::new().await;
    let options = app.database.options();
    let next = Arc::new(AtomicU8::new(LET_PASS));
    let port = proxy((options.get_host().to_owned(), options.get_port()), next.clone()).await;
    let pool = database::pool(&options.host("127.0.0.1").port(port), 2).await.unwrap();
    let mut cut = 0;
    for form in 0..FORMS {
        let (submit_id, name) = (Uuid::now_v7(), format!("provider {form}"));
        next.store([CUT_BEFORE, CUT_AFTER, LET_PASS][form % 3], Ordering::SeqCst);
        let location = loop {
            match send(&pool, &app, submit_id, &name).await {
                Ok(location) => break location,
                Err(Error::Unavailable(_)) => cut += 1,
                Err(other) => panic!("neither done nor unavailable: {other}"),
            }
        };
        assert_eq!(send(&pool, &app, submit_id, &name).await.unwrap(), location);
    }
    assert!(cut >= FORMS * 2 / 3, "only {cut} commits were cut off");
    let mut read = app.read().await;
    assert_eq!(provider::list(&mut read).await.unwrap().len(), FORMS);
    assert_eq!(app.actions().await.len(), FORMS, "one entry each");
}
