//! `make run` as a user meets it: what it prints is true, and Ctrl-C ends it.

use crate::support;

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use support::{Call, Provider, Reply};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Longer than Envoy takes to start or to end, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// `make run` builds the plugin first: together they would take it from each other's Envoy.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_goes_through_the_printed_address_and_shows_in_the_printed_stats() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let provider = Provider::start(|seen| match seen.attempt {
        1 => Reply::rate(),
        _ => Reply::ok(),
    })
    .await;
    let url = format!("http://{}/api", provider.addr);
    let mut run = Run::start(&[&format!("URL={url}"), "CAP=3", "PORT=0", "ADMIN_PORT=0"]);

    let (to, path) = address(&run.line_with("Point your client at"));
    assert_eq!(path, "/api");
    let (stats, page) = address(&run.line_with("Stats:"));
    run.wait_until_open(to);

    let call = Call::chat("x").path(format!("{path}/chat")).send(to).await;
    assert_eq!(
        (call.status, call.header("x-weir-attempts")),
        (200, Some("2"))
    );
    let seen = &provider.seen()[0];
    assert_eq!(seen.path, "/api/chat");
    assert!(run.line_with("wasm log").contains(r#"{"weir":"retry""#));
    assert!(run.line_with("/api/chat 200").contains("attempts=2"));
    let shown = wait_for(|| async {
        let text = Call::get(page.clone()).send(stats).await.text();
        text.contains("policy.default.calls: 1").then_some(text)
    })
    .await;
    assert!(shown.contains("refusals.class.rate: 1"), "{shown}");
    assert!(shown.contains("limit: 3"), "{shown}");

    run.interrupt();
    assert!(TcpStream::connect(to).is_err(), "something still listens");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_taken_port_is_said_and_replaced_and_a_configuration_file_is_used() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let provider = Provider::start(|_| Reply::ok()).await;
    let held = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = held.local_addr().expect("bound").port();
    let mut run = Run::start(&[
        &format!("URL=http://{}", provider.addr),
        &format!("PORT={taken}"),
        "ADMIN_PORT=0",
        "CONFIG=examples/plugin/several-providers.json",
    ]);
    assert!(run.line_with("is taken").contains(&taken.to_string()));
    run.line_with("No policy there takes");
    let (to, _) = address(&run.line_with("Point your client at"));
    assert_ne!(to.port(), taken);
    run.wait_until_open(to);
    let call = Call::chat("x").send(to).await;
    assert_eq!((call.status, call.header("x-weir-attempts")), (200, None));
    run.interrupt();
}

#[test]
fn what_cannot_be_run_is_refused_with_the_reason() {
    let _alone = ONE_AT_A_TIME.blocking_lock();
    for (variables, reason) in [
        (vec![], "make run URL=https://"),
        (vec!["URL=api.openai.com"], "https://"),
        (vec!["URL=https://key@host"], "its own key"),
        (vec!["URL=https://host/?key=1"], "its own key"),
        (vec!["URL=https://host:x"], "port in URL"),
        (vec!["URL=http://h", "CAP=-1"], "CAP is '-1'"),
        (vec!["URL=http://h", "PORT=70000"], "65535"),
        (vec!["URL=http://h", "CONFIG=no/such.json"], "no/such.json"),
    ] {
        let output = make(&variables).output().expect("make");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{variables:?}");
        assert!(said.contains(reason), "{variables:?}: {said}");
        assert!(!said.contains("Traceback"), "{variables:?}: {said}");
    }
}

/// `make run` in a process group of its own, as a shell would have it.
struct Run {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Run {
    fn start(variables: &[&str]) -> Self {
        let mut child = make(variables)
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("make");
        let (send, lines) = channel();
        pass_on(child.stdout.take().expect("piped"), send.clone());
        pass_on(child.stderr.take().expect("piped"), send);
        let seen = vec![];
        Self { child, lines, seen }
    }

    /// The first line that holds `text`.
    fn line_with(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(line) = self.seen.iter().find(|line| line.contains(text)) {
                return line.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.seen.push(line),
                Err(error) => panic!("no line says {text:?} ({error}): {:#?}", self.seen),
            }
        }
    }

    fn wait_until_open(&mut self, at: SocketAddr) {
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(at).is_err() {
            assert_eq!(
                self.child.try_wait().expect("a child"),
                None,
                "it has ended"
            );
            assert!(Instant::now() < deadline, "nobody listens at {at}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ctrl-C.
    fn interrupt(mut self) -> ExitStatus {
        self.signal("-INT");
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            assert!(Instant::now() < deadline, "Ctrl-C does not end it");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// To the whole group, as a terminal does.
    fn signal(&self, signal: &str) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args([signal, "--", &group]).status();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal("-KILL");
            let _ = self.child.wait();
        }
    }
}

fn pass_on(from: impl Read + Send + 'static, to: Sender<String>) {
    let lines = BufReader::new(from).lines().map_while(Result::ok);
    std::thread::spawn(move || lines.for_each(|line| drop(to.send(line))));
}

fn make(variables: &[&str]) -> Command {
    let mut make = Command::new("make");
    make.args(["--no-print-directory", "run"])
        .args(variables)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null());
    // This test may itself run below make, and the shell may have variables of these names.
    for inherited in [
        "MAKEFLAGS",
        "MFLAGS",
        "URL",
        "CAP",
        "CONFIG",
        "PORT",
        "ADMIN_PORT",
    ] {
        make.env_remove(inherited);
    }
    make
}

/// The address and path of the first URL in a printed line.
fn address(line: &str) -> (SocketAddr, String) {
    let url = line.split("http://").nth(1).expect("a URL");
    let url = url.split(['\'', ' ']).next().unwrap_or(url);
    let (host, path) = url.split_once('/').unwrap_or((url, ""));
    (host.parse().expect("an address"), format!("/{path}"))
}

async fn wait_for<T, F: Future<Output = Option<T>>>(look: impl Fn() -> F) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "it never came");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
