//! Policy files (`policies/*.yaml`): what may happen to which kind of data, and where it may go.
mod text;

pub use text::{DetectorCheckDigit, DetectorLikelihood, TextDetector, TextMatcher, TextType, TextTypes, Treatment};

use crate::Span;
use crate::schema::Decimal;
use std::fmt;

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
    /// `detectors`: what is found in text beside the built-in types.
    pub detectors: Vec<TextDetector>,
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
    /// `empty`: what becomes of a value of nothing but white space that the transform refuses; as `nulls` by default.
    pub empty: Nulls,
    /// `invalid`: what becomes of any other value that the transform refuses; `token` by default where `nulls` is, else `reject`.
    pub invalid: Invalid,
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

/// What a rule does with null, or with an empty value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Nulls {
    /// Null stays null; an empty value becomes the empty text.
    #[default]
    Keep,
    /// It gets a token of its own, or the replacement.
    Token,
    /// It is refused.
    Reject,
}

/// What a rule does with a value that its transform refuses. There is no way to keep it: that would be to pass it through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Invalid {
    /// It gets a token of its own that joins with equal refused values only.
    Token,
    /// It is refused.
    #[default]
    Reject,
}

/// A step that runs before a value becomes a token; part of the token's identity. [`fmt::Display`] writes it as the file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// `leftPad:11`: zeros in front, up to so many characters. An integer gets its lost zeros back.
    LeftPad(u8),
}

impl Canonicalize {
    /// The steps without a number.
    pub(crate) const WORDS: [(&'static str, Self); 6] = [
        ("trim", Self::Trim),
        ("nfc", Self::Nfc),
        ("upper", Self::Upper),
        ("lower", Self::Lower),
        ("digits", Self::Digits),
        ("stripPunctuation", Self::StripPunctuation),
    ];

    /// The step that a policy file writes so.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some((_, step)) = Self::WORDS.iter().find(|(word, _)| *word == text) {
            return Some(*step);
        }
        let digits = text.strip_prefix("leftPad:").filter(|digits| !digits.starts_with(['0', '+']))?;
        digits.parse().ok().map(Self::LeftPad)
    }
}

impl fmt::Display for Canonicalize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeftPad(length) => write!(f, "leftPad:{length}"),
            step => f.write_str(Self::WORDS.iter().find(|(_, word)| word == step).map_or("", |(word, _)| word)),
        }
    }
}

impl serde::Serialize for Canonicalize {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
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
    /// A number of 63 bits, not negative: the column becomes an integer. `plan` says how likely two values share one.
    Int64,
    /// A UUID of version 8 (RFC 9562) with 122 bits of the token.
    Uuid,
}

/// Check digits that `cryptoReplaceFfxFpe` checks, leaves out and computes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckDigit {
    /// ISO/IEC 7812 (cards).
    Luhn,
    /// Brazilian taxpayer number of a person, 11 digits.
    Cpf,
    /// Brazilian taxpayer number of a company, 14 digits.
    Cnpj,
    /// The same with letters among its characters; numeric ones stay numeric.
    CnpjAlphanumeric,
    /// International bank account number: country stays, digits become digits and letters letters.
    Iban,
}

impl CheckDigit {
    /// Characters that are not encrypted: check digits, and the country of an IBAN.
    pub fn fixed(self) -> u32 {
        match self {
            Self::Luhn => 1,
            Self::Cpf | Self::Cnpj | Self::CnpjAlphanumeric => 2,
            Self::Iban => 4,
        }
    }

    /// The shortest and the longest number of the type.
    pub fn lengths(self) -> (u16, u16) {
        match self {
            Self::Luhn => (8, 19),
            Self::Cpf => (11, 11),
            Self::Cnpj | Self::CnpjAlphanumeric => (14, 14),
            Self::Iban => (15, 34),
        }
    }
}

/// The characters that `cryptoReplaceFfxFpe` replaces with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// `alphabet`.
    Named(AlphabetName),
    /// `customAlphabet`: 2 to 95 printable ASCII characters, each once.
    Custom(String),
}

impl Alphabet {
    /// How many characters it has.
    pub fn radix(&self) -> u32 {
        match self {
            Self::Named(name) => name.radix(),
            Self::Custom(characters) => u32::try_from(characters.len()).unwrap_or(u32::MAX),
        }
    }
}

/// An alphabet with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AlphabetName {
    /// `0` to `9`.
    Digits,
    /// `0` to `9` and `a` to `f`.
    HexLower,
    /// `0` to `9` and `A` to `F`.
    HexUpper,
    /// `a` to `z`.
    LowerLetters,
    /// `A` to `Z`.
    UpperLetters,
    /// `A` to `Z` and `a` to `z`.
    Letters,
    /// `0` to `9` and `a` to `z`.
    LowerAlphanumeric,
    /// `0` to `9` and `A` to `Z`.
    UpperAlphanumeric,
    /// `0` to `9`, `A` to `Z` and `a` to `z`.
    Alphanumeric,
}

impl AlphabetName {
    /// The name in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Digits => "digits",
            Self::HexLower => "hexLower",
            Self::HexUpper => "hexUpper",
            Self::LowerLetters => "lowerLetters",
            Self::UpperLetters => "upperLetters",
            Self::Letters => "letters",
            Self::LowerAlphanumeric => "lowerAlphanumeric",
            Self::UpperAlphanumeric => "upperAlphanumeric",
            Self::Alphanumeric => "alphanumeric",
        }
    }

    /// How many characters it has.
    pub fn radix(self) -> u32 {
        match self {
            Self::Digits => 10,
            Self::HexLower | Self::HexUpper => 16,
            Self::LowerLetters | Self::UpperLetters => 26,
            Self::Letters => 52,
            Self::LowerAlphanumeric | Self::UpperAlphanumeric => 36,
            Self::Alphanumeric => 62,
        }
    }
}

/// A part of a date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TimePart {
    /// The calendar year.
    Year,
    /// 1 to 12.
    Month,
    /// 1 to 31.
    DayOfMonth,
    /// 1 (Monday) to 7, by ISO 8601.
    DayOfWeek,
    /// 1 to 53, by ISO 8601.
    WeekOfYear,
    /// 0 to 23; of timestamps only.
    HourOfDay,
}

/// One range of `bucketing`. Ranges ascend and do not overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketRange {
    /// The smallest value in it; there unless it has a label.
    pub min: Option<Decimal>,
    /// The first value above it.
    pub max: Option<Decimal>,
    /// What stands for its values; either all ranges have one or none. Without labels, `min` stands for them.
    pub label: Option<String>,
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
    /// XAES-256-GCM: reversible, joins with nothing; another token in every run.
    Encrypt {
        /// A key name of the job's `keys`.
        key: String,
    },
    /// FF1 over the characters of an alphabet.
    CryptoReplaceFfxFpe {
        /// A key name of the job's `keys`.
        key: String,
        /// The characters that are replaced with each other; `None` is digits, or those of the check digit's type.
        alphabet: Option<Alphabet>,
        /// Characters kept in front.
        keep_first: u8,
        /// Characters kept at the end (before the check digit, where there is one).
        keep_last: u8,
        /// Recomputed after encryption.
        check_digit: Option<CheckDigit>,
        /// `lengths`: the shortest and the longest value, without separators, where the policy says them.
        lengths: Option<(u16, u16)>,
        /// What values get whose format fewer than 10^6 share: another transform of text under the same key.
        fallback: Option<Box<Transform>>,
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
        size: Decimal,
        /// `lowerBound`: smaller numbers count as this one.
        lower_bound: Option<Decimal>,
        /// `upperBound`: larger numbers count as this one.
        upper_bound: Option<Decimal>,
    },
    /// The bucket that holds the number: its label, or its lower bound.
    Bucketing {
        /// Ascending.
        buckets: Vec<BucketRange>,
    },
    /// One part of a date or time, as an integer.
    TimePart {
        /// Which.
        part: TimePart,
    },
    /// The empty text.
    Redact,
    /// One text for all values.
    Replace {
        /// `newValue`.
        new_value: String,
    },
    /// The semantic type in brackets: `[BR_CPF]`.
    ReplaceWithInfoType,
    /// What detectors find inside text becomes something else, by its type; the rest stays.
    DeidentifyText(TextTypes),
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
            Self::Encrypt { .. } => "encrypt",
            Self::DateShift { .. } => "dateShift",
            Self::CharacterMask { .. } => "characterMask",
            Self::Truncate { .. } => "truncate",
            Self::FixedSizeBucketing { .. } => "fixedSizeBucketing",
            Self::Bucketing { .. } => "bucketing",
            Self::TimePart { .. } => "timePart",
            Self::Redact => "redact",
            Self::Replace { .. } => "replace",
            Self::ReplaceWithInfoType => "replaceWithInfoType",
            Self::DeidentifyText(_) => "deidentifyText",
            Self::Drop => "drop",
            Self::Keep => "keep",
        }
    }

    /// The key name that the transform needs; of `deidentifyText`, each type has its own.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::CryptoHash { key, .. }
            | Self::CryptoDeterministic { key, .. }
            | Self::Encrypt { key }
            | Self::CryptoReplaceFfxFpe { key, .. }
            | Self::DateShift { key, .. } => Some(key),
            _ => None,
        }
    }

    /// The steps that a value goes through before.
    pub fn canonicalize(&self) -> &[Canonicalize] {
        match self {
            Self::CryptoHash { canonicalize, .. } | Self::CryptoDeterministic { canonicalize, .. } | Self::CryptoReplaceFfxFpe { canonicalize, .. } => {
                canonicalize
            }
            _ => &[],
        }
    }

    /// Whether `nulls: token` has something to put in the place of null.
    pub fn has_null_token(&self) -> bool {
        matches!(
            self,
            Self::CryptoHash { .. }
                | Self::CryptoDeterministic { .. }
                | Self::CryptoReplaceFfxFpe { .. }
                | Self::Redact
                | Self::Replace { .. }
                | Self::ReplaceWithInfoType
        )
    }
}

/// `gates`. Gates that this version cannot run (kAnonymity, residualPii) are refused with `gate-not-available`, never skipped.
#[derive(Clone, Debug)]
pub struct Gates {
    /// `maxRejectedFraction`, of every source by itself; 0 by default.
    pub max_rejected_fraction: f64,
    /// `findings.sampleRows`: the gate is there whether or not the policy names it.
    pub sample_rows: SampleRows,
    /// `macie`, where Amazon Macie has to have looked too.
    pub macie: Option<MacieGate>,
}

/// How much of each source is looked at for sensitive values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleRows {
    /// So many rows, of units that a seed picks.
    AtMost(u64),
    /// Every row.
    All,
}

impl SampleRows {
    /// What holds where the policy says nothing.
    pub const DEFAULT: Self = Self::AtMost(100_000);
    /// Fewer rows say too little about a column.
    pub const LEAST: u64 = 1_000;
}

impl fmt::Display for SampleRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(rows) => rows.fmt(f),
            Self::All => f.write_str("all"),
        }
    }
}

/// `gates.macie`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacieGate {
    /// `maxAge`: a job that started earlier says nothing.
    pub max_age_days: u32,
    /// `onSkipped`.
    pub on_skipped: OnSkipped,
}

/// What happens where Amazon Macie did not look, or not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnSkipped {
    /// The run is refused.
    #[default]
    Refuse,
    /// Every row of those files goes through the local detectors instead.
    LocalScan,
}

impl OnSkipped {
    /// As the policy writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::LocalScan => "localScan",
        }
    }
}

/// A place that sealed datasets may go.
#[derive(Clone, Debug)]
pub struct Destination {
    /// `uri` pattern.
    pub uri: String,
    /// `region`.
    pub region: String,
}
