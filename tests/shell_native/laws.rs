//! The laws of a call's life at exact virtual times, as in `call_laws`.

#[path = "../call_laws/avoided.rs"]
mod avoided;
#[path = "../call_laws/bounds.rs"]
mod bounds;
#[path = "../call_laws/budget.rs"]
mod budget;
#[path = "../call_laws/cap.rs"]
mod cap;
#[path = "../call_laws/death/mod.rs"]
mod death;
#[path = "../call_laws/degraded.rs"]
mod degraded;
#[path = "../call_laws/delay.rs"]
mod delay;
#[path = "../call_laws/failover.rs"]
mod failover;
#[path = "../call_laws/halves.rs"]
mod halves;
#[path = "../call_laws/headroom.rs"]
mod headroom;
#[path = "../call_laws/keys.rs"]
mod keys;
#[path = "../call_laws/learn.rs"]
mod learn;
#[path = "../call_laws/leave.rs"]
mod leave;
#[path = "../call_laws/order.rs"]
mod order;
#[path = "../call_laws/pace.rs"]
mod pace;
#[path = "../call_laws/patience.rs"]
mod patience;
#[path = "../call_laws/recovery.rs"]
mod recovery;
#[path = "../call_laws/refused.rs"]
mod refused;
#[path = "../call_laws/reload.rs"]
mod reload;
#[path = "../call_laws/repeats.rs"]
mod repeats;
#[path = "../call_laws/server_queue.rs"]
mod server_queue;
#[path = "../call_laws/shadow.rs"]
mod shadow;
#[path = "../call_laws/share.rs"]
mod share;
#[path = "../call_laws/stats.rs"]
mod stats;
#[path = "../call_laws/successes.rs"]
mod successes;
#[path = "../call_laws/uploads.rs"]
mod uploads;

#[test]
fn no_law_is_left_out() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/call_laws");
    for file in std::fs::read_dir(here).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let here = include_str!("laws.rs");
        let is_here = [format!("/{name}\""), format!("/{name}/mod.rs\"")]
            .iter()
            .any(|path| here.contains(path));
        // What happens inside shared data alone, or by chance: the shell has no part in it.
        let is_elsewhere = ["main.rs", "evict.rs", "cost.rs", "newer.rs", "draws.rs"];
        let is_elsewhere = is_elsewhere.contains(&name.as_str());
        assert!(is_here || is_elsewhere, "{name}");
    }
}
