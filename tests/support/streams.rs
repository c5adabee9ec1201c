//! Many calls over one connection, which is one worker's.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// `n` calls at once as streams of one connection. Each gives its status, 0 if the
/// stream broke.
pub(crate) async fn streams(to: SocketAddr, n: usize) -> Vec<JoinHandle<u16>> {
    let socket = TcpStream::connect(to).await.unwrap();
    let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket));
    let (sender, connection) = shaken.await.unwrap();
    tokio::spawn(connection);
    let call = |i: usize| {
        let mut sender = sender.clone();
        tokio::spawn(async move {
            sender.ready().await.unwrap();
            let request = Request::post("http://api.test/v1").header("x-id", i.to_string());
            let request = request.body(Full::new(Bytes::from_static(b"{}"))).unwrap();
            let answer = timeout(Duration::from_secs(20), sender.send_request(request));
            let answer = answer.await.expect("no call hangs");
            answer.map_or(0, |answer| answer.status().as_u16())
        })
    };
    (0..n).map(call).collect()
}

/// How many got which status.
pub(crate) async fn count(calls: Vec<JoinHandle<u16>>, status: u16) -> usize {
    let mut found = 0;
    for call in calls {
        found += usize::from(call.await.unwrap() == status);
    }
    found
}
