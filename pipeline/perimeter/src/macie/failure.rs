//! What Macie's refusals mean for whoever has to act. Messages of the service are never shown: they quote the request.
use crate::error::Culprit::{self, Denied, File, Outside};
use crate::error::{Error, Failure};
use aws_sdk_macie2::error::{ProvideErrorMetadata, SdkError};
use std::error::Error as StdError;

/// Sorts an SDK error. The SDK has variants for some codes only; codes are strings here, as in the KMS code.
pub(super) fn call_failure<E, R>(action: &str, error: &SdkError<E, R>) -> Error
where
    E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
{
    let (culprit, code, said, help) = match error {
        SdkError::ServiceError(answer) => {
            let said = answer.err().code().unwrap_or("no-error-code");
            // The one thing that the message alone tells.
            let absent = answer.err().message().is_some_and(|message| message.to_ascii_lowercase().contains("not enabled"));
            let (culprit, code, help) = by_code(said, absent);
            (culprit, code, said.chars().filter(char::is_ascii_graphic).take(64).collect(), help)
        }
        SdkError::TimeoutError(_) => unreachable_service("timeout"),
        SdkError::DispatchFailure(failure) if failure.is_timeout() => unreachable_service("timeout"),
        SdkError::DispatchFailure(failure) if failure.is_io() => unreachable_service("unreachable"),
        SdkError::ConstructionFailure(_) => misconfigured(),
        SdkError::DispatchFailure(failure) if failure.is_user() => misconfigured(),
        SdkError::DispatchFailure(_) => (
            Denied,
            "no-credentials",
            "no-credentials".to_owned(),
            "set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role is attached",
        ),
        _ => unreachable_service("unexpected-answer"),
    };
    Failure::new(culprit, code, format!("Amazon Macie: {action} failed ({said})")).help(help).into()
}

fn unreachable_service(said: &str) -> (Culprit, &'static str, String, &'static str) {
    (Outside, "macie-unavailable", said.to_owned(), "run again; if it stays, check the endpoint and the region")
}

fn misconfigured() -> (Culprit, &'static str, String, &'static str) {
    (File, "macie-configuration", "aws-configuration".to_owned(), "set AWS_REGION, and look at AWS_ENDPOINT_URL")
}

/// Error codes of the Amazon Macie API reference and the common errors of AWS services.
fn by_code(code: &str, not_enabled: bool) -> (Culprit, &'static str, &'static str) {
    match code {
        "AccessDeniedException" if not_enabled => {
            (Denied, "macie-not-enabled", "enable Amazon Macie in this account and region, or take `macie` out of the policy's gates")
        }
        "AccessDeniedException" | "AccessDenied" | "NotAuthorized" | "OptInRequired" => {
            (Denied, "macie-denied", "docs/macie.md has the rights that this identity needs")
        }
        "ExpiredTokenException"
        | "UnrecognizedClientException"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "IncompleteSignature"
        | "MissingAuthenticationToken"
        | "MissingAuthenticationTokenException"
        | "SignatureDoesNotMatch" => (Denied, "aws-credentials", "renew the AWS credentials, and look at the machine's clock"),
        "ServiceQuotaExceededException" => (
            Denied,
            "macie-quota",
            "the account's quota of Macie jobs or of data to analyze is used up: raise it in Service Quotas, or wait for the next month",
        ),
        "ResourceNotFoundException" => (File, "macie-job-not-found", "check the job's id, and the region that it ran in"),
        "ConflictException" => (File, "macie-conflict", "this run has created another job before: run again, a new run has a new token"),
        "ValidationException" | "ValidationError" | "SerializationException" | "UnknownOperationException" => {
            (File, "macie-request-invalid", "check the sources' buckets (they have to exist in this region and account) and the identifiers")
        }
        "ThrottlingException" | "ThrottledException" | "Throttling" | "TooManyRequestsException" | "RequestLimitExceeded" | "RequestThrottled" | "SlowDown" => {
            (Outside, "macie-throttled", "Macie was asked too often, after tries with back-off too: run again later")
        }
        // InternalServerException and whatever comes: an unknown code is no reason to say that a person must act.
        _ => (Outside, "macie-unavailable", "run again; if it stays, check the endpoint and the region"),
    }
}

/// An answer that lacks what the API reference promises.
pub(super) fn odd_answer(what: &str) -> Error {
    Failure::new(Outside, "macie-unavailable", format!("Amazon Macie: an answer without {what}")).help("run again; if it stays, check the endpoint").into()
}

/// Whether waiting can help.
pub(super) fn is_outside(error: &Error) -> bool {
    matches!(error, Error::Failed(failure) if failure.culprit == Outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_to_act() {
        let cases = [
            ("AccessDeniedException", true, 4, "macie-not-enabled"),
            ("AccessDeniedException", false, 4, "macie-denied"),
            ("ExpiredTokenException", false, 4, "aws-credentials"),
            ("ServiceQuotaExceededException", false, 4, "macie-quota"),
            ("ResourceNotFoundException", false, 2, "macie-job-not-found"),
            ("ValidationException", false, 2, "macie-request-invalid"),
            ("ConflictException", false, 2, "macie-conflict"),
            ("ThrottlingException", false, 3, "macie-throttled"),
            ("TooManyRequestsException", false, 3, "macie-throttled"),
            ("InternalServerException", false, 3, "macie-unavailable"),
            ("a new one", false, 3, "macie-unavailable"),
        ];
        for (code, absent, exit, expected) in cases {
            let (culprit, found, help) = by_code(code, absent);
            assert_eq!((culprit.exit_code(), found), (exit, expected), "{code}");
            assert!(!help.is_empty());
        }
    }
}
