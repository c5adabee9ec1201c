//! Bytes on a socket, for what a well-behaved client would not send.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

const PATIENCE: Duration = Duration::from_secs(20);

/// Sends `request` and reads until the other side closes. Say `connection: close` in it.
pub(crate) async fn exchange(to: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(to).await.expect("an open listener");
    stream
        .write_all(request)
        .await
        .expect("room for a small request");
    let mut answer = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    assert!(
        read.is_ok(),
        "no end of answer; so far {:?}",
        String::from_utf8_lossy(&answer)
    );
    answer
}

/// What came back on a slow upload, and how much of the body could be sent.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) answer: Vec<u8>,
    pub(crate) sent: usize,
}

/// Uploads `body` over `spread` in twenty pieces and reads meanwhile, as HTTP/1.1 with a length.
/// Ends with the answer's end (the proxy closes) or when the connection breaks.
pub(crate) async fn upload(to: SocketAddr, id: &str, body: &[u8], spread: Duration) -> Upload {
    let stream = TcpStream::connect(to).await.expect("an open listener");
    let (mut read, mut write) = stream.into_split();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: api.test\r\nx-id: {id}\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let writer = async {
        let mut sent = 0;
        write
            .write_all(head.as_bytes())
            .await
            .expect("room for a head");
        for piece in body.chunks(body.len().div_ceil(20)) {
            if write.write_all(piece).await.is_err() {
                break;
            }
            sent += piece.len();
            sleep(spread / 20).await;
        }
        sent
    };
    let reader = async {
        let mut answer = Vec::new();
        let _ = timeout(PATIENCE, read.read_to_end(&mut answer)).await;
        answer
    };
    let (sent, answer) = tokio::join!(writer, reader);
    Upload { answer, sent }
}

/// The status of an HTTP/1.1 answer.
pub(crate) fn status(answer: &[u8]) -> Option<u16> {
    String::from_utf8_lossy(answer.get(9..12)?).parse().ok()
}
