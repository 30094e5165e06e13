//! Starts `tests/support/macie.py` and ends it with the test.
#![allow(clippy::print_stdout, reason = "skips are for whoever reads the test's output")]
use super::super::MacieClient;
use crate::store::Stores;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_macie2::config::Credentials;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(super) struct StandIn {
    pub(super) endpoint: String,
    /// What the results bucket holds.
    pub(super) results: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    process: Child,
}

impl StandIn {
    /// `None`: no Python here.
    pub(super) fn start(script: &Value) -> Option<Self> {
        Self::start_with(script, &[])
    }

    pub(super) fn start_with(script: &Value, arguments: &[&str]) -> Option<Self> {
        let results = tempfile::tempdir().unwrap();
        let path = results.path().join("script.json");
        std::fs::write(&path, serde_json::to_vec(script).unwrap()).unwrap();
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/support/macie.py");
        let started = Command::new("python3")
            .args([program, path.to_str().unwrap(), "--results", results.path().to_str().unwrap()])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut process) = started else {
            println!("skipped: no python3 to run the stand-in for Amazon Macie");
            return None;
        };
        let mut endpoint = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut endpoint).unwrap();
        assert!(endpoint.starts_with("http://"), "the stand-in started");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Some(Self { endpoint: endpoint.trim().to_owned(), results, runtime, process })
    }

    pub(super) fn block_on<F: Future>(&self, work: impl FnOnce(MacieClient, Stores) -> F) -> F::Output {
        let config = self.runtime.block_on(config(&self.endpoint));
        self.runtime.block_on(work(MacieClient::new(&config), Stores::new(self.runtime.handle().clone())))
    }

    /// Every request so far: operation and members.
    pub(super) fn requests(&self) -> Vec<(String, Value)> {
        let address = self.endpoint.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /stand-in/requests HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    pub(super) fn operations(&self) -> Vec<String> {
        self.requests().into_iter().map(|(operation, _)| operation).collect()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // It ends by itself when its stdin does; this is for one that hangs.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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
