//! A way to a server that can be cut.

use crate::support::server::socket_folder;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use tempfile::TempDir;

/// Listens in a folder of its own and passes everything on; a cut ends all connections, not the next ones.
pub struct Proxy {
    folder: TempDir,
    open: Arc<Mutex<Vec<UnixStream>>>,
}

impl Proxy {
    /// To the server with its socket in this folder.
    pub fn to(server: &Path) -> Proxy {
        let folder = socket_folder("claimtop-cut.");
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("a socket");
        let open = Arc::new(Mutex::new(Vec::new()));
        let (kept, server): (_, PathBuf) = (Arc::clone(&open), server.join(".s.PGSQL.5432"));
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                // A server that is down refuses; so does this.
                let Ok(far) = UnixStream::connect(&server) else { continue };
                let twice = |stream: &UnixStream| stream.try_clone().expect("a handle");
                kept.lock().expect("the list").extend([twice(&near), twice(&far)]);
                for (mut from, mut to) in [(twice(&near), twice(&far)), (far, near)] {
                    thread::spawn(move || {
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Proxy { folder, open }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn cut(&self) {
        for stream in self.open.lock().expect("the list").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}
