//! [`AwsKms`] against the stand-in, and against moto where `PERIMETER_MOTO_ENDPOINT` names one.
#![allow(clippy::print_stdout, reason = "skips are for whoever reads the test's output")]
mod stand_in;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_kms::config::Credentials;
use aws_sdk_kms::error::ProvideErrorMetadata;
use aws_sdk_kms::primitives::Blob;
use perimeter_pseudonym::keyring as lifecycle;
use perimeter_pseudonym::kms::EncryptionContext;
use perimeter_pseudonym::transform::{CryptoHash, CryptoHashOptions};
use perimeter_pseudonym::{
    AwsKms, KeyCache, KeyError, KeyringFile, Kms, KmsError, LocalKms, Provider, Purpose, RootKey, SplitKey, create_keyring, unwrap_root, unwrap_split,
};
use stand_in::{KEY, Mode, OTHER_KEY, StandIn};
use std::time::Duration;

async fn config(endpoint: &str) -> SdkConfig {
    let retry = RetryConfig::standard().with_max_attempts(4).with_initial_backoff(Duration::from_millis(5)).with_max_backoff(Duration::from_millis(20));
    let timeout = TimeoutConfig::builder().operation_attempt_timeout(Duration::from_millis(1500)).operation_timeout(Duration::from_secs(20)).build();
    aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url(endpoint)
        .credentials_provider(Credentials::new("id", "secret", None, None, "test"))
        .retry_config(retry)
        .timeout_config(timeout)
        .load()
        .await
}

async fn kms(server: &StandIn, key_id: &str) -> AwsKms {
    AwsKms::new(&config(&server.endpoint).await, key_id)
}

fn token(root: &RootKey) -> Vec<u8> {
    let mut out = Vec::new();
    CryptoHash::new(root, "person", &CryptoHashOptions::default()).apply("39053344705", &mut out).unwrap();
    out
}

fn code(error: &KmsError) -> &str {
    match error {
        KmsError::Denied { code } | KmsError::Unavailable { code } | KmsError::Invalid { code } => code,
        _ => "",
    }
}

#[tokio::test]
async fn calls_are_counted_in_keys_not_in_rows() {
    let server = StandIn::start();
    let kms = kms(&server, KEY).await;
    let file = create_keyring(&kms, "person").await.unwrap();
    assert_eq!(server.calls(), ["GenerateDataKey", "Encrypt", "Encrypt", "GenerateDataKey"], "a root key for three purposes, and a split key");
    assert_eq!(file.provider(), &Provider::AwsKms { key_id: KEY.into() });
    let file = KeyringFile::parse(&file.to_bytes()).unwrap();
    let root = unwrap_root(&kms, &file, None, Purpose::Run).await.unwrap();
    let mut transform = CryptoHash::new(&root, "person", &CryptoHashOptions::default());
    let mut out = Vec::new();
    for row in 0..100_000u32 {
        out.clear();
        transform.apply(&row.to_string(), &mut out).unwrap();
    }
    assert_eq!(server.calls(), ["Decrypt"]);
    for purpose in Purpose::ALL {
        assert_eq!(token(&unwrap_root(&kms, &file, Some(1), purpose).await.unwrap()), token(&root), "every wrap holds the same key");
    }
}

#[tokio::test]
async fn many_tasks_and_columns_cost_one_call_for_each_version() {
    let server = StandIn::start();
    let kms = std::sync::Arc::new(kms(&server, KEY).await);
    let file = create_keyring(kms.as_ref(), "person").await.unwrap();
    let file = std::sync::Arc::new(lifecycle::rotate(kms.as_ref(), &file).await.unwrap());
    server.calls();
    let cache = std::sync::Arc::new(KeyCache::default());
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let (kms, file, cache) = (kms.clone(), file.clone(), cache.clone());
            tokio::spawn(async move { token(&cache.unwrap_root(kms.as_ref(), &file, Some(1 + task % 2), Purpose::Run).await.unwrap()) })
        })
        .collect();
    let mut tokens = std::collections::BTreeSet::new();
    for task in tasks {
        tokens.insert(task.await.unwrap());
    }
    assert_eq!(tokens.len(), 2);
    assert_eq!(server.calls(), ["Decrypt"; 2]);
    // What the file says counts, not what is known already.
    let retired = lifecycle::retire(&file, 1).unwrap();
    assert!(matches!(cache.unwrap_root(kms.as_ref(), &retired, Some(1), Purpose::Run).await, Err(KeyError::Retired { version: 1 })));
    // Another purpose is another permission, so it is asked for.
    cache.unwrap_root(kms.as_ref(), &retired, Some(1), Purpose::Reveal).await.unwrap();
    // A failure is not kept.
    let other = create_keyring(kms.as_ref(), "person").await.unwrap();
    server.calls();
    server.mode(Mode::Denied);
    assert!(cache.unwrap_root(kms.as_ref(), &other, Some(1), Purpose::Run).await.is_err());
    server.mode(Mode::Healthy);
    let root = cache.unwrap_root(kms.as_ref(), &other, Some(1), Purpose::Run).await.unwrap();
    assert!(!tokens.contains(&token(&root)), "a file of the same name has its own key");
    assert_eq!(server.calls(), ["Decrypt"; 2]);
}

#[tokio::test]
async fn rewrapping_leaves_the_key_inside_the_service() {
    let server = StandIn::start();
    let (old, new) = (kms(&server, KEY).await, kms(&server, OTHER_KEY).await);
    let file = lifecycle::rotate(&old, &create_keyring(&old, "person").await.unwrap()).await.unwrap();
    let before = token(&unwrap_root(&old, &file, Some(1), Purpose::Run).await.unwrap());
    server.calls();
    let rewrapped = lifecycle::rewrap(&old, &new, &file).await.unwrap();
    let calls = server.calls();
    // Two versions for three purposes, and the split key: each re-encrypted by the service and then checked.
    assert_eq!((calls.iter().filter(|call| *call == "ReEncrypt").count(), calls.iter().filter(|call| *call == "Decrypt").count()), (7, 7));
    assert_eq!(calls.len(), 14, "no key is made and none sent: {calls:?}");
    let rewrapped = KeyringFile::parse(&rewrapped.to_bytes()).unwrap();
    assert_eq!(rewrapped.provider(), &Provider::AwsKms { key_id: OTHER_KEY.into() });
    for purpose in Purpose::ALL {
        assert_eq!(token(&unwrap_root(&new, &rewrapped, Some(1), purpose).await.unwrap()), before, "tokens are unchanged");
        assert!(matches!(unwrap_root(&old, &rewrapped, Some(1), purpose).await, Err(KeyError::Kms(KmsError::Rejected))), "the old key opens nothing");
    }
    let place = |key: SplitKey| key.splitter("person").place(b"39053344705");
    assert_eq!(place(unwrap_split(&old, &file).await.unwrap()), place(unwrap_split(&new, &rewrapped).await.unwrap()));
    assert!(matches!(lifecycle::rewrap(&old, &new, &rewrapped).await, Err(KeyError::Kms(KmsError::Rejected))), "not with a key that did not wrap it");
    assert!(matches!(lifecycle::rotate(&old, &rewrapped).await, Err(KeyError::WrongProvider)), "a file has one KMS key");
    for (mode, denied) in [(Mode::Disabled, true), (Mode::PendingDeletion, true), (Mode::Denied, true), (Mode::Throttled(100), false)] {
        server.mode(mode);
        let error = lifecycle::rewrap(&old, &new, &file).await.unwrap_err();
        match error {
            KeyError::Kms(KmsError::Denied { .. }) => assert!(denied),
            KeyError::Kms(error) => assert!(!denied && error.is_throttling() && error.is_retryable()),
            other => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn a_local_keyring_moves_to_the_service() {
    let server = StandIn::start();
    let aws = kms(&server, KEY).await;
    let folder = tempfile::tempdir().unwrap();
    let local = LocalKms::create(&folder.path().join("person.key")).unwrap();
    let file = create_keyring(&local, "person").await.unwrap();
    let before = token(&unwrap_root(&local, &file, None, Purpose::Run).await.unwrap());
    let moved = lifecycle::rewrap(&local, &aws, &file).await.unwrap();
    assert_eq!(token(&unwrap_root(&aws, &moved, None, Purpose::Run).await.unwrap()), before);
    let back = lifecycle::rewrap(&aws, &local, &moved).await.unwrap();
    assert_eq!(token(&unwrap_root(&local, &back, None, Purpose::Run).await.unwrap()), before);
}

#[tokio::test]
async fn the_stand_in_refuses_to_reencrypt_what_is_not_its_own() {
    let server = StandIn::start();
    let client = aws_sdk_kms::Client::new(&config(&server.endpoint).await);
    let made = client.encrypt().key_id(KEY).plaintext(Blob::new(*b"root")).encryption_context("dataset", "tx").send().await.unwrap();
    let blob = made.ciphertext_blob.unwrap();
    let code = |source: &'static str, destination: &'static str, context: (&'static str, &'static str)| {
        let call = client.re_encrypt().ciphertext_blob(blob.clone()).source_key_id(source).destination_key_id(destination);
        let call = call.source_encryption_context(context.0, context.1).destination_encryption_context("dataset", "tx").send();
        async move { call.await.err().and_then(|error| error.code().map(str::to_owned)) }
    };
    assert_eq!(code(KEY, OTHER_KEY, ("dataset", "tx")).await, None);
    assert_eq!(code(KEY, OTHER_KEY, ("datasett", "x")).await.as_deref(), Some("InvalidCiphertextException"));
    assert_eq!(code(OTHER_KEY, KEY, ("dataset", "tx")).await.as_deref(), Some("IncorrectKeyException"));
    assert_eq!(code(KEY, "alias/nowhere", ("dataset", "tx")).await.as_deref(), Some("NotFoundException"));
}

#[tokio::test]
async fn what_the_service_refuses_is_sorted_by_who_has_to_act() {
    let server = StandIn::start();
    let kms = kms(&server, KEY).await;
    let file = create_keyring(&kms, "person").await.unwrap();
    server.calls();
    for (mode, expected) in
        [(Mode::Disabled, "DisabledException"), (Mode::PendingDeletion, "KMSInvalidStateException"), (Mode::Denied, "AccessDeniedException")]
    {
        server.mode(mode);
        let error = unwrap_root(&kms, &file, None, Purpose::Run).await.unwrap_err();
        let KeyError::Kms(KmsError::Denied { code }) = error else { panic!("{mode:?}: {error}") };
        assert_eq!(code, expected);
        assert_eq!(server.calls(), ["Decrypt"], "a denial is not tried again");
        assert!(matches!(create_keyring(&kms, "other").await, Err(KeyError::Kms(KmsError::Denied { .. }))));
        server.calls();
    }
    server.mode(Mode::Garbage);
    let error = unwrap_root(&kms, &file, None, Purpose::Run).await.unwrap_err();
    assert!(matches!(error, KeyError::Kms(KmsError::Unavailable { .. })), "{error}");
    server.mode(Mode::Healthy);
    let missing = AwsKms::new(&config(&server.endpoint).await, "alias/nowhere");
    let error = missing.generate_data_key(&context()).await.unwrap_err();
    assert!(matches!(&error, KmsError::Invalid { code } if code == "NotFoundException"), "{error}");
}

#[tokio::test]
async fn throttling_is_tried_again_and_bounded() {
    let server = StandIn::start();
    let kms = kms(&server, KEY).await;
    let file = create_keyring(&kms, "person").await.unwrap();
    server.calls();
    for mode in [Mode::Throttled(2), Mode::Broken(2)] {
        server.mode(mode);
        unwrap_root(&kms, &file, None, Purpose::Run).await.unwrap();
        assert_eq!(server.calls(), ["Decrypt"; 3]);
    }
    for (mode, expected) in [(Mode::Throttled(100), "ThrottlingException"), (Mode::Broken(100), "KMSInternalException")] {
        server.mode(mode);
        let error = unwrap_root(&kms, &file, None, Purpose::Run).await.unwrap_err();
        let KeyError::Kms(error @ KmsError::Unavailable { .. }) = &error else { panic!("{error}") };
        assert_eq!(code(error), expected);
        assert_eq!(server.calls(), ["Decrypt"; 4]);
    }
}

#[tokio::test]
async fn a_service_that_is_not_there_is_unavailable() {
    let server = StandIn::start();
    server.mode(Mode::Silent);
    let silent = AwsKms::new(&config(&server.endpoint).await.into_builder().retry_config(RetryConfig::disabled()).build(), KEY);
    let error = silent.generate_data_key(&context()).await.unwrap_err();
    assert!(matches!(&error, KmsError::Unavailable { code } if code == "timeout"), "{error}");
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let closed = AwsKms::new(&config(&format!("http://127.0.0.1:{port}")).await, KEY);
    let error = closed.generate_data_key(&context()).await.unwrap_err();
    assert!(matches!(&error, KmsError::Unavailable { code } if code == "unreachable"), "{error}");
}

#[tokio::test]
async fn cryptographic_refusals_are_one_opaque_variant() {
    let server = StandIn::start();
    let kms = kms(&server, KEY).await;
    let made = kms.generate_data_key(&context()).await.unwrap();
    assert_eq!(kms.decrypt(&made.wrapped, &context()).await.unwrap(), made.root);
    let mut flipped = made.wrapped.clone();
    flipped[0] ^= 1;
    let other_version = EncryptionContext { version: 2, ..context() };
    let other_purpose = EncryptionContext { purpose: Purpose::Reveal, ..context() };
    let other_keyring = EncryptionContext { keyring: "card".into(), ..context() };
    let other_key = AwsKms::new(&config(&server.endpoint).await, OTHER_KEY);
    for error in [
        kms.decrypt(&flipped, &context()).await.unwrap_err(),
        kms.decrypt(&made.wrapped, &other_version).await.unwrap_err(),
        kms.decrypt(&made.wrapped, &other_purpose).await.unwrap_err(),
        kms.decrypt(&made.wrapped, &other_keyring).await.unwrap_err(),
        other_key.decrypt(&made.wrapped, &context()).await.unwrap_err(),
    ] {
        assert!(matches!(error, KmsError::Rejected), "{error}");
        assert_eq!(error.to_string(), "KMS rejected the wrapped key");
    }
}

/// The stand-in itself: what it is for is to refuse.
#[tokio::test]
async fn the_stand_in_refuses_contexts_that_concatenate_to_the_same_bytes() {
    let server = StandIn::start();
    let client = aws_sdk_kms::Client::new(&config(&server.endpoint).await);
    let made = client.encrypt().key_id(KEY).plaintext(Blob::new(*b"root")).encryption_context("dataset", "tx").encryption_context("column", "cpf").send();
    let blob = made.await.unwrap().ciphertext_blob.unwrap();
    let decrypt = |one: (&'static str, &'static str), two: (&'static str, &'static str)| {
        client.decrypt().key_id(KEY).ciphertext_blob(blob.clone()).encryption_context(one.0, one.1).encryption_context(two.0, two.1).send()
    };
    assert_eq!(decrypt(("dataset", "tx"), ("column", "cpf")).await.unwrap().plaintext.unwrap().as_ref(), b"root");
    let error = decrypt(("datasett", "x"), ("columnc", "pf")).await.unwrap_err();
    assert_eq!(error.code(), Some("InvalidCiphertextException"));
    let error = client.decrypt().ciphertext_blob(blob.clone()).send().await.unwrap_err();
    assert_eq!(error.code(), Some("ValidationException"), "a key id must be named");
    let error = client.decrypt().key_id(OTHER_KEY).ciphertext_blob(blob).send().await.unwrap_err();
    assert_eq!(error.code(), Some("IncorrectKeyException"));
}

#[tokio::test]
async fn debug_and_errors_show_no_credentials() {
    let server = StandIn::start();
    let kms = kms(&server, KEY).await;
    assert_eq!(format!("{kms:?}"), format!("AwsKms {{ key_id: {KEY:?}, .. }}"));
    server.mode(Mode::Denied);
    let error = kms.generate_data_key(&context()).await.unwrap_err();
    assert!(!format!("{error:?} {error}").contains("a message"), "the service's own words can quote the request");
}

fn context() -> EncryptionContext {
    EncryptionContext { keyring: "person".into(), version: 1, purpose: Purpose::Run }
}

/// The SDK against an emulator that was not written for us. None of its mistakes is asserted.
#[tokio::test]
async fn moto() {
    let Ok(endpoint) = std::env::var("PERIMETER_MOTO_ENDPOINT") else {
        println!("skipped: PERIMETER_MOTO_ENDPOINT names no moto server");
        return;
    };
    let config = config(&endpoint).await;
    let key = aws_sdk_kms::Client::new(&config).create_key().send().await.unwrap().key_metadata.unwrap().key_id;
    let kms = AwsKms::new(&config, &key);
    let file = create_keyring(&kms, "person").await.unwrap();
    let file = KeyringFile::parse(&file.to_bytes()).unwrap();
    let run = unwrap_root(&kms, &file, None, Purpose::Run).await.unwrap();
    let reveal = unwrap_root(&kms, &file, Some(1), Purpose::Reveal).await.unwrap();
    assert_eq!(token(&run), token(&reveal));
    let made = kms.generate_data_key(&context()).await.unwrap();
    let other = EncryptionContext { purpose: Purpose::Serve, ..context() };
    assert!(matches!(kms.decrypt(&made.wrapped, &other).await, Err(KmsError::Rejected)));
    let mut flipped = made.wrapped.clone();
    *flipped.last_mut().unwrap() ^= 1;
    assert!(matches!(kms.decrypt(&flipped, &context()).await, Err(KmsError::Rejected)));
    let nowhere = AwsKms::new(&config, "1234abcd-12ab-34cd-56ef-1234567890ab");
    assert!(matches!(nowhere.generate_data_key(&context()).await, Err(KmsError::Invalid { .. })));
}

/// Endpoint, region and credentials from the environment: in a process of its own, since a test cannot change its own safely.
#[test]
fn the_environment_is_honoured() {
    let server = StandIn::start();
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "from_environment_in_a_child", "--ignored"])
        .envs([("AWS_ENDPOINT_URL", server.endpoint.as_str()), ("AWS_REGION", "us-east-1"), ("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")])
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(server.calls(), ["GenerateDataKey"]);
}

#[tokio::test]
#[ignore = "run by the_environment_is_honoured"]
async fn from_environment_in_a_child() {
    AwsKms::from_environment(KEY).await.generate_data_key(&context()).await.unwrap();
}
