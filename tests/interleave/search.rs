//! Every order of steps, each world once.
//!
//! The proof goes depth first, which finds loops too: calls only ever move on, so a loop would be a
//! protocol that never rests. A failure is looked up again breadth first, for the shortest trace.

#![allow(
    clippy::disallowed_types,
    reason = "a visited set is only asked, never iterated"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "the report says how long it took"
)]

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::time::Instant;

use crate::laws::{Broken, Law, name};
use crate::scope::Scope;
use crate::world::{Step, World};

type Seen = HashSet<u128, BuildHasherDefault<Low>>;

/// What a run saw.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub states: u64,
    pub transitions: u64,
    pub ends: u64,
    pub is_cut: bool,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.states += other.states;
        self.transitions += other.transitions;
        self.ends += other.ends;
        self.is_cut |= other.is_cut;
    }
}

/// Explores every scope to its end, prints what was seen, and fails with the shortest trace.
pub fn prove(title: &str, scopes: &[Scope]) {
    let start = Instant::now();
    let mut tally = Tally::default();
    for scope in scopes {
        match explore(scope) {
            Ok(seen) => tally += seen,
            Err(broken) => panic!("{title}: {broken}\n{}", shortest(scope)),
        }
    }
    println!(
        "{title}: {} runs, {} states, {} transitions, {} ends{}, {:.1} s",
        scopes.len(),
        tally.states,
        tally.transitions,
        tally.ends,
        if tally.is_cut {
            ", cut at the depth bound"
        } else {
            ""
        },
        start.elapsed().as_secs_f64()
    );
}

struct Frame {
    world: World,
    print: u128,
    steps: Vec<(usize, Step)>,
}

impl Frame {
    fn new(scope: &Scope, world: World, print: u128) -> Frame {
        let mut steps = Vec::new();
        world.steps(scope, &mut steps);
        Frame {
            world,
            print,
            steps,
        }
    }
}

/// Explores one scope, depth first.
pub fn explore(scope: &Scope) -> Result<Tally, Broken> {
    let mut tally = Tally::default();
    let mut seen = Seen::default();
    let mut on_path = Seen::default();
    let first = World::new(scope);
    let print = first.fingerprint();
    seen.insert(print);
    on_path.insert(print);
    let mut path = vec![Frame::new(scope, first, print)];
    tally.states = 1;
    while let Some(frame) = path.last_mut() {
        let Some((at, step)) = frame.steps.pop() else {
            on_path.remove(&frame.print);
            path.pop();
            continue;
        };
        let mut world = frame.world.clone();
        world.take(scope, at, step)?;
        tally.transitions += 1;
        let print = world.fingerprint();
        if !seen.insert(print) {
            if on_path.contains(&print) {
                return Err(Law::Rest.broken("the same state comes again"));
            }
            continue;
        }
        tally.states += 1;
        if path.len() >= scope.depth {
            tally.is_cut = true;
            continue;
        }
        let next = Frame::new(scope, world, print);
        if next.steps.is_empty() {
            tally.ends += 1;
            check_end(&next.world)?;
        } else {
            on_path.insert(print);
            path.push(next);
        }
    }
    Ok(tally)
}

fn check_end(world: &World) -> Result<(), Broken> {
    if world.is_over() {
        return Ok(());
    }
    Err(Law::LostWakeUp.broken("nothing can happen and calls are left"))
}

/// The shortest trace to a broken law, to be read.
fn shortest(scope: &Scope) -> String {
    let mut seen = Seen::default();
    let mut steps_to: Vec<(usize, usize, Option<Step>)> = vec![(0, 0, None)];
    let mut queue = VecDeque::from([(0, World::new(scope))]);
    let mut steps = Vec::new();
    while let Some((from, world)) = queue.pop_front() {
        world.steps(scope, &mut steps);
        if steps.is_empty() && check_end(&world).is_err() {
            return replay(scope, &steps_to, from);
        }
        for (at, step) in &steps {
            let mut next = world.clone();
            let result = next.take(scope, *at, *step);
            let is_new = seen.insert(next.fingerprint());
            if result.is_ok() && !is_new {
                continue;
            }
            steps_to.push((from, *at, Some(*step)));
            let here = steps_to.len() - 1;
            if result.is_err() {
                return replay(scope, &steps_to, here);
            }
            queue.push_back((here, next));
        }
    }
    "no trace: the failure is a loop".to_owned()
}

fn replay(scope: &Scope, steps_to: &[(usize, usize, Option<Step>)], end: usize) -> String {
    let mut chain = Vec::new();
    let mut here = end;
    while let (from, at, Some(step)) = steps_to[here] {
        chain.push((at, step));
        here = from;
    }
    let mut world = World::new(scope);
    let mut text = format!(
        "keys {:?}, {:?}, {:?}\n",
        scope.keys, scope.setting, scope.grain
    );
    for (number, (at, step)) in chain.into_iter().rev().enumerate() {
        let doing = match &world.workers[at].task {
            Some(task) if step == Step::Proceed => format!("{:?} {:?}", task.errand, stage(task)),
            _ => format!("{step:?}"),
        };
        let result = world.take(scope, at, step);
        text += &format!(
            "{:3}. {} {doing:<28} | {}\n",
            number + 1,
            name(at),
            picture(&world)
        );
        if let Err(broken) = result {
            text += &format!("     {broken}\n");
        }
    }
    text
}

fn stage(task: &crate::worker::Task) -> &'static str {
    use weir::core::gate::exchange::Want;
    match task.exchange.want() {
        Want::Read => "reads",
        Want::Write { .. } => "writes",
        Want::Wake(_) => "wakes",
        Want::Done(_) => "is done",
    }
}

fn picture(world: &World) -> String {
    let mut text = format!("cap {}", world.record.setting.cap);
    for entry in &world.record.entries {
        let standing = entry.standing;
        text += &format!(
            "; slot {} gen {}: run {} fresh {} ready {} held {} head {} granted {}{}",
            entry.owner.slot,
            entry.owner.generation,
            standing.running,
            standing.fresh,
            standing.ready,
            standing.held,
            if standing.waiting() == 0 {
                "-".to_owned()
            } else {
                standing.head.rank.to_string()
            },
            entry.granted,
            if entry.stalled { " stalled" } else { "" }
        );
    }
    for (number, seat) in world.seats.iter().enumerate() {
        text += &format!(
            " | seat {number} gen {} {:?} wakes {} for {}",
            seat.slot.generation,
            seat.slot.state,
            seat.wakes,
            name(seat.reader)
        );
    }
    for (at, worker) in world.workers.iter().enumerate() {
        text += &format!(" || {} {:?}", name(at), worker.calls);
        if let Some(task) = &worker.task {
            text += &format!(" {:?} next {}", task.errand, stage(task));
        }
    }
    text
}

/// A fingerprint is its own hash.
#[derive(Default)]
struct Low(u64);

impl Hasher for Low {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u128(&mut self, number: u128) {
        self.0 = number as u64;
    }
}
