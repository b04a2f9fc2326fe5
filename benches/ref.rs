//! The bare counterparts: the least that does the same on the same stack. No sign-in, no scope, no history, no layout.
//!
//! They stand for what axum, sqlx, PostgreSQL and a socket can do, so that a benchmark says what the house costs.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use askama::Template;
use axum::Router;
use axum::extract::{Path as UrlPath, State};
use axum::http::StatusCode;
use axum::response::Html;
use axum::routing::get;
use chrono::NaiveDate;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::net::TcpListener;

// ---- pages ----------------------------------------------------------------------------------------------------------

/// Serves the bare pages on loopback; gives the address.
pub async fn serve(options: PgConnectOptions) -> Result<SocketAddr> {
    let pool = PgPoolOptions::new().max_connections(8).connect_with(options).await?;
    let router = Router::new()
        .route("/environments", get(environments))
        .route("/environments/{id}", get(environment))
        .route("/ledger", get(ledger))
        .with_state(pool);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

type Answer = Result<Html<String>, StatusCode>;

/// An environment in the list: its number and name, project, provider, tier, owner, last day, quantity, day to give notice by,
/// price of all units.
type Environment =
    (i64, String, String, String, String, Option<String>, Option<NaiveDate>, String, Option<NaiveDate>, Option<String>);
/// What a list can be filtered by: what it is, its number and name.
type Choice = (String, i64, String);
/// A line: its number, period, environment, service, category, billed and effective cost, currency.
type Line = (i64, NaiveDate, Option<String>, String, String, Option<String>, Option<String>, String);
/// A sum: currency, billed and effective cost.
type Sum = (String, String, String);

#[derive(Template)]
#[template(
    ext = "html",
    source = "<!doctype html><title>Environments</title><table>{% for e in rows %}<tr><td><a href=\"/environments/{{ e.0 }}\">\
              {{ e.1 }}</a><td>{{ e.2 }}<td>{{ e.3 }}<td>{{ e.4 }}<td>{% if let Some(owner) = e.5 %}{{ owner }}{% endif %}\
              <td>{% if let Some(day) = e.6 %}{{ day }}{% endif %}<td>{{ e.7 }}<td>{% if let Some(day) = e.8 %}{{ day }}{% endif %}\
              <td>{% if let Some(price) = e.9 %}{{ price }}{% endif %}{% endfor %}</table><p>{{ all }}, {{ active }}<form>\
              {% for c in choices %}<option value=\"{{ c.1 }}\">{{ c.0 }} {{ c.2 }}{% endfor %}</form>"
)]
struct EnvironmentsPage {
    rows: Vec<Environment>,
    choices: Vec<Choice>,
    all: i64,
    active: i64,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = "<!doctype html><title>Ledger</title><table>{% for l in rows %}<tr><td>{{ l.0 }}<td>{{ l.1 }}<td>\
              {% if let Some(name) = l.2 %}{{ name }}{% endif %}<td>{{ l.3 }}<td>{{ l.4 }}<td>\
              {% if let Some(cost) = l.5 %}{{ cost }}{% endif %}<td>{% if let Some(cost) = l.6 %}{{ cost }}{% endif %}\
              <td>{{ l.7 }}{% endfor %}</table><table>{% for s in sums %}<tr><td>{{ s.0 }}<td>{{ s.1 }}<td>{{ s.2 }}\
              {% endfor %}</table>"
)]
struct LedgerPage {
    rows: Vec<Line>,
    sums: Vec<Sum>,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = "<!doctype html><title>{{ name }}</title><h1>{{ name }}</h1><table>{% for t in terms %}<tr><td>{{ t.0 }}<td>\
              {% if let Some(day) = t.1 %}{{ day }}{% endif %}<td>{% if let Some(price) = t.2 %}{{ price }}{% endif %}\
              {% endfor %}</table><table>{% for s in sums %}<tr><td>{{ s.0 }}<td>{{ s.1 }}<td>{{ s.2 }}{% endfor %}</table>"
)]
struct EnvironmentPage {
    name: String,
    terms: Vec<(NaiveDate, Option<NaiveDate>, Option<String>)>,
    sums: Vec<Sum>,
}

async fn environments(State(pool): State<PgPool>) -> Answer {
    // What ends soonest first, as on the page.
    let rows = sqlx::query_as(
        "select e.id, e.name, p.name, v.name, t.name, o.name, l.ends_on, e.quantity::text,
                (select min(due_on) from deadline where environment_id = e.id and kind = 'cancel_by' and closed is null),
                (select (price * e.quantity)::text from term where environment_id = e.id order by starts_on desc limit 1)
         from environment e join (select environment_id, max(ends_on) as ends_on from term group by environment_id) l
         on l.environment_id = e.id join project p on p.id = e.project_id join provider v on v.id = e.provider_id
         join tier t on t.id = e.tier_id left join person o on o.id = e.owner_id
         where e.status = 'active' order by l.ends_on, e.id limit 50",
    );
    let counts = "select count(*), count(*) filter (where status = 'active') from environment where status <> 'voided'";
    let choices = "select 'project', id, name from project union all select 'provider', id, name from provider
                   union all select 'owner', id, name from person where id in (select owner_id from environment) order by 3";
    let (rows, counts, choices) = tokio::join!(
        rows.fetch_all(&pool),
        sqlx::query_as(counts).fetch_one(&pool),
        sqlx::query_as(choices).fetch_all(&pool),
    );
    let (all, active) = counts.map_err(failed)?;
    let (rows, choices) = (rows.map_err(failed)?, choices.map_err(failed)?);
    shown(&EnvironmentsPage { rows, choices, all, active })
}

async fn ledger(State(pool): State<PgPool>) -> Answer {
    let rows = sqlx::query_as(
        "select s.id, s.period, e.name, s.service, s.category, s.billed::text, s.effective::text, s.currency
         from spend s left join environment e on e.id = s.environment_id order by s.period desc, s.id desc limit 50",
    );
    let sums =
        "select currency, sum(billed)::text, sum(effective)::text from spend_total group by currency order by currency";
    let (rows, sums) = tokio::join!(rows.fetch_all(&pool), sqlx::query_as(sums).fetch_all(&pool));
    shown(&LedgerPage { rows: rows.map_err(failed)?, sums: sums.map_err(failed)? })
}

async fn environment(State(pool): State<PgPool>, UrlPath(id): UrlPath<i64>) -> Answer {
    let name = sqlx::query_scalar("select name from environment where id = $1").bind(id);
    let terms = "select starts_on, ends_on, price::text from term where environment_id = $1 order by number";
    let sums = "select currency, sum(billed)::text, sum(effective)::text from spend_month where environment_id = $1
                group by period, currency order by period desc, currency limit 24";
    let (name, terms, sums) = tokio::join!(
        name.fetch_one(&pool),
        sqlx::query_as(terms).bind(id).fetch_all(&pool),
        sqlx::query_as(sums).bind(id).fetch_all(&pool),
    );
    shown(&EnvironmentPage { name: name.map_err(failed)?, terms: terms.map_err(failed)?, sums: sums.map_err(failed)? })
}

fn shown(page: &impl Template) -> Answer {
    page.render().map(Html).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}

#[expect(clippy::needless_pass_by_value, reason = "map_err gives it")]
fn failed(error: sqlx::Error) -> StatusCode {
    eprintln!("a bare page failed: {error}");
    StatusCode::INTERNAL_SERVER_ERROR
}

// ---- bulk -----------------------------------------------------------------------------------------------------------

/// All lines with what they belong to, as the export of the ledger has them.
const EXPORT: &str = "select s.id, v.name, s.account, s.sub_account, p.name, e.name, r.external_id, s.service, s.category, s.class,
     s.charge_start, s.charge_end, s.period, s.quantity, s.unit, s.list, s.contracted, s.billed, s.effective, s.currency,
     s.description, s.tags, s.import_id, s.reverses_id
     from spend s join provider v on v.id = s.provider_id left join project p on p.id = s.project_id
     left join environment e on e.id = s.environment_id left join resource r on r.id = s.resource_id
     order by s.period desc, s.id desc";

/// Makes `psql` write the whole ledger as CSV, and drop it.
pub fn copy_out(psql: &mut Command) -> &mut Command {
    let select = EXPORT.replace('\n', " ");
    psql.args(["-c", &format!("\\copy ({select}) to '/dev/null' csv header")])
}

/// Makes `psql` put a file into a table without any index.
pub fn copy_in<'a>(psql: &'a mut Command, table: &str, file: &Path) -> &'a mut Command {
    psql.args(["-c", &format!("\\copy {table} from '{}' csv header", file.display())])
}

// ---- mail -----------------------------------------------------------------------------------------------------------

/// Sends a message so many times, as quickly as a conversation with one reply a step allows. The message ends with a line
/// end and holds no line that begins with a dot.
pub fn send_mails(server: SocketAddr, message: &[u8], times: u32, connections: u32) -> Result<()> {
    let body: Vec<u8> = [message, b".\r\n"].concat();
    std::thread::scope(|scope| {
        let share = |connection: u32| times / connections + u32::from(connection < times % connections);
        let senders: Vec<_> = (0..connections)
            .map(|connection| {
                scope.spawn({
                    let body = &body;
                    move || converse(server, body, share(connection))
                })
            })
            .collect();
        senders.into_iter().try_for_each(|sender| sender.join().unwrap_or_else(|_| anyhow::bail!("a sender panicked")))
    })
}

fn converse(server: SocketAddr, body: &[u8], times: u32) -> Result<()> {
    let stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    expect(&mut stream, "220")?;
    ask(&mut stream, b"EHLO localhost\r\n", "250")?;
    for _ in 0..times {
        ask(&mut stream, b"MAIL FROM:<ledger@example.com>\r\n", "250")?;
        ask(&mut stream, b"RCPT TO:<person@example.com>\r\n", "250")?;
        ask(&mut stream, b"DATA\r\n", "354")?;
        ask(&mut stream, body, "250")?;
    }
    ask(&mut stream, b"QUIT\r\n", "221")
}

fn ask(stream: &mut BufReader<TcpStream>, words: &[u8], code: &str) -> Result<()> {
    stream.get_mut().write_all(words)?;
    expect(stream, code)
}

/// Reads a reply to its last line.
fn expect(stream: &mut BufReader<TcpStream>, code: &str) -> Result<()> {
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        ensure!(line.starts_with(code), "the server said {line:?} where {code} was expected");
        if line.as_bytes().get(3) != Some(&b'-') {
            return Ok(());
        }
    }
}
