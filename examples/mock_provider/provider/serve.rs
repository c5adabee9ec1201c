//! Connections, and which question each request asks.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::Tls;
use super::answer::{Asked, Shape};
use super::body::Outgoing;
use super::state::State;
use super::{answer, refusal};

/// The largest request body that is read.
const MAX_BODY: usize = 8 << 20;

pub(super) async fn accept(listener: TcpListener, tls: Option<Tls>, state: Arc<State>) {
    let tls = tls.map(Arc::new);
    let mut connections = JoinSet::new();
    loop {
        // Out of file descriptors, or a client gone before it was taken: the next may do.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (state, tls) = (state.clone(), tls.clone());
        connections.spawn(async move {
            match tls {
                None => serve(stream, None, state).await,
                Some(tls) => {
                    if let Ok((stream, name)) = tls.accept(stream).await {
                        serve(stream, name, state).await;
                    }
                }
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve<S>(stream: S, server_name: Option<String>, state: Arc<State>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| {
        let (state, name) = (state.clone(), server_name.clone());
        async move { Ok::<_, Infallible>(route(request, name, &state).await) }
    });
    let server = auto::Builder::new(TokioExecutor::new());
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

async fn route(
    request: Request<Incoming>,
    server_name: Option<String>,
    state: &Arc<State>,
) -> Response<Outgoing> {
    let path = request.uri().path();
    let shape = match *request.method() {
        Method::GET if path == "/log" => return answer::json(StatusCode::OK, &state.log()),
        Method::POST if path.ends_with("/chat/completions") => Shape::OpenAi,
        Method::POST if path.ends_with("/messages") => Shape::Anthropic,
        _ => return answer::error(StatusCode::NOT_FOUND, "no such endpoint"),
    };
    if !state.allows(key(&request)) {
        return answer::error(StatusCode::UNAUTHORIZED, "wrong or missing API key");
    }
    let transport = format!(
        "{:?} sni={}",
        request.version(),
        server_name.as_deref().unwrap_or("none")
    );
    let (arrived, window) = state.arrive(transport);
    let Ok(body) = Limited::new(request.into_body(), MAX_BODY).collect().await else {
        return answer::error(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the body is broken or too large",
        );
    };
    let mut response = match arrived {
        Err(refusal) => refusal::response(shape, &refusal),
        Ok((start, running)) => {
            let asked = Asked::read(shape, &body.to_bytes());
            answer::success(&asked, start, running).await
        }
    };
    if let Some(window) = window {
        refusal::add_window(response.headers_mut(), shape, window);
    }
    response
}

/// The key as either shape sends it.
fn key(request: &Request<Incoming>) -> Option<&str> {
    let header = |name| request.headers().get(name).and_then(|v| v.to_str().ok());
    header("authorization")
        .and_then(|v: &str| v.strip_prefix("Bearer "))
        .or_else(|| header("x-api-key"))
}

impl Asked {
    fn read(shape: Shape, body: &Bytes) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let model = body.get("model").and_then(Value::as_str);
        Self {
            shape,
            stream: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
            model: model.unwrap_or("mock").to_owned(),
        }
    }
}
