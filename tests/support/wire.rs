//! A provider that speaks bytes, for what a well-behaved server would not send.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// A running wire provider; stops when dropped.
pub(crate) struct Wire {
    pub(crate) addr: SocketAddr,
    heads: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Wire {
    /// After each request head (the body is left unread) does to the connection what `script` does,
    /// then closes it. `script` gets the number of the request, from 1.
    pub(crate) async fn start<F, D>(script: F) -> Self
    where
        F: Fn(usize, Peer) -> D + Send + Sync + 'static,
        D: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("bound");
        let heads = Arc::new(AtomicUsize::new(0));
        let seen = heads.clone();
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let mut peer = Peer(stream);
                if !peer.head().await {
                    continue;
                }
                let n = seen.fetch_add(1, Ordering::SeqCst) + 1;
                connections.spawn(script(n, peer));
            }
        });
        Self { addr, heads, task }
    }

    /// Connections whose request head came.
    pub(crate) fn count(&self) -> usize {
        self.heads.load(Ordering::SeqCst)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The proxy's end of a connection.
pub(crate) struct Peer(TcpStream);

impl Peer {
    /// Reads up to the end of a request's head; false if the connection closed before.
    pub(crate) async fn head(&mut self) -> bool {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let Ok(byte) = self.0.read_u8().await else {
                return false;
            };
            head.push(byte);
        }
        true
    }

    /// Sends bytes; a proxy that is gone does not matter.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.0.write_all(bytes.as_ref()).await;
    }

    /// Answers every further request on this connection with `answer`, until the proxy closes.
    pub(crate) async fn serve(&mut self, answer: &str) {
        loop {
            self.send(answer).await;
            if !self.head().await {
                return;
            }
        }
    }
}
