//! Schema files (Open Data Contract Standard v3.1) as typed.
//!
//! All keys that ODCS v3.1.0 defines are here, those that only v3.0 has and those that v3.2 adds, so that a key that none of them defines
//! can be refused with the nearest one that they do. Keys that describe are `Any` and stay unread. Keys that state a rule about the data
//! which this version does not run are refused: by `x-not-available`, or in [`crate::validate`] where it depends on the value.
//! Sources: `odcs-json-schema-v3.0.2.json`, `-v3.1.0.json`, `-v3.2.0.json`, and where they are silent the standard's text.
use crate::spanned::{Any, Exact, OneOrMany, Spanned};
use schemars::JsonSchema;
use serde::Deserialize;

/// A data contract.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Contract {
    /// `v3.1.0`; `v3.0.0` to `v3.0.2` and `v3.2.0` too.
    #[schemars(required)]
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
    /// `active`, `draft`, …; required before v3.2.
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
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) context: Option<Any>,
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
    /// References to columns of other datasets.
    pub(crate) relationships: Option<Vec<Spanned<Relationship>>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) context: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) synonyms: Option<Any>,
    /// Rules about the dataset.
    pub(crate) quality: Option<Vec<Spanned<Quality>>>,
}

/// A reference to columns of another dataset.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Relationship {
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) id: Option<Any>,
    /// `foreignKey`.
    #[serde(rename = "type")]
    #[allow(dead_code, reason = "there is one value")]
    pub(crate) kind: Option<Spanned<RelationshipType>>,
    /// At the dataset: its own columns, each as `dataset.column`. Under a column it is that column.
    pub(crate) from: Option<Spanned<OneOrMany<Spanned<String>>>>,
    /// The columns that have the values, each as `dataset.column`.
    #[schemars(required)]
    pub(crate) to: Option<Spanned<OneOrMany<Spanned<String>>>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    pub(crate) description: Option<Any>,
    /// What ODCS has no key for.
    #[allow(dead_code, reason = "describes")]
    pub(crate) custom_properties: Option<Vec<CustomProperty>>,
}

/// The kind of a reference.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum RelationshipType {
    /// The values are there in the other dataset.
    ForeignKey,
}

/// What the dataset is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ObjectType {
    /// Rows of columns.
    Object,
}

macro_rules! properties {
    ($($(#[$attribute:meta])* $field:ident: $type:ty,)*) => {
        /// A column, or a value inside an object.
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        #[schemars(extend("x-not-available" = {"enum": "enum-not-available", "map": "nested-not-available"}))]
        pub(crate) struct Property {
            /// The column's name.
            #[schemars(required)]
            pub(crate) name: Option<Spanned<String>>,
            $($(#[$attribute])* pub(crate) $field: $type,)*
        }

        /// The elements of an array.
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        #[schemars(extend("x-not-available" = {"enum": "enum-not-available", "map": "nested-not-available"}))]
        pub(crate) struct Item {
            /// Describes.
            pub(crate) name: Option<Spanned<String>>,
            $($(#[$attribute])* pub(crate) $field: $type,)*
        }

        impl From<Item> for Property {
            fn from(item: Item) -> Self {
                Self { name: item.name, $($field: item.$field,)* }
            }
        }
    };
}

properties! {
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    id: Option<Any>,
    /// The type in the source, e.g. `decimal(18,2)`.
    physical_type: Option<Spanned<String>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    description: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    business_name: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    authoritative_definitions: Option<Vec<AuthoritativeDefinition>>,
    /// Words to match in a policy.
    tags: Option<OneOrMany<Spanned<String>>>,
    /// What ODCS has no key for.
    custom_properties: Option<Vec<CustomProperty>>,
    /// Whether the values identify the rows.
    primary_key: Option<Spanned<bool>>,
    /// Its place in a primary key of several columns, from 1.
    primary_key_position: Option<Spanned<i32>>,
    /// The type.
    #[schemars(required)]
    logical_type: Option<Spanned<LogicalType>>,
    /// More about the type.
    logical_type_options: Option<Spanned<LogicalTypeOptions>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    physical_name: Option<Any>,
    /// Whether null is a mistake.
    required: Option<Spanned<bool>>,
    /// Whether values are unique.
    unique: Option<Spanned<bool>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    partitioned: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    partition_key_position: Option<Any>,
    /// How sensitive the column is.
    classification: Option<Spanned<String>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    encrypted_name: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    transform_source_objects: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    transform_logic: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    transform_description: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    examples: Option<Any>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    critical_data_element: Option<Any>,
    /// The values inside an object.
    properties: Option<Spanned<Vec<Spanned<Property>>>>,
    /// The elements of an array.
    items: Option<Box<Spanned<Item>>>,
    /// References to columns of other datasets.
    relationships: Option<Vec<Spanned<Relationship>>>,
    /// Describes.
    #[allow(dead_code, reason = "describes")]
    synonyms: Option<Any>,
    /// What a column is to its readers, in ODCS v3.2; `customProperties.semanticType` is something else.
    #[allow(dead_code, reason = "describes")]
    semantic_type: Option<Spanned<Role>>,
    /// Rules about the values.
    quality: Option<Vec<Spanned<Quality>>>,
}

/// What a column is to its readers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-not-available" = {"measure": "measure-not-available"}))]
pub(crate) enum Role {
    /// A column of the data.
    Column,
    /// A column to group and filter by.
    Dimension,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-not-available" = {"map": "nested-not-available"}))]
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
    /// A time of day.
    Time,
    /// Values by name, in `properties`.
    Object,
    /// Any number of values, in `items`.
    Array,
}

/// More about the type.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-not-available" = {"maxProperties": "nested-not-available", "minProperties": "nested-not-available"}))]
pub(crate) struct LogicalTypeOptions {
    /// Characters at least.
    pub(crate) min_length: Option<Spanned<u32>>,
    /// Characters at most.
    pub(crate) max_length: Option<Spanned<u32>>,
    /// A regular expression that the whole value matches.
    pub(crate) pattern: Option<Spanned<String>>,
    /// How a date, time or timestamp is written (JDK DateTimeFormatter), the size of a number (`i8` to `u64`, `f32`, `f64`), or what a text is
    /// (`email`, `uuid`, `uri`, `hostname`, `ipv4`, `ipv6`).
    pub(crate) format: Option<Spanned<String>>,
    /// At least.
    pub(crate) minimum: Option<Spanned<Exact>>,
    /// At most.
    pub(crate) maximum: Option<Spanned<Exact>>,
    /// More than.
    pub(crate) exclusive_minimum: Option<Spanned<Exact>>,
    /// Less than.
    pub(crate) exclusive_maximum: Option<Spanned<Exact>>,
    /// Numbers are whole multiples of it.
    pub(crate) multiple_of: Option<Spanned<Exact>>,
    /// Elements at least.
    pub(crate) min_items: Option<Spanned<u32>>,
    /// Elements at most.
    pub(crate) max_items: Option<Spanned<u32>>,
    /// Whether the elements of an array differ.
    pub(crate) unique_items: Option<Spanned<bool>>,
    /// The properties of an object that must be there.
    pub(crate) required: Option<Spanned<Vec<Spanned<String>>>>,
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
    /// What the rule is called; its code in reports.
    pub(crate) name: Option<Spanned<String>>,
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
    /// `rows` or `percent`.
    pub(crate) unit: Option<Spanned<String>>,
    /// Who runs the rule; `library` by default.
    #[serde(rename = "type")]
    pub(crate) kind: Option<Spanned<QualityType>>,
    /// The metric of a library rule.
    pub(crate) metric: Option<Spanned<String>>,
    /// The name of `metric` before v3.1.
    pub(crate) rule: Option<Spanned<String>>,
    /// Where `rule: validValues` had its values before v3.1.
    pub(crate) valid_values: Option<Spanned<Any>>,
    /// What the metric is computed with.
    pub(crate) arguments: Option<Spanned<Any>>,
    /// What the metric must be.
    pub(crate) must_be: Option<Spanned<Any>>,
    /// What the metric must be.
    pub(crate) must_not_be: Option<Spanned<Any>>,
    /// What the metric must be.
    pub(crate) must_be_greater_than: Option<Spanned<Any>>,
    /// What the metric must be.
    pub(crate) must_be_greater_or_equal_to: Option<Spanned<Any>>,
    /// What the metric must be.
    pub(crate) must_be_less_than: Option<Spanned<Any>>,
    /// What the metric must be.
    pub(crate) must_be_less_or_equal_to: Option<Spanned<Any>>,
    /// What the metric must be.
    pub(crate) must_be_between: Option<Spanned<Any>>,
    /// What the metric must be.
    pub(crate) must_not_be_between: Option<Spanned<Any>>,
    /// The query of an SQL rule.
    pub(crate) query: Option<Spanned<String>>,
    /// The engine of a custom rule.
    pub(crate) engine: Option<Spanned<String>>,
    /// What the engine runs.
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
