//! Policy files (`policies/*.yaml`): what may happen to which kind of data, and where it may go.
use crate::Span;
use crate::schema::CheckDigit;

/// A validated policy.
#[derive(Clone, Debug)]
pub struct Policy {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.version`.
    pub version: u32,
    /// `metadata.owner`.
    pub owner: String,
    /// `metadata.purpose`.
    pub purpose: String,
    /// `metadata.legalBasis`.
    pub legal_basis: Vec<String>,
    /// `privacyUnit.joinDomain`.
    pub privacy_unit: Option<String>,
    /// In file order: the first that matches a column decides.
    pub rules: Vec<Rule>,
    /// `gates`.
    pub gates: Gates,
    /// `retention`, days.
    pub retention_days: Option<u32>,
    /// `destinations`: read and validated; used by `replicate`.
    pub destinations: Vec<Destination>,
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// `name`.
    pub name: String,
    /// `match`: every key that is there must match; a list matches any of its entries.
    pub matches: Match,
    /// `transform` with its options.
    pub transform: Transform,
    /// `nulls`: keep by default.
    pub nulls: Nulls,
    /// Where the rule stands.
    pub span: Span,
}

/// What a rule looks at. An empty list means that the key is absent; a rule with all absent is a mistake.
#[derive(Clone, Debug, Default)]
pub struct Match {
    /// `semanticType`.
    pub semantic_type: Vec<String>,
    /// `classification`.
    pub classification: Vec<String>,
    /// `tags`: any of them.
    pub tags: Vec<String>,
    /// `derivedFrom`: a computed column whose sources have one of these semantic types.
    pub derived_from: Vec<String>,
    /// `joinDomain`.
    pub join_domain: Vec<String>,
}

/// What a rule does with null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Nulls {
    /// Null stays null.
    #[default]
    Keep,
    /// Null gets a token of its own (cryptoHash only).
    Token,
    /// A null row is rejected.
    Reject,
}

/// A step that runs before a value becomes a token; part of the token's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Canonicalize {
    /// Unicode white space at both ends goes.
    Trim,
    /// Unicode normalization form C.
    Nfc,
    /// Upper case.
    Upper,
    /// Lower case.
    Lower,
    /// Only ASCII digits stay; other decimal digits are refused.
    Digits,
    /// ASCII punctuation and spaces go.
    StripPunctuation,
}

/// How a cryptoHash token is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TokenEncoding {
    /// Lower-case hexadecimal.
    #[default]
    Hex,
    /// RFC 4648 section 5, no padding.
    Base64url,
}

/// What happens to a value. Names are those of Google's Sensitive Data Protection.
#[derive(Clone, Debug, PartialEq)]
pub enum Transform {
    /// HMAC-SHA256, cannot be reversed.
    CryptoHash {
        /// A key name of the job's `keys`.
        key: String,
        /// Steps before hashing.
        canonicalize: Vec<Canonicalize>,
        /// How the token is written.
        encoding: TokenEncoding,
        /// `bytes`: how many bytes of the MAC are kept, 16 to 32 (default 32).
        bytes: u8,
    },
    /// AES-256-SIV: reversible, joinable; written as base64 with the key version in front.
    CryptoDeterministic {
        /// A key name of the job's `keys`.
        key: String,
        /// Steps before encryption.
        canonicalize: Vec<Canonicalize>,
    },
    /// FF1 over the digits of a value.
    CryptoReplaceFfxFpe {
        /// A key name of the job's `keys`.
        key: String,
        /// Digits kept in front.
        keep_first: u8,
        /// Digits kept at the end (before the check digit, where there is one).
        keep_last: u8,
        /// Recomputed after encryption.
        check_digit: Option<CheckDigit>,
        /// Steps before encryption.
        canonicalize: Vec<Canonicalize>,
    },
    /// Whole days, the same for every value of one context.
    DateShift {
        /// A key name of the job's `keys`.
        key: String,
        /// `context.joinDomain`: the column whose value picks the shift.
        context_join_domain: String,
        /// The shift is in -maxDays ..= maxDays.
        max_days: u16,
    },
    /// Characters become `masking_character`.
    CharacterMask {
        /// `maskingCharacter`, `*` by default.
        masking_character: char,
        /// `keepFirst` characters stay in front.
        keep_first: u32,
        /// `keepLast` characters stay at the end.
        keep_last: u32,
        /// `maskLength`: the mask has this many characters whatever the value's length; absent: one per masked character. A value no longer than what is kept is masked whole.
        mask_length: Option<u32>,
    },
    /// The first `length` characters.
    Truncate {
        /// Characters kept.
        length: u32,
    },
    /// The lower bound of the bucket that holds the number.
    FixedSizeBucketing {
        /// Width of a bucket, more than 0.
        size: crate::schema::Decimal,
    },
    /// The column does not leave.
    Drop,
    /// The column leaves as it is.
    Keep,
}

impl Transform {
    /// The name in the file: `cryptoHash`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::CryptoHash { .. } => "cryptoHash",
            Self::CryptoDeterministic { .. } => "cryptoDeterministic",
            Self::CryptoReplaceFfxFpe { .. } => "cryptoReplaceFfxFpe",
            Self::DateShift { .. } => "dateShift",
            Self::CharacterMask { .. } => "characterMask",
            Self::Truncate { .. } => "truncate",
            Self::FixedSizeBucketing { .. } => "fixedSizeBucketing",
            Self::Drop => "drop",
            Self::Keep => "keep",
        }
    }

    /// The key name that the transform needs.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::CryptoHash { key, .. } | Self::CryptoDeterministic { key, .. } | Self::CryptoReplaceFfxFpe { key, .. } | Self::DateShift { key, .. } => {
                Some(key)
            }
            _ => None,
        }
    }
}

/// `gates`. Gates that this version cannot run (kAnonymity, residualPii, macie) are refused with `gate-not-available`, never skipped.
#[derive(Clone, Debug)]
pub struct Gates {
    /// `maxRejectedFraction`, 0 by default.
    pub max_rejected_fraction: f64,
}

/// A place that sealed datasets may go.
#[derive(Clone, Debug)]
pub struct Destination {
    /// `uri` pattern.
    pub uri: String,
    /// `region`.
    pub region: String,
}
