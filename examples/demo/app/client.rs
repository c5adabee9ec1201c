//! One client: one call on a connection of its own.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::target::Target;

/// How long an answer that has begun may take to end.
const BODY: Duration = Duration::from_secs(60);

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// 200, read to its end.
    Succeeded,
    /// Any other answer.
    Refused(StatusCode),
    /// No first byte within the client's patience.
    GaveUp,
    /// The connection broke, or could not be made.
    Broken,
}

/// What one client saw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// Since the start of the load.
    pub(crate) sent: Duration,
    /// From sending to the first byte of the answer, if it is a success.
    pub(crate) wait: Option<Duration>,
    /// Since the start of the load.
    pub(crate) ended: Duration,
    pub(crate) end: End,
}

/// What every call sends.
#[derive(Clone)]
pub(crate) struct Ask {
    path: String,
    headers: Vec<(hyper::header::HeaderName, HeaderValue)>,
    body: Bytes,
}

impl Ask {
    /// A streamed chat call to a mock provider.
    pub(crate) fn mock() -> Self {
        let body = json!({"model": "mock", "stream": true,
            "messages": [{"role": "user", "content": "Good morning"}]});
        Self {
            path: "/v1/chat/completions".into(),
            headers: vec![],
            body: body.to_string().into(),
        }
    }

    /// The shortest call there is to a real endpoint.
    pub(crate) fn real(target: &Target) -> Option<Self> {
        let body = json!({"model": target.model, "max_tokens": 1,
            "messages": [{"role": "user", "content": "Say yes."}]});
        let mut headers = vec![];
        if let Some(key) = &target.key {
            let (name, text) = if target.is_anthropic() {
                ("x-api-key", key.clone())
            } else {
                (AUTHORIZATION.as_str(), format!("Bearer {key}"))
            };
            let mut value = HeaderValue::from_str(&text).ok()?;
            value.set_sensitive(true);
            headers.push((name.parse().ok()?, value));
        }
        if target.is_anthropic() {
            let version = HeaderValue::from_static("2023-06-01");
            headers.push(("anthropic-version".parse().ok()?, version));
        }
        Some(Self {
            path: target.path.clone(),
            headers,
            body: body.to_string().into(),
        })
    }

    fn request(&self, to: SocketAddr) -> Option<Request<Full<Bytes>>> {
        let mut request = Request::post(&self.path)
            .header(HOST, to.to_string())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(self.body.clone()))
            .ok()?;
        request.headers_mut().extend(
            self.headers
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        Some(request)
    }
}

/// Makes the call now and stays until it ends. `begun` is told at the first byte of any answer.
pub(crate) async fn call(
    to: SocketAddr,
    ask: &Ask,
    load_start: Instant,
    patience: Duration,
    begun: impl FnOnce(),
) -> Outcome {
    let sent = Instant::now();
    let opened = timeout_at(sent + patience, open(to, ask)).await;
    let first_byte = sent.elapsed();
    begun();
    let end = match opened {
        Err(_) => End::GaveUp,
        Ok(None) => End::Broken,
        Ok(Some((response, connection))) => {
            let status = response.status();
            let whole = timeout(BODY, response.into_body().collect()).await;
            drop(connection);
            match whole {
                Ok(Ok(_)) if status == StatusCode::OK => End::Succeeded,
                Ok(Ok(_)) => End::Refused(status),
                _ => End::Broken,
            }
        }
    };
    Outcome {
        sent: sent.duration_since(load_start),
        wait: (end == End::Succeeded).then_some(first_byte),
        ended: load_start.elapsed(),
        end,
    }
}

/// The body of a page, for Envoy's own admin interface.
pub(crate) async fn page(at: SocketAddr, path: &str) -> Option<String> {
    let (mut sender, _connection) = connect(at).await?;
    let request = Request::get(path)
        .header(HOST, at.to_string())
        .body(Full::default())
        .ok()?;
    let response = sender.send_request(request).await.ok()?;
    let body = response.into_body().collect().await.ok()?;
    String::from_utf8(body.to_bytes().to_vec()).ok()
}

async fn open(to: SocketAddr, ask: &Ask) -> Option<(Response<Incoming>, Connection)> {
    let (mut sender, connection) = connect(to).await?;
    let response = sender.send_request(ask.request(to)?).await.ok()?;
    Some((response, connection))
}

async fn connect(to: SocketAddr) -> Option<(http1::SendRequest<Full<Bytes>>, Connection)> {
    let stream = TcpStream::connect(to).await.ok()?;
    let _ = stream.set_nodelay(true);
    let (sender, driver) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    let driver = tokio::spawn(async { drop(driver.await) });
    Some((sender, Connection(driver)))
}

/// An open connection; closes when dropped, which is how a client goes away.
struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}
