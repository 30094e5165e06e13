//! The kinds of contract files and their JSON Schemas.
use crate::structure::NOT_AVAILABLE;
use crate::typed;
use schemars::JsonSchema;
use serde_json::Value;
use std::sync::OnceLock;

/// A kind of contract file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `kind: Job`.
    Job,
    /// `kind: Policy`.
    Policy,
    /// `kind: DataContract`, ODCS v3.0 to v3.2.
    Schema,
}

impl Kind {
    /// `Job`, `Policy` or `Schema`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Job => "Job",
            Self::Policy => "Policy",
            Self::Schema => "Schema",
        }
    }

    pub(crate) fn name_in_file(self) -> &'static str {
        if self == Self::Schema { "DataContract" } else { self.name() }
    }

    /// The first is the one to write.
    pub(crate) fn api_versions(self) -> &'static [&'static str] {
        if self == Self::Schema { &["v3.1.0", "v3.0.0", "v3.0.1", "v3.0.2", "v3.2.0"] } else { &["perimeter/v1"] }
    }

    /// The JSON Schema that [`crate::structure`] judges by.
    pub(crate) fn structure(self) -> &'static Value {
        static SCHEMAS: [OnceLock<Value>; 3] = [const { OnceLock::new() }; 3];
        match self {
            Self::Job => SCHEMAS[0].get_or_init(derive::<typed::job::Job>),
            Self::Policy => SCHEMAS[1].get_or_init(derive::<typed::policy::Policy>),
            Self::Schema => SCHEMAS[2].get_or_init(derive::<typed::odcs::Contract>),
        }
    }
}

/// The JSON Schema (draft 2020-12) of a kind of file, for editors; it comes from the types that parse the file.
///
/// For `Schema`, editors are better served by ODCS's own JSON Schema; this one also says what this version reads.
pub fn json_schema(kind: Kind) -> Value {
    let mut schema = kind.structure().clone();
    each_object(&mut schema, &|object| {
        object.remove(NOT_AVAILABLE);
    });
    schema
}

fn derive<T: JsonSchema>() -> Value {
    let mut schema = schemars::generate::SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    each_object(&mut schema, &|object| without_null(object));
    schema
}

fn each_object(value: &mut Value, change: &dyn Fn(&mut serde_json::Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            change(object);
            object.values_mut().for_each(|value| each_object(value, change));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| each_object(value, change)),
        _ => {}
    }
}

/// schemars lets an optional key be null; here a key is there with a value, or it is not there.
fn without_null(object: &mut serde_json::Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|ty| ty != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(words)) = object.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(branches)) = object.get_mut("anyOf") {
        branches.retain(|branch| branch.get("type").is_none_or(|ty| ty != "null"));
        if let [Value::Object(one)] = branches.as_mut_slice() {
            let one = std::mem::take(one);
            object.remove("anyOf");
            for (key, value) in one {
                object.entry(key).or_insert(value);
            }
        }
    }
}
