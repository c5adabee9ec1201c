//! Real TLS with an authority made on the spot, HTTP/2 preferred.

use std::io;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::server::TlsStream;

/// A server certificate, and the authority that vouches for it.
pub(crate) struct Tls {
    acceptor: TlsAcceptor,
    /// The authority's certificate, for clients to trust.
    pub(crate) ca_pem: String,
}

impl Tls {
    /// A certificate for `name`.
    pub(crate) fn generate(name: &str) -> io::Result<Self> {
        Self::try_generate(name).map_err(io::Error::other)
    }

    fn try_generate(name: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let mut authority = CertificateParams::new(vec![])?;
        // Two subjects: a certificate whose subject is its issuer's counts as self-signed.
        authority
            .distinguished_name
            .push(DnType::CommonName, "Mock authority");
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority_key = KeyPair::generate()?;
        let ca_pem = authority.self_signed(&authority_key)?.pem();
        let key = KeyPair::generate()?;
        let mut server = CertificateParams::new(vec![name.to_owned()])?;
        server.distinguished_name.push(DnType::CommonName, name);
        let certificate = server.signed_by(&key, &Issuer::new(authority, authority_key))?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            acceptor: Arc::new(config).into(),
            ca_pem,
        })
    }

    /// Shakes hands; also the server name the client asked for.
    pub(super) async fn accept(
        &self,
        stream: TcpStream,
    ) -> io::Result<(TlsStream<TcpStream>, Option<String>)> {
        let stream = self.acceptor.accept(stream).await?;
        let name = stream.get_ref().1.server_name().map(str::to_owned);
        Ok((stream, name))
    }
}
