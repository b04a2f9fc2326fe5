//! A sensible example of every form.

use rentroll::access::invitation;
use rentroll::dates::parse_date;
use rentroll::environments::environment;
use rentroll::environments::term;
use rentroll::ledger::binding::{self, NewBinding};

use super::story::{BILL, Fields, Sent, Story, filled_in, pairs};
use crate::harness::PASSWORD;

/// Sends the example of a route; `None` where there is none.
pub async fn send(story: &Story, path: &str) -> Option<Sent> {
    match path.trim_start_matches('/').split('/').next().unwrap_or_default() {
        "projects" => projects(story, path).await,
        "people" => people(story, path).await,
        "providers" | "contacts" | "contracts" | "incidents" | "tiers" | "prices" => catalogue(story, path).await,
        "environments" | "terms" => environments(story, path).await,
        "ledger" | "resources" | "rates" => ledger(story, path).await,
        "imports" => imports(story, path).await,
        _ => others(story, path).await,
    }
}

/// Signing in and out, the own account, settings, documents, mails.
async fn others(story: &Story, path: &str) -> Option<Sent> {
    let address = |name: &str| format!("{name}@palmfan.example");
    match path {
        "/sign-in" => {
            let (_, stranger) = (story.user("jin").await, story.app.browser());
            let typed = [("email", &*address("jin")), ("password", PASSWORD)];
            story.own("jin", &stranger, "/sign-in", "/sign-in", &typed).await
        }
        "/sign-out" => {
            story.user("chu").await;
            story.own("chu", &story.signed_in("chu").await, "/account", "/sign-out", &[]).await
        }
        "/language" => {
            story.user("yu").await;
            story.own("yu", &story.signed_in("yu").await, "/account", "/language", &[("locale", "en")]).await
        }
        "/choose-password/{token}" => {
            let (user, _) = story.user("xin").await;
            let (app, id) = (&story.app.app, uuid::Uuid::now_v7());
            let made = invitation::new_link(app, &story.app.operator(), user, id).await.unwrap().unwrap();
            let (link, new) = (made.link.unwrap(), "nine quiet harbours in the fog");
            story.own("xin", &story.app.browser(), &link, &link, &[("password", new), ("password_again", new)]).await
        }
        "/account/password" => {
            story.user("mi").await;
            let new = "nine quiet harbours in the fog";
            let typed = [("password_current", PASSWORD), ("password", new), ("password_again", new)];
            story.own("mi", &story.signed_in("mi").await, "/account", path, &typed).await
        }
        "/account/sessions" | "/account/sessions/others" => {
            let name = if path.ends_with("others") { "duo" } else { "yi" };
            story.user(name).await;
            let (here, _elsewhere) = (story.signed_in(name).await, story.signed_in(name).await);
            story.own(name, &here, "/account", path, &[]).await
        }
        "/filters" => {
            let typed = [("do", "save"), ("name", "快到期")];
            story.own("administrator", &story.browser, "/environments?q=%E7%AB%B9%E7%AE%80", path, &typed).await
        }
        "/settings" => story.change("/settings", "/settings", &[("send_at", "08:30")]).await,
        "/documents/{id}/void" => {
            let page = format!("{}/void", story.document().await);
            story.change(&page, &page, &[]).await
        }
        "/deliveries/{id}/retry" => {
            let page = story.refused_mail().await;
            story.change(&page, "/retry", &[]).await
        }
        _ => None,
    }
}

async fn projects(story: &Story, path: &str) -> Option<Sent> {
    match path {
        "/projects" => story.change("/projects/new", "/projects", &[("name", "灯塔")]).await,
        "/projects/{id}" => {
            let page = format!("/projects/{}", story.project("灯塔二").await);
            story.change(&format!("{page}/edit"), &page, &[("cost_centre", "CC-7")]).await
        }
        "/projects/{id}/members" => {
            let (page, _) = story.member("jia").await;
            let (user, _) = story.user("ru").await;
            story.change(&page, "/members", &[("user", &user.to_string())]).await
        }
        "/projects/{id}/members/{member}" => {
            let (page, member) = story.member("bing").await;
            story.change(&page, &format!("/members/{member}"), &[("role", "manager")]).await
        }
        "/projects/{id}/members/{member}/end" => {
            let (page, member) = story.member("ding").await;
            story.change(&page, &format!("/members/{member}/end"), &[]).await
        }
        _ => None,
    }
}

async fn people(story: &Story, path: &str) -> Option<Sent> {
    match path {
        "/people" => {
            let typed = [("name", "林小满"), ("email", "xiaoman@palmfan.example"), ("right", "member")];
            story.change("/people/new", "/people", &typed).await
        }
        "/people/{id}" => {
            let page = format!("/people/{}", story.person("gai").await);
            story.change(&format!("{page}/edit"), &page, &[("name", "改名")]).await
        }
        "/people/{id}/log-in" => {
            let page = format!("/people/{}", story.person("deng").await);
            story.change(&page, "/log-in", &[("right", "auditor")]).await
        }
        "/people/{id}/right" => {
            let (_, page) = story.user("quan").await;
            story.change(&page, "/right", &[("right", "member_all")]).await
        }
        "/people/{id}/enable" => {
            let (user, page) = story.user("kai").await;
            let mut tx = story.app.write().await;
            rentroll::access::user::disable(&mut tx, user, 1).await.unwrap();
            tx.commit().await.unwrap();
            story.change(&page, "/enable", &[]).await
        }
        "/people/{id}/sessions" | "/people/{id}/sessions/all" => {
            let name = if path.ends_with("all") { "quanbu" } else { "yige" };
            let (_, page) = story.user(name).await;
            let _elsewhere = story.signed_in(name).await;
            story.change(&page, path.rsplit_once("{id}")?.1, &[]).await
        }
        "/people/{id}/link" | "/people/{id}/disable" => {
            let (_, page) = story.user(if path.ends_with("link") { "lian" } else { "ting" }).await;
            story.change(&page, path.rsplit_once("{id}")?.1, &[]).await
        }
        _ => None,
    }
}

async fn catalogue(story: &Story, path: &str) -> Option<Sent> {
    let provider = story.provider().await;
    let tier = format!("/tiers/{}", story.last("tier").await);
    match path {
        "/providers" => story.change("/providers", "/providers", &[("name", "浮木")]).await,
        "/providers/{id}" => story.change(&format!("{provider}/edit"), &provider, &[("sla", "99.9%")]).await,
        "/providers/{id}/tiers" => story.change(&provider, "/tiers", &[("name", "A100×8")]).await,
        "/providers/{id}/contacts" => {
            story.change(&format!("{provider}/contacts/new"), "/contacts", &[("name", "林小满")]).await
        }
        "/providers/{id}/contracts" => {
            let typed = [("number", "WT-7"), ("title", "整机"), ("starts_on", "2026-01-01")];
            story.change(&format!("{provider}/contracts/new"), "/contracts", &typed).await
        }
        "/providers/{id}/incidents" => {
            let typed = [("title", "掉卡"), ("severity", "minor"), ("starts_at", "2026-03-01 08:00")];
            story.change(&format!("{provider}/incidents/new"), "/incidents", &typed).await
        }
        "/providers/{id}/documents" => story.attach(&provider).await,
        "/contacts/{id}" => {
            let page = story.contact().await;
            story.change(&format!("{page}/edit"), &page, &[("job", "销售")]).await
        }
        "/contracts/{id}" => {
            let page = story.contract("QL-1").await;
            story.change(&format!("{page}/edit"), &page, &[("ends_on", "2026-12-31")]).await
        }
        "/incidents/{id}" => {
            let page = story.incident().await;
            story.change(&format!("{page}/edit"), &page, &[("region", "华东")]).await
        }
        "/incidents/{id}/void" => {
            let page = format!("{}/void", story.incident().await);
            story.change(&page, &page, &[]).await
        }
        "/contracts/{id}/documents" => story.attach(&story.contract("QL-2").await).await,
        "/tiers/{id}" => story.change(&format!("{tier}/edit"), &tier, &[("region", "华东")]).await,
        "/tiers/{id}/prices" => {
            let typed = [
                ("billing_mode", "monthly"),
                ("unit", "instance_month"),
                ("amount", "68000.5"),
                ("currency", "CNY"),
                ("valid_from", "2026-04-01"),
            ];
            story.change(&tier, "/prices", &typed).await
        }
        "/prices/{id}/correct" => {
            let page = format!("{}/correct", story.price("2026-05-01").await);
            story.change(&page, &page, &[("amount", "67000")]).await
        }
        "/prices/{id}/void" => {
            let page = format!("{}/void", story.price("2026-06-01").await);
            story.change(&page, &page, &[]).await
        }
        _ => None,
    }
}

async fn environments(story: &Story, path: &str) -> Option<Sent> {
    let environment = if path.contains("{id}") { Some(story.environment(path).await) } else { None };
    let page = environment.as_ref().map(|it| format!("/environments/{}", it.id)).unwrap_or_default();
    match path {
        "/environments" => {
            let typed = [
                ("project", "竹简大模型"),
                ("name", "竹简-评测"),
                ("provider", "苇塘云"),
                ("tier", "H800×8"),
                ("watchers", "owner@palmfan.example"),
                ("starts_on", "2026-03-17"),
                ("ends_on", "2026-06-30"),
            ];
            story.change("/environments/new", path, &typed).await
        }
        "/environments/bulk" => {
            let page = story.browser.get("/environments/bulk/edit?q=%E7%AB%B9%E7%AE%80").await;
            let (action, values) = filled_in(&page, path, &[("priority", "core"), ("do", "look")], true);
            let seen = story.browser.post(&action, &pairs(&values)).await;
            story.change_on(&seen, path, &[("do", "change")]).await
        }
        "/environments/{id}" => {
            let typed = [("labels", "team=llm"), ("watchers", "owner@palmfan.example")];
            story.change(&format!("{page}/edit"), &page, &typed).await
        }
        "/environments/{id}/renewals" => {
            story.change(&format!("{page}/renewals/new"), "/renewals", &[("cycles", "1")]).await
        }
        "/environments/{id}/scale-changes" => {
            let typed = [("quantity", "6"), ("changes_on", "2026-03-10")];
            story.change(&format!("{page}/scale-changes"), "/scale-changes", &typed).await
        }
        "/environments/{id}/end" => story.change(&format!("{page}/end"), "/end", &[("ended_on", "2026-03-15")]).await,
        "/environments/{id}/resume" => {
            let (id, version) = environment.map(|it| (it.id, it.version))?;
            let mut tx = story.app.write().await;
            environment::end(&mut tx, id, version, parse_date("2026-03-15").unwrap()).await.unwrap();
            tx.commit().await.unwrap();
            story.change(&format!("{page}/end"), "/resume", &[]).await
        }
        "/environments/{id}/void" => story.change(&format!("{page}/void"), "/void", &[]).await,
        "/environments/{id}/documents" => story.attach(&page).await,
        "/terms/{id}" => {
            let id = environment?.id;
            let term = term::last(story.app.read().await.connection(), id).await.unwrap();
            let page = format!("/terms/{}", term.id);
            story.change(&format!("{page}/edit"), &page, &[("ends_on", "2026-06-30")]).await
        }
        _ => None,
    }
}

async fn ledger(story: &Story, path: &str) -> Option<Sent> {
    let environment = story.last("environment").await.to_string();
    match path {
        "/ledger" => {
            let typed =
                [("environment", &*environment), ("charged_on", "2026-03-02"), ("billed", "8"), ("currency", "CNY")];
            story.change("/ledger/new", path, &typed).await
        }
        "/ledger/{id}/correct" => {
            let page = format!("{}/correct", story.spend(path).await);
            story.change(&page, &page, &[("billed", "9")]).await
        }
        "/ledger/{id}/void" => {
            let page = format!("{}/void", story.spend(path).await);
            story.change(&page, &page, &[]).await
        }
        "/ledger/outputs" => {
            let typed = [("environment", &*environment), ("period", "2026-02"), ("quantity", "551"), ("unit", "次")];
            story.change("/ledger/outputs/new", path, &typed).await
        }
        "/ledger/outputs/{id}/correct" => {
            let page = format!("{}/correct", story.output(path).await);
            story.change(&page, &page, &[("quantity", "4")]).await
        }
        "/ledger/outputs/{id}/void" => {
            let page = format!("{}/void", story.output(path).await);
            story.change(&page, &page, &[]).await
        }
        "/ledger/outputs/{id}/documents" => story.attach(&story.output(path).await).await,
        "/rates" => {
            let typed = [("base", "USD"), ("quote", "CNY"), ("rated_on", "2026-03-02"), ("rate", "7.2")];
            story.change("/rates", path, &typed).await
        }
        "/ledger/unplaced/bindings" => {
            let resource = story.resource("i-6").await;
            let tick = format!("pick-{resource}");
            story.change("/ledger/unplaced", path, &[("environment", &environment), (&tick, "2026-03-01")]).await
        }
        "/resources/{id}/bindings" => {
            let page = format!("/resources/{}", story.resource("i-7").await);
            let typed = [("environment", &*environment), ("starts_on", "2026-03-01")];
            story.change(&page, "/bindings", &typed).await
        }
        "/resources/{id}/bindings/{binding}/withdraw" => {
            let resource = story.resource("i-8").await;
            let new = NewBinding {
                resource: rentroll::ids::ResourceId(resource),
                environment: rentroll::ids::EnvironmentId(environment.parse().unwrap()),
                starts_on: parse_date("2026-03-01").unwrap(),
                ends_on: None,
            };
            let mut tx = story.app.write().await;
            binding::bind(&mut tx, &new).await.unwrap();
            tx.commit().await.unwrap();
            story.change(&format!("/resources/{resource}"), "/withdraw", &[]).await
        }
        _ => None,
    }
}

async fn imports(story: &Story, path: &str) -> Option<Sent> {
    let upload = async |to: &str, fields: Fields<'_>, text: &str| {
        let answer = story.browser.upload(to, fields, ("file", "表.csv", text.as_bytes())).await;
        if answer.headers.contains_key("location") { story.browser.get(&answer.location()).await } else { answer }
    };
    let (page, action) = match path {
        "/imports/environments/confirm" => {
            let file = "project,name,provider,tier,starts_on,ends_on\n新项目,预训练,新云,H800,2026-01-01,2026-06-30\n";
            (upload("/imports/environments", &[], file).await, "/confirm")
        }
        "/imports/rates/{sha256}" => {
            (upload("/imports/rates", &[], "base,quote,date,rate\nEUR,CNY,2026-03-02,7.8\n").await, "")
        }
        "/imports/bill/{sha256}" => {
            let bill = BILL.replace("i-1", "i-9");
            (upload("/imports/bill", &[("provider", "苇塘云")], &bill).await, "")
        }
        _ => return None,
    };
    let action =
        if action.is_empty() { page.attributes("main form[method=post]", "action").pop()? } else { action.to_owned() };
    story.change_on(&page, &action, &[]).await
}
