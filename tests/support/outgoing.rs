//! The bodies of a scripted provider's answers.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::mpsc;

use super::provider_seen::Running;
use super::reply::Payload;

/// The body to send for `payload`; `running` ends just before its last chunk.
pub(super) fn outgoing(payload: Payload, running: Option<Running>) -> Outgoing {
    let chunks = match payload {
        Payload::Whole(bytes) => return Outgoing::Whole(Some(bytes).filter(|b| !b.is_empty())),
        other => other,
    };
    let (tx, rx) = mpsc::channel(1);
    tokio::spawn(async move {
        let sent = async {
            match chunks {
                Payload::Chunks(chunks, gate) => {
                    let last = chunks.len().saturating_sub(1);
                    let mut running = running;
                    for (i, chunk) in chunks.into_iter().enumerate() {
                        if let (Some(gate), true) = (&gate, i > 0) {
                            gate.pass().await;
                        }
                        if i == last {
                            running = None;
                        }
                        if tx.send(Ok(Frame::data(chunk))).await.is_err() {
                            break;
                        }
                    }
                    drop(running);
                }
                Payload::Trailed(body) => {
                    let trailers = HeaderMap::from_iter([(
                        HeaderName::from_static("x-trailer"),
                        HeaderValue::from_static("last"),
                    )]);
                    let _ = tx.send(Ok(Frame::data(body))).await;
                    drop(running);
                    let _ = tx.send(Ok(Frame::trailers(trailers))).await;
                }
                Payload::Broken(start) => {
                    let _ = tx.send(Ok(Frame::data(start))).await;
                    let _ = tx.send(Err(Broken)).await;
                }
                Payload::Endless(start) => {
                    let _ = tx.send(Ok(Frame::data(start))).await;
                    std::future::pending::<()>().await;
                }
                Payload::Whole(_) | Payload::Reset | Payload::Hang => {}
            }
        };
        tokio::select! { () = sent => {}, () = tx.closed() => {} }
    });
    Outgoing::Chunks(rx)
}

/// A body on its way out.
pub(super) enum Outgoing {
    Whole(Option<Bytes>),
    Chunks(mpsc::Receiver<Result<Frame<Bytes>, Broken>>),
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|b| Ok(Frame::data(b)))),
            Self::Chunks(rx) => rx.poll_recv(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        match self {
            Self::Whole(bytes) => {
                hyper::body::SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64))
            }
            Self::Chunks(_) => hyper::body::SizeHint::default(),
        }
    }
}

/// The provider broke the connection.
#[derive(Debug)]
pub(super) struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the provider broke off")
    }
}

impl std::error::Error for Broken {}
