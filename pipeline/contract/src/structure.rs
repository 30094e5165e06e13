//! Does a tree fit its type? Unknown and missing keys, wrong types, wrong words, numbers out of range: [`fit`].
//!
//! The judge is the JSON Schema that schemars derives from the as-typed structs, the same that editors get, in the subset that our
//! types produce. What does not fit is reported and cut out of the tree, so that the rest can still be read and judged in the same run.
//!
//! `x-not-available` on an object or enum maps keys and words that the design knows and this version does not run to the code that
//! refuses them; [`crate::json_schema`] drops it.
use crate::diagnostic::{list, nearest, shorten};
use crate::yaml::{Entry, Node, Scalar, Value};
use crate::{Diagnostic, Span, codes};
use serde_json::Value as Json;

/// The extension keyword.
pub(crate) const NOT_AVAILABLE: &str = "x-not-available";

/// `node` without what does not fit `schema`; `None` when nothing is left.
pub(crate) fn fit(schema: &Json, node: Node, report: &mut Vec<Diagnostic>) -> Option<Node> {
    let at = Span { end: node.span.start, ..node.span };
    Fit { root: schema, report }.visit(schema, node, at, "the file")
}

struct Fit<'a> {
    root: &'a Json,
    report: &'a mut Vec<Diagnostic>,
}

impl<'a> Fit<'a> {
    fn resolve(&self, mut schema: &'a Json) -> &'a Json {
        while let Some(pointer) = schema.get("$ref").and_then(Json::as_str) {
            match self.root.pointer(pointer.trim_start_matches('#')) {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }

    fn refuse(&mut self, diagnostic: Diagnostic) -> Option<Node> {
        self.report.push(diagnostic);
        None
    }

    /// `at` is where the user looks for the thing: its key, or its first line; `name` is what it is called.
    fn visit(&mut self, schema: &'a Json, node: Node, at: Span, name: &str) -> Option<Node> {
        let schema = self.resolve(schema);
        if schema.as_object().is_none_or(serde_json::Map::is_empty) {
            return Some(node); // `true`, `{}`: anything
        }
        if node.scalar().is_some_and(Scalar::is_null) {
            let help = "write the value, or remove the key; quote it if the text is meant";
            return self.refuse(Diagnostic::new(codes::MISSING_VALUE, at, format!("`{name}` has no value")).help(help));
        }
        if let Some(words) = self.words(schema) {
            return self.word(schema, &words, node, name);
        }
        if let Some(branches) = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(*key)).and_then(Json::as_array) {
            if let Some(tag) = self.tag(branches) {
                return self.tagged(schema, branches, tag, node, at, name);
            }
            // Of several mappings, the one whose keys are there.
            let whole = |branch: &&Json| self.required(branch).all(|key| node.entry(key).is_some());
            let fitting = || branches.iter().filter(|branch| self.types(branch).iter().any(|ty| is(&node, ty)));
            return match fitting().find(whole).or_else(|| fitting().next()) {
                Some(branch) => self.visit(branch, node, at, name),
                None => {
                    let types: Vec<&str> = branches.iter().flat_map(|branch| self.types(branch)).collect();
                    self.wrong_type(&types, &node, name)
                }
            };
        }
        let types = self.types(schema);
        if !types.is_empty() && !types.iter().any(|ty| is(&node, ty)) {
            if let Value::Map(entries) = &node.value
                && let Some(refusal) =
                    entries.iter().find_map(|entry| refusal(schema, &entry.key, entry.key_span, &format!("`{name}: {{{}: …}}`", shorten(&entry.key))))
            {
                return self.refuse(refusal);
            }
            return self.wrong_type(&types, &node, name);
        }
        match node.value {
            Value::Scalar(scalar) => self.range(schema, scalar, node.span, name),
            Value::Seq(items) => {
                let items = match schema.get("items") {
                    Some(schema) => items.into_iter().filter_map(|item| self.item(schema, item, name)).collect(),
                    None => items,
                };
                Some(Node { span: node.span, value: Value::Seq(items) })
            }
            Value::Map(entries) => {
                let entries = self.object(schema, None, entries, at, name);
                Some(Node { span: node.span, value: Value::Map(entries) })
            }
        }
    }

    fn item(&mut self, schema: &'a Json, item: Node, name: &str) -> Option<Node> {
        let at = match &item.value {
            Value::Map(entries) => entries.first().map_or(item.span, |entry| entry.key_span),
            _ => item.span,
        };
        self.visit(schema, item, at, name)
    }

    /// The keys that a mapping must have.
    fn required(&self, schema: &'a Json) -> impl Iterator<Item = &'a str> + use<'a> {
        self.resolve(schema).get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str)
    }

    /// All types that a schema takes; empty means any.
    fn types(&self, schema: &'a Json) -> Vec<&'a str> {
        let schema = self.resolve(schema);
        if self.words(schema).is_some() {
            return vec!["string"];
        }
        match schema.get("type") {
            Some(Json::String(ty)) => vec![ty],
            Some(Json::Array(types)) => types.iter().filter_map(Json::as_str).collect(),
            _ => match ["oneOf", "anyOf"].iter().find_map(|key| schema.get(*key)).and_then(Json::as_array) {
                Some(branches) => branches.iter().flat_map(|branch| self.types(branch)).collect(),
                None => Vec::new(),
            },
        }
    }

    /// The words of an enum; schemars writes `enum` for some and `oneOf` constants for those with documentation.
    fn words(&self, schema: &'a Json) -> Option<Vec<&'a str>> {
        if let Some(word) = schema.get("const") {
            return word.as_str().map(|word| vec![word]);
        }
        if let Some(words) = schema.get("enum").and_then(Json::as_array) {
            return Some(words.iter().filter_map(Json::as_str).collect());
        }
        let branches = schema.get("oneOf").and_then(Json::as_array)?;
        let words: Vec<Vec<&str>> = branches.iter().map(|branch| self.words(self.resolve(branch))).collect::<Option<_>>()?;
        Some(words.concat())
    }

    fn word(&mut self, schema: &'a Json, words: &[&'a str], node: Node, name: &str) -> Option<Node> {
        let Some(scalar) = node.scalar() else { return self.wrong_type(&["string"], &node, name) };
        if words.contains(&scalar.text.as_str()) {
            return Some(node);
        }
        if let Some(refusal) = refusal(schema, &scalar.text, node.span, &format!("`{name}: {}`", shorten(&scalar.text))) {
            return self.refuse(refusal);
        }
        let message = format!("`{}` is not a value of `{name}`", shorten(&scalar.text));
        let help = suggestion(&scalar.text, words);
        self.refuse(Diagnostic::new(codes::UNKNOWN_VALUE, node.span, message).help(help))
    }

    /// The key that tells the branches apart, when there is one.
    fn tag(&self, branches: &'a [Json]) -> Option<&'a str> {
        let tag_of = |branch: &'a Json| -> Option<&'a str> {
            self.resolve(branch).get("properties")?.as_object()?.iter().find(|(_, property)| property.get("const").is_some()).map(|(key, _)| key.as_str())
        };
        let tag = tag_of(branches.first()?)?;
        branches.iter().all(|branch| tag_of(branch) == Some(tag)).then_some(tag)
    }

    fn tagged(&mut self, schema: &'a Json, branches: &'a [Json], tag: &'a str, node: Node, at: Span, name: &str) -> Option<Node> {
        let Value::Map(entries) = node.value else { return self.wrong_type(&["object"], &node, name) };
        let Some(entry) = entries.iter().find(|entry| entry.key == tag) else {
            let words: Vec<&str> = branches.iter().filter_map(|branch| constant(self.resolve(branch), tag)).collect();
            let message = format!("`{name}` lacks the key `{tag}`");
            return self.refuse(Diagnostic::new(codes::MISSING_KEY, at, message).help(format!("one of {}", list(&words))));
        };
        let Some(scalar) = entry.value.scalar() else { return self.wrong_type(&["string"], &entry.value.clone(), tag) };
        match branches.iter().map(|branch| self.resolve(branch)).find(|branch| constant(branch, tag) == Some(scalar.text.as_str())) {
            Some(branch) => {
                let whose = scalar.text.clone();
                Some(Node { span: node.span, value: Value::Map(self.object(branch, Some((tag, &whose)), entries, at, name)) })
            }
            None => {
                let words: Vec<&str> = branches.iter().filter_map(|branch| constant(self.resolve(branch), tag)).collect();
                let diagnostic = refusal(schema, &scalar.text, entry.value.span, &format!("`{tag}: {}`", shorten(&scalar.text))).unwrap_or_else(|| {
                    let message = format!("`{}` is not a value of `{tag}`", shorten(&scalar.text));
                    Diagnostic::new(codes::UNKNOWN_VALUE, entry.value.span, message).help(suggestion(&scalar.text, &words))
                });
                self.refuse(diagnostic)
            }
        }
    }

    fn object(&mut self, schema: &'a Json, tag: Option<(&str, &str)>, entries: Vec<Entry>, at: Span, name: &str) -> Vec<Entry> {
        let properties = schema.get("properties").and_then(Json::as_object);
        let additional = schema.get("additionalProperties");
        for key in self.required(schema) {
            if !entries.iter().any(|entry| entry.key == key) {
                let message = format!("`{name}` lacks the key `{key}`");
                let help = properties.and_then(|p| p.get(key)).and_then(|p| self.description(p)).unwrap_or_else(|| format!("add `{key}`"));
                self.report.push(Diagnostic::new(codes::MISSING_KEY, at, message).help(help));
            }
        }
        let mut kept = Vec::with_capacity(entries.len());
        for Entry { key, key_span, value } in entries {
            let value = match (properties.and_then(|p| p.get(&key)), additional) {
                (Some(property), _) => self.visit(property, value, key_span, &key),
                (None, Some(Json::Bool(false))) => {
                    let owner = tag.map_or_else(|| format!("`{name}`"), |(tag, variant)| format!("`{tag}: {variant}`"));
                    self.unknown_key(schema, &key, key_span, &owner)
                }
                (None, Some(additional)) => self.visit(additional, value, key_span, &key),
                (None, None) => Some(value),
            };
            if let Some(value) = value {
                kept.push(Entry { key, key_span, value });
            }
        }
        kept
    }

    fn unknown_key(&mut self, schema: &'a Json, key: &str, at: Span, owner: &str) -> Option<Node> {
        if let Some(refusal) = refusal(schema, key, at, &format!("`{}`", shorten(key))) {
            return self.refuse(refusal);
        }
        let known: Vec<&str> = schema.get("properties").and_then(Json::as_object).into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        let message = format!("{owner} has no key `{}`", shorten(key));
        self.refuse(Diagnostic::new(codes::UNKNOWN_KEY, at, message).help(suggestion(key, &known)))
    }

    /// The first sentence of a key's documentation.
    fn description(&self, schema: &'a Json) -> Option<String> {
        let text = schema.get("description").or_else(|| self.resolve(schema).get("description"))?.as_str()?;
        Some(text.split("\n\n").next().unwrap_or(text).replace('\n', " "))
    }

    fn wrong_type(&mut self, types: &[&str], node: &Node, name: &str) -> Option<Node> {
        let mut words: Vec<&str> = Vec::new();
        for ty in types {
            let word = type_word(ty);
            if !words.contains(&word) {
                words.push(word);
            }
        }
        let found = match &node.value {
            Value::Seq(_) => "a list",
            Value::Map(_) => "a mapping",
            Value::Scalar(scalar) if !scalar.plain => "quoted text",
            Value::Scalar(scalar) if scalar.is_boolean() => "`true` or `false`",
            Value::Scalar(scalar) if scalar.is_number() => "a number",
            Value::Scalar(_) => "text",
        };
        let wanted = words.join(" or ");
        let diagnostic = Diagnostic::new(codes::WRONG_TYPE, node.span, format!("`{name}` takes {wanted}, here is {found}"));
        let help = match (&node.value, types) {
            (Value::Scalar(_), ["boolean"]) => "write `true` or `false`, without quotes; `yes` and `on` are text".to_owned(),
            (Value::Scalar(scalar), ["integer" | "number"]) if scalar.text.trim_start_matches(['-', '+']).starts_with('0') => {
                "write the number in decimal digits, without leading zeros".to_owned()
            }
            (Value::Scalar(scalar), ["integer" | "number"]) if !scalar.plain => "write the number without quotes".to_owned(),
            _ => format!("write {wanted}"),
        };
        self.refuse(diagnostic.help(help))
    }

    /// `minimum` and `maximum`, and what the integer type itself holds.
    fn range(&mut self, schema: &'a Json, scalar: Scalar, span: Span, name: &str) -> Option<Node> {
        let types = self.types(schema);
        if types == ["integer"] || types == ["number"] {
            let (low, high) = limits(schema);
            let number = scalar.text.parse::<f64>().unwrap_or(f64::NAN);
            // f64 is exact where the limits are; only i64 and u64 have larger ones, and those parse as themselves
            let whole = types == ["number"] || (scalar.text.parse::<i64>().is_ok() || scalar.text.parse::<u64>().is_ok());
            if !(whole && low <= number && number <= high) {
                let message = format!("`{name}` is out of range");
                return self.refuse(Diagnostic::new(codes::OUT_OF_RANGE, span, message).help(range_help(low, high)));
            }
        }
        Some(Node { span, value: Value::Scalar(scalar) })
    }
}

fn limits(schema: &Json) -> (f64, f64) {
    let (type_low, type_high) = match schema.get("format").and_then(Json::as_str) {
        Some("uint8") => (0.0, f64::from(u8::MAX)),
        Some("uint16") => (0.0, f64::from(u16::MAX)),
        Some("uint32") => (0.0, f64::from(u32::MAX)),
        Some("int32") => (f64::from(i32::MIN), f64::from(i32::MAX)),
        _ => (f64::MIN, f64::MAX),
    };
    let low = schema.get("minimum").and_then(Json::as_f64).map_or(type_low, |low| low.max(type_low));
    let high = schema.get("maximum").and_then(Json::as_f64).map_or(type_high, |high| high.min(type_high));
    (low, high)
}

fn range_help(low: f64, high: f64) -> String {
    match (low > f64::MIN, high < f64::MAX) {
        (true, true) => format!("from {low} to {high}"),
        (true, false) => format!("{low} or more"),
        (false, true) => format!("{high} or less"),
        (false, false) => "a number that fits 64 bits".to_owned(),
    }
}

/// The refusal of a key or word that `x-not-available` lists.
fn refusal(schema: &Json, word: &str, span: Span, what: &str) -> Option<Diagnostic> {
    let code = codes::find(schema.get(NOT_AVAILABLE)?.get(word)?.as_str()?)?;
    Some(codes::not_available(code, span, what))
}

fn constant<'a>(branch: &'a Json, tag: &str) -> Option<&'a str> {
    branch.get("properties")?.get(tag)?.get("const")?.as_str()
}

fn suggestion(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "remove it".to_owned(),
        None => format!("one of {}", list(known)),
    }
}

/// Text is wanted: any scalar is text as written. A number or boolean is wanted: only plain scalars that are one.
fn is(node: &Node, ty: &str) -> bool {
    match (&node.value, ty) {
        (Value::Scalar(_), "string") | (Value::Seq(_), "array") | (Value::Map(_), "object") => true,
        (Value::Scalar(scalar), "integer") => scalar.is_integer(),
        (Value::Scalar(scalar), "number") => scalar.is_number(),
        (Value::Scalar(scalar), "boolean") => scalar.is_boolean(),
        _ => false,
    }
}

fn type_word(ty: &str) -> &'static str {
    match ty {
        "string" => "text",
        "array" => "a list",
        "object" => "a mapping",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "`true` or `false`",
        _ => "something else",
    }
}
