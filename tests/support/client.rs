//! Clients of the proxy. One connection per call unless a test keeps one, so that a balancing
//! listener spreads the calls over the workers.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::conn::{Conn, Failed};

/// Longer than any call of a healthy test.
pub(super) const PATIENCE: Duration = Duration::from_secs(40);

/// One request to come.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) h2: bool,
}

impl Call {
    /// A chat call that the provider logs under `id`.
    pub(crate) fn chat(id: impl ToString) -> Self {
        let call = Self {
            method: "POST",
            path: "/v1/chat/completions".into(),
            headers: HeaderMap::new(),
            body: Bytes::from_static(b"{\"model\":\"m\",\"messages\":[]}"),
            h2: false,
        };
        call.header("x-id", &id.to_string())
            .header("content-type", "application/json")
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self {
            method: "GET",
            path: path.into(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            h2: false,
        }
    }

    pub(crate) fn path(self, path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            ..self
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a header name");
        self.headers
            .append(name, HeaderValue::from_str(value).expect("a header value"));
        self
    }

    pub(crate) fn body(self, body: impl Into<Bytes>) -> Self {
        Self {
            body: body.into(),
            ..self
        }
    }

    /// Over HTTP/2 with prior knowledge.
    pub(crate) fn h2(self) -> Self {
        Self { h2: true, ..self }
    }

    /// Sends on a connection of its own and reads the answer to its end.
    pub(crate) async fn send(self, to: SocketAddr) -> Answer {
        let id = format!("{:?}", self.headers.get("x-id"));
        match timeout(PATIENCE, self.try_send(to)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => panic!("call {id} failed: {error}"),
            Err(_) => panic!("call {id} had no answer after {PATIENCE:?}"),
        }
    }

    /// As [`Call::send`], but a broken connection is a value.
    pub(crate) async fn try_send(self, to: SocketAddr) -> Result<Answer, Failed> {
        self.try_open(to).await?.rest().await
    }

    /// Sends and reads the head only.
    pub(crate) async fn open(self, to: SocketAddr) -> Open {
        let head = timeout(PATIENCE, self.try_open(to))
            .await
            .expect("a head in time");
        head.expect("an answer")
    }

    async fn try_open(self, to: SocketAddr) -> Result<Open, Failed> {
        let mut conn = if self.h2 {
            Conn::h2(to).await?
        } else {
            Conn::h1(to).await?
        };
        let response = conn.request(self).await?;
        Ok(Open::new(response, Some(conn)))
    }

    /// Sends in the background.
    pub(crate) fn start(self, to: SocketAddr) -> InFlight {
        InFlight(tokio::spawn(self.send(to)))
    }
}

/// A call in the background; goes away when dropped.
#[derive(Debug)]
pub(crate) struct InFlight(pub(super) JoinHandle<Answer>);

impl InFlight {
    pub(crate) async fn answer(mut self) -> Answer {
        (&mut self.0).await.expect("the call was answered")
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// The client goes away: its connection closes.
    pub(crate) fn abort(self) {}
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The answers of all, in the order of the calls.
pub(crate) async fn answers(calls: Vec<InFlight>) -> Vec<Answer> {
    let mut all = Vec::with_capacity(calls.len());
    for call in calls {
        all.push(call.answer().await);
    }
    all
}

/// An answer whose body is still coming; the client goes away when it is dropped.
#[derive(Debug)]
pub(crate) struct Open {
    response: Response<Incoming>,
    chunks: Vec<(Instant, Bytes)>,
    _conn: Option<Conn>,
}

impl Open {
    pub(super) fn new(response: Response<Incoming>, conn: Option<Conn>) -> Self {
        Self {
            response,
            chunks: vec![],
            _conn: conn,
        }
    }

    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The next piece of the body.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            let frame = timeout(PATIENCE, self.response.body_mut().frame()).await;
            let frame = frame.expect("more of the body, or its end")?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.chunks.push((Instant::now(), data.clone()));
                return Some(data);
            }
        }
    }

    pub(super) async fn rest(mut self) -> Result<Answer, Failed> {
        while let Some(frame) = self.response.body_mut().frame().await {
            if let Ok(data) = frame?.into_data() {
                self.chunks.push((Instant::now(), data));
            }
        }
        Ok(Answer {
            status: self.response.status().as_u16(),
            headers: self.response.headers().clone(),
            body: self
                .chunks
                .iter()
                .flat_map(|(_, c)| c.to_vec())
                .collect::<Vec<u8>>()
                .into(),
            chunks: self.chunks,
        })
    }
}

/// A whole answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// When each piece of the body came.
    pub(crate) chunks: Vec<(Instant, Bytes)>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|v| v.to_str().ok())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("no JSON ({e}): {} {}", self.status, self.text()))
    }
}
