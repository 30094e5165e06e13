//! A stand-in for AWS KMS over HTTP that refuses what the real one refuses and moto accepts: disabled and deleted keys, a wrong key id,
//! contexts that only concatenate to the same bytes. It can also deny, throttle, fail and stay silent. Nothing in it is cryptography.
#![allow(dead_code, reason = "each test file uses its part")]
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How the service behaves from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Healthy,
    Disabled,
    PendingDeletion,
    Denied,
    /// So many calls are throttled, the next ones answered.
    Throttled(u32),
    /// So many calls fail inside the service.
    Broken(u32),
    /// Takes the request and never answers.
    Silent,
    /// Answers with something that is no answer.
    Garbage,
}

struct Wrapped {
    key: String,
    context: BTreeMap<String, String>,
    plaintext: Vec<u8>,
}

struct State {
    mode: Mode,
    calls: Vec<String>,
    blobs: HashMap<Vec<u8>, Wrapped>,
    made: u8,
}

#[derive(Clone)]
pub struct StandIn {
    pub endpoint: String,
    state: Arc<Mutex<State>>,
}

/// The two keys that exist, by alias.
pub const KEY: &str = "alias/perimeter-test";
pub const OTHER_KEY: &str = "alias/perimeter-other";

impl StandIn {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State { mode: Mode::Healthy, calls: Vec::new(), blobs: HashMap::new(), made: 0 }));
        let served = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), served) = (stream, served.clone()) else { return };
                std::thread::spawn(move || serve(&stream, &served));
            }
        });
        Self { endpoint, state }
    }

    pub fn mode(&self, mode: Mode) {
        self.state.lock().unwrap().mode = mode;
    }

    /// The operations called since the last time, in order.
    pub fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().calls)
    }
}

fn serve(stream: &TcpStream, state: &Mutex<State>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut target, mut line) = (0, String::new(), String::new());
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            if line.trim_end().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "x-amz-target" => target = value.trim().trim_start_matches("TrentService.").to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let request: Value = serde_json::from_slice(&body).ok()?;
    let (status, answer) = answer(&mut state.lock().unwrap(), &target, &request)?;
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status} x\r\nContent-Type: application/x-amz-json-1.1\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}", answer.len())
        .ok()
}

/// `None` leaves the caller without an answer.
fn answer(state: &mut State, operation: &str, request: &Value) -> Option<(u16, String)> {
    state.calls.push(operation.to_owned());
    let error = |status, code: &str| Some((status, json!({"__type": code, "message": "a message"}).to_string()));
    match &mut state.mode {
        Mode::Healthy | Mode::Throttled(0) | Mode::Broken(0) => {}
        Mode::Disabled => return error(400, "DisabledException"),
        Mode::PendingDeletion => return error(400, "KMSInvalidStateException"),
        Mode::Denied => return error(400, "AccessDeniedException"),
        Mode::Throttled(left) => {
            *left -= 1;
            return error(400, "ThrottlingException");
        }
        Mode::Broken(left) => {
            *left -= 1;
            return error(500, "KMSInternalException");
        }
        Mode::Silent => {
            std::thread::sleep(Duration::from_secs(2));
            return None;
        }
        Mode::Garbage => return Some((200, "{\"Plaintext\":\"AAAA\",\"CiphertextBlob\":\"\"}".into())),
    }
    if operation == "ReEncrypt" {
        return reencrypt(state, request);
    }
    // Real KMS finds the key in the blob when there is no id. Naming it is what the design asks for, so this one insists.
    let Some(key) = request["KeyId"].as_str() else { return error(400, "ValidationException") };
    if ![KEY, OTHER_KEY].contains(&key) {
        return error(400, "NotFoundException");
    }
    let context: BTreeMap<String, String> = serde_json::from_value(request["EncryptionContext"].clone()).unwrap_or_default();
    let decoded = |name: &str| STANDARD.decode(request[name].as_str().unwrap_or_default()).unwrap_or_default();
    let plaintext = match operation {
        "Decrypt" => {
            return match state.blobs.get(&decoded("CiphertextBlob")) {
                None => error(400, "InvalidCiphertextException"),
                Some(wrapped) if wrapped.key != key => error(400, "IncorrectKeyException"),
                Some(wrapped) if wrapped.context != context => error(400, "InvalidCiphertextException"),
                Some(wrapped) => Some((200, json!({"KeyId": key, "Plaintext": STANDARD.encode(&wrapped.plaintext)}).to_string())),
            };
        }
        "GenerateDataKey" if request["KeySpec"] == "AES_256" => vec![state.made ^ 0x5A; 32],
        "Encrypt" => decoded("Plaintext"),
        _ => return error(400, "UnknownOperationException"),
    };
    state.made += 1;
    let blob = format!("blob {} of {key}", state.made).into_bytes();
    let mut reply = json!({"KeyId": key, "CiphertextBlob": STANDARD.encode(&blob)});
    if operation == "GenerateDataKey" {
        reply["Plaintext"] = STANDARD.encode(&plaintext).into();
    }
    state.blobs.insert(blob, Wrapped { key: key.to_owned(), context, plaintext });
    Some((200, reply.to_string()))
}

/// Source and destination are both named, for the same reason.
fn reencrypt(state: &mut State, request: &Value) -> Option<(u16, String)> {
    let error = |status, code: &str| Some((status, json!({"__type": code, "message": "a message"}).to_string()));
    let (Some(source), Some(destination)) = (request["SourceKeyId"].as_str(), request["DestinationKeyId"].as_str()) else {
        return error(400, "ValidationException");
    };
    if [source, destination].iter().any(|key| ![KEY, OTHER_KEY].contains(key)) {
        return error(400, "NotFoundException");
    }
    let context = |name: &str| -> BTreeMap<String, String> { serde_json::from_value(request[name].clone()).unwrap_or_default() };
    let blob = STANDARD.decode(request["CiphertextBlob"].as_str().unwrap_or_default()).unwrap_or_default();
    let plaintext = match state.blobs.get(&blob) {
        None => return error(400, "InvalidCiphertextException"),
        Some(wrapped) if wrapped.key != source => return error(400, "IncorrectKeyException"),
        Some(wrapped) if wrapped.context != context("SourceEncryptionContext") => return error(400, "InvalidCiphertextException"),
        Some(wrapped) => wrapped.plaintext.clone(),
    };
    state.made += 1;
    let blob = format!("blob {} of {destination}", state.made).into_bytes();
    let reply = json!({"KeyId": destination, "SourceKeyId": source, "CiphertextBlob": STANDARD.encode(&blob)});
    state.blobs.insert(blob, Wrapped { key: destination.to_owned(), context: context("DestinationEncryptionContext"), plaintext });
    Some((200, reply.to_string()))
}
