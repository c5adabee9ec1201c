//! Clients of the proxy. One connection per call unless a test keeps one, so that a balancing
//! listener spreads the calls over the workers.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// Longer than any call of a healthy test.
const PATIENCE: Duration = Duration::from_secs(40);

/// One request to come.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    method: &'static str,
    path: String,
    headers: HeaderMap,
    body: Bytes,
    h2: bool,
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
    pub(crate) async fn try_send(self, to: SocketAddr) -> Result<Answer, hyper::Error> {
        self.open(to).await?.rest().await
    }

    /// Sends and reads the head only.
    pub(crate) async fn open(self, to: SocketAddr) -> Result<Open, hyper::Error> {
        let mut conn = if self.h2 {
            Conn::h2(to).await?
        } else {
            Conn::h1(to).await?
        };
        let response = conn.request(self).await?;
        Ok(Open {
            response,
            chunks: vec![],
            _conn: Some(conn),
        })
    }

    /// Sends in the background.
    pub(crate) fn start(self, to: SocketAddr) -> InFlight {
        InFlight(tokio::spawn(self.send(to)))
    }
}

/// A call in the background; goes away when dropped.
#[derive(Debug)]
pub(crate) struct InFlight(JoinHandle<Answer>);

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
    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The next piece of the body.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            let frame = self.response.body_mut().frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.chunks.push((Instant::now(), data.clone()));
                return Some(data);
            }
        }
    }

    async fn rest(mut self) -> Result<Answer, hyper::Error> {
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

/// A connection that stays open between calls; closes when dropped.
#[derive(Debug)]
pub(crate) struct Conn {
    sender: Sender,
    driver: JoinHandle<()>,
}

#[derive(Debug)]
enum Sender {
    H1(http1::SendRequest<Full<Bytes>>),
    H2(http2::SendRequest<Full<Bytes>>),
}

impl Conn {
    pub(crate) async fn h1(to: SocketAddr) -> Result<Self, hyper::Error> {
        let (sender, conn) = http1::handshake(TokioIo::new(connect(to).await)).await?;
        let driver = tokio::spawn(async { drop(conn.await) });
        Ok(Self {
            sender: Sender::H1(sender),
            driver,
        })
    }

    pub(crate) async fn h2(to: SocketAddr) -> Result<Self, hyper::Error> {
        let io = TokioIo::new(connect(to).await);
        let (sender, conn) = http2::handshake(TokioExecutor::new(), io).await?;
        let driver = tokio::spawn(async { drop(conn.await) });
        Ok(Self {
            sender: Sender::H2(sender),
            driver,
        })
    }

    /// `n` open connections.
    pub(crate) async fn many(to: SocketAddr, n: usize) -> Vec<Self> {
        let mut all = Vec::with_capacity(n);
        for _ in 0..n {
            all.push(Self::h1(to).await.expect("an open listener"));
        }
        all
    }

    /// One call in the background; the connection closes after it.
    pub(crate) fn start(mut self, call: Call) -> InFlight {
        InFlight(tokio::spawn(async move { self.send(call).await }))
    }

    /// One call; the connection stays open.
    pub(crate) async fn send(&mut self, call: Call) -> Answer {
        let answer = async {
            let response = self.request(call).await?;
            Open {
                response,
                chunks: vec![],
                _conn: None,
            }
            .rest()
            .await
        };
        timeout(PATIENCE, answer)
            .await
            .expect("an answer in time")
            .expect("an answer")
    }

    async fn request(&mut self, call: Call) -> Result<Response<Incoming>, hyper::Error> {
        let uri = if call.h2 {
            format!("http://api.test{}", call.path)
        } else {
            call.path
        };
        let mut request = Request::builder().method(call.method).uri(uri);
        if !call.h2 && !call.headers.contains_key("host") {
            request = request.header("host", "api.test");
        }
        let mut request = request
            .body(Full::new(call.body))
            .expect("a well-formed request");
        request.headers_mut().extend(call.headers);
        match &mut self.sender {
            Sender::H1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Sender::H2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

async fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to)
        .await
        .unwrap_or_else(|e| panic!("no listener at {to}: {e}"));
    let _ = stream.set_nodelay(true);
    stream
}
