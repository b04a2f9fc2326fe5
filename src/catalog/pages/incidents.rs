//! Incidents at a provider: recording, changing, voiding one; the list as a file.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;

use crate::app::App;
use crate::catalog::incident::{self, Incident, IncidentFacts, IncidentFilter, Severity};
use crate::catalog::provider::{self, Provider, ProviderFilter};
use crate::catalog::tier::{self, Tier};
use crate::dates::Zone;
use crate::error::{Error, Result};
use crate::ids::{IncidentId, ProviderId};
use crate::locale::Message;
use crate::table::Format;
use crate::tx::Read;
use crate::web::edit::{self, Edit, Present};
use crate::web::export;
use crate::web::forms::Fields;
use crate::web::page::{page_with, see};
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

use super::{EDIT, VoidForm};

/// The pages of incidents.
pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/incidents.csv", Needs::SignIn, async |s, h, q| file(s, h, q, Format::Csv).await)
        .get("/incidents.xlsx", Needs::SignIn, async |s, h, q| file(s, h, q, Format::Xlsx).await)
        .get("/incidents.json", Needs::SignIn, async |s, h, q| file(s, h, q, Format::Json).await)
        .get("/providers/{id}/incidents/new", EDIT, new)
        .post("/providers/{id}/incidents", EDIT, record)
        .get("/incidents/{id}/edit", EDIT, edit)
        .post("/incidents/{id}", EDIT, change)
        .get("/incidents/{id}/void", EDIT, void_form)
        .post("/incidents/{id}/void", EDIT, void)
}

async fn file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<IncidentFilter>,
    format: Format,
) -> Result<Response> {
    export::file(&app, &shell, &incident::TABLE, format, |read| incident::batches(read, filter)).await
}

#[derive(Template)]
#[template(path = "catalog/incident_form.html")]
struct IncidentForm {
    shell: Shell,
    edit: Edit,
    provider: Provider,
    tiers: Vec<Tier>,
    /// The one that is changed; nothing for a new one.
    incident: Option<Incident>,
}

impl IncidentForm {
    fn title(&self) -> String {
        self.incident.as_ref().map_or_else(|| self.shell.text("catalog-record-incident"), |it| it.title.to_string())
    }

    fn action(&self) -> String {
        self.shell.href(&match &self.incident {
            Some(incident) => format!("/incidents/{}", incident.id),
            None => format!("{}/incidents", address(self.provider.id)),
        })
    }

    fn back(&self) -> String {
        self.shell.href(&address(self.provider.id))
    }

    fn severities(&self) -> Vec<(&'static str, String)> {
        Severity::ALL.iter().map(|it| (it.as_str(), self.shell.say(&it.words()))).collect()
    }

    fn tiers(&self) -> Vec<(String, String)> {
        self.tiers.iter().map(|tier| (tier.id.to_string(), tier.name.to_string())).collect()
    }
}

fn address(provider: ProviderId) -> String {
    format!("/providers/{provider}")
}

/// The fields of the form, with their labels.
const FIELDS: &[(&str, &str)] = &[
    ("title", "catalog-incident-title"),
    ("severity", "catalog-severity"),
    ("starts_at", "catalog-starts-at"),
    ("ends_at", "catalog-ends-at"),
    ("tier", "catalog-tier"),
    ("region", "catalog-region"),
    ("link", "catalog-link"),
    ("note", "catalog-note"),
];

fn fields_of(incident: &Incident, zone: Zone) -> Fields {
    Fields::new()
        .with("version", incident.version)
        .with("title", &incident.title)
        .with("severity", incident.severity)
        .with("starts_at", zone.field(incident.starts_at))
        .with("ends_at", incident.ends_at.map(|at| zone.field(at)).unwrap_or_default())
        .with("tier", incident.tier_id.map(|id| id.to_string()).unwrap_or_default())
        .with("region", &incident.region)
        .with("link", incident.link.as_deref().unwrap_or_default())
        .with("note", &incident.note)
}

async fn form_page(
    mut read: Read,
    shell: Shell,
    edit: Edit,
    provider: ProviderId,
    incident: Option<Incident>,
) -> Result<Response> {
    let tiers = tier::matching(&mut read, &ProviderFilter { provider: Some(provider.0) }).await?;
    let provider = provider::get(read.connection(), provider).await?;
    read.end().await?;
    page_with(edit.status, &IncidentForm { shell, edit, provider, tiers, incident })
}

async fn new(State(app): State<App>, shell: Shell, Path(id): Path<ProviderId>) -> Result<Response> {
    form_page(app.read(&shell.actor).await?, shell, Edit::fresh(Fields::new()), id, None).await
}

async fn record(State(app): State<App>, shell: Shell, Path(id): Path<ProviderId>, fields: Fields) -> Result<Response> {
    let recorded = async {
        let facts = IncidentFacts::parse(&|name| fields.get(name), shell.zone)?;
        edit::once(&app, &shell.because(&fields)?, &fields, async |tx| {
            incident::record(tx, id, &facts).await?;
            Ok(address(id))
        })
        .await
    };
    match recorded.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(error) => {
            let edit = Edit::refused(fields, error)?;
            form_page(app.read(&shell.actor).await?, shell, edit, id, None).await
        }
    }
}

/// An incident that still counts.
async fn open_incident(read: &mut Read, id: IncidentId) -> Result<Incident> {
    let incident = incident::get(read.connection(), id).await?;
    if incident.is_open() { Ok(incident) } else { Err(Error::Conflict(Message::new("error-incident-voided"))) }
}

async fn edit(State(app): State<App>, shell: Shell, Path(id): Path<IncidentId>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let incident = open_incident(&mut read, id).await?;
    let edit = Edit::fresh(fields_of(&incident, shell.zone));
    form_page(read, shell, edit, incident.provider_id, Some(incident)).await
}

async fn change(State(app): State<App>, shell: Shell, Path(id): Path<IncidentId>, fields: Fields) -> Result<Response> {
    let changed = async {
        let facts = IncidentFacts::parse(&|name| fields.get(name), shell.zone)?;
        let version = fields.version()?;
        edit::once(&app, &shell.because(&fields)?, &fields, async |tx| {
            Ok(address(incident::change(tx, id, version, &facts).await?.provider_id))
        })
        .await
    };
    let error = match changed.await {
        Ok(location) => return Ok(see(&shell.base, &location)),
        Err(error) => error,
    };
    let mut read = app.read(&shell.actor).await?;
    let incident = open_incident(&mut read, id).await?;
    let now = fields_of(&incident, shell.zone);
    let present = Present { kind: "provider_incident", id: id.0, fields: now, labels: FIELDS };
    let edit = Edit::again(&mut read, fields, error, present).await?;
    form_page(read, shell, edit, incident.provider_id, Some(incident)).await
}

// ---- voiding --------------------------------------------------------------------------------------------------------

async fn void_page(app: &App, shell: Shell, edit: Edit, id: IncidentId) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let incident = open_incident(&mut read, id).await?;
    read.end().await?;
    let facts = vec![
        ("catalog-incident-title", incident.title.to_string()),
        ("catalog-severity", shell.say(&incident.severity.words())),
        ("catalog-starts-at", shell.instant(&incident.starts_at)),
    ];
    let status = edit.status;
    let template = VoidForm {
        title: shell.text("catalog-void-incident"),
        lead: "catalog-void-incident-lead",
        facts,
        action: shell.href(&format!("/incidents/{id}/void")),
        back: shell.href(&address(incident.provider_id)),
        above: incident.provider,
        shell,
        edit,
    };
    page_with(status, &template)
}

async fn void_form(State(app): State<App>, shell: Shell, Path(id): Path<IncidentId>) -> Result<Response> {
    void_page(&app, shell, Edit::fresh(Fields::new()), id).await
}

async fn void(State(app): State<App>, shell: Shell, Path(id): Path<IncidentId>, fields: Fields) -> Result<Response> {
    let voided = async {
        let reason = fields.needed_reason()?;
        let actor = shell.actor.clone().because(reason.as_str());
        edit::once(&app, &actor, &fields, async |tx| Ok(address(incident::void(tx, id, &reason).await?.provider_id)))
            .await
    };
    match voided.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(error) => void_page(&app, shell, Edit::refused(fields, error)?, id).await,
    }
}
