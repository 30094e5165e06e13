//! What a key error means for whoever has to act.
use crate::error::Culprit::{self, Denied, File, Outside};
use crate::error::{Error, Failure};
use perimeter_contract::job::Uri;
use perimeter_pseudonym::keyring::KeyError;
use perimeter_pseudonym::kms::KmsError;

type Explained = (Culprit, &'static str, &'static str);

/// Exit code, code and fix of a key error. The error's text holds ids, versions and service codes only.
pub(crate) fn key_failure(error: &KeyError, keyring: &Uri) -> Error {
    let (culprit, code, help) = explain(error);
    Failure::new(culprit, code, format!("keyring {}: {error}", keyring.0)).help(help).into()
}

fn explain(error: &KeyError) -> Explained {
    match error {
        KeyError::Kms(error) => explain_kms(error),
        KeyError::Commitment { .. } => (Denied, "key-commitment", "the keyring was altered: restore it from its backup"),
        KeyError::StillActive { .. } => {
            (File, "version-active", "`perimeter keys retire KEYRING VERSION` first; jobs that pin the version stop then, and tokens still reveal")
        }
        KeyError::Destroyed { .. } => (File, "version-destroyed", "its tokens are gone for good: pin another version in the job"),
        KeyError::Retired { .. } => {
            (File, "version-retired", "pin an active version in the job: `perimeter keys list` shows them, `perimeter keys rotate` makes one")
        }
        KeyError::NoSuchVersion { .. } => (File, "no-such-version", "see `perimeter keys list` for the keyring's versions"),
        KeyError::NoActiveVersion => (File, "no-active-version", "`perimeter keys rotate` makes one"),
        KeyError::HasSplitKey => (File, "split-key-exists", "nothing to do: another one would move entities from split to split"),
        KeyError::NoSplitKey => (File, "no-split-key", "`perimeter keys add-split-key` makes it, once"),
        KeyError::BadReason => (File, "bad-reason", "say why in a sentence: the record keeps it"),
        KeyError::WrongProvider => (File, "wrong-provider", "`perimeter keys list` shows the provider; the job's key has to name the same one"),
        _ => (File, "key-unusable", "see `perimeter keys list` for the keyring's versions"),
    }
}

fn explain_kms(error: &KmsError) -> Explained {
    match error {
        KmsError::Denied { code } => match code.as_str() {
            "DisabledException" => (Denied, "kms-key-disabled", "the KMS key is disabled and nothing is lost: enable it again (kms:EnableKey)"),
            "KMSInvalidStateException" => (
                Denied,
                "kms-key-state",
                "the KMS key waits for its deletion or for imported material: cancel the deletion before the waiting period ends (kms:CancelKeyDeletion, then kms:EnableKey); \
                 after it, all that the key wrapped is lost",
            ),
            "no-credentials" => (Denied, "no-credentials", "set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role is attached"),
            "ExpiredTokenException"
            | "UnrecognizedClientException"
            | "InvalidClientTokenId"
            | "InvalidSignatureException"
            | "IncompleteSignature"
            | "MissingAuthenticationToken"
            | "MissingAuthenticationTokenException"
            | "SignatureDoesNotMatch" => (Denied, "aws-credentials", "renew the AWS credentials, and look at the machine's clock"),
            _ => (
                Denied,
                "kms-denied",
                "IAM or the key's policy says no: runs need kms:Decrypt with kms:EncryptionContext:purpose = run, `reveal` the same with purpose = reveal; \
                 making keys needs kms:GenerateDataKey and kms:Encrypt, `rewrap` kms:ReEncryptFrom, kms:ReEncryptTo and kms:Decrypt",
            ),
        },
        error if error.is_throttling() => (
            Outside,
            "kms-throttled",
            "KMS was asked too often, after tries with back-off too: run again later; if it stays, raise the account's request quota",
        ),
        KmsError::Unavailable { .. } => (Outside, "kms-unavailable", "run again; if it stays, check the endpoint and the region"),
        KmsError::Rejected => (
            Denied,
            "kms-rejected",
            "the keyring was not made with this KMS key, or was altered: look at the key id (does an alias point to another key now?), or restore the keyring from its backup",
        ),
        KmsError::Invalid { .. } => (File, "kms-key-invalid", "check key id and region; the key has to be a symmetric one for encryption"),
        KmsError::KeyFile { .. } => (File, "key-file", "the key file of the local provider stands beside the keyring, mode 0600"),
        _ => (File, "key-unusable", "see `perimeter keys list` for the keyring's versions"),
    }
}

/// An object store's refusal of a small file. Its text can hold whole keys and is never shown; `name` must be fit to be shown.
pub(crate) fn store_failure(name: &str, error: &object_store::Error) -> Error {
    use object_store::Error as E;
    match error {
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => Failure::new(Denied, "access-denied", format!("{name} may not be read or written"))
            .help("grant this identity access to the bucket, key and KMS key"),
        E::NotFound { .. } => {
            Failure::new(File, "bucket-not-found", format!("{name} cannot be read or written: there is no such object or bucket")).help("check the uri")
        }
        _ => Failure::new(Outside, "store-unavailable", format!("{name} cannot be read or written for now")).help("run again"),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_to_act() {
        let denied = |code: &str| KmsError::Denied { code: code.into() };
        let unavailable = |code: &str| KmsError::Unavailable { code: code.into() };
        let cases = [
            (denied("AccessDeniedException"), 4, "kms-denied"),
            (denied("DisabledException"), 4, "kms-key-disabled"),
            (denied("KMSInvalidStateException"), 4, "kms-key-state"),
            (denied("ExpiredTokenException"), 4, "aws-credentials"),
            (denied("no-credentials"), 4, "no-credentials"),
            (unavailable("ThrottlingException"), 3, "kms-throttled"),
            (unavailable("KMSInternalException"), 3, "kms-unavailable"),
            (KmsError::Rejected, 4, "kms-rejected"),
            (KmsError::Invalid { code: "NotFoundException".into() }, 2, "kms-key-invalid"),
        ];
        let mut helps = std::collections::BTreeSet::new();
        for (error, exit, code) in cases {
            let (culprit, found, help) = explain_kms(&error);
            assert_eq!((culprit.exit_code(), found), (exit, code));
            assert!(helps.insert(help), "{code} has a help text of its own");
        }
    }
}
