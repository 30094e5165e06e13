//! Policy files as typed.
pub(crate) mod text;

use super::job::{ApiVersion, Number};
use crate::policy::{AlphabetName, CheckDigit, Invalid, Nulls, OnSkipped, TimePart, TokenEncoding};
use crate::spanned::{Exact, OneOrMany, Spanned};
use schemars::JsonSchema;
use serde::Deserialize;

/// A policy: what may happen to which kind of data, and where it may go.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Policy {
    /// `perimeter/v1`.
    #[schemars(required)]
    #[allow(dead_code, reason = "checked before the structure is")]
    pub(crate) api_version: Option<Spanned<ApiVersion>>,
    /// `Policy`.
    #[schemars(required)]
    #[allow(dead_code, reason = "checked before the structure is")]
    pub(crate) kind: Option<Spanned<PolicyKind>>,
    /// Who answers for the policy, and why the data may be used.
    #[schemars(required)]
    pub(crate) metadata: Option<Metadata>,
    /// Whom the data is about.
    pub(crate) privacy_unit: Option<PrivacyUnit>,
    /// The first rule that matches a column decides; a column that no rule matches is refused.
    #[schemars(required)]
    pub(crate) rules: Option<Spanned<Vec<Spanned<Rule>>>>,
    /// What is found in text beside the built-in types.
    pub(crate) detectors: Option<Vec<Spanned<text::Detector>>>,
    /// What must hold of the finished dataset.
    pub(crate) gates: Option<Gates>,
    /// How long datasets are kept: `180d`.
    #[schemars(regex(pattern = r"^[1-9][0-9]*d$"))]
    pub(crate) retention: Option<Spanned<String>>,
    /// The places that sealed datasets may go.
    pub(crate) destinations: Option<Vec<Spanned<Destination>>>,
}

/// The kind of file.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) enum PolicyKind {
    Policy,
}

/// Who answers for the policy, and why the data may be used.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Metadata {
    /// The policy's name: letters, digits, `-`, `_` and `.`.
    #[schemars(required)]
    pub(crate) name: Option<Spanned<String>>,
    /// Goes up with every change.
    #[schemars(required, range(min = 1))]
    pub(crate) version: Option<u32>,
    /// Who answers for it.
    #[schemars(required)]
    pub(crate) owner: Option<Spanned<String>>,
    /// What the data is used for.
    #[schemars(required)]
    pub(crate) purpose: Option<Spanned<String>>,
    /// The articles of law that allow it.
    pub(crate) legal_basis: Option<OneOrMany<Spanned<String>>>,
    /// The article of law that allows it to leave the country.
    #[allow(dead_code, reason = "read by people and by `report`")]
    pub(crate) transfer_mechanism: Option<Spanned<String>>,
    /// What the policy is for, for people.
    #[allow(dead_code, reason = "for people")]
    pub(crate) description: Option<Spanned<String>>,
}

/// Whom the data is about.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PrivacyUnit {
    /// The join domain that identifies them.
    #[schemars(required)]
    pub(crate) join_domain: Option<Spanned<String>>,
}

/// One rule: what it matches and what happens to the values.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename = "transform", rename_all = "camelCase")]
#[schemars(rename = "Rule", tag = "transform")]
pub(crate) enum Rule {
    /// HMAC-SHA256, cannot be reversed.
    CryptoHash(CryptoHash),
    /// AES-SIV: reversible, joinable.
    CryptoDeterministic(CryptoDeterministic),
    /// AES-GCM: reversible, joins with nothing; another token in every run.
    Encrypt(Encrypt),
    /// FF1: characters of an alphabet become others of it.
    CryptoReplaceFfxFpe(CryptoReplaceFfxFpe),
    /// Whole days, the same for every value of one context.
    DateShift(DateShift),
    /// Characters become a masking character.
    CharacterMask(CharacterMask),
    /// The first characters.
    Truncate(Truncate),
    /// The lower bound of the bucket that holds the number.
    FixedSizeBucketing(FixedSizeBucketing),
    /// The label or the lower bound of the bucket that holds the number.
    Bucketing(Bucketing),
    /// One part of a date or time.
    TimePart(TimePartRule),
    /// The empty text.
    Redact(Redact),
    /// One text for all values.
    Replace(Replace),
    /// The semantic type in brackets.
    ReplaceWithInfoType(ReplaceWithInfoType),
    /// What detectors find inside text becomes something else, by its type; the rest of the text stays.
    DeidentifyText(DeidentifyText),
    /// The column does not leave.
    Drop(Drop),
    /// The column leaves as it is.
    Keep(Keep),
}

macro_rules! rule {
    ($(#[$doc:meta])* $name:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub(crate) struct $name {
            /// What the rule is called in reports.
            #[schemars(required)]
            pub(crate) name: Option<Spanned<String>>,
            /// What the rule looks at: every key that is there must match, a list matches any of its entries.
            #[serde(rename = "match")]
            #[schemars(required)]
            pub(crate) matches: Option<Spanned<Match>>,
            /// What happens to null; `keep` by default.
            pub(crate) nulls: Option<Spanned<Nulls>>,
            $($(#[$meta])* pub(crate) $field: $type,)*
        }
    };
}

rule!(
    /// HMAC-SHA256, cannot be reversed.
    CryptoHash {
        /// The name of the job's key.
        #[schemars(required)]
        key: Option<Spanned<String>>,
        /// Steps before hashing, in this order.
        canonicalize: Option<OneOrMany<Spanned<Step>>>,
        /// How the token is written; `hex` by default.
        encoding: Option<TokenEncoding>,
        /// How many bytes of the MAC are kept; 32 by default. Of `hex` and `base64url` only.
        #[schemars(range(min = 16, max = 32))]
        bytes: Option<Spanned<u8>>,
        /// What happens to a value of nothing but white space; as `nulls` by default.
        empty: Option<Nulls>,
        /// What happens to a value that the transform refuses; `reject` by default, `token` where `nulls` is.
        invalid: Option<Invalid>,
    }
);
rule!(
    /// AES-SIV: reversible, joinable.
    CryptoDeterministic {
        /// The name of the job's key.
        #[schemars(required)]
        key: Option<Spanned<String>>,
        /// Steps before encryption, in this order.
        canonicalize: Option<OneOrMany<Spanned<Step>>>,
        /// What happens to a value of nothing but white space; as `nulls` by default.
        empty: Option<Nulls>,
        /// What happens to a value that the transform refuses; `reject` by default, `token` where `nulls` is.
        invalid: Option<Invalid>,
    }
);
rule!(
    /// AES-GCM: reversible, joins with nothing; another token in every run.
    Encrypt {
        /// The name of the job's key.
        #[schemars(required)]
        key: Option<Spanned<String>>,
    }
);
rule!(
    /// FF1: characters of an alphabet become others of it.
    CryptoReplaceFfxFpe {
        /// The name of the job's key.
        #[schemars(required)]
        key: Option<Spanned<String>>,
        /// The characters that are replaced with each other; `digits` by default. Others than separators are refused.
        alphabet: Option<Spanned<AlphabetName>>,
        /// The same as characters: 2 to 95 of printable ASCII, each once. Their order is part of the tokens' identity.
        custom_alphabet: Option<Spanned<String>>,
        /// Characters kept in front; 0 by default.
        #[schemars(range(min = 0, max = 32))]
        keep_first: Option<Spanned<u8>>,
        /// Characters kept at the end, before the check digit; 0 by default.
        #[schemars(range(min = 0, max = 32))]
        keep_last: Option<Spanned<u8>>,
        /// The check digit that is computed again.
        check_digit: Option<CheckDigit>,
        /// The lengths that values have, without separators; by default those of the check digit or of the contract.
        lengths: Option<OneOrMany<Spanned<u16>>>,
        /// What values get whose format fewer than 10^6 share.
        fallback: Option<Fallback>,
        /// Steps before encryption, in this order.
        canonicalize: Option<OneOrMany<Spanned<Step>>>,
        /// What happens to a value of nothing but white space; as `nulls` by default.
        empty: Option<Nulls>,
        /// What happens to a value that the transform refuses; `reject` by default, `token` where `nulls` is.
        invalid: Option<Invalid>,
    }
);
rule!(
    /// Whole days, the same for every value of one context.
    DateShift {
        /// The name of the job's key.
        #[schemars(required)]
        key: Option<Spanned<String>>,
        /// Whose values shift together.
        #[schemars(required)]
        context: Option<Context>,
        /// The shift is at most this many days, forwards or backwards.
        #[schemars(required, range(min = 1, max = 36500))]
        max_days: Option<u16>,
    }
);
rule!(
    /// Characters become a masking character.
    CharacterMask {
        /// One character; `*` by default.
        masking_character: Option<Spanned<String>>,
        /// Characters kept in front; 0 by default.
        keep_first: Option<u32>,
        /// Characters kept at the end; 0 by default.
        keep_last: Option<u32>,
        /// The mask's length whatever the value's; by default one masking character per character.
        #[schemars(range(min = 1, max = 1024))]
        mask_length: Option<u32>,
    }
);
rule!(
    /// The first characters.
    Truncate {
        /// How many.
        #[schemars(required, range(min = 1))]
        length: Option<u32>,
    }
);
rule!(
    /// The lower bound of the bucket that holds the number.
    FixedSizeBucketing {
        /// The width of a bucket, more than 0.
        #[schemars(required)]
        size: Option<Spanned<Number>>,
        /// Smaller numbers count as this one.
        lower_bound: Option<Spanned<Number>>,
        /// Larger numbers count as this one.
        upper_bound: Option<Spanned<Number>>,
    }
);
rule!(
    /// The label or the lower bound of the bucket that holds the number.
    Bucketing {
        /// Ranges that ascend and do not overlap; all of them have a label, or none.
        buckets: Option<Spanned<Vec<Spanned<Range>>>>,
        /// The same without labels and gaps: the lower bounds, ascending; the last bucket is open at the top.
        bounds: Option<Spanned<Vec<Spanned<Number>>>>,
    }
);
rule!(
    /// One part of a date or time, as an integer.
    TimePartRule {
        /// Which.
        #[schemars(required)]
        part: Option<TimePart>,
    }
);
rule!(
    /// The empty text.
    Redact {}
);
rule!(
    /// One text for all values.
    Replace {
        /// The text.
        #[schemars(required)]
        new_value: Option<Spanned<String>>,
    }
);
rule!(
    /// The semantic type in brackets.
    ReplaceWithInfoType {}
);
rule!(
    /// What detectors find inside text becomes something else, by its type; the rest of the text stays.
    DeidentifyText {
        /// What becomes of what is found.
        #[schemars(required)]
        types: Option<Spanned<text::TextTypes>>,
    }
);
rule!(
    /// The column does not leave.
    Drop {}
);
rule!(
    /// The column leaves as it is.
    Keep {}
);

/// A step before a value becomes a token.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Step(pub(crate) String);

impl JsonSchema for Step {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Canonicalize".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A step before a value becomes a token: `trim`, `nfc`, `upper`, `lower`, `digits`, `stripPunctuation`, or `leftPad:11`, which gives an integer its lost zeros back.",
            "type": "string",
            "pattern": "^(trim|nfc|upper|lower|digits|stripPunctuation|leftPad:[1-9][0-9]{0,2})$",
            "examples": ["trim", "nfc", "upper", "lower", "digits", "stripPunctuation", "leftPad:11"]
        })
    }
}

/// One range.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Range {
    /// The smallest number in it; without it, open at the bottom.
    pub(crate) min: Option<Spanned<Number>>,
    /// The first number above it; without it, open at the top.
    pub(crate) max: Option<Spanned<Number>>,
    /// What stands for its numbers; without it, `min` does.
    pub(crate) label: Option<Spanned<String>>,
}

/// What a value gets whose format is too small for `cryptoReplaceFfxFpe`, under the key and the steps of the rule.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename = "transform", rename_all = "camelCase")]
#[schemars(rename = "Fallback", tag = "transform")]
pub(crate) enum Fallback {
    /// HMAC-SHA256, cannot be reversed.
    CryptoHash(FallbackHash),
    /// AES-SIV: reversible, joinable.
    CryptoDeterministic(FallbackDeterministic),
    /// Characters become a masking character.
    CharacterMask(FallbackMask),
    /// The empty text.
    Redact(FallbackRedact),
    /// One text for all values.
    Replace(FallbackReplace),
}

macro_rules! fallback {
    ($(#[$doc:meta])* $name:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub(crate) struct $name {
            $($(#[$meta])* pub(crate) $field: $type,)*
        }
    };
}

fallback!(
    /// HMAC-SHA256, cannot be reversed; hexadecimal.
    FallbackHash {
        /// How many bytes of the MAC are kept; 32 by default.
        #[schemars(range(min = 16, max = 32))]
        bytes: Option<u8>,
    }
);
fallback!(
    /// AES-SIV: reversible, joinable.
    FallbackDeterministic {}
);
fallback!(
    /// Characters become a masking character.
    FallbackMask {
        /// One character; `*` by default.
        masking_character: Option<Spanned<String>>,
        /// Characters kept in front; 0 by default.
        keep_first: Option<u32>,
        /// Characters kept at the end; 0 by default.
        keep_last: Option<u32>,
        /// The mask's length whatever the value's; by default one masking character per character.
        #[schemars(range(min = 1, max = 1024))]
        mask_length: Option<u32>,
    }
);
fallback!(
    /// The empty text.
    FallbackRedact {}
);
fallback!(
    /// One text for all values.
    FallbackReplace {
        /// The text.
        #[schemars(required)]
        new_value: Option<Spanned<String>>,
    }
);

/// What a rule looks at.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Match {
    /// What the column is: `BR_CPF`.
    pub(crate) semantic_type: Option<Spanned<OneOrMany<Spanned<String>>>>,
    /// The column's classification.
    pub(crate) classification: Option<Spanned<OneOrMany<Spanned<String>>>>,
    /// Any of the column's tags.
    pub(crate) tags: Option<Spanned<OneOrMany<Spanned<String>>>>,
    /// A computed column, by the semantic types of the columns that it comes from.
    pub(crate) derived_from: Option<Spanned<OneOrMany<Spanned<String>>>>,
    /// The column's join domain.
    pub(crate) join_domain: Option<Spanned<OneOrMany<Spanned<String>>>>,
}

/// Whose values shift together.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Context {
    /// The join domain of the column whose value picks the shift.
    #[schemars(required)]
    pub(crate) join_domain: Option<Spanned<String>>,
}

/// What must hold of the finished dataset.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-not-available" = {"kAnonymity": "gate-not-available", "residualPii": "gate-not-available"}))]
pub(crate) struct Gates {
    /// More rejected rows of any one source than this end the job; 0 by default.
    #[schemars(range(min = 0, max = 1))]
    pub(crate) max_rejected_fraction: Option<f64>,
    /// What detectors find in the raw sources is held against the contract before a row leaves.
    pub(crate) findings: Option<FindingsGate>,
    /// Amazon Macie's findings count too; a run names the Macie jobs.
    pub(crate) macie: Option<MacieGate>,
}

/// What detectors find in the raw sources is held against the contract before a row leaves.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FindingsGate {
    /// Rows of each source that are looked at, 1000 at least; 100000 by default. `all`: every row.
    pub(crate) sample_rows: Option<Spanned<Exact>>,
}

/// Amazon Macie's findings count too.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MacieGate {
    /// A Macie job that started earlier says nothing: `30d`.
    #[schemars(required, regex(pattern = r"^[1-9][0-9]*d$"))]
    pub(crate) max_age: Option<Spanned<String>>,
    /// What Macie did not look at, or not whole; `refuse` by default.
    pub(crate) on_skipped: Option<OnSkipped>,
}

/// A place that sealed datasets may go.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Destination {
    /// `gs://bucket/prefix/*` or `s3://bucket/prefix/*`.
    #[schemars(required)]
    pub(crate) uri: Option<Spanned<String>>,
    /// The region it is in.
    #[schemars(required)]
    pub(crate) region: Option<Spanned<String>>,
    /// Who runs it.
    #[allow(dead_code, reason = "read by people and by `replicate`")]
    pub(crate) processor: Option<Spanned<String>>,
    /// The contract with them.
    pub(crate) agreement: Option<Agreement>,
    /// What the transfer may cost at most.
    #[schemars(range(min = 0))]
    #[allow(dead_code, reason = "read by `replicate`")]
    pub(crate) max_egress_usd: Option<f64>,
    /// Whether the bucket must use a key of the customer's.
    #[allow(dead_code, reason = "read by `replicate`")]
    pub(crate) require_cmek: Option<bool>,
}

/// A contract with a processor.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Agreement {
    /// Its number.
    #[schemars(required)]
    #[allow(dead_code, reason = "read by people and by `replicate`")]
    pub(crate) id: Option<Spanned<String>>,
    /// Its last day: `2027-06-30`.
    #[schemars(required)]
    pub(crate) expires: Option<Spanned<String>>,
}
