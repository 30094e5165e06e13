//! `deidentifyText` and `detectors` as typed.
use super::{AlphabetName, CheckDigit, Fallback, Step, TokenEncoding};
use crate::policy::{DetectorCheckDigit, DetectorLikelihood};
use crate::spanned::{Entries, OneOrMany, Spanned};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use std::borrow::Cow;

/// `types`: a treatment for each type, and one for all others.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct TextTypes(pub(crate) Entries<Spanned<Treatment>>);

impl JsonSchema for TextTypes {
    fn schema_name() -> Cow<'static, str> {
        "TextTypes".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (any, default) = (generator.subschema_for::<Treatment>(), generator.subschema_for::<DefaultTreatment>());
        schemars::json_schema!({
            "description": "What becomes of what is found: by info type or name of a detector, `BR_CPF: cryptoHash`, and `default` for all others.",
            "type": "object",
            "required": ["default"],
            "properties": {"default": default},
            "additionalProperties": any,
        })
    }
}

/// A transform's name, `{rule: …}`, or `{transform: …}`.
#[derive(Debug, Deserialize)]
#[serde(rename = "$Form", rename_all = "camelCase")]
pub(crate) enum Treatment {
    Word(TreatmentWord),
    Rule(AsRule),
    Transform(Box<TextTransform>),
}

impl JsonSchema for Treatment {
    fn schema_name() -> Cow<'static, str> {
        "Treatment".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let forms = [generator.subschema_for::<TreatmentWord>(), generator.subschema_for::<AsRule>(), generator.subschema_for::<TextTransform>()];
        schemars::json_schema!({"description": "What becomes of the values of one type in a text.", "anyOf": forms})
    }
}

/// What the other types become: nothing that needs a key, since a key's tokens belong to one type; and never `keep`.
pub(crate) enum DefaultTreatment {}

impl JsonSchema for DefaultTreatment {
    fn schema_name() -> Cow<'static, str> {
        "DefaultTreatment".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let forms = [generator.subschema_for::<DefaultWord>(), generator.subschema_for::<DefaultTransform>()];
        schemars::json_schema!({
            "description": "What every type that is not named becomes: `replaceWithInfoType`, `redact`, `characterMask` or `replace`. Keys and `keep` are said by type.",
            "anyOf": forms,
        })
    }
}

/// A transform by its name.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum TreatmentWord {
    /// HMAC-SHA256, with key, steps and options of the policy's rule for columns of this type.
    CryptoHash,
    /// AES-SIV, likewise.
    CryptoDeterministic,
    /// FF1, likewise.
    CryptoReplaceFfxFpe,
    /// One `*` for each character.
    CharacterMask,
    /// Nothing is left.
    Redact,
    /// The type in brackets: `[BR_CPF]`.
    ReplaceWithInfoType,
    /// It stays in the text.
    Keep,
}

/// A transform by its name, of those that need no key.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "a part of the schema; read as a treatment")]
pub(crate) enum DefaultWord {
    /// One `*` for each character.
    CharacterMask,
    /// Nothing is left.
    Redact,
    /// The type in brackets: `[BR_CPF]`.
    ReplaceWithInfoType,
}

/// A transform with options, of those that need no key.
#[derive(JsonSchema)]
#[serde(rename = "transform", rename_all = "camelCase")]
#[schemars(rename = "DefaultTransform", tag = "transform")]
#[expect(dead_code, reason = "a part of the schema; read as a treatment")]
pub(crate) enum DefaultTransform {
    /// Characters become a masking character.
    CharacterMask(TextMask),
    /// Nothing is left.
    Redact(TextRedact),
    /// One text for all values.
    Replace(TextReplace),
    /// The type in brackets.
    ReplaceWithInfoType(TextInfoType),
}

/// As a rule of this policy says.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AsRule {
    /// The rule's name.
    #[schemars(required)]
    pub(crate) rule: Option<Spanned<String>>,
    /// The join domain that the tokens belong to; without it, that of the job's columns of this type.
    pub(crate) join_domain: Option<Spanned<String>>,
}

/// A transform with its options.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename = "transform", rename_all = "camelCase")]
#[schemars(rename = "TextTransform", tag = "transform")]
pub(crate) enum TextTransform {
    /// HMAC-SHA256, cannot be reversed.
    CryptoHash(TextHash),
    /// AES-SIV: reversible, joinable.
    CryptoDeterministic(TextDeterministic),
    /// FF1: characters of an alphabet become others of it.
    CryptoReplaceFfxFpe(TextFpe),
    /// Characters become a masking character.
    CharacterMask(TextMask),
    /// Nothing is left.
    Redact(TextRedact),
    /// One text for all values.
    Replace(TextReplace),
    /// The type in brackets.
    ReplaceWithInfoType(TextInfoType),
}

macro_rules! text {
    ($(#[$doc:meta])* $name:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub(crate) struct $name {
            $($(#[$meta])* pub(crate) $field: $type,)*
        }
    };
}

text!(
    /// HMAC-SHA256, cannot be reversed.
    TextHash {
        /// The name of the job's key.
        #[schemars(required)]
        key: Option<Spanned<String>>,
        /// The join domain that the tokens belong to; without it, that of the job's columns of this type.
        join_domain: Option<Spanned<String>>,
        /// Steps before hashing, in this order.
        canonicalize: Option<OneOrMany<Spanned<Step>>>,
        /// How the token is written; `hex` by default.
        encoding: Option<TokenEncoding>,
        /// How many bytes of the MAC are kept; 32 by default. Of `hex` and `base64url` only.
        #[schemars(range(min = 16, max = 32))]
        bytes: Option<Spanned<u8>>,
    }
);
text!(
    /// AES-SIV: reversible, joinable.
    TextDeterministic {
        /// The name of the job's key.
        #[schemars(required)]
        key: Option<Spanned<String>>,
        /// The join domain that the tokens belong to; without it, that of the job's columns of this type.
        join_domain: Option<Spanned<String>>,
        /// Steps before encryption, in this order.
        canonicalize: Option<OneOrMany<Spanned<Step>>>,
    }
);
text!(
    /// FF1: characters of an alphabet become others of it.
    TextFpe {
        /// The name of the job's key.
        #[schemars(required)]
        key: Option<Spanned<String>>,
        /// The join domain that the tokens belong to; without it, that of the job's columns of this type.
        join_domain: Option<Spanned<String>>,
        /// The characters that are replaced with each other; `digits` by default.
        alphabet: Option<Spanned<AlphabetName>>,
        /// The same as characters: 2 to 95 of printable ASCII, each once.
        custom_alphabet: Option<Spanned<String>>,
        /// Characters kept in front; 0 by default.
        #[schemars(range(min = 0, max = 32))]
        keep_first: Option<Spanned<u8>>,
        /// Characters kept at the end, before the check digit; 0 by default.
        #[schemars(range(min = 0, max = 32))]
        keep_last: Option<Spanned<u8>>,
        /// The check digit that is computed again.
        check_digit: Option<CheckDigit>,
        /// The lengths that values have, without separators.
        lengths: Option<OneOrMany<Spanned<u16>>>,
        /// What values get whose format fewer than 10^6 share; without it, the type in brackets.
        fallback: Option<Fallback>,
        /// Steps before encryption, in this order.
        canonicalize: Option<OneOrMany<Spanned<Step>>>,
    }
);
text!(
    /// Characters become a masking character.
    TextMask {
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
text!(
    /// Nothing is left.
    TextRedact {}
);
text!(
    /// One text for all values.
    TextReplace {
        /// The text.
        #[schemars(required)]
        new_value: Option<Spanned<String>>,
    }
);
text!(
    /// The type in brackets.
    TextInfoType {}
);

/// A detector of the policy's own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Detector")]
pub(crate) struct Detector {
    /// The name that `types` uses, and the semantic type of columns that hold such values: `EMPLOYEE_ID`.
    #[schemars(required)]
    pub(crate) name: Option<Spanned<String>>,
    /// A regular expression without look-around and back-references; it must not match the empty text.
    pub(crate) regex: Option<Spanned<String>>,
    /// Whole words or phrases, in any ASCII case.
    pub(crate) dictionary: Option<Spanned<Vec<Spanned<String>>>>,
    /// What a match must have besides; separators in it are left out first.
    pub(crate) check_digit: Option<DetectorCheckDigit>,
    /// How likely a match is; `likely` by default.
    pub(crate) likelihood: Option<DetectorLikelihood>,
    /// Words, any case, of which one must stand some words before a match; without one it is a step less likely.
    pub(crate) context: Option<OneOrMany<Spanned<String>>>,
}
