//! Encryption, and how far the server's certificate is checked.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_postgres::config::SslMode as Wish;
use tokio_postgres_rustls::MakeRustlsConnect;

/// What is asked of the connection to one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    pub wish: Encryption,
    pub check: Check,
    /// The file of those who may vouch; none, those of this system.
    pub roots: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    Off,
    /// If the server has it.
    Welcome,
    Needed,
}

/// How far the certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    Nothing,
    /// That somebody trusted signed it.
    Chain,
    /// And that it is for this host.
    ChainAndName,
}

impl Tls {
    pub const OFF: Tls = Tls { wish: Encryption::Off, check: Check::Nothing, roots: None };

    pub(super) fn wish(&self) -> Wish {
        match self.wish {
            Encryption::Off => Wish::Disable,
            Encryption::Welcome => Wish::Prefer,
            Encryption::Needed => Wish::Require,
        }
    }

    /// What makes the connection, or why it cannot: a sentence.
    pub(super) fn connector(&self) -> Result<MakeRustlsConnect, String> {
        let provider = Arc::new(ring::default_provider());
        let certificates = match (self.check, &self.roots) {
            (Check::Nothing, _) => Vec::new(),
            (_, Some(file)) => from_file(file)?,
            (_, None) => rustls_native_certs::load_native_certs().certs,
        };
        let mut roots = RootCertStore::empty();
        let (taken, _) = roots.add_parsable_certificates(certificates.iter().cloned());
        if taken == 0 && self.check != Check::Nothing {
            return Err(match &self.roots {
                Some(file) => {
                    format!("{}: holds no certificate; name another file in sslrootcert", file.display())
                }
                None => {
                    "this system trusts no certificate authority; name a file of certificates in sslrootcert"
                        .into()
                }
            });
        }
        // Those of the system vouch for others, never for themselves.
        let pinned = if self.roots.is_some() { certificates } else { Vec::new() };
        let checker = Arc::new(Checker { check: self.check, roots, pinned, provider: Arc::clone(&provider) });
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(checker)
            .with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }
}

fn from_file(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let unreadable = |error: rustls::pki_types::pem::Error| {
        format!("{}: cannot be read as certificates: {error}", file.display())
    };
    CertificateDer::pem_file_iter(file).map_err(unreadable)?.map(|found| found.map_err(unreadable)).collect()
}

#[derive(Debug)]
struct Checker {
    check: Check,
    roots: RootCertStore,
    /// Certificates that the user named one by one: a server may show one of them as its own.
    pinned: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Checker {
    fn check_chain(
        &self,
        shown: &CertificateDer<'_>,
        parsed: &ParsedCertificate<'_>,
        between: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        let algorithms = self.provider.signature_verification_algorithms.all;
        let checked = rustls::client::verify_server_cert_signed_by_trust_anchor(
            parsed,
            &self.roots,
            between,
            now,
            algorithms,
        );
        match checked {
            Err(error) if self.pinned.contains(shown) && !is_out_of_date(&error) => Ok(()),
            checked => checked,
        }
    }
}

fn is_out_of_date(error: &Error) -> bool {
    use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext, Revoked};
    matches!(
        error,
        Error::InvalidCertificate(
            Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. } | Revoked
        )
    )
}

impl ServerCertVerifier for Checker {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.check != Check::Nothing {
            let parsed = ParsedCertificate::try_from(shown)?;
            self.check_chain(shown, &parsed, between, now)?;
            if self.check == Check::ChainAndName {
                verify_server_name(&parsed, name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
