//! What a store's refusal means for the job. Error texts of stores hold whole keys and are read here, never shown.
use crate::error::{Culprit, Error, Failure};
use object_store::client::{HttpError, HttpErrorKind};
use std::io::ErrorKind;

/// What was being done: an absent input is a mistake in a file, an absent sink a missing bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Reading or listing.
    Read,
    /// Writing or deleting.
    Write,
}

impl Action {
    fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "written",
        }
    }
}

/// An I/O error of this machine. `name` must be fit to be shown.
pub(super) fn io_failure(action: Action, name: &str, error: std::io::Error) -> Error {
    let failure = match error.kind() {
        ErrorKind::NotFound if action == Action::Read => {
            Failure::new(Culprit::File, "input-not-found", format!("{name} does not exist")).help("check the path")
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::AlreadyExists | ErrorKind::InvalidFilename | ErrorKind::IsADirectory => {
            Failure::new(Culprit::File, "unusable-path", format!("{name} cannot be {}", action.verb())).help("check the path")
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Failure::new(Culprit::Denied, "access-denied", format!("{name} may not be {}", action.verb())).help("Grant this user access to the path")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Failure::new(Culprit::Outside, "disk-full", format!("{name} cannot be written: the disk is full")).help("Make room and run again")
        }
        _ => Failure::new(Culprit::Outside, "io-error", format!("{name} cannot be {}", action.verb())),
    };
    // The text of an error number holds no path and no data; other errors may.
    match error.raw_os_error() {
        Some(number) => failure.because(std::io::Error::from_raw_os_error(number)).into(),
        None => failure.into(),
    }
}

/// A refusal of an object store. `name` must be fit to be shown.
pub(super) fn store_failure(action: Action, name: &str, error: &object_store::Error) -> Error {
    use object_store::Error as E;
    let text = error.to_string();
    let code = s3_code(&text);
    let said = code.map_or_else(String::new, |c| format!(" ({c})"));
    let file = |code, message: String, help: &str| Failure::new(Culprit::File, code, message).help(help);
    let failure = match error {
        // Listing reports it as a generic error, reading as one of a missing key.
        _ if code == Some("NoSuchBucket") => file("bucket-not-found", format!("{name} cannot be {}: there is no such bucket", action.verb()), "check the uri"),
        E::NotFound { .. } if action == Action::Read => file("input-not-found", format!("{name} does not exist"), "check the uri"),
        E::NotFound { .. } => file("bucket-not-found", format!("{name} cannot be written{said}"), "check the uri"),
        E::Unauthenticated { path, .. } if path.is_empty() => {
            Failure::new(Culprit::Denied, "no-credentials", format!("{name} cannot be {}: no AWS credentials were found", action.verb()))
                .help("Set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role is attached")
        }
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            Failure::new(Culprit::Denied, "access-denied", format!("{name} may not be {}{said}", action.verb()))
                .help("Grant this identity access to the bucket, key and KMS key")
        }
        E::Precondition { .. } | E::NotModified { .. } => {
            Failure::new(Culprit::Outside, "input-changed", format!("{name} changed while it was read")).help("Run again when nobody writes the input")
        }
        E::InvalidPath { .. } => file("invalid-uri", format!("{name} is not a key that can be used"), "Use keys without empty, `.` or `..` segments"),
        _ if matches!(
            code,
            Some("ExpiredToken" | "InvalidToken" | "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "KMS.DisabledException" | "AccessDenied")
        ) =>
        {
            Failure::new(Culprit::Denied, "access-denied", format!("{name} may not be {}{said}", action.verb())).help("Renew the credentials")
        }
        _ if text.contains("without LOCATION") || matches!(code, Some("AuthorizationHeaderMalformed" | "PermanentRedirect")) => {
            file("wrong-region", format!("{name} lies in another region{said}"), "Set AWS_REGION to the bucket's region")
        }
        _ => {
            let why = match http_kind(error) {
                Some(HttpErrorKind::Connect) => ": no connection",
                Some(HttpErrorKind::Timeout) => ": no answer in time",
                Some(HttpErrorKind::Interrupted) => ": the connection broke",
                _ => "",
            };
            Failure::new(Culprit::Outside, "store-unavailable", format!("{name} cannot be {} for now{said}{why}", action.verb()))
                .help("Run again: finished work is kept")
        }
    };
    failure.into()
}

/// S3's own error code, which is a fixed vocabulary and safe to show.
fn s3_code(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    (code.len() <= 64 && code.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.')).then_some(code)
}

fn http_kind(error: &object_store::Error) -> Option<HttpErrorKind> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(http) = error.downcast_ref::<HttpError>() {
            return Some(http.kind());
        }
        next = error.source();
    }
    None
}
