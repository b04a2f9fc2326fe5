//! How the program is: `/healthz` while it answers at all, `/readyz` while it can work. Neither needs a sign-in, so neither
//! says more than a supervisor must know.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use crate::actor::Actor;
use crate::app::App;
use crate::deadlines::delivery;
use crate::error::Result;
use crate::jobs;
use crate::web::routes::{Needs, Routes};

/// Whoever asks has a time limit of its own, often of a few seconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// How much longer than three of its rounds a job may have nothing good to tell.
const SILENCE: Duration = Duration::from_mins(10);

/// The routes, which need no sign-in.
pub fn routes() -> Routes {
    Routes::new().get("/healthz", Needs::Nothing, healthz).get("/readyz", Needs::Nothing, readyz)
}

/// 200 as long as the program answers; the state stands in the body.
pub async fn healthz(State(app): State<App>) -> Response {
    let state = match tokio::time::timeout(PATIENCE, state(&app)).await {
        Ok(Ok(state)) => state,
        // Which of them it was stands in the log of whoever met it first.
        Ok(Err(_)) | Err(_) => json!({ "status": "degraded", "database": false }),
    };
    Json(state).into_response()
}

/// 200 while requests can be served, else 503.
pub async fn readyz(State(app): State<App>) -> Response {
    let asked = async { app.read(&Actor::visitor()).await?.end().await };
    let ready = matches!(tokio::time::timeout(PATIENCE, asked).await, Ok(Ok(())));
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({ "ready": ready }))).into_response()
}

/// Silence is a fault: mails that should have gone out an hour ago or were given up, a job that failed last, and one that has
/// not run well for long are seen here.
async fn state(app: &App) -> Result<Value> {
    let mut read = app.read(&Actor::job("health")).await?;
    let late = delivery::late(&mut read).await?;
    let given_up = delivery::given_up(&mut read).await?;
    let (mut listed, mut all_well) = (Vec::new(), late.count == 0 && given_up.count == 0);
    for job in jobs::JOBS {
        let newest = jobs::last(read.connection(), job.name).await?;
        let good_at = jobs::last_good(read.connection(), job.name).await?.and_then(|run| run.finished_at);
        let failed = newest.as_ref().is_some_and(|run| run.error.is_some());
        let silent =
            good_at.is_some_and(|at| (read.now() - at).to_std().is_ok_and(|since| since > 3 * job.every + SILENCE));
        all_well &= !failed && !silent;
        listed.push(json!({
            "name": job.name, "last_run_at": newest.and_then(|run| run.finished_at), "last_good_at": good_at,
            "well": !failed && !silent,
        }));
    }
    read.end().await?;
    Ok(json!({
        "status": if all_well { "ok" } else { "degraded" },
        "database": true,
        "late_reminders": { "count": late.count, "since": late.since },
        "given_up_reminders": { "count": given_up.count, "since": given_up.since },
        "jobs": listed,
    }))
}
