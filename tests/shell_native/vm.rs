//! A VM: a thread of its own, and how it dies.
//!
//! A panic of the shell may not cross the ABI, and what kills Envoy must not kill the test run. So
//! a VM that dies tells whoever asked it last, and its thread stays parked for good.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::abi::exports;
use super::host;
use crate::memhost::Memory;

type Job = Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>;
type Outcome = Result<Box<dyn Any + Send>, String>;

thread_local! {
    /// To whom this thread's VM answers.
    static CALLER: RefCell<Option<Sender<Outcome>>> = const { RefCell::new(None) };
}

/// A VM's thread.
pub(crate) struct Thread {
    jobs: Sender<Job>,
    outcomes: Receiver<Outcome>,
}

impl Thread {
    /// Starts a VM.
    pub(crate) fn start(memory: &Memory, vm: usize) -> Thread {
        let (jobs, queued) = channel::<Job>();
        let (caller, outcomes) = channel();
        let memory = memory.clone();
        thread::Builder::new()
            .name(format!("vm {vm}"))
            .spawn(move || {
                CALLER.set(Some(caller.clone()));
                host::install(memory, vm);
                initialize();
                for job in queued {
                    if caller.send(Ok(job())).is_err() {
                        return;
                    }
                }
            })
            .expect("a thread");
        Thread { jobs, outcomes }
    }

    /// Runs something on the VM's thread.
    pub(crate) fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let job: Job = Box::new(move || Box::new(job()));
        self.jobs.send(job).expect("the VM's thread");
        match self.outcomes.recv().expect("the VM's thread") {
            Ok(outcome) => *outcome.downcast().expect("what the job returns"),
            Err(why) => panic!("the VM died: {why}"),
        }
    }
}

/// The SDK's start-up sets what the whole process has once, and does not expect company.
fn initialize() {
    static ONE_BY_ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE_BY_ONE.lock();
    exports::_initialize();
}

/// Whether this thread is a VM's.
pub(crate) fn in_vm() -> bool {
    CALLER.with_borrow(Option::is_some)
}

/// The VM dies.
pub(crate) fn die(why: &str) -> ! {
    CALLER.with_borrow(|caller| match caller {
        Some(caller) => drop(caller.send(Err(why.to_owned()))),
        None => {
            eprintln!("{why}");
            std::process::abort();
        }
    });
    loop {
        thread::park();
    }
}
