//! Which policy a call falls under, and which gate of that policy.

use super::Config;
use super::credential::{credential, credential_in, value};
use super::host::Host;
use super::pattern::PathPrefix;
use super::policy::{KeyPart, Matcher, Policy};
use crate::core::fnv::fnv128;
use crate::core::secret::Secret;

/// What is known of a call when its request headers arrive; as received, nothing is trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts<'a> {
    /// The cluster the route chose.
    pub cluster: &'a [u8],
    /// `:authority`, port and all.
    pub host: &'a [u8],
    /// `:path`, query and all.
    pub path: &'a [u8],
    /// All headers, names in lower case.
    pub headers: &'a [(Vec<u8>, Vec<u8>)],
}

impl Config {
    /// The first policy that takes the call, with its index; None leaves the call untouched.
    pub fn policy_for(&self, facts: &Facts<'_>) -> Option<(usize, &Policy)> {
        let host = Host::of(facts.host);
        self.policies
            .iter()
            .enumerate()
            .find(|(_, policy)| policy.matcher.takes(facts, &host))
    }
}

impl Matcher {
    fn takes(&self, facts: &Facts<'_>, host: &Host) -> bool {
        let Matcher {
            clusters,
            hosts,
            path_prefixes,
        } = self;
        any(clusters, |cluster| cluster.as_bytes() == facts.cluster)
            && any(path_prefixes, |prefix| prefix.matches(facts.path))
            && any(hosts, |pattern| pattern.matches(host))
    }

    /// The longest configured prefix that fits `path`; empty if none is configured or fits.
    fn path_prefix_of(&self, path: &[u8]) -> &str {
        self.path_prefixes
            .iter()
            .filter(|prefix| prefix.matches(path))
            .map(PathPrefix::text)
            .max_by_key(|prefix| prefix.len())
            .unwrap_or("")
    }
}

impl Policy {
    /// What calls that share a gate have in common and no others have.
    ///
    /// None if that depends on what a client may keep secret and there is no `secret` to hide it
    /// with. Values of headers are never told from outside by it, nor can a client choose one that
    /// takes it to the gate of another.
    pub fn identity(&self, facts: &Facts<'_>, secret: Option<&Secret>) -> Option<u128> {
        let key = self.key_for(facts, self.matcher.path_prefix_of(facts.path));
        match self.is_keyed_by_headers() {
            false => Some(fnv128(&key)),
            true => Some(secret?.wide(&key)),
        }
    }

    /// Whether calls are told apart by what may be secret: in the key or in `queue.fair_by`.
    pub fn needs_secret(&self) -> bool {
        self.is_keyed_by_headers() || self.queue.fair_by().is_some()
    }

    fn is_keyed_by_headers(&self) -> bool {
        self.key().iter().any(|part| match part {
            KeyPart::Cluster | KeyPart::Host | KeyPart::PathPrefix => false,
            KeyPart::Credential | KeyPart::CredentialIn(_) | KeyPart::Header(_) => true,
        })
    }

    /// The bytes that name the gate of this call: equal for calls that share one, different for
    /// all others. `path_prefix` is what [`Matcher::path_prefix_of`] said.
    ///
    /// Policy name, then the parts in configured order, each as a tag, its length (4 bytes, big
    /// endian) and its bytes, so that no two lists of parts run together to the same bytes.
    fn key_for(&self, facts: &Facts<'_>, path_prefix: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(64);
        put(&mut key, b'n', self.name().as_bytes());
        for part in self.key() {
            match part {
                KeyPart::Cluster => put(&mut key, b'c', facts.cluster),
                KeyPart::Host => put(&mut key, b'h', &Host::of(facts.host).bytes()),
                KeyPart::PathPrefix => put(&mut key, b'p', path_prefix.as_bytes()),
                KeyPart::Credential => put(&mut key, b'a', credential(facts.headers)),
                KeyPart::CredentialIn(name) => {
                    put(&mut key, b'k', name.as_str().as_bytes());
                    put(&mut key, b'v', credential_in(facts.headers, name));
                }
                KeyPart::Header(name) => {
                    put(&mut key, b'x', name.as_str().as_bytes());
                    put(&mut key, b'v', value(facts.headers, name.as_str()));
                }
            }
        }
        key
    }
}

fn put(key: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    // Header maps are far smaller than 4 GiB; were one not, its length would only saturate.
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    key.push(tag);
    key.extend_from_slice(&length.to_be_bytes());
    key.extend_from_slice(bytes);
}

/// An absent list takes everything.
fn any<T>(list: &[T], fits: impl Fn(&T) -> bool) -> bool {
    list.is_empty() || list.iter().any(fits)
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn config(json: &str) -> Config {
        Config::parse(json.as_bytes()).unwrap()
    }

    fn facts<'a>(cluster: &'a str, host: &'a str, path: &'a str) -> Facts<'a> {
        Facts {
            cluster: cluster.as_bytes(),
            host: host.as_bytes(),
            path: path.as_bytes(),
            headers: &[],
        }
    }

    #[test]
    fn lists_are_anded_and_entries_ored_and_the_first_policy_wins() {
        let config = config(
            r#"{"policies":[
                {"name":"all","match":{"clusters":["a","b"],"hosts":["*.x"],"path_prefixes":["/v1","/v2"]}},
                {"name":"host","match":{"hosts":["h.x"]}},
                {"name":"path","match":{"path_prefixes":["/v1"]}},
                {"name":"late","match":{"path_prefixes":["/v1/late"]}}
            ]}"#,
        );
        let table = [
            (facts("a", "h.x", "/v1/c"), Some("all")),
            (facts("b", "H.X:443", "/v2?q"), Some("all")),
            (facts("A", "h.x", "/v1"), Some("host")),
            (facts("c", "z.x", "/v1/late"), Some("path")),
            (facts("a", "h.y", "/v3"), None),
            (Facts::default(), None),
        ];
        for (facts, expected) in table {
            let found = config.policy_for(&facts).map(|(_, policy)| policy.name());
            assert_eq!(found, expected, "{facts:?}");
        }
        let late = config.policy_for(&facts("c", "h.x", "/"));
        assert_eq!(late.map(|(index, _)| index), Some(1));
    }

    #[test]
    fn no_policies_take_nothing_and_the_default_policy_takes_everything() {
        assert_eq!(
            config(r#"{"policies":[]}"#).policy_for(&Facts::default()),
            None
        );
        let config = config("");
        let (index, policy) = config.policy_for(&facts("a", "b", "c")).unwrap();
        assert_eq!((index, policy.name()), (0, "default"));
    }

    #[test]
    fn the_longest_prefix_is_the_one_that_names_the_gate() {
        let config = config(
            r#"{"policies":[{"name":"a","match":{"path_prefixes":["/v1","/v1/chat","/v2"]}}]}"#,
        );
        let matcher = config.policies()[0].matcher();
        assert_eq!(matcher.path_prefix_of(b"/v1/chat/x?/v2"), "/v1/chat");
        assert_eq!(matcher.path_prefix_of(b"/v1/models"), "/v1");
        assert_eq!(matcher.path_prefix_of(b"/v3"), "");
    }

    #[test]
    fn keys_hold_name_and_parts_with_their_lengths() {
        let config = config(
            r#"{"policies":[{"name":"a","key":["host","cluster","path_prefix"]},{"name":"b"}]}"#,
        );
        let call = facts("c1", "API.x:443", "/v1");
        let key = config.policies()[0].key_for(&call, "/v1");
        let expected = b"n\0\0\0\x01ah\0\0\0\x05api.xc\0\0\0\x02c1p\0\0\0\x03/v1";
        assert_eq!(key, expected);
        let key = config.policies()[1].key_for(&call, "/v1");
        assert_eq!(key, b"n\0\0\0\x01bc\0\0\0\x02c1");
    }

    #[test]
    fn keys_keep_the_bytes_of_odd_hosts() {
        let config = config(r#"{"policies":[{"name":"a","key":["host"]}]}"#);
        let policy = &config.policies()[0];
        let key = |host: &[u8]| {
            policy.key_for(
                &Facts {
                    host,
                    ..Facts::default()
                },
                "",
            )
        };
        assert_eq!(key(b"\xff\xc3Z:1"), b"n\0\0\0\x01ah\0\0\0\x03\xff\xc3z");
        assert_ne!(key(b"\xff"), key(b"\xfe"));
        assert_eq!(key(b"[::A]:1"), key(b"::a"));
    }

    #[test]
    fn parts_by_header_keep_values_apart_and_without_a_secret_there_is_no_identity() {
        let config = config(
            r#"{"policies":[{"name":"a","key":["credential",{"header":"x-m"},{"credential":"k"}]}]}"#,
        );
        let policy = &config.policies()[0];
        let secret = Secret::from([7; 16]);
        let identity = |list: &[(&str, &str)]| {
            let bytes = |text: &str| text.as_bytes().to_vec();
            let headers: Vec<_> = list.iter().map(|(n, v)| (bytes(n), bytes(v))).collect();
            let facts = Facts {
                headers: &headers,
                ..Facts::default()
            };
            assert_eq!(policy.identity(&facts, None), None);
            policy.identity(&facts, Some(&secret)).unwrap()
        };
        let all = [
            identity(&[]),
            identity(&[("authorization", "Bearer 1")]),
            identity(&[("authorization", "Bearer 2")]),
            identity(&[("x-m", "1")]),
            identity(&[("k", "1")]),
            identity(&[("authorization", "1"), ("x-m", "1")]),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{at}");
        }
        assert_eq!(all[1], identity(&[("x-api-key", "1"), ("cookie", "z")]));
    }

    #[test]
    fn a_tenant_is_the_bare_value_of_what_the_policy_asks_for() {
        let headers = [
            (b"authorization".to_vec(), b"Bearer t".to_vec()),
            (b"x-team".to_vec(), b" Bearer u ".to_vec()),
        ];
        let tenant = |fields: &str| {
            let json = format!(r#"{{"policies":[{{"name":"a"{fields}}}]}}"#);
            let config = config(&json);
            let queue = config.policies()[0].queue();
            queue.tenant_of(&headers).map(<[u8]>::to_vec)
        };
        assert_eq!(tenant(""), None);
        let by = |fair_by: &str| tenant(&format!(r#","queue":{{"fair_by":{fair_by}}}"#)).unwrap();
        assert_eq!(by(r#""credential""#), b"t");
        assert_eq!(by(r#"{"header":"x-team"}"#), b"Bearer u");
        assert_eq!(by(r#"{"header":"x-none"}"#), b"");
    }
}
