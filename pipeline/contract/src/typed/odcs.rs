//! Schema files (Open Data Contract Standard v3.1) as typed.
//!
//! All keys that ODCS v3.1.0 defines are here, so that a key that it does not define can be refused with the nearest one that it does.
//! Keys that describe are `Any` and stay unread. Keys that state a rule about the data which this version does not run are refused:
//! by `x-not-available`, or in [`crate::validate`] where it depends on the value. Source: `odcs-json-schema-v3.1.0.json`.
use crate::spanned::{Any, Exact, OneOrMany, Spanned};
use schemars::JsonSchema;
use serde::Deserialize;

/// A data contract.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Contract {
    /// `v3.1.0`.
    #[schemars(required)]
    #[allow(dead_code, reason = "describes")]
    pub(crate) api_version: Option<Spanned<String>>,
    /// `DataContract`.
    #[schemars(required)]
    #[allow(dead_code, reason = "describes")]
    pub(crate) kind: Option<Spanned<String>>,
    /// A unique id.
    #[schemars(required)]
    #[allow(dead_code, reason = "describes")]
    pub(crate) id: Option<Spanned<String>>,
    /// The version of the contract.
    #[schemars(required)]
    #[allow(dead_code, reason = "describes")]
    pub(crate) version: Option<Spanned<String>>,
    /// `active`, `draft`, …
    #[schemars(required)]
    #[allow(dead_code, reason = "describes")]
    pub(crate) status: Option<Spanned<String>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) name: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) tenant: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) tags: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) servers: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) data_product: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) description: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) domain: Option<Any>,
    /// The dataset: one object with its properties.
    #[schemars(required)]
    pub(crate) schema: Option<Spanned<Vec<Spanned<Object>>>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) support: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) price: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) team: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) roles: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) sla_default_element: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) sla_properties: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) authoritative_definitions: Option<Vec<AuthoritativeDefinition>>,
    /// What ODCS has no key for.
    pub(crate) custom_properties: Option<Vec<CustomProperty>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) contract_created_ts: Option<Any>,
}

/// A link.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AuthoritativeDefinition {
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) id: Option<Any>,
    /// Where.
    #[schemars(required)]
    #[allow(dead_code, reason = "describes")]
    pub(crate) url: Option<Any>,
    /// What it is.
    #[schemars(required)]
    #[allow(dead_code, reason = "describes")]
    #[serde(rename = "type")]
    pub(crate) kind: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) description: Option<Any>,
}

/// What ODCS has no key for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CustomProperty {
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) id: Option<Any>,
    /// Its name.
    #[schemars(required)]
    pub(crate) property: Option<Spanned<String>>,
    /// Its value.
    #[schemars(required)]
    #[allow(dead_code, reason = "describes")]
    pub(crate) value: Option<Spanned<Any>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) description: Option<Any>,
}

/// A dataset.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-not-available" = {"relationships": "relationships-not-available"}))]
pub(crate) struct Object {
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) id: Option<Any>,
    /// The dataset's name.
    #[schemars(required)]
    pub(crate) name: Option<Spanned<String>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) physical_type: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) description: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) business_name: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) authoritative_definitions: Option<Vec<AuthoritativeDefinition>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) tags: Option<Any>,
    /// What ODCS has no key for.
    pub(crate) custom_properties: Option<Vec<CustomProperty>>,
    /// `object`.
    #[allow(dead_code, reason = "describes")]
    pub(crate) logical_type: Option<Spanned<ObjectType>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) physical_name: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) data_granularity_description: Option<Any>,
    /// The columns.
    #[schemars(required)]
    pub(crate) properties: Option<Spanned<Vec<Spanned<Property>>>>,
    /// Rules about the dataset.
    pub(crate) quality: Option<Vec<Spanned<Quality>>>,
}

/// What the dataset is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ObjectType {
    /// Rows of columns.
    Object,
}

/// A column.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-not-available" = {
    "relationships": "relationships-not-available", "properties": "nested-not-available", "items": "nested-not-available"
}))]
pub(crate) struct Property {
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) id: Option<Any>,
    /// The column's name.
    #[schemars(required)]
    pub(crate) name: Option<Spanned<String>>,
    /// The type in the source, e.g. `decimal(18,2)`.
    pub(crate) physical_type: Option<Spanned<String>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) description: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) business_name: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) authoritative_definitions: Option<Vec<AuthoritativeDefinition>>,
    /// Words to match in a policy.
    pub(crate) tags: Option<OneOrMany<Spanned<String>>>,
    /// What ODCS has no key for.
    pub(crate) custom_properties: Option<Vec<CustomProperty>>,
    /// Whether the values identify the rows.
    pub(crate) primary_key: Option<Spanned<bool>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) primary_key_position: Option<Any>,
    /// The type.
    #[schemars(required)]
    pub(crate) logical_type: Option<Spanned<LogicalType>>,
    /// More about the type.
    pub(crate) logical_type_options: Option<Spanned<LogicalTypeOptions>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) physical_name: Option<Any>,
    /// Whether null is a mistake.
    pub(crate) required: Option<bool>,
    /// Whether values are unique.
    pub(crate) unique: Option<Spanned<bool>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) partitioned: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) partition_key_position: Option<Any>,
    /// How sensitive the column is.
    pub(crate) classification: Option<Spanned<String>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) encrypted_name: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) transform_source_objects: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) transform_logic: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) transform_description: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) examples: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) critical_data_element: Option<Any>,
    /// Rules about the values.
    pub(crate) quality: Option<Vec<Spanned<Quality>>>,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-not-available" = {
    "time": "logical-type-not-available", "object": "nested-not-available", "array": "nested-not-available"
}))]
pub(crate) enum LogicalType {
    /// Text.
    String,
    /// A day.
    Date,
    /// An instant, or a local date and time.
    Timestamp,
    /// A decimal or floating-point number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
}

/// More about the type.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-not-available" = {
    "multipleOf": "multiple-of-not-available", "maxProperties": "nested-not-available", "minProperties": "nested-not-available",
    "required": "nested-not-available", "maxItems": "nested-not-available", "minItems": "nested-not-available", "uniqueItems": "nested-not-available"
}))]
pub(crate) struct LogicalTypeOptions {
    /// Characters at least.
    pub(crate) min_length: Option<Spanned<u32>>,
    /// Characters at most.
    pub(crate) max_length: Option<Spanned<u32>>,
    /// A regular expression that the whole value matches.
    pub(crate) pattern: Option<Spanned<String>>,
    /// How a date or timestamp is written (JDK DateTimeFormatter), or the size of a number.
    pub(crate) format: Option<Spanned<String>>,
    /// At least.
    pub(crate) minimum: Option<Spanned<Exact>>,
    /// At most.
    pub(crate) maximum: Option<Spanned<Exact>>,
    /// More than.
    pub(crate) exclusive_minimum: Option<Spanned<Exact>>,
    /// Less than.
    pub(crate) exclusive_maximum: Option<Spanned<Exact>>,
    /// Whether timestamps are instants.
    pub(crate) timezone: Option<Spanned<bool>>,
    /// The zone of timestamps without an offset.
    pub(crate) default_timezone: Option<Spanned<String>>,
}

/// A rule about the data.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Quality {
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) id: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) authoritative_definitions: Option<Vec<AuthoritativeDefinition>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) business_impact: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) custom_properties: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) description: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) dimension: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) method: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) name: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) schedule: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) scheduler: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) severity: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) tags: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) unit: Option<Any>,
    /// Who runs the rule; `library` by default.
    #[serde(rename = "type")]
    pub(crate) kind: Option<Spanned<QualityType>>,
    /// The metric of a library rule.
    pub(crate) metric: Option<Spanned<String>>,
    /// An older name of `metric`.
    #[allow(dead_code, reason = "describes")]
    pub(crate) rule: Option<Spanned<Any>>,
    /// What the metric is computed with.
    #[allow(dead_code, reason = "describes")]
    pub(crate) arguments: Option<Spanned<Any>>,
    /// What the metric must be.
    #[allow(dead_code, reason = "describes")]
    pub(crate) must_be: Option<Spanned<Any>>,
    /// What the metric must be.
    #[allow(dead_code, reason = "describes")]
    pub(crate) must_not_be: Option<Spanned<Any>>,
    /// What the metric must be.
    #[allow(dead_code, reason = "describes")]
    pub(crate) must_be_greater_than: Option<Spanned<Any>>,
    /// What the metric must be.
    #[allow(dead_code, reason = "describes")]
    pub(crate) must_be_greater_or_equal_to: Option<Spanned<Any>>,
    /// What the metric must be.
    #[allow(dead_code, reason = "describes")]
    pub(crate) must_be_less_than: Option<Spanned<Any>>,
    /// What the metric must be.
    #[allow(dead_code, reason = "describes")]
    pub(crate) must_be_less_or_equal_to: Option<Spanned<Any>>,
    /// What the metric must be.
    #[allow(dead_code, reason = "describes")]
    pub(crate) must_be_between: Option<Spanned<Any>>,
    /// What the metric must be.
    #[allow(dead_code, reason = "describes")]
    pub(crate) must_not_be_between: Option<Spanned<Any>>,
    /// The query of an SQL rule.
    #[allow(dead_code, reason = "describes")]
    pub(crate) query: Option<Spanned<Any>>,
    /// The engine of a custom rule.
    pub(crate) engine: Option<Spanned<String>>,
    /// What the engine runs.
    #[allow(dead_code, reason = "describes")]
    pub(crate) implementation: Option<Spanned<Any>>,
}

/// Who runs a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum QualityType {
    /// People.
    Text,
    /// A metric that ODCS defines.
    Library,
    /// A query.
    Sql,
    /// Another engine.
    Custom,
}
