//! The OpenAPI document says what the server does.

use serde_json::{Value as Json, json};

use super::Server;
use crate::support::engine::Engine;

/// Every request of the document is answered as it says; schemathesis tries it harder: see `tests/api`.
#[test]
fn every_path_of_the_document_is_there_and_asks_for_a_key() {
    let server = Server::on(Engine::Sqlite);
    let document = server.get("/api/openapi.json").json();
    let paths = document["paths"].as_object().expect("paths");
    assert_eq!(paths.len(), 11);
    for (path, methods) in paths {
        for method in methods.as_object().expect("methods").keys() {
            let mut client = server.client();
            client.key.clear();
            let path = path.replace("{id}", "1");
            let answer = client.send(&method.to_uppercase(), &path, "{}");
            assert_eq!(answer.status, 401, "{method} {path}");
            let told = &methods[method]["responses"];
            let known = server.client().send(&method.to_uppercase(), &path, "{}");
            assert!(told.get(known.status.to_string()).is_some(), "{method} {path}: {}", known.status);
        }
    }
}

#[test]
fn every_reference_of_the_document_leads_somewhere() {
    let document: Json =
        serde_json::from_str(include_str!("../../../assets/api/openapi.json")).expect("JSON");
    let mut open = vec![document.clone()];
    let mut references = 0;
    while let Some(value) = open.pop() {
        match value {
            Json::Object(all) => {
                if let Some(reference) = all.get("$ref").and_then(Json::as_str) {
                    let target = reference.strip_prefix('#').and_then(|path| document.pointer(path));
                    assert!(target.is_some(), "{reference}");
                    references += 1;
                }
                open.extend(all.into_iter().map(|(_, value)| value));
            }
            Json::Array(all) => open.extend(all),
            _ => {}
        }
    }
    assert!(references > 30, "{references}");
    assert_eq!(document["openapi"], json!("3.1.0"));
}
