//! Somebody between us and the server who says that it has no TLS.

use super::server::{CANARY, Kind, Server};
use super::{cell, open, refusal};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The request for TLS: its length, and its code.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Answers every request for TLS with no, hands the rest on, and keeps what it was sent.
fn stripper(server: u16) -> (u16, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let heard: Arc<Mutex<Vec<u8>>> = Arc::default();
    let keep = Arc::clone(&heard);
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let keep = Arc::clone(&keep);
            thread::spawn(move || hand_on(client, server, &keep));
        }
    });
    (port, heard)
}

fn hand_on(mut client: TcpStream, server: u16, heard: &Mutex<Vec<u8>>) {
    let mut request = [0; 8];
    if client.read_exact(&mut request).is_err() {
        return;
    }
    let mut upstream = TcpStream::connect(("127.0.0.1", server)).expect("the server");
    if request == SSL_REQUEST {
        client.write_all(b"N").expect("an answer");
    } else {
        heard.lock().expect("a lock").extend(request);
        upstream.write_all(&request).expect("handed on");
    }
    let (mut back, mut from) =
        (client.try_clone().expect("a stream"), upstream.try_clone().expect("a stream"));
    thread::spawn(move || std::io::copy(&mut from, &mut back));
    let mut bytes = [0; 4096];
    while let Ok(length) = client.read(&mut bytes) {
        if length == 0 || upstream.write_all(&bytes[..length]).is_err() {
            break;
        }
        heard.lock().expect("a lock").extend(&bytes[..length]);
    }
}

#[test]
fn who_asks_for_encryption_says_nothing_to_somebody_who_denies_it() {
    let server = Server::start(Kind::Tls);
    let (port, heard) = stripper(server.port);
    let to = |rest: &str| format!("host=localhost port={port} user=ann password={CANARY} dbname=app {rest}");
    let root = server.file("ca.crt");
    for mode in
        ["require".into(), format!("verify-ca sslrootcert={root}"), format!("verify-full sslrootcert={root}")]
    {
        let said = refusal(&to(&format!("sslmode={mode}")));
        assert!(said.contains("the server has no TLS"), "{said}");
        assert!(heard.lock().expect("a lock").is_empty(), "sslmode={mode}: not even a user's name was sent");
    }
    // Who only prefers it goes on without, as libpq does; SCRAM keeps the password from being heard even so.
    let mut link = open(&to("sslmode=prefer")).expect("a connection");
    assert_eq!(cell(&mut link, "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()"), "false");
    let heard_then = heard.lock().expect("a lock").clone();
    assert!(!heard_then.is_empty());
    let text = String::from_utf8_lossy(&heard_then).into_owned();
    assert!(text.contains("SCRAM-SHA-256") && !text.contains(CANARY), "{text:?}");
    // And who needs the channel bound to the password does not.
    let said = refusal(&to("sslmode=prefer channel_binding=require"));
    assert!(!said.is_empty());
}
