//! The process, in a folder of its own, killed by its pid when it is dropped.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path as FilePath, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::super::client::page;
use super::super::error::Error;
use super::super::path::Path;
use super::super::target::setting;
use super::config::{Setup, text};

const START: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);
/// Lines of the log that an error shows.
const LOG_TAIL: usize = 20;
const WORKERS: &str = "2";

/// A running Envoy.
pub(crate) struct Envoy {
    child: Child,
    dir: PathBuf,
    admin: Option<SocketAddr>,
    fronts: BTreeMap<Path, SocketAddr>,
}

impl Envoy {
    /// Starts it on free ports and waits until every path takes calls.
    pub(crate) async fn start(setup: &Setup) -> Result<Self, Error> {
        let program = program()?;
        let dir = folder()?;
        let mut envoy = Self {
            child: spawn(&program, &dir, setup)?,
            dir,
            admin: None,
            fronts: BTreeMap::new(),
        };
        let deadline = Instant::now() + START;
        while !envoy.find_ports(setup).await {
            envoy.check()?;
            if Instant::now() > deadline {
                return Err(envoy.error(format!("was not ready within {} s", START.as_secs())));
            }
            sleep(POLL).await;
        }
        Ok(envoy)
    }

    /// Where clients of `path` go.
    pub(crate) fn front(&self, path: Path) -> Result<SocketAddr, Error> {
        let found = self.fronts.get(&path).copied();
        found.ok_or_else(|| self.error(format!("has no listener for {}", path.title())))
    }

    /// Fails if the process has ended by itself.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.error(format!("ended by itself ({status})"))),
            Err(error) => Err(Error::io("watch Envoy")(error)),
        }
    }

    /// A counter or gauge; 0 if there is none.
    pub(crate) async fn stat(&self, name: &str) -> u64 {
        let Some(admin) = self.admin else { return 0 };
        let path = format!("/stats?filter=^{}$", name.replace('.', "\\."));
        let page = page(admin, &path).await.unwrap_or_default();
        let value = page.trim().rsplit_once(": ").map(|(_, v)| v.parse());
        value.and_then(Result::ok).unwrap_or(0)
    }

    async fn find_ports(&mut self, setup: &Setup) -> bool {
        let known = fs::read_to_string(self.dir.join("admin")).unwrap_or_default();
        self.admin = known.trim().parse().ok();
        let Some(admin) = self.admin else {
            return false;
        };
        // Listeners take connections once the workers run.
        if self.stat("listener_manager.workers_started").await != 1 {
            return false;
        }
        let Some(page) = page(admin, "/listeners?format=json").await else {
            return false;
        };
        let all: Value = serde_json::from_str(&page).unwrap_or_default();
        for path in setup.fronts.iter().map(|f| f.path) {
            if let Some(port) = port_of(&all, path) {
                self.fronts
                    .insert(path, SocketAddr::from(([127, 0, 0, 1], port)));
            }
        }
        self.fronts.len() == setup.fronts.len()
    }

    fn error(&self, what: String) -> Error {
        let log = fs::read_to_string(self.dir.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(LOG_TAIL).collect();
        let log = lines.into_iter().rev().collect::<Vec<_>>().join("\n");
        Error::Envoy { what, log }
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// The plugin's file.
pub(crate) fn wasm() -> Result<PathBuf, Error> {
    file("the plugin", "WEIR_WASM", "dist/weir.wasm", "make build")
}

fn program() -> Result<PathBuf, Error> {
    let default = ".tools/envoy/1.40.0/envoy";
    file("Envoy", "ENVOY", default, "make setup-envoy")
}

/// The file that `variable` names, or `default` below the package.
fn file(
    what: &'static str,
    variable: &str,
    default: &str,
    remedy: &'static str,
) -> Result<PathBuf, Error> {
    let default = FilePath::new(env!("CARGO_MANIFEST_DIR")).join(default);
    let path = setting(variable).map_or(default, PathBuf::from);
    if path.is_file() {
        Ok(path)
    } else {
        Err(Error::Missing { what, path, remedy })
    }
}

fn spawn(program: &FilePath, dir: &FilePath, setup: &Setup) -> Result<Child, Error> {
    let config = dir.join("envoy.json");
    let write = Error::io(format!("write {}", config.display()));
    fs::write(&config, format!("{:#}", setup.bootstrap())).map_err(write)?;
    let log = File::create(dir.join("log")).map_err(Error::io("write Envoy's log"))?;
    let both = log.try_clone().map_err(Error::io("write Envoy's log"))?;
    Command::new(program)
        .args([
            "-c",
            &text(&config),
            "-l",
            "warning",
            "--disable-hot-restart",
        ])
        .args(["--concurrency", WORKERS])
        .args(["--admin-address-path", &text(&dir.join("admin"))])
        // The key of a real endpoint is none of its business.
        .env_clear()
        .stdin(Stdio::null())
        .stdout(both)
        .stderr(log)
        .spawn()
        .map_err(Error::io(format!("start {}", program.display())))
}

fn folder() -> Result<PathBuf, Error> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("weir-demo-{}-{n}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    let made = DirBuilder::new().mode(0o700).create(&dir);
    made.map_err(Error::io(format!("create {}", dir.display())))?;
    Ok(dir)
}

fn port_of(listeners: &Value, path: Path) -> Option<u16> {
    let all = listeners.get("listener_statuses")?.as_array()?;
    let name = Some(&Value::from(path.id()));
    let ours = all.iter().find(|l| l.get("name") == name)?;
    let port = ours
        .pointer("/local_address/socket_address/port_value")?
        .as_u64()?;
    u16::try_from(port).ok().filter(|p| *p != 0)
}
