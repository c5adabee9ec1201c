//! The laws of a call's life at exact virtual times, as in `call_laws`.

#[path = "../call_laws/bounds.rs"]
mod bounds;
#[path = "../call_laws/cap.rs"]
mod cap;
#[path = "../call_laws/degraded.rs"]
mod degraded;
#[path = "../call_laws/delay.rs"]
mod delay;
#[path = "../call_laws/halves.rs"]
mod halves;
#[path = "../call_laws/leave.rs"]
mod leave;
#[path = "../call_laws/order.rs"]
mod order;
#[path = "../call_laws/refused.rs"]
mod refused;
#[path = "../call_laws/reload.rs"]
mod reload;
#[path = "../call_laws/stats.rs"]
mod stats;
#[path = "../call_laws/uploads.rs"]
mod uploads;
