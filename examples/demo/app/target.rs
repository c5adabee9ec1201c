//! The real endpoint, if one is named.

use std::env;
use std::path::PathBuf;

use hyper::Uri;

use super::error::Error;

/// Where Debian, and most others, keep the authorities that a system trusts.
const SYSTEM_CA: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

/// A provider by its URL. The key stays in this process: it goes into the requests and nowhere
/// else.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// With the endpoint at its end.
    pub(crate) path: String,
    pub(crate) model: String,
    pub(crate) key: Option<String>,
    /// The authorities to trust; None is a connection without TLS.
    pub(crate) ca: Option<PathBuf>,
}

impl Target {
    pub(crate) fn from_environment() -> Result<Option<Self>, Error> {
        let Some(url) = setting("PROVIDER_URL") else {
            return Ok(None);
        };
        let model = setting("PROVIDER_MODEL").ok_or(Error::Setting {
            name: "PROVIDER_MODEL",
            problem: "must name the model to call".into(),
        })?;
        let ca = setting("PROVIDER_CA").map(PathBuf::from);
        Self::new(&url, model, setting("PROVIDER_KEY"), ca).map(Some)
    }

    /// `url` is the API's base, such as `https://api.example.com/v1`, or the endpoint itself.
    /// `ca` replaces the system's authorities.
    pub(crate) fn new(
        url: &str,
        model: String,
        key: Option<String>,
        ca: Option<PathBuf>,
    ) -> Result<Self, Error> {
        let wrong = |problem: &str| Error::Setting {
            name: "PROVIDER_URL",
            problem: problem.into(),
        };
        let uri: Uri = url
            .parse()
            .map_err(|_| wrong("is no URL: expected https://host/path"))?;
        let host = uri.host().ok_or_else(|| wrong("names no host"))?;
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong("must start with https://")),
        };
        if !tls && key.is_some() && !is_loopback(host) {
            return Err(wrong(
                "has no TLS: the key would travel in the clear; use https://",
            ));
        }
        let ca = match (tls, ca) {
            (false, _) => None,
            (true, Some(ca)) => Some(ca),
            (true, None) => Some(system_ca()?),
        };
        Ok(Self {
            host: host.to_owned(),
            port: uri.port_u16().unwrap_or(if tls { 443 } else { 80 }),
            path: endpoint(uri.path()),
            model,
            key,
            ca,
        })
    }

    /// Does the endpoint speak Anthropic's Messages API?
    pub(crate) fn is_anthropic(&self) -> bool {
        self.path.ends_with("/messages")
    }
}

/// A variable that is set to something.
pub(crate) fn setting(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn endpoint(path: &str) -> String {
    let path = path.trim_end_matches('/');
    if path.ends_with("/chat/completions") || path.ends_with("/messages") {
        path.to_owned()
    } else {
        format!("{path}/chat/completions")
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host == "[::1]" || host.starts_with("127.")
}

fn system_ca() -> Result<PathBuf, Error> {
    let file = setting("SSL_CERT_FILE").map(PathBuf::from);
    let known = SYSTEM_CA.iter().map(PathBuf::from);
    let mut all = file.into_iter().chain(known);
    all.find(|ca| ca.is_file()).ok_or(Error::Setting {
        name: "SSL_CERT_FILE",
        problem: "must name the file of trusted authorities; none was found".into(),
    })
}
