//! A client's connection.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::client::{Answer, Call, InFlight, Open, PATIENCE};

/// Why there is no answer: no listener, or a broken connection.
pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;

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
    pub(crate) async fn h1(to: SocketAddr) -> Result<Self, Failed> {
        let (sender, conn) = http1::handshake(TokioIo::new(connect(to).await?)).await?;
        let driver = tokio::spawn(async { drop(conn.await) });
        Ok(Self {
            sender: Sender::H1(sender),
            driver,
        })
    }

    pub(crate) async fn h2(to: SocketAddr) -> Result<Self, Failed> {
        let io = TokioIo::new(connect(to).await?);
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
            Open::new(response, None).rest().await
        };
        timeout(PATIENCE, answer)
            .await
            .expect("an answer in time")
            .expect("an answer")
    }

    pub(super) async fn request(&mut self, call: Call) -> Result<Response<Incoming>, Failed> {
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
                Ok(sender.send_request(request).await?)
            }
            Sender::H2(sender) => {
                sender.ready().await?;
                Ok(sender.send_request(request).await?)
            }
        }
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

async fn connect(to: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
