//! From a [`Node`] tree to as-typed structs: a serde deserializer that carries positions.
//!
//! [`crate::structure`] has compared the tree with the types' own JSON Schema before and cut out what does not fit, so nothing here
//! can fail on input; a failure is a fault of this crate.
use crate::Span;
use crate::yaml::{Entry, Node, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::value::{StrDeserializer, U32Deserializer};
use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// The tuple struct name by which [`Spanned`] asks the deserializer for positions.
const SPANNED: &str = "$Spanned";

/// The name of an enum that can be written in several forms: its variant is `word` for a scalar, or the key that a mapping has.
const FORM: &str = "$Form";

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Parts<T> {
            type Value = Spanned<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value with its position")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let short = || de::Error::custom("a position is missing");
                let file = seq.next_element()?.ok_or_else(short)?;
                let start = seq.next_element()?.ok_or_else(short)?;
                let end = seq.next_element()?.ok_or_else(short)?;
                let value = seq.next_element()?.ok_or_else(short)?;
                Ok(Spanned { value, span: Span { file, start, end } })
            }
        }
        deserializer.deserialize_tuple_struct(SPANNED, 4, Parts(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// One value, or a list of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct OneOrMany<T>(pub(crate) Vec<T>);

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        schemars::json_schema!({"anyOf": [one, {"type": "array", "items": one}]})
    }
}

/// A short form (a word or a list), or a mapping.
#[derive(Clone, Debug)]
pub(crate) enum ShortOr<S, M> {
    Short(S),
    Map(M),
}

impl<'de, S: Deserialize<'de>, M: Deserialize<'de>> Deserialize<'de> for ShortOr<S, M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<S, M>(PhantomData<(S, M)>);
        impl<'de, S: Deserialize<'de>, M: Deserialize<'de>> Visitor<'de> for Either<S, M> {
            type Value = ShortOr<S, M>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a short form or a mapping")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                S::deserialize(StrDeserializer::new(text)).map(ShortOr::Short)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
                S::deserialize(de::value::SeqAccessDeserializer::new(items)).map(ShortOr::Short)
            }
            fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Self::Value, A::Error> {
                M::deserialize(de::value::MapAccessDeserializer::new(entries)).map(ShortOr::Map)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

impl<S: JsonSchema, M: JsonSchema> JsonSchema for ShortOr<S, M> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("{}Or{}", S::schema_name(), M::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (short, map) = (generator.subschema_for::<S>(), generator.subschema_for::<M>());
        schemars::json_schema!({"anyOf": [short, map]})
    }
}

/// A mapping with names of the user's choice, in file order.
#[derive(Clone, Debug)]
pub(crate) struct Entries<T>(pub(crate) Vec<(Spanned<String>, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Pairs<T> {
            type Value = Entries<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Entries(pairs))
            }
        }
        deserializer.deserialize_map(Pairs(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Entries<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Entries{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        schemars::json_schema!({"type": "object", "additionalProperties": one})
    }
}

/// The text of a scalar, whatever it looks like: an exact number, a date, a word.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Exact(pub(crate) String);

impl JsonSchema for Exact {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Exact".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({"type": ["number", "string"]})
    }
}

/// Anything at all: what ODCS leaves open.
#[derive(Clone, Debug)]
pub(crate) enum Any {
    /// `null`, `~`, or nothing.
    Null,
    Text(String),
    List(Vec<Spanned<Any>>),
    Map(Vec<(Spanned<String>, Spanned<Any>)>),
}

impl<'de> Deserialize<'de> for Any {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Anything;
        impl<'de> Visitor<'de> for Anything {
            type Value = Any;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Any, E> {
                Ok(Any::Text(text.to_owned()))
            }
            fn visit_unit<E: de::Error>(self) -> Result<Any, E> {
                Ok(Any::Null)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Any, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Any::List(items))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Any, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Any::Map(pairs))
            }
        }
        // the plain text `null` of a typed string is text; only here is it nothing
        deserializer.deserialize_any(Anything)
    }
}

impl JsonSchema for Any {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Any".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

/// Reads `T` from a tree that fits it.
pub(crate) fn from_node<T: for<'de> Deserialize<'de>>(node: &Node) -> Result<T, Mismatch> {
    T::deserialize(node)
}

/// The tree does not fit the type after all. The text is not shown.
#[derive(Debug)]
pub(crate) struct Mismatch(#[allow(dead_code, reason = "for the debugger")] String);

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the file does not fit its type")
    }
}

impl std::error::Error for Mismatch {}

impl de::Error for Mismatch {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl Node {
    fn parsed<T: std::str::FromStr>(&self) -> Result<T, Mismatch> {
        self.scalar().and_then(|scalar| scalar.text.parse().ok()).ok_or_else(|| Mismatch("a number was expected".to_owned()))
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
            visitor.$visit(self.parsed()?)
        }
    )*};
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.value {
            Value::Scalar(scalar) if scalar.is_null() => visitor.visit_unit(),
            Value::Scalar(scalar) => visitor.visit_borrowed_str(&scalar.text),
            Value::Seq(items) => visitor.visit_seq(Items(items.iter())),
            Value::Map(entries) => visitor.visit_map(Pairs { entries: entries.iter(), value: None, without: None }),
        }
    }

    numbers! {
        deserialize_bool visit_bool
        deserialize_i8 visit_i8 deserialize_i16 visit_i16 deserialize_i32 visit_i32 deserialize_i64 visit_i64
        deserialize_u8 visit_u8 deserialize_u16 visit_u16 deserialize_u32 visit_u32 deserialize_u64 visit_u64
        deserialize_f32 visit_f32 deserialize_f64 visit_f64 deserialize_char visit_char
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.value {
            Value::Seq(items) => visitor.visit_seq(Items(items.iter())),
            // only `OneOrMany` gets here
            _ => visitor.visit_seq(Items(std::slice::from_ref(self).iter())),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(self, name: &'static str, _: usize, visitor: V) -> Result<V::Value, Mismatch> {
        if name == SPANNED { visitor.visit_seq(Positions { span: self.span, value: Inner::Node(self), next: 0 }) } else { self.deserialize_seq(visitor) }
    }

    /// An enum's serde name is the key that holds its variant (`transform`, `format`, `provider`), unless it is a plain word.
    fn deserialize_enum<V: Visitor<'de>>(self, name: &'static str, variants: &'static [&'static str], visitor: V) -> Result<V::Value, Mismatch> {
        if name == FORM {
            let variant = variants.iter().find(|variant| self.scalar().map_or(self.entry(variant).is_some(), |_| **variant == "word"));
            return visitor.visit_enum(Form { variant: variant.ok_or_else(|| Mismatch("a form is missing".to_owned()))?, node: self });
        }
        match &self.value {
            Value::Scalar(scalar) => visitor.visit_enum(StrDeserializer::<Mismatch>::new(&scalar.text)),
            Value::Map(entries) => {
                let tag = self.entry(name).and_then(|entry| entry.value.scalar()).ok_or_else(|| Mismatch(format!("{name} is missing")))?;
                visitor.visit_enum(Tagged { tag: &tag.text, name, entries })
            }
            Value::Seq(_) => Err(Mismatch("a word was expected".to_owned())),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_unit()
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let scalar = self.scalar().ok_or_else(|| Mismatch("text was expected".to_owned()))?;
        visitor.visit_borrowed_str(&scalar.text)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.deserialize_str(visitor)
    }

    serde::forward_to_deserialize_any! { i128 u128 bytes byte_buf unit unit_struct tuple map struct identifier }
}

struct Items<'de>(std::slice::Iter<'de, Node>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Mismatch;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mismatch> {
        self.0.next().map(|node| seed.deserialize(node)).transpose()
    }
}

struct Pairs<'de> {
    entries: std::slice::Iter<'de, Entry>,
    value: Option<&'de Node>,
    without: Option<&'static str>,
}

impl<'de> MapAccess<'de> for Pairs<'de> {
    type Error = Mismatch;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mismatch> {
        let without = self.without;
        let Some(entry) = self.entries.find(|entry| Some(entry.key.as_str()) != without) else { return Ok(None) };
        self.value = Some(&entry.value);
        seed.deserialize(KeyName(entry)).map(Some)
    }
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Mismatch> {
        seed.deserialize(self.value.take().ok_or_else(|| Mismatch("a value without a key".to_owned()))?)
    }
}

/// A key, with its position for those who ask.
struct KeyName<'de>(&'de Entry);

impl<'de> Deserializer<'de> for KeyName<'de> {
    type Error = Mismatch;
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_borrowed_str(&self.0.key)
    }
    fn deserialize_tuple_struct<V: Visitor<'de>>(self, _: &'static str, _: usize, visitor: V) -> Result<V::Value, Mismatch> {
        visitor.visit_seq(Positions { span: self.0.key_span, value: Inner::Key(self.0), next: 0 })
    }
    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        map struct enum identifier ignored_any
    }
}

/// The four parts of a [`Spanned`].
struct Positions<'de> {
    span: Span,
    value: Inner<'de>,
    next: u8,
}

enum Inner<'de> {
    Node(&'de Node),
    Key(&'de Entry),
}

impl<'de> SeqAccess<'de> for Positions<'de> {
    type Error = Mismatch;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mismatch> {
        let number = |n: u32| -> U32Deserializer<Mismatch> { n.into_deserializer() };
        self.next += 1;
        match (self.next, &self.value) {
            (1, _) => seed.deserialize(number(self.span.file)).map(Some),
            (2, _) => seed.deserialize(number(self.span.start)).map(Some),
            (3, _) => seed.deserialize(number(self.span.end)).map(Some),
            (4, Inner::Node(node)) => seed.deserialize(*node).map(Some),
            (4, Inner::Key(entry)) => seed.deserialize(KeyName(entry)).map(Some),
            _ => Ok(None),
        }
    }
}

/// A mapping whose variant stands under one of its own keys.
struct Tagged<'de> {
    tag: &'de str,
    name: &'static str,
    entries: &'de [Entry],
}

impl<'de> EnumAccess<'de> for Tagged<'de> {
    type Error = Mismatch;
    type Variant = Self;
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Mismatch> {
        Ok((seed.deserialize(StrDeserializer::<Mismatch>::new(self.tag))?, self))
    }
}

impl<'de> VariantAccess<'de> for Tagged<'de> {
    type Error = Mismatch;
    fn unit_variant(self) -> Result<(), Mismatch> {
        Ok(())
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Mismatch> {
        seed.deserialize(de::value::MapAccessDeserializer::new(Pairs { entries: self.entries.iter(), value: None, without: Some(self.name) }))
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Mismatch> {
        Err(Mismatch("tuple variants are not used".to_owned()))
    }
    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Mismatch> {
        Err(Mismatch("struct variants are not used".to_owned()))
    }
}

/// A value that is written in one of several forms.
struct Form<'de> {
    variant: &'static str,
    node: &'de Node,
}

impl<'de> EnumAccess<'de> for Form<'de> {
    type Error = Mismatch;
    type Variant = Self;
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Mismatch> {
        Ok((seed.deserialize(StrDeserializer::<Mismatch>::new(self.variant))?, self))
    }
}

impl<'de> VariantAccess<'de> for Form<'de> {
    type Error = Mismatch;
    fn unit_variant(self) -> Result<(), Mismatch> {
        Ok(())
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Mismatch> {
        seed.deserialize(self.node)
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Mismatch> {
        Err(Mismatch("tuple variants are not used".to_owned()))
    }
    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Mismatch> {
        Err(Mismatch("struct variants are not used".to_owned()))
    }
}
