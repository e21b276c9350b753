//! Certificates for servers of the tests.

use std::path::Path;
use std::process::{Command, Stdio};

/// An authority `ca`, another one `other`, and certificates for `localhost` with the key `srv.key`: `srv.crt` of the first,
/// `expired.crt` of the first, and `own.crt` of nobody.
pub fn make(folder: &Path) {
    let script = "
        for ca in ca other; do
          openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=$ca \
            -keyout $ca.key -out $ca.crt
        done
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout srv.key -out srv.csr
        printf 'subjectAltName=DNS:localhost\\nbasicConstraints=CA:FALSE\\n' >ext
        openssl x509 -req -in srv.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile ext -out srv.crt
        openssl x509 -req -in srv.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days -1 -extfile ext -out expired.crt
        openssl x509 -req -in srv.csr -signkey srv.key -days 30 -extfile ext -out own.crt
        chmod 600 srv.key";
    let mut shell = Command::new("sh");
    let made = shell.args(["-ec", script]).current_dir(folder).stdin(Stdio::null()).output().expect("sh");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}
