//! A real Envoy in a folder of its own, killed by its pid when the test is over.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Call;
use super::bootstrap::Bootstrap;

const START: Duration = Duration::from_secs(60);
/// How often something is looked at that cannot be waited for.
pub(crate) const POLL: Duration = Duration::from_millis(10);
const LOG_TAIL: usize = 80;

/// A running Envoy.
pub(crate) struct Envoy {
    /// Where clients go.
    pub(crate) addr: SocketAddr,
    pub(crate) admin: SocketAddr,
    child: Mutex<Child>,
    dir: PathBuf,
}

/// What became of an Envoy that ended by itself.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) log: String,
}

impl Envoy {
    /// Starts and waits until the listener takes connections.
    pub(crate) async fn start(config: &Bootstrap) -> Self {
        match Self::try_start(config).await {
            Ok(envoy) => envoy,
            Err(ended) => panic!("Envoy ended with {}:\n{}", ended.status, tail(&ended.log)),
        }
    }

    /// As [`Envoy::start`]; an Envoy that ends by itself is a value.
    pub(crate) async fn try_start(config: &Bootstrap) -> Result<Self, Ended> {
        let dir = folder();
        let child = spawn(
            config,
            &dir,
            &["--admin-address-path", &path(&dir.join("admin"))],
        );
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut envoy = Self {
            addr: nowhere,
            admin: nowhere,
            child: Mutex::new(child),
            dir,
        };
        let deadline = Instant::now() + START;
        while !envoy.find_ports().await {
            if let Some(status) = envoy.ended() {
                return Err(Ended {
                    status,
                    log: envoy.log(),
                });
            }
            assert!(Instant::now() < deadline, "Envoy not ready in {START:?}");
            sleep(POLL).await;
        }
        Ok(envoy)
    }

    /// Runs `--mode validate` to its end.
    pub(crate) async fn validate(config: &Bootstrap) -> Ended {
        let dir = folder();
        let mut child = spawn(config, &dir, &["--mode", "validate"]);
        let waited = tokio::task::spawn_blocking(move || child.wait()).await;
        let status = waited.expect("no panic").expect("Envoy was started");
        let log = read(&dir.join("envoy.log"));
        drop(std::fs::remove_dir_all(dir));
        Ended { status, log }
    }

    /// Puts another listener in place of the one that runs, or other halves. For a listener the
    /// outcome is seen at `listener_manager.lds.update_success` or `.update_rejected`.
    pub(crate) fn update(&self, config: &Bootstrap) {
        config.write_updates(&self.dir);
    }

    /// A file with the same code in other bytes, which is another build to Envoy.
    pub(crate) fn other_build(&self) -> String {
        let mut code = std::fs::read(weir_wasm()).expect("the plugin");
        // An empty section that nobody reads: its kind, its length, and its name's length and name.
        code.extend_from_slice(&[0, 2, 1, b'x']);
        let file = self.dir.join("other.wasm");
        std::fs::write(&file, code).expect("a writable folder");
        path(&file)
    }

    /// The exit status, if the process has ended.
    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        self.child
            .lock()
            .expect("child")
            .try_wait()
            .expect("a child of ours")
    }

    /// Stops the process for a while, as a machine that has no time for it does.
    pub(crate) async fn stall(&self, span: Duration) {
        let pid = self.child.lock().expect("child").id().to_string();
        let signal = |name: &str| {
            let sent = Command::new("kill").args([name, &pid]).status();
            assert!(sent.is_ok_and(|status| status.success()), "kill {name}");
        };
        signal("-STOP");
        sleep(span).await;
        signal("-CONT");
    }

    /// Everything it wrote so far.
    pub(crate) fn log(&self) -> String {
        read(&self.dir.join("envoy.log"))
    }

    /// A page of the admin interface.
    pub(crate) async fn admin(&self, path: &str) -> String {
        match Call::get(path).try_send(self.admin).await {
            Ok(answer) => answer.text(),
            Err(error) => panic!("admin {path}: {error}; ended: {:?}", self.ended()),
        }
    }

    async fn find_ports(&mut self) -> bool {
        let Ok(admin) = read(&self.dir.join("admin")).trim().parse() else {
            return false;
        };
        self.admin = admin;
        let Ok(started) = Call::get("/stats?filter=workers_started")
            .try_send(admin)
            .await
        else {
            return false;
        };
        if !started.text().contains("workers_started: 1") {
            return false;
        }
        let listeners: serde_json::Value =
            serde_json::from_str(&self.admin("/listeners?format=json").await).unwrap_or_default();
        let socket = &listeners["listener_statuses"][0]["local_address"]["socket_address"];
        let Some(port) = socket["port_value"]
            .as_u64()
            .and_then(|p| u16::try_from(p).ok())
        else {
            return false;
        };
        self.addr = SocketAddr::from(([127, 0, 0, 1], port));
        port != 0
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        let mut child = self
            .child
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
        if std::thread::panicking() {
            eprintln!(
                "--- Envoy's log, {} ---\n{}",
                self.dir.display(),
                tail(&self.log())
            );
        } else {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

/// The plugin under test.
pub(crate) fn weir_wasm() -> String {
    file("WEIR_WASM", "dist/weir.wasm", "make build")
}

/// The plugin, with a way to end its VM.
pub(crate) fn crash_wasm() -> String {
    file(
        "WEIR_CRASH_WASM",
        "target/weir-crash.wasm",
        "make crash-wasm",
    )
}

fn spawn(config: &Bootstrap, dir: &Path, more: &[&str]) -> Child {
    let binary = file("ENVOY", ".tools/envoy/1.40.0/envoy", "make setup");
    let log = std::fs::File::create(dir.join("envoy.log")).expect("a writable folder");
    Command::new(binary)
        .args([
            "-c",
            &path(&config.write(dir)),
            "-l",
            "info",
            "--disable-hot-restart",
        ])
        .args(["--concurrency", &config.concurrency.to_string()])
        .args(&config.args)
        .args(more)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("one more handle"))
        .stderr(log)
        .spawn()
        .expect("an Envoy that can be run")
}

/// The file that `variable` names, or `default` below the package. Missing is a failure, not a
/// reason to skip: a skipped test looks like a passed one.
fn file(variable: &str, default: &str, remedy: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = std::env::var_os(variable).map_or_else(|| root.join(default), PathBuf::from);
    assert!(
        file.is_file(),
        "{} is missing: run `{remedy}` first, or set {variable} to the file",
        file.display()
    );
    path(&file)
}

fn folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("weir-test-{}-{n}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a writable temporary folder");
    dir
}

fn path(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_TAIL)..].join("\n")
}
