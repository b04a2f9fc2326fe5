//! The connections: taken, kept within bounds, and drained at the end.
//!
//! axum's own loop knows neither a time limit for the head of a request, without which slow clients hold their places for
//! ever, nor a cap on connections.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tower::ServiceExt as _;

use crate::limits;

/// Between two tries where no connection can be taken, as when all file handles are in use.
const PAUSE: Duration = Duration::from_millis(200);

/// Serves until `stopped`; then takes nobody in any more, and gives those who are in `drain` to finish.
pub async fn serve(listener: TcpListener, router: Router, stopped: impl Future<Output = ()>, drain: Duration) {
    let mut stopped = pin!(stopped);
    let places = Arc::new(Semaphore::new(limits::CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits::HEAD_TIME);
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await.expect("nobody closes it");
            (place, accept(&listener).await)
        };
        let (place, (stream, peer)) = tokio::select! {
            biased;
            () = &mut stopped => break,
            next = next => next,
        };
        let service = router.clone().map_request(move |request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            request
        });
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        let connection = graceful.watch(connection);
        connections.spawn(async move {
            let _place = place;
            // A client that breaks off is no fault of ours.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke");
            }
        });
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    if tokio::time::timeout(drain, graceful.shutdown()).await.is_err() {
        tracing::warn!("{} requests were still running at the end and are cut off", connections.len());
    }
    // What is cut off gives its database connection back before the pools close.
    connections.shutdown().await;
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // An answer's last, short piece must not wait for the other side to acknowledge the one before.
                let _ = stream.set_nodelay(true);
                return (stream, peer);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot take a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
