//! Starts `tests/support/macie.py` and ends it with the test.
#![allow(clippy::print_stdout, reason = "skips are for whoever reads the test's output")]
use super::super::MacieClient;
use crate::store::Stores;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_macie2::config::Credentials;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Programs that run and nobody uses. They end by themselves when the tests do, for their stdin ends then.
static IDLE: Mutex<Vec<Program>> = Mutex::new(Vec::new());

struct Program {
    endpoint: String,
    process: Child,
}

/// The stand-in with a script of its own; one at a time uses a program.
pub(super) struct StandIn {
    pub(super) endpoint: String,
    /// What the results bucket holds.
    pub(super) results: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    program: Option<Program>,
}

impl StandIn {
    /// `None`: no Python here.
    pub(super) fn start(script: &Value) -> Option<Self> {
        Self::start_with(script, None)
    }

    /// Results go to an S3 too.
    pub(super) fn start_with(script: &Value, s3: Option<&str>) -> Option<Self> {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(program) = idle.or_else(Program::start) else {
            println!("skipped: no python3 to run the stand-in for Amazon Macie");
            return None;
        };
        let results = tempfile::tempdir().unwrap();
        let body = json!({"script": script, "results": results.path(), "s3": s3}).to_string();
        let (status, _, answer) = call(&program.endpoint, "POST", "/stand-in/script", "", &body);
        assert_eq!(status, 200, "{answer}");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Some(Self { endpoint: program.endpoint.clone(), results, runtime, program: Some(program) })
    }

    pub(super) fn block_on<F: Future>(&self, work: impl FnOnce(MacieClient, Stores) -> F) -> F::Output {
        let config = self.runtime.block_on(config(&self.endpoint));
        self.runtime.block_on(work(MacieClient::new(&config), Stores::new(self.runtime.handle().clone())))
    }

    /// Every request so far: operation and members.
    pub(super) fn requests(&self) -> Vec<(String, Value)> {
        serde_json::from_str(&call(&self.endpoint, "GET", "/stand-in/requests", "", "").2).unwrap()
    }

    pub(super) fn operations(&self) -> Vec<String> {
        self.requests().into_iter().map(|(operation, _)| operation).collect()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).extend(self.program.take());
    }
}

impl Program {
    fn start() -> Option<Self> {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/support/macie.py");
        let mut process = Command::new("python3").arg(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let mut endpoint = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut endpoint).unwrap();
        assert!(endpoint.starts_with("http://"), "the stand-in started");
        Some(Self { endpoint: endpoint.trim().to_owned(), process })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A request without the SDK: status, error code, body.
pub(super) fn call(endpoint: &str, method: &str, path: &str, signed: &str, body: &str) -> (u16, String, String) {
    let address = endpoint.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: {signed}\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let code = head.lines().find_map(|line| line.strip_prefix("x-amzn-ErrorType: ")).unwrap_or_default();
    (head[9..12].parse().unwrap(), code.to_owned(), body.to_owned())
}

/// As from the environment, without its waits.
pub(super) async fn config(endpoint: &str) -> SdkConfig {
    let retry = RetryConfig::standard().with_max_attempts(3).with_initial_backoff(Duration::from_millis(2)).with_max_backoff(Duration::from_millis(5));
    let timeout = TimeoutConfig::builder().operation_attempt_timeout(Duration::from_secs(10)).operation_timeout(Duration::from_secs(20)).build();
    aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url(endpoint)
        .credentials_provider(Credentials::new("id", "secret", None, None, "test"))
        .retry_config(retry)
        .timeout_config(timeout)
        .load()
        .await
}
