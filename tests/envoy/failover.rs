//! Two accounts on a real Envoy, by the file that is shipped: a call whose account is shut goes to the
//! other one before it waits.

use crate::support;

use std::time::Duration;

use support::{Answer, Call, Envoy, Provider, Reply, Seen, shipped};

/// Refuses its first call, with this wait.
async fn account(seconds: &'static str) -> Provider {
    Provider::start(move |seen: &Seen| match seen.n {
        0 => Reply::rate().header("retry-after", seconds),
        _ => Reply::ok(),
    })
    .await
}

/// Two accounts that have each refused a call, which is held.
struct Accounts {
    first: Provider,
    second: Provider,
    envoy: Envoy,
}

impl Accounts {
    async fn start(first: &'static str, second: Option<&'static str>) -> Accounts {
        let (first, other) = (account(first).await, account(second.unwrap_or("1")).await);
        let config = shipped::to_two(first.addr, other.addr, "failover.yaml");
        let envoy = Envoy::start(&config).await;
        let accounts = Accounts {
            first,
            second: other,
            envoy,
        };
        if second.is_some() {
            accounts
                .refuse(Call::chat("b").header("x-account", "second"), "second")
                .await;
        }
        accounts.refuse(Call::chat("a"), "default").await;
        accounts
    }

    /// A call is refused, and its client goes away.
    async fn refuse(&self, call: Call, policy: &str) {
        let held = call.start(self.envoy.addr);
        let stat = |name: &str| format!("wasmcustom.weir.policy.{policy}.{name}");
        let refusals = stat("refusals.class.rate");
        self.envoy.wait_stat(&refusals, |n| n == 1).await;
        drop(held);
        self.envoy.wait_stat(&stat("held"), |n| n == 0).await;
    }

    async fn call(&self) -> Answer {
        let call = Call::chat("call").header("authorization", "Bearer first");
        let answer = call.send(self.envoy.addr).await;
        self.envoy.assert_idle().await;
        answer
    }

    async fn failed_over(&self) -> u64 {
        self.envoy.policy("failed_over").await
    }
}

fn bearer(seen: &Seen) -> String {
    let value = seen.header("authorization").unwrap_or_default();
    String::from_utf8_lossy(value).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_goes_to_the_second_account_while_the_first_is_shut() {
    let first = account("30").await;
    let second = Provider::start(|_| Reply::ok()).await;
    let config = shipped::to_two(first.addr, second.addr, "failover.yaml");
    let accounts = Accounts {
        envoy: Envoy::start(&config).await,
        first,
        second,
    };
    accounts.refuse(Call::chat("a"), "default").await;
    let answer = accounts.call().await;
    assert_eq!(
        (answer.status, answer.header("x-weir-attempts")),
        (200, Some("1"))
    );
    assert_eq!((accounts.first.count(), accounts.second.count()), (1, 1));
    let seen = accounts.second.seen().remove(0);
    assert_eq!(bearer(&seen), "Bearer the-key-of-the-second-account");
    assert_eq!(seen.header("x-account"), None);
    assert_eq!(accounts.failed_over().await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l10_with_both_shut_it_waits_at_the_one_that_opens_first() {
    let accounts = Accounts::start("30", Some("2")).await;
    let answer = accounts.call().await;
    assert_eq!(answer.status, 200);
    assert_eq!((accounts.first.count(), accounts.second.count()), (1, 2));
    let seen = accounts.second.seen();
    assert!(seen[1].at - seen[0].at >= Duration::from_secs(2));

    let accounts = Accounts::start("2", Some("30")).await;
    let answer = accounts.call().await;
    assert_eq!(answer.status, 200);
    assert_eq!((accounts.first.count(), accounts.second.count()), (2, 1));
    let seen = accounts.first.seen();
    assert!(seen[1].at - seen[0].at >= Duration::from_secs(2));
    assert_eq!(bearer(&seen[1]), "Bearer first");
    assert_eq!(accounts.failed_over().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l10_with_both_shut_for_too_long_it_is_told_when_the_better_one_opens() {
    let accounts = Accounts::start("110", Some("100")).await;
    let answer = accounts.call().await;
    let refused = (answer.status, answer.header("x-weir-refused"));
    assert_eq!(refused, (429, Some("paused")));
    let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    // The pause, its draw of an eighth, and up to a quarter so that the refused do not come together.
    assert!((90..=142).contains(&seconds), "{seconds}");
    assert_eq!(answer.json()["error"]["weir"]["policy"], "second");
    assert_eq!((accounts.first.count(), accounts.second.count()), (1, 1));
}
