//! What ranks a call among those that wait: its class, its tenant, its arrival.

use super::arrive::Request;
use crate::core::config::{Policy, Queue};
use crate::core::gate::Order;
use crate::core::gate::order::Class;
use crate::core::secret::Secret;

/// The class a call claims for itself; anything but `high` and `low` is normal.
pub(super) fn class_of(request: &Request<'_>, policy: &Policy) -> Class {
    let header = policy.queue().priority_header();
    match header.and_then(|name| request.header(name.as_str())) {
        Some(value) if value.trim_ascii().eq_ignore_ascii_case(b"high") => Class::High,
        Some(value) if value.trim_ascii().eq_ignore_ascii_case(b"low") => Class::Low,
        _ => Class::Normal,
    }
}

/// What the gate ranks it by.
pub(super) fn order_of(request: &Request<'_>, policy: &Policy, secret: Option<&Secret>) -> Order {
    let queue = policy.queue();
    if let (Some(tenant), Some(secret)) = (queue.tenant_of(request.headers), secret) {
        return Order::Fair {
            tenant: secret.narrow(tenant),
            weight: queue.weight_of(tenant).into(),
        };
    }
    match queue.priority_header() {
        None => Order::Arrival,
        Some(_) => Order::Class {
            behind: u64::from(class_of(request, policy) as u8) * ageing(queue),
        },
    }
}

/// How long a call can be overtaken by the next higher class, in nanoseconds: a quarter of the
/// longest stay, so that a low one still starts within half of it when the queue moves.
fn ageing(queue: &Queue) -> u64 {
    u64::try_from(queue.max_wait().as_nanos() / 4).unwrap_or(u64::MAX)
}
