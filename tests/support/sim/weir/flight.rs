//! Slots in use, by the simulator's own count.

use weir::core::gate::owner::SLOTS;

use super::super::peer::Slot;
use super::vm::VmId;
use super::{InFlight, Weir};

impl Weir {
    /// An attempt is in flight.
    pub(super) fn fly(&mut self, slot: Slot) {
        self.land(slot);
        let Some((vm, cluster)) = self.seat(slot).map(|seat| (seat.vm, seat.cluster)) else {
            return;
        };
        let envoy = &mut self.envoys[vm.envoy];
        if envoy.vms.len() > usize::from(SLOTS) && !envoy.memory.is_reader(vm.vm) {
            // It has no worker slot: what it starts is not planned (law L16).
            envoy.uncounted += 1;
            return;
        }
        let count = self.in_flight(vm, cluster);
        count.attempts += 1;
        count.peak = count.peak.max(count.taken());
        if let Some(seat) = self.seat(slot) {
            seat.is_in_flight = true;
        }
    }

    /// And is no longer, or does not follow.
    pub(super) fn land(&mut self, slot: Slot) {
        let Some(seat) = self.seat(slot) else {
            return;
        };
        let is_in_flight = std::mem::take(&mut seat.is_in_flight);
        let is_between = std::mem::take(&mut seat.is_between);
        let (vm, cluster) = (seat.vm, seat.cluster);
        let count = self.in_flight(vm, cluster);
        count.attempts -= u32::from(is_in_flight);
        count.between -= u32::from(is_between);
    }

    pub(super) fn in_flight(&mut self, vm: VmId, cluster: u16) -> &mut InFlight {
        let envoy = &mut self.envoys[vm.envoy];
        envoy.in_flight.entry(cluster).or_default()
    }
}
