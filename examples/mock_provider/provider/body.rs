//! Response bodies: whole, or in chunks as time passes.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::state::Running;

/// A body on its way out.
pub(super) enum Outgoing {
    Whole(Option<Bytes>),
    Chunks(mpsc::Receiver<Bytes>),
}

impl Outgoing {
    /// Sends each chunk at its time. `running` is over just before the last one.
    pub(super) fn timed(chunks: Vec<(Instant, Bytes)>, running: Running) -> Self {
        let (tx, rx) = mpsc::channel(1);
        tokio::spawn(async move {
            let last = chunks.len().saturating_sub(1);
            let mut running = Some(running);
            for (i, (at, chunk)) in chunks.into_iter().enumerate() {
                tokio::select! {
                    () = sleep_until(at) => {}
                    // The client has gone, and `running` goes with it.
                    () = tx.closed() => return,
                }
                if i == last {
                    running = None;
                }
                if tx.send(chunk).await.is_err() {
                    return;
                }
            }
            drop(running);
        });
        Self::Chunks(rx)
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|b| Ok(Frame::data(b)))),
            Self::Chunks(rx) => rx
                .poll_recv(cx)
                .map(|next| next.map(|c| Ok(Frame::data(c)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64))
            }
            Self::Chunks(_) => SizeHint::default(),
        }
    }
}
