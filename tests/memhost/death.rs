//! VMs that die, whole or in the middle of a callback, and VMs that come after them.

use std::rc::Rc;

use super::seat::Seat;
use super::sim::Sim;

impl Sim {
    /// A VM dies between two callbacks.
    pub(crate) fn kill(&mut self, vm: usize) {
        self.memory.state().dead.insert(vm);
        self.settle();
    }

    /// A VM dies when it has made this many more host calls.
    pub(crate) fn kill_after(&mut self, vm: usize, host_calls: u64) {
        self.memory.state().fuse = Some((vm, host_calls));
    }

    pub(crate) fn is_dead(&self, vm: usize) -> bool {
        self.memory.state().dead.contains(&vm)
    }

    /// A VM comes up on a thread of its own, under the first one's configuration.
    pub(crate) fn add_worker(&mut self) -> usize {
        let vm = self.seats.len();
        let config = Rc::clone(&self.seats[0].config);
        let seat = Seat::new(&self.memory, vm, &config, self.now);
        self.seats.push(seat);
        self.configure(vm, &config);
        vm
    }

    /// The calls of a VM that has died are lost: nobody resumes them, nobody hears of them.
    pub(crate) fn lose_calls_of_the_dead(&mut self) {
        let dead = self.memory.state().dead.clone();
        for (id, call) in self.calls.iter_mut().enumerate() {
            if !call.is_over && dead.contains(&call.worker) {
                call.is_over = true;
                call.is_lost = true;
                call.is_paused = false;
                call.has_grant = false;
                call.retry_at = None;
                call.attempts.clear();
                let streams = self.streams.iter().filter(|(_, of)| **of == id);
                self.lost.extend(streams.map(|(stream, _)| *stream));
                self.streams.retain(|_, of| *of != id);
            }
        }
    }
}
