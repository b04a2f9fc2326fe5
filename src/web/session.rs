//! Who is it: the session cookie, looked up once a request.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use axum_extra::extract::CookieJar;
use chrono::{DateTime, Utc};
use ipnet::IpNet;
use uuid::Uuid;

use crate::access::token;
use crate::actor::{Actor, ActorKind, ProjectRole, Role, Scope, Source};
use crate::app::App;
use crate::dates::Zone;
use crate::error::{Error, Result};
use crate::ids::{PersonId, ProjectId, UserId};
use crate::limits;
use crate::locale::Locale;

/// The cookie that holds the session's token. The prefix makes browsers refuse it from any other host or over plain http.
pub const SESSION_COOKIE: &str = "__Host-session";
/// The cookie by which a browser is known in which somebody has signed in before. It signs nobody in.
pub const DEVICE_COOKIE: &str = "__Host-device";
/// The cookie that holds the language of somebody who has not signed in.
pub const LANGUAGE_COOKIE: &str = "__Host-language";

/// Whoever sent the request.
#[derive(Debug, Clone, Default)]
pub struct Visitor {
    /// The signed-in person, where there is one.
    pub signed_in: Option<SignedIn>,
    /// The language to answer in.
    pub locale: Locale,
    /// The path below which all routes lie.
    pub base: String,
    /// Joins log lines and audit entries of this request; the error page shows it.
    pub request_id: Uuid,
    /// The network address, as the trusted proxies say.
    pub address: Option<IpAddr>,
    /// Whether cookies marked Secure will come back: https, or a loopback name.
    pub secure: bool,
}

/// A signed-in person.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// What the person may do.
    pub actor: Actor,
    /// The address, for test mails.
    pub email: Option<String>,
    /// The person's own language, where chosen.
    pub own_locale: Option<Locale>,
    /// The zone in which instants are shown.
    pub zone: Zone,
    /// The organisation's name.
    pub organisation: String,
    /// Hash of the session's token.
    pub token_hash: Vec<u8>,
}

/// Puts the [`Visitor`] into the request, for the guard, the handlers and the error pages.
pub async fn identify(State(app): State<App>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match visitor(&app, &parts).await {
        Ok(visitor) => {
            parts.extensions.insert(visitor);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(error) => axum::response::IntoResponse::into_response(error),
    }
}

/// What is the same for everybody, and is answered without a database.
fn is_for_all(path: &str) -> bool {
    path == "/healthz" || path == "/readyz" || path.starts_with("/static/")
}

async fn visitor(app: &App, request: &Parts) -> Result<Visitor> {
    let headers = &request.headers;
    let jar = CookieJar::from_headers(headers);
    let request_id = Uuid::now_v7();
    let (address, secure) = connection(app, request);
    let signed_in = match jar.get(SESSION_COOKIE) {
        Some(cookie) if !is_for_all(request.uri.path()) => signed_in(app, cookie.value(), request_id).await?,
        _ => None,
    };
    let chosen = jar.get(LANGUAGE_COOKIE).and_then(|cookie| cookie.value().parse().ok());
    let spoken = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| Locale::negotiate(value.to_str().ok()?));
    let locale = match &signed_in {
        Some((signed_in, organisation_locale)) => signed_in.own_locale.unwrap_or(*organisation_locale),
        None => chosen.or(spoken).unwrap_or_default(),
    };
    Ok(Visitor {
        signed_in: signed_in.map(|(signed_in, _)| signed_in),
        locale,
        base: app.base.clone(),
        request_id,
        address,
        secure,
    })
}

/// Looks the session up. Rights come from the database at every request, so what is taken away is gone at once.
async fn signed_in(app: &App, token: &str, request_id: Uuid) -> Result<Option<(SignedIn, Locale)>> {
    let token_hash = token::hash_of(token);
    let now = app.clock.now();
    let row = sqlx::query!(
        r#"select user_id as "user_id!: UserId", person_id as "person_id!: PersonId", name as "name!", email, locale, zone,
                  role as "role!", all_projects as "all_projects!", created_at as "created_at!", seen_at as "seen_at!",
                  memberships as "memberships!", organisation as "organisation!", organisation_zone as "organisation_zone!",
                  organisation_locale as "organisation_locale!"
           from app_signed_in($1)"#,
        token_hash,
    )
    .fetch_optional(&app.db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let idle = now - row.seen_at;
    if now - row.created_at > limits::SESSION_TIME || idle > limits::SESSION_IDLE_TIME {
        return Ok(None);
    }
    if idle > limits::SESSION_SEEN_STEP {
        seen(app, &token_hash, now).await?;
    }
    let role: Role = row.role.parse().map_err(|message: crate::locale::Message| Error::internal(message))?;
    let all = row.all_projects.then_some(match role {
        Role::Administrator => ProjectRole::Manager,
        Role::Auditor => ProjectRole::Viewer,
        Role::Member => ProjectRole::Operator,
    });
    let projects = memberships(&row.memberships, role)?;
    let zone = row.zone.as_deref().unwrap_or(&row.organisation_zone).parse().unwrap_or_default();
    let organisation_locale = row.organisation_locale.parse().unwrap_or_default();
    let actor = Actor {
        kind: ActorKind::Person,
        source: Source::Page,
        user: Some(row.user_id),
        person: Some(row.person_id),
        name: row.name,
        role,
        scope: Scope { all, projects },
        request_id,
        reason: None,
    };
    let signed_in = SignedIn {
        actor,
        email: row.email,
        own_locale: row.locale.and_then(|tag| tag.parse().ok()),
        zone,
        organisation: row.organisation,
        token_hash,
    };
    Ok(Some((signed_in, organisation_locale)))
}

/// An auditor of listed projects reads them, whatever the membership says.
fn memberships(rows: &serde_json::Value, role: Role) -> Result<BTreeMap<ProjectId, ProjectRole>> {
    #[derive(serde::Deserialize)]
    struct Row {
        project: ProjectId,
        role: String,
    }
    let rows: Vec<Row> = serde_json::from_value(rows.clone())?;
    Ok(rows
        .into_iter()
        .filter_map(|row| Some((row.project, ProjectRole::from_code(&row.role)?)))
        .map(|(project, right)| (project, if role == Role::Auditor { ProjectRole::Viewer } else { right }))
        .collect())
}

async fn seen(app: &App, token_hash: &[u8], now: DateTime<Utc>) -> Result<()> {
    sqlx::query!("update session set seen_at = $2 where token_hash = $1", token_hash, now).execute(&app.db).await?;
    Ok(())
}

/// The client's address, and whether Secure cookies come back. Forwarded headers count only from trusted proxies.
fn connection(app: &App, request: &Parts) -> (Option<IpAddr>, bool) {
    let peer = request.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let headers = &request.headers;
    let proxies = &app.trusted_proxies;
    let https =
        peer.is_some_and(|peer| trusted(proxies, peer)) && header_text(headers, "x-forwarded-proto") == Some("https");
    let host = header_text(headers, "host").unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    let loopback = name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let public_https = app.public_url.as_ref().is_some_and(|url| {
        url.scheme() == "https" && url.host_str().is_some_and(|public| public.eq_ignore_ascii_case(name))
    });
    (peer.map(|peer| client_address(proxies, peer, headers)), https || loopback || public_https)
}

/// Whether an address is that of a trusted proxy.
fn trusted(proxies: &[IpNet], address: IpAddr) -> bool {
    proxies.iter().any(|net| net.contains(&address.to_canonical()))
}

/// Who is at the other end: the peer, or behind trusted proxies the last hop that is none of them.
///
/// Each proxy adds whoever called it at the end, on the same line or on one of its own, so all lines are one list. What
/// stands before the first hop that is not ours may have been written by anybody.
fn client_address(proxies: &[IpNet], peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let mut client = peer.to_canonical();
    // Bytes that are no text must not make a line vanish: what a proxy added to it counts.
    let lines: Vec<_> =
        headers.get_all("x-forwarded-for").iter().map(|line| String::from_utf8_lossy(line.as_bytes())).collect();
    let mut hops = lines.iter().rev().flat_map(|line| line.rsplit(',')).map(str::trim).filter(|hop| !hop.is_empty());
    while trusted(proxies, client) {
        // Behind a hop that cannot be read, nothing can be believed.
        let Some(hop) = hops.next().and_then(hop_address) else { break };
        client = hop;
    }
    client
}

/// The address of a hop; some proxies write the port too.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let plain = hop.trim_matches(['[', ']']).parse::<IpAddr>().ok();
    plain.or_else(|| Some(hop.parse::<SocketAddr>().ok()?.ip())).map(|address| address.to_canonical())
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whom a request comes from, with these lines of `X-Forwarded-For`, behind proxies in 10.0.0.0/8 and fd00::/8.
    fn client(peer: &str, lines: &[&[u8]]) -> String {
        let proxies = ["10.0.0.0/8", "fd00::/8"].map(|net| net.parse().unwrap());
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("x-forwarded-for", axum::http::HeaderValue::from_bytes(line).unwrap());
        }
        client_address(&proxies, peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        assert_eq!(client("203.0.113.9", &[b"198.51.100.1"]), "203.0.113.9");
        assert_eq!(client("10.0.0.1", &[b"198.51.100.1"]), "198.51.100.1");
        assert_eq!(client("::ffff:10.0.0.1", &[b"198.51.100.1"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn the_last_hop_that_is_no_proxy_of_ours_counts_over_all_lines() {
        assert_eq!(client("10.0.0.1", &[b"1.1.1.1, 198.51.100.1, 10.0.0.2"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &[b"1.1.1.1", b"198.51.100.1"]), "198.51.100.1", "the first line is forged");
        assert_eq!(client("10.0.0.1", &[b"1.1.1.1, 198.51.100.1", b"10.0.0.3,10.0.0.2"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &[b"10.0.0.9", b"10.0.0.2"]), "10.0.0.9", "from within");
    }

    #[test]
    fn a_hop_may_have_a_port_and_what_cannot_be_read_hides_nothing() {
        assert_eq!(client("10.0.0.1", &[b"1.1.1.1, 198.51.100.1:4711"]), "198.51.100.1");
        assert_eq!(client("fd00::1", &[b"[2001:db8::7]:443"]), "2001:db8::7");
        assert_eq!(client("10.0.0.1", &[b"1.1.1.1, unknown, 10.0.0.2"]), "10.0.0.2");
        assert_eq!(client("10.0.0.1", &[b"1.1.1.1", b"\xff\xfe, 198.51.100.1"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &[b"1.1.1.1", b"", b"198.51.100.1,"]), "198.51.100.1");
    }
}
