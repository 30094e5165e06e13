//! `deidentifyText` and `detectors`: what is looked for inside text, and what becomes of it.
use super::Transform;
use crate::Span;
use std::fmt;

/// `types` of `deidentifyText`.
#[derive(Clone, Debug, PartialEq)]
pub struct TextTypes {
    /// The types that are named, in file order; each once.
    pub listed: Vec<TextType>,
    /// `default`: what every other type that is found becomes. Needs no key, and is never `keep`.
    pub default: Box<Transform>,
}

/// One type and what becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct TextType {
    /// An info type, or the name of a detector of the policy. Whether there is one of this name is for `plan` to say.
    pub name: String,
    /// What becomes of the values.
    pub treatment: Treatment,
    /// Where the name stands.
    pub span: Span,
}

/// What becomes of the values of one type in a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Treatment {
    /// `BR_CPF: cryptoHash`: as the policy's rule for columns of this type says, which must have this transform.
    AsColumns {
        /// The transform's name.
        transform: &'static str,
    },
    /// `{rule: taxpayer ids, joinDomain: person}`: as a rule of the policy says, by its name.
    AsRule {
        /// The rule's name.
        rule: String,
        /// The join domain, where it is said.
        join_domain: Option<String>,
    },
    /// The transform itself.
    Own {
        /// With its options; one of those in [`Transform::is_for_text`], or `keep`.
        transform: Box<Transform>,
        /// The join domain of a keyed one, where it is said.
        join_domain: Option<String>,
    },
}

/// A detector of the policy's own.
#[derive(Clone, PartialEq)]
pub struct TextDetector {
    /// The name that `types` uses, and the semantic type of columns that hold such values: `EMPLOYEE_ID`.
    pub name: String,
    /// What it looks for.
    pub matcher: TextMatcher,
    /// `checkDigit`: what a match must have besides.
    pub check_digit: Option<DetectorCheckDigit>,
    /// `likelihood` of a match; `likely` by default.
    pub likelihood: DetectorLikelihood,
    /// `context`: words, one of which must stand before a match for its full likelihood.
    pub context: Vec<String>,
    /// Where the detector stands.
    pub span: Span,
}

/// What a detector of the policy's own looks for.
#[derive(Clone, PartialEq)]
pub enum TextMatcher {
    /// `regex`, in the syntax of the `regex` crate; it compiles on its own.
    Regex(String),
    /// `dictionary`: whole words or phrases.
    Dictionary(Vec<String>),
}

// A dictionary may list customers.
impl fmt::Debug for TextDetector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextDetector").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Check digits that a detector may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DetectorCheckDigit {
    /// ISO/IEC 7812 (cards).
    Luhn,
    /// Brazilian taxpayer number of a person.
    Cpf,
    /// Brazilian taxpayer number of a company.
    Cnpj,
    /// International bank account number.
    Iban,
}

/// How likely a match is what its detector is called. What is less than possible is not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DetectorLikelihood {
    /// The weakest that is reported: with `context`, a match without such a word is not.
    Possible,
    /// As a check digit makes it.
    #[default]
    Likely,
    /// A form that nothing else has.
    VeryLikely,
}

impl Transform {
    /// Whether values inside a text can become this: text that says nothing of what it was, or one token for one value.
    pub fn is_for_text(&self) -> bool {
        matches!(
            self,
            Self::CryptoHash { .. }
                | Self::CryptoDeterministic { .. }
                | Self::CryptoReplaceFfxFpe { .. }
                | Self::CharacterMask { .. }
                | Self::Redact
                | Self::Replace { .. }
                | Self::ReplaceWithInfoType
        )
    }
}
