//! Keyring files and the local provider.
use async_trait::async_trait;
use perimeter_pseudonym::keyring::State;
use perimeter_pseudonym::keyring::{add_split_key, destroy, retire, rewrap, rotate};
use perimeter_pseudonym::kms::{DataKey, EncryptionContext};
use perimeter_pseudonym::reveal::{Revealer, Reversible, unwrap_reveal};
use perimeter_pseudonym::transform::{CryptoDeterministic, CryptoHash, CryptoHashOptions, TokenRefused};
use perimeter_pseudonym::{
    KeyCache, KeyError, KeyringError, KeyringFile, Kms, KmsError, LocalKms, Provider, Purpose, RootKey, Secret, create_keyring, unwrap_root, unwrap_split,
};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Mutex;

fn local(folder: &Path) -> LocalKms {
    LocalKms::open_or_create(&folder.join("person.keyring.key")).unwrap()
}

fn token(root: &RootKey) -> Vec<u8> {
    let mut out = Vec::new();
    CryptoHash::new(root, "person", &CryptoHashOptions::default()).apply("39053344705", &mut out).unwrap();
    out
}

fn edited(file: &KeyringFile, edit: impl FnOnce(&mut Value)) -> Result<KeyringFile, KeyringError> {
    let mut value: Value = serde_json::from_slice(&file.to_bytes()).unwrap();
    edit(&mut value);
    KeyringFile::parse(value.to_string().as_bytes())
}

#[tokio::test]
async fn a_keyring_survives_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = create_keyring(&local(folder.path()), "person").await.unwrap();
    assert_eq!((file.id(), file.provider(), file.versions().len()), ("person", &Provider::Local, 1));
    let version = file.newest_active().unwrap();
    assert_eq!((version.version(), version.state()), (1, State::Active));
    assert_eq!(version.purposes().collect::<Vec<_>>(), Purpose::ALL);
    let read = KeyringFile::parse(&file.to_bytes()).unwrap();
    assert_eq!(read, file);
    assert_eq!(read.to_bytes(), file.to_bytes());
    // The provider is opened anew, as another process would.
    let root = unwrap_root(&local(folder.path()), &read, None, Purpose::Run).await.unwrap();
    assert_eq!((root.version(), root.keyring()), (1, "person"));
    assert_eq!(token(&root), token(&unwrap_root(&local(folder.path()), &read, Some(1), Purpose::Reveal).await.unwrap()));
    let again = create_keyring(&local(folder.path()), "person").await.unwrap();
    assert_ne!(token(&root), token(&unwrap_root(&local(folder.path()), &again, None, Purpose::Run).await.unwrap()), "every keyring has its own key");
    for id in ["", "a b", "pers\u{f6}n", &"x".repeat(129), "a/b"] {
        assert!(matches!(create_keyring(&local(folder.path()), id).await, Err(KeyError::BadId)), "{id}");
    }
}

/// Remembers what it was given, and can lie.
struct Witness {
    inner: LocalKms,
    root: Mutex<Vec<u8>>,
    lies: bool,
}

#[async_trait]
impl Kms for Witness {
    fn provider(&self) -> Provider {
        self.inner.provider()
    }

    async fn generate_data_key(&self, context: &EncryptionContext) -> Result<DataKey, KmsError> {
        let made = self.inner.generate_data_key(context).await?;
        // All of them: the root key and the split key.
        self.root.lock().unwrap().extend(made.root.expose());
        Ok(made)
    }

    async fn encrypt(&self, root: &Secret<32>, context: &EncryptionContext) -> Result<Vec<u8>, KmsError> {
        self.inner.encrypt(root, context).await
    }

    async fn decrypt(&self, wrapped: &[u8], context: &EncryptionContext) -> Result<Secret<32>, KmsError> {
        let root = self.inner.decrypt(wrapped, context).await?;
        Ok(if self.lies { Secret::random().unwrap() } else { root })
    }
}

#[tokio::test]
async fn the_files_hold_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let witness = Witness { inner: local(folder.path()), root: Mutex::default(), lies: false };
    let file = create_keyring(&witness, "person").await.unwrap();
    let root = witness.root.lock().unwrap().clone();
    let mut written = file.to_bytes();
    written.extend(format!("{file:?} {witness:?}", witness = witness.inner).into_bytes());
    written.extend(fs::read(folder.path().join("person.keyring.key")).unwrap());
    let cache = KeyCache::default();
    let run = cache.unwrap_root(&witness, &file, None, Purpose::Run).await.unwrap();
    let split = unwrap_split(&witness, &file).await.unwrap();
    let reveal = unwrap_reveal(&witness, &file, 1).await.unwrap();
    written.extend(format!("{cache:?} {run:?} {split:?} {:?} {reveal:?} {:?}", split.splitter("person"), file.view()).into_bytes());
    let revealer = Revealer::new(&[reveal], "person", &Reversible::CryptoDeterministic { canonicalize: Vec::new() }).unwrap();
    written.extend(format!("{revealer:?}").into_bytes());
    use base64::Engine;
    assert_eq!(root.len(), 64);
    for key in root.chunks(32) {
        let base64 = base64::engine::general_purpose::STANDARD.encode(key);
        // Base64, hexadecimal, raw, and a list of bytes: eight bytes would be enough.
        let listed = format!("{:?}", &key[..8]);
        for needle in [&key[..8], hex::encode(&key[..8]).as_bytes(), &base64.as_bytes()[4..14], listed.trim_matches(['[', ']']).as_bytes()] {
            assert!(!written.windows(needle.len()).any(|window| window == needle));
        }
    }
    let key = fs::read_to_string(folder.path().join("person.keyring.key")).unwrap();
    assert!(!format!("{:?}", witness.inner).contains(&key[..8]));
}

#[tokio::test]
async fn the_commitment_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = create_keyring(&local(folder.path()), "person").await.unwrap();
    let liar = Witness { inner: local(folder.path()), root: Mutex::default(), lies: true };
    assert!(matches!(unwrap_root(&liar, &file, None, Purpose::Run).await, Err(KeyError::Commitment { version: 1 })));
    let other = create_keyring(&local(folder.path()), "person").await.unwrap();
    let other: Value = serde_json::from_slice(&other.to_bytes()).unwrap();
    let forged = edited(&file, |file| file["versions"][0]["commitment"] = other["versions"][0]["commitment"].clone()).unwrap();
    assert!(matches!(unwrap_root(&local(folder.path()), &forged, None, Purpose::Run).await, Err(KeyError::Commitment { version: 1 })));
    // Another keyring's wrap in the same place is authentic, and still not the key that was committed to.
    let forged = edited(&file, |file| file["versions"][0]["wrapped"] = other["versions"][0]["wrapped"].clone()).unwrap();
    assert!(matches!(unwrap_root(&local(folder.path()), &forged, None, Purpose::Run).await, Err(KeyError::Commitment { version: 1 })));
}

#[tokio::test]
async fn wraps_are_bound_to_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let kms = local(folder.path());
    let file = create_keyring(&kms, "person").await.unwrap();
    let swapped = edited(&file, |file| file["versions"][0]["wrapped"]["reveal"] = file["versions"][0]["wrapped"]["run"].clone()).unwrap();
    assert!(matches!(unwrap_root(&kms, &swapped, None, Purpose::Reveal).await, Err(KeyError::Kms(KmsError::Rejected))));
    let renumbered = edited(&file, |file| {
        file["versions"][0]["version"] = 2.into();
        file["versions"][0]["encryptionContext"]["keyVersion"] = "2".into();
    });
    assert!(matches!(unwrap_root(&kms, &renumbered.unwrap(), None, Purpose::Run).await, Err(KeyError::Kms(KmsError::Rejected))));
    let renamed = edited(&file, |file| {
        file["id"] = "card".into();
        file["versions"][0]["encryptionContext"]["keyring"] = "card".into();
    });
    assert!(matches!(unwrap_root(&kms, &renamed.unwrap(), None, Purpose::Run).await, Err(KeyError::Kms(KmsError::Rejected))));
    let stranger = LocalKms::create(&folder.path().join("stranger.key")).unwrap();
    assert!(matches!(unwrap_root(&stranger, &file, None, Purpose::Run).await, Err(KeyError::Kms(KmsError::Rejected))));
}

#[tokio::test]
async fn states_and_versions() {
    let folder = tempfile::tempdir().unwrap();
    let kms = local(folder.path());
    let file = create_keyring(&kms, "person").await.unwrap();
    assert!(matches!(unwrap_root(&kms, &file, Some(2), Purpose::Run).await, Err(KeyError::NoSuchVersion { version: 2 })));
    let retired = edited(&file, |file| file["versions"][0]["state"] = "retired".into()).unwrap();
    assert!(matches!(unwrap_root(&kms, &retired, None, Purpose::Run).await, Err(KeyError::NoActiveVersion)));
    assert!(matches!(unwrap_root(&kms, &retired, Some(1), Purpose::Run).await, Err(KeyError::Retired { version: 1 })));
    unwrap_root(&kms, &retired, Some(1), Purpose::Reveal).await.unwrap();
    let destroyed = edited(&file, |file| {
        file["versions"][0]["state"] = "destroyed".into();
        file["versions"][0]["wrapped"] = json!({});
    });
    assert!(matches!(unwrap_root(&kms, &destroyed.unwrap(), Some(1), Purpose::Reveal).await, Err(KeyError::Destroyed { version: 1 })));
    let partial = edited(&file, |file| file["versions"][0]["wrapped"] = json!({"run": file["versions"][0]["wrapped"]["run"].clone()})).unwrap();
    assert!(matches!(unwrap_root(&kms, &partial, None, Purpose::Reveal).await, Err(KeyError::NotWrapped { version: 1, purpose: Purpose::Reveal })));
    let aws = edited(&file, |file| {
        file["provider"] = "awsKms".into();
        file["keyId"] = "alias/x".into();
    });
    assert!(matches!(unwrap_root(&kms, &aws.unwrap(), None, Purpose::Run).await, Err(KeyError::WrongProvider)));
}

#[tokio::test]
async fn malformed_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = create_keyring(&local(folder.path()), "person").await.unwrap();
    for bytes in [&b""[..], b"{", b"[]", b"null", b"\xff", b"{\"apiVersion\": \"perimeter/v1\"}"] {
        assert!(matches!(KeyringFile::parse(bytes), Err(KeyringError::Malformed { .. })));
    }
    assert_eq!(KeyringFile::parse(b"{\n  \"secretName\": 1}").unwrap_err().to_string(), "the keyring file is malformed at line 2, column 14");
    type Edit = fn(&mut Value);
    let edits: [(Edit, bool); 14] = [
        (|file| file["extra"] = 1.into(), false),
        (|file| file["versions"][0]["extra"] = 1.into(), false),
        (|file| file["versions"][0]["state"] = "open".into(), false),
        (|file| file["versions"][0]["version"] = (-1).into(), false),
        (|file| file["apiVersion"] = "perimeter/v2".into(), true),
        (|file| file["kind"] = "Job".into(), true),
        (|file| file["id"] = "card".into(), true),
        (|file| file["versions"] = json!([]), true),
        (|file| file["versions"] = json!([file["versions"][0], file["versions"][0]]), true),
        (|file| file["versions"][0]["encryptionContext"]["keyVersion"] = "2".into(), true),
        (|file| file["versions"][0]["created"] = "yesterday".into(), true),
        (|file| file["versions"][0]["wrapped"]["run"] = "?".into(), true),
        (|file| file["versions"][0]["commitment"] = "AAAA".into(), true),
        (|file| file["versions"][0]["state"] = "destroyed".into(), true),
    ];
    for (index, (edit, parses)) in edits.into_iter().enumerate() {
        match edited(&file, edit).unwrap_err() {
            KeyringError::Malformed { .. } => assert!(!parses, "edit {index}"),
            KeyringError::Invalid { .. } => assert!(parses, "edit {index}"),
            other => panic!("edit {index}: {other}"),
        }
    }
}

#[tokio::test]
async fn rotate_retire_destroy() {
    let folder = tempfile::tempdir().unwrap();
    let kms = local(folder.path());
    let first = create_keyring(&kms, "person").await.unwrap();
    let second = rotate(&kms, &first).await.unwrap();
    assert_eq!(second.version(1), first.version(1), "a version does not change when there is another");
    assert_eq!(second.versions().iter().map(|entry| (entry.version(), entry.state())).collect::<Vec<_>>(), [(1, State::Active), (2, State::Active)]);
    let of = async |file: &KeyringFile, version| token(&unwrap_root(&kms, file, version, Purpose::Run).await.unwrap());
    assert_eq!(of(&second, Some(1)).await, of(&first, None).await);
    assert_eq!(of(&second, None).await, of(&second, Some(2)).await, "the newest is taken where none is named");
    assert_ne!(of(&second, Some(1)).await, of(&second, Some(2)).await);

    // A reversible token names its version, so old ones are revealed after rotation and retirement.
    let root = unwrap_root(&kms, &second, Some(1), Purpose::Run).await.unwrap();
    let mut old = Vec::new();
    CryptoDeterministic::new(&root, "person", &[]).apply("Ana", &mut old).unwrap();
    let retired = retire(&second, 1).unwrap();
    assert_eq!(retire(&retired, 1).unwrap(), retired);
    assert!(matches!(unwrap_root(&kms, &retired, Some(1), Purpose::Run).await, Err(KeyError::Retired { version: 1 })));
    let keys = [unwrap_reveal(&kms, &retired, 1).await.unwrap(), unwrap_reveal(&kms, &retired, 2).await.unwrap()];
    let transform = Reversible::CryptoDeterministic { canonicalize: Vec::new() };
    let mut out = Vec::new();
    Revealer::new(&keys, "person", &transform).unwrap().reveal(std::str::from_utf8(&old).unwrap(), &mut out).unwrap();
    assert_eq!(out, b"Ana");

    assert!(matches!(destroy(&second, 1, "asked for"), Err(KeyError::StillActive { version: 1 })), "first it is retired");
    for why in ["", "  ", "two\nlines", &"x".repeat(501)] {
        assert!(matches!(destroy(&retired, 1, why), Err(KeyError::BadReason)), "{why}");
    }
    let destroyed = destroy(&retired, 1, "erasure request 2026-114").unwrap();
    let entry = destroyed.version(1).unwrap();
    assert_eq!((entry.state(), entry.purposes().count(), entry.tombstone().unwrap().why.as_str()), (State::Destroyed, 0, "erasure request 2026-114"));
    for purpose in Purpose::ALL {
        assert!(matches!(unwrap_root(&kms, &destroyed, Some(1), purpose).await, Err(KeyError::Destroyed { version: 1 })));
    }
    let read = KeyringFile::parse(&destroyed.to_bytes()).unwrap();
    assert_eq!(read, destroyed);
    let (wraps, text) = (serde_json::from_slice::<Value>(&retired.to_bytes()).unwrap(), String::from_utf8(destroyed.to_bytes()).unwrap());
    for purpose in ["run", "reveal", "serve"] {
        assert!(!text.contains(wraps["versions"][0]["wrapped"][purpose].as_str().unwrap()), "no wrap is left in the file");
    }
    // The other version goes on, and the number is never used again.
    assert_eq!(of(&destroyed, None).await, of(&second, Some(2)).await);
    assert_eq!(rotate(&kms, &destroyed).await.unwrap().versions().last().unwrap().version(), 3);
    assert!(matches!((destroy(&destroyed, 1, "again"), retire(&destroyed, 1)), (Err(KeyError::Destroyed { .. }), Err(KeyError::Destroyed { .. }))));
    assert!(matches!((destroy(&destroyed, 9, "x"), retire(&destroyed, 9)), (Err(KeyError::NoSuchVersion { .. }), Err(KeyError::NoSuchVersion { .. }))));

    // Files from before are recognised, even renumbered or renamed ones: by the commitment.
    for backup in [&first, &second, &retired] {
        assert_eq!(backup.resurrects(&destroyed), [1]);
    }
    assert!(destroyed.resurrects(&destroyed).is_empty() && rotate(&kms, &destroyed).await.unwrap().resurrects(&destroyed).is_empty());
    // Rewrapping keeps the tombstone.
    let other = LocalKms::create(&folder.path().join("other.key")).unwrap();
    let rewrapped = rewrap(&kms, &other, &destroyed).await.unwrap();
    assert_eq!(rewrapped.version(1), destroyed.version(1));
    assert_eq!(token(&unwrap_root(&other, &rewrapped, None, Purpose::Run).await.unwrap()), of(&second, Some(2)).await);
    let liar = Witness { inner: local(folder.path()), root: Mutex::default(), lies: true };
    assert!(matches!(rewrap(&kms, &liar, &second).await, Err(KeyError::Commitment { version: 1 })), "a wrap that holds another key is not accepted");
}

#[tokio::test]
async fn splits_survive_rotation_and_old_files_get_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let kms = local(folder.path());
    let file = create_keyring(&kms, "person").await.unwrap();
    let place = async |file: &KeyringFile, domain: &str| {
        let file = KeyringFile::parse(&file.to_bytes()).unwrap();
        unwrap_split(&kms, &file).await.unwrap().splitter(domain).place(b"39053344705")
    };
    let before = place(&file, "person").await;
    let later = destroy(&retire(&rotate(&kms, &file).await.unwrap(), 1).unwrap(), 1, "end of retention").unwrap();
    assert_eq!(place(&later, "person").await, before, "no rotation and no destruction moves an entity");
    assert_ne!(place(&file, "card").await, before);
    let splitter = unwrap_split(&kms, &file).await.unwrap().splitter("person");
    let tenth = (0..10_000u32).filter(|value| splitter.place(&value.to_be_bytes()) < u64::MAX / 10).count();
    // Five standard deviations, with a random key: one run in two million may fail.
    assert!((850..=1150).contains(&tenth), "{tenth}");

    // A file that was made before there were split keys.
    let old = edited(&file, |file| drop(file.as_object_mut().unwrap().remove("split"))).unwrap();
    assert!(!old.has_split_key() && file.has_split_key());
    assert_eq!(token(&unwrap_root(&kms, &old, None, Purpose::Run).await.unwrap()), token(&unwrap_root(&kms, &file, None, Purpose::Run).await.unwrap()));
    assert!(matches!(unwrap_split(&kms, &old).await, Err(KeyError::NoSplitKey)));
    let added = add_split_key(&kms, &old).await.unwrap();
    assert_ne!(place(&added, "person").await, before, "a fresh key");
    assert!(matches!(add_split_key(&kms, &added).await, Err(KeyError::HasSplitKey)));
    assert!(!String::from_utf8(old.to_bytes()).unwrap().contains("split"));
    // Another keyring's split key in the same place.
    let other: Value = serde_json::from_slice(&create_keyring(&kms, "person").await.unwrap().to_bytes()).unwrap();
    let forged = edited(&file, |file| file["split"]["wrapped"] = other["split"]["wrapped"].clone()).unwrap();
    assert!(matches!(unwrap_split(&kms, &forged).await, Err(KeyError::Commitment { version: 0 })));
    // A version's wrap is no split key.
    let swapped = edited(&file, |file| file["split"]["wrapped"] = file["versions"][0]["wrapped"]["run"].clone()).unwrap();
    assert!(matches!(unwrap_split(&kms, &swapped).await, Err(KeyError::Kms(KmsError::Rejected))));
    type Edit = fn(&mut Value);
    let edits: [Edit; 5] = [
        |file| file["split"]["extra"] = 1.into(),
        |file| file["split"]["created"] = "then".into(),
        |file| file["split"]["commitment"] = "AAAA".into(),
        |file| file["versions"][0]["wrapped"]["split"] = file["split"]["wrapped"].clone(),
        |file| file["versions"][0]["destroyed"] = json!({"at": "2026-11-30T12:00:00Z", "why": "x"}),
    ];
    for (index, edit) in edits.into_iter().enumerate() {
        assert!(edited(&file, edit).is_err(), "edit {index}");
    }
}

#[tokio::test]
async fn the_list_shows_no_material() {
    let folder = tempfile::tempdir().unwrap();
    let kms = local(folder.path());
    let file = destroy(&retire(&rotate(&kms, &create_keyring(&kms, "person").await.unwrap()).await.unwrap(), 1).unwrap(), 1, "test").unwrap();
    let view = serde_json::to_value(file.view()).unwrap();
    assert_eq!((&view["id"], &view["provider"], &view["keyId"]), (&json!("person"), &json!("local"), &Value::Null));
    assert_eq!((&view["versions"][0]["state"], &view["versions"][0]["destroyed"]["why"]), (&json!("destroyed"), &json!("test")));
    assert_eq!(view["versions"][1]["purposes"], json!(["run", "reveal", "serve"]));
    let shown = format!("{view} {file:?} {:?}", file.view());
    let raw: Value = serde_json::from_slice(&file.to_bytes()).unwrap();
    for secret in [&raw["versions"][1]["wrapped"]["run"], &raw["versions"][1]["commitment"], &raw["split"]["wrapped"], &raw["split"]["commitment"]] {
        assert!(!shown.contains(&secret.as_str().unwrap()[..12]));
    }
}

#[tokio::test]
async fn a_token_of_a_destroyed_version_stays_closed() {
    let folder = tempfile::tempdir().unwrap();
    let kms = local(folder.path());
    let file = rotate(&kms, &create_keyring(&kms, "person").await.unwrap()).await.unwrap();
    let mut token = Vec::new();
    CryptoDeterministic::new(&unwrap_root(&kms, &file, Some(1), Purpose::Run).await.unwrap(), "person", &[]).apply("Ana", &mut token).unwrap();
    let destroyed = destroy(&retire(&file, 1).unwrap(), 1, "test").unwrap();
    assert!(matches!(unwrap_reveal(&kms, &destroyed, 1).await, Err(KeyError::Destroyed { version: 1 })));
    let key = unwrap_reveal(&kms, &destroyed, 2).await.unwrap();
    let mut revealer = Revealer::new(&[key], "person", &Reversible::CryptoDeterministic { canonicalize: Vec::new() }).unwrap();
    let mut out = Vec::new();
    assert_eq!(revealer.reveal(std::str::from_utf8(&token).unwrap(), &mut out), Err(TokenRefused::OtherVersion));
    assert!(out.is_empty());
}

#[test]
fn key_files_are_private_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = LocalKms::key_file(&folder.path().join("card.keyring.json"));
    assert_eq!(path.file_name().unwrap(), "card.keyring.key");
    let refused = |what: &str| match LocalKms::open(&path).unwrap_err() {
        KmsError::KeyFile { what: said, .. } => assert!(said.contains(what), "{said}"),
        other => panic!("{other}"),
    };
    refused("not found");
    LocalKms::create(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing staged is left");
    let before = fs::read(&path).unwrap();
    assert!(LocalKms::create(&path).is_err() && fs::read(&path).unwrap() == before, "a key file is never overwritten");
    LocalKms::open(&path).unwrap();
    for mode in [0o640, 0o604, 0o644, 0o620, 0o660, 0o601] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        refused("open to others");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    for text in ["", "00", "zz".repeat(32).as_str(), &"00".repeat(33), &format!("{} ", "00".repeat(32)), &"00".repeat(100)] {
        fs::write(&path, text).unwrap();
        refused("64 hexadecimal digits");
    }
    fs::write(&path, "00".repeat(32)).unwrap();
    LocalKms::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(LocalKms::open(&path).is_err());
}

#[tokio::test]
async fn racing_processes_agree_on_one_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("person.keyring.key");
    let made: Vec<LocalKms> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| LocalKms::open_or_create(&path).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let context = EncryptionContext { keyring: "person".into(), version: 1, purpose: Purpose::Run };
    let first = made[0].generate_data_key(&context).await.unwrap();
    for kms in &made {
        assert_eq!(kms.decrypt(&first.wrapped, &context).await.unwrap(), first.root);
    }
}
