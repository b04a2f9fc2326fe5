//! Forms that add or change a record: sent once, and back with what was typed where they could not be saved.

use axum::http::StatusCode;

use crate::actor::Actor;
use crate::app::App;
use crate::audit;
use crate::error::{Error, FieldErrors, Result};
use crate::tx::{Read, Tx};
use crate::web::forms::{Fields, FormState};
use crate::web::stale::Stale;

/// A form: fresh, or back with what was typed.
pub struct Edit {
    /// What the page is answered with.
    pub status: StatusCode,
    /// The values, and what is wrong with them.
    pub form: FormState,
    /// Both versions, where somebody was faster.
    pub stale: Option<Stale>,
}

/// What an edit form is for, as it is now.
pub struct Present<'a> {
    /// Its noun in the history.
    pub kind: &'static str,
    /// Its id.
    pub id: i64,
    /// The form's values out of the record, its version among them.
    pub fields: Fields,
    /// The fields and the keys of their labels.
    pub labels: &'a [(&'a str, &'static str)],
}

impl Edit {
    /// A form with its first values: nothing, or those of the record.
    pub fn fresh(fields: Fields) -> Self {
        Self { status: StatusCode::OK, form: FormState::new(fields), stale: None }
    }

    /// The form again, nothing lost, with what is wrong.
    ///
    /// # Errors
    /// An error that is not the form's affair.
    pub fn refused(typed: Fields, error: Error) -> Result<Self> {
        match error {
            Error::Invalid(errors) => {
                let form = FormState::again(typed, errors);
                Ok(Self { status: StatusCode::UNPROCESSABLE_ENTITY, form, stale: None })
            }
            other => Err(other),
        }
    }

    /// The form again, nothing lost: with what is wrong, or with both versions where somebody was faster.
    pub async fn again(read: &mut Read, typed: Fields, error: Error, present: Present<'_>) -> Result<Self> {
        if !matches!(error, Error::Conflict(_)) {
            return Self::refused(typed, error);
        }
        let last = audit::of(read, present.kind, present.id, 1).await?;
        let who = last.into_iter().next().map(|entry| entry.actor_name).unwrap_or_default();
        let stale = Stale::new(who, &present.fields, &typed, present.labels);
        let typed = typed.with("version", present.fields.get("version"));
        let form = FormState::again(typed, FieldErrors::new());
        Ok(Self { status: StatusCode::CONFLICT, form, stale: Some(stale) })
    }
}

/// Sends a form once: where the same was sent before, it leads to where it led then.
pub async fn once<F>(app: &App, actor: &Actor, fields: &Fields, act: F) -> Result<String>
where
    F: AsyncFnOnce(&mut Tx) -> Result<String>,
{
    let submit_id = fields.submit_id()?;
    let mut tx = app.write(actor).await?;
    if let Some(location) = tx.sent_before(submit_id).await? {
        return Ok(location);
    }
    let location = act(&mut tx).await?;
    tx.sent(submit_id, &location).await?;
    tx.commit().await?;
    Ok(location)
}
