//! The server's certificate and key, for addresses that other hosts can reach.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Reads a chain of certificates and its private key from PEM files.
pub(crate) fn acceptor(certificates: &Path, key: &Path) -> Result<TlsAcceptor, String> {
    let name = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let chain = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| name(certificates, &error))?;
    if chain.is_empty() {
        return Err(name(certificates, &"there is no certificate in it"));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| name(key, &error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| name(key, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
