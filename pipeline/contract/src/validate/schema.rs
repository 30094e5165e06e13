//! Schemas.
mod options;
mod sets;
mod types;

use super::quality::{self, Found, Level};
use super::{Report, join_domain, not_blank, semantic_type, touched, unique};
use crate::diagnostic::{list, nearest, shorten};
use crate::schema::{AcceptedFinding, Check, Column, DataType, RequiredObject, Schema, SetCheck, SetRule, ValueRule};
use crate::spanned::{Any, Spanned};
use crate::typed::odcs::{Contract, CustomProperty, Item, LogicalType, Property, Quality, Relationship};
use crate::{Diagnostic, Span, codes};
pub(crate) use options::compare;
pub(crate) use sets::{Names, references};

pub(crate) fn schema(typed: Contract, report: &mut Report) -> Option<Schema> {
    let version = typed.api_version.as_ref().map_or("", |version| version.value.as_str());
    if typed.status.is_none()
        && !version.starts_with("v3.2")
        && let Some(at) = typed.api_version.as_ref().map(|version| version.span)
    {
        report.push(Diagnostic::new(codes::MISSING_KEY, at, "the file lacks the key `status`").help("`active`, `draft`, …"));
    }
    misplaced(typed.custom_properties.as_deref(), report);
    let objects = typed.schema?;
    let count = objects.value.len();
    if count != 1 && !touched(report, objects.span) {
        let message = format!("`schema` has {count} objects");
        report.push(
            Diagnostic::new(codes::ONE_SCHEMA_OBJECT, objects.span, message).help("one file describes one dataset: one object, other objects in other files"),
        );
    }
    let Spanned { value: object, span } = objects.value.into_iter().next()?;
    misplaced(object.custom_properties.as_deref(), report);
    let name = object.name.and_then(|name| not_blank(name, "name", report));
    let properties = object.properties?;
    // a column that was cut out is not unknown
    let whole = !touched(report, properties.span);
    let mut walk = Walk {
        names: Vec::new(),
        columns: Vec::new(),
        required_objects: Vec::new(),
        rules: Vec::new(),
        keys: Vec::new(),
        relationships: Vec::new(),
        flags: version.starts_with("v3.0"),
        report,
    };
    walk.properties(properties, &Above::default());
    let Walk { names, columns, required_objects, mut rules, keys, relationships, report, .. } = walk;
    let mut columns = columns;
    let columns_by_name = sets::Names { names: &names, columns: &columns, whole };
    for rule in object.quality.into_iter().flatten() {
        let found = quality::rules(rule, &Level::Dataset(&columns_by_name), None, report);
        rules.extend(found.into_iter().filter_map(|found| if let Found::Set(rule) = found { Some(rule) } else { None }));
    }
    let own = name.as_deref().unwrap_or_default();
    for (column, relationship) in relationships {
        rules.extend(sets::of_column(relationship, column, names.get(column).map_or("", String::as_str), report));
    }
    for relationship in object.relationships.into_iter().flatten() {
        rules.extend(sets::of_dataset(relationship, own, &columns_by_name, report));
    }
    let key = sets::primary_key(keys, report);
    for column in key.iter().flat_map(|key| key.iter()) {
        if let Some(Some(column)) = columns.get_mut(*column) {
            column.required = true;
        }
    }
    sets::with_key(&mut rules, key, span);
    repeated(&names, &columns, report);
    let columns: Vec<Column> = columns.into_iter().collect::<Option<_>>()?;
    sets::name(&mut rules, &columns, report);
    Some(Schema { name: name?, columns, required_objects, rules, span })
}

/// Names that are there twice once objects are taken apart: `a: {b}` and `a.b`.
fn repeated(names: &[String], columns: &[Option<Column>], report: &mut Report) {
    let mut seen = std::collections::HashSet::new();
    for (name, column) in names.iter().zip(columns) {
        if !seen.insert(name)
            && let Some(column) = column.as_ref().filter(|column| !touched(report, column.span))
        {
            let message = format!("the column `{}` is here twice", shorten(name));
            let help = "a value inside an object is called `object.value`: rename one of them";
            report.push(Diagnostic::new(codes::DUPLICATE_NAME, column.span, message).help(help));
        }
    }
}

/// What the objects and arrays around a value say about it.
#[derive(Default)]
struct Above {
    path: Vec<String>,
    list_at: Option<usize>,
    classification: Option<String>,
    tags: Vec<String>,
    /// `logicalTypeOptions.required`.
    required: Vec<String>,
}

/// The columns as they are found.
struct Walk<'r> {
    /// Of all columns, valid or not.
    names: Vec<String>,
    columns: Vec<Option<Column>>,
    required_objects: Vec<RequiredObject>,
    rules: Vec<SetRule>,
    keys: Vec<sets::KeyColumn>,
    relationships: Vec<(usize, Spanned<Relationship>)>,
    /// Before v3.1, `exclusiveMinimum` was a flag.
    flags: bool,
    report: &'r mut Report,
}

/// A column in the making.
struct Leaf {
    path: Vec<String>,
    list_at: Option<usize>,
    required: bool,
    item_required: bool,
    custom: Custom,
    classification: Option<String>,
    tags: Vec<String>,
    /// About the list as a whole.
    rules: Vec<ValueRule>,
    span: Span,
}

impl Walk<'_> {
    fn refuse(&mut self, code: &'static str, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.report.push(Diagnostic::new(code, span, message).help(help));
    }

    fn properties(&mut self, properties: Spanned<Vec<Spanned<Property>>>, above: &Above) {
        let Spanned { value: list, span } = properties;
        if list.is_empty() && !touched(self.report, span) {
            let help = if above.path.is_empty() { "a dataset has at least one column" } else { "an object holds at least one value" };
            self.refuse(codes::EMPTY_LIST, span, "`properties` is empty", help);
        }
        unique(list.iter().filter_map(|p| p.value.name.as_ref()).map(|name| (name.value.as_str(), name.span)), "the column", self.report);
        for property in list {
            self.property(property, above);
        }
    }

    fn property(&mut self, typed: Spanned<Property>, above: &Above) {
        let Spanned { value: mut typed, span } = typed;
        let before = self.report.len();
        let name = typed.name.take().and_then(|name| column_name(name, self.report));
        let named = name.is_some();
        let mut path = above.path.clone();
        path.push(name.unwrap_or_default());
        let forced = path.last().is_some_and(|name| above.required.contains(name));
        let required = forced || typed.required.as_ref().is_some_and(|required| required.value);
        match typed.logical_type.as_ref().map(|logical| logical.value) {
            Some(LogicalType::Object) => self.object(typed, span, path, required, above),
            Some(LogicalType::Array) => self.array(typed, span, path, required, above),
            Some(logical) => {
                for (key, at) in [("properties", typed.properties.as_ref().map(|p| p.span)), ("items", typed.items.as_ref().map(|i| i.span))] {
                    self.stray(key, at, logical);
                }
                let in_list = above.list_at.is_some();
                let custom = custom_properties(typed.custom_properties.take().unwrap_or_default(), self.report);
                let (classification, tags) = inherited(&mut typed, above);
                let leaf = Leaf {
                    path,
                    list_at: above.list_at,
                    required: required && !in_list,
                    item_required: required && in_list,
                    custom,
                    classification,
                    tags,
                    rules: Vec::new(),
                    span,
                };
                self.leaf(typed, logical, leaf, before, named);
            }
            None => {
                custom_properties(typed.custom_properties.unwrap_or_default(), self.report);
                self.push(path, None);
            }
        }
    }

    fn push(&mut self, path: Vec<String>, column: Option<Column>) {
        self.names.push(path.join("."));
        self.columns.push(column);
    }

    fn stray(&mut self, key: &str, at: Option<Span>, logical: LogicalType) {
        if let Some(at) = at {
            let message = format!("`{key}` says nothing about `logicalType: {}`", options::name(logical));
            self.refuse(codes::OPTION_NOT_FOR_TYPE, at, message, "`properties` are of `object`, `items` of `array`");
        }
    }

    /// Keys that only a value alone in its row can be.
    fn no_keys(&mut self, typed: &Property, what: &str) {
        let flags = [("primaryKey", &typed.primary_key), ("unique", &typed.unique)];
        let flags: Vec<(&str, Span)> = flags.into_iter().filter_map(|(key, flag)| Some((key, flag.as_ref().filter(|flag| flag.value)?.span))).collect();
        let relationships = typed.relationships.iter().flatten().map(|relationship| ("relationships", relationship.span));
        for (key, span) in flags.into_iter().chain(relationships) {
            self.refuse(codes::BAD_KEY, span, format!("`{key}` of {what}"), "keys are values that a row has once: state it of such a column");
        }
    }

    /// Whether the rules about an object or an array of objects make it required.
    fn group_quality(&mut self, quality: Option<Vec<Spanned<Quality>>>) -> bool {
        let mut required = false;
        for rule in quality.into_iter().flatten() {
            required |= quality::rules(rule, &Level::Group, None, self.report).iter().any(|found| matches!(found, Found::Required));
        }
        required
    }

    fn object(&mut self, mut typed: Property, span: Span, path: Vec<String>, required: bool, above: &Above) {
        misplaced(typed.custom_properties.as_deref(), self.report);
        self.stray("items", typed.items.as_ref().map(|items| items.span), LogicalType::Object);
        self.no_keys(&typed, "an object");
        let required = self.group_quality(typed.quality.take()) || required;
        if required {
            if above.list_at.is_some() {
                let what = "a required object inside an array's objects";
                self.report.push(codes::not_available(codes::NESTED_NOT_AVAILABLE, span, what).help("state `required` of the values in it"));
            }
            self.required_objects.push(RequiredObject { path: path.clone(), span });
        }
        let below = self.below(&mut typed, path, above.list_at, above);
        self.inside(typed.properties, span, &below);
    }

    /// What an object says about the values in it.
    fn below(&mut self, typed: &mut Property, path: Vec<String>, list_at: Option<usize>, above: &Above) -> Above {
        let options = typed.logical_type_options.take().map(|options| options.value).unwrap_or_default();
        options::not_for_type(LogicalType::Object, &options, self.report);
        let (classification, tags) = inherited(typed, above);
        let mut required = Vec::new();
        let known: Vec<&str> = typed.properties.iter().flat_map(|p| &p.value).filter_map(|p| p.value.name.as_ref()).map(|name| name.value.as_str()).collect();
        let whole = typed.properties.as_ref().is_some_and(|properties| !touched(self.report, properties.span));
        for name in options.required.into_iter().flat_map(|list| list.value) {
            if whole && !known.contains(&name.value.as_str()) {
                let help = nearest(&name.value, &known).map_or_else(|| format!("it has {}", list(&known)), |near| format!("did you mean `{near}`?"));
                let message = format!("the object has no property `{}`", shorten(&name.value));
                self.report.push(Diagnostic::new(codes::UNKNOWN_COLUMN, name.span, message).help(help));
            }
            required.push(name.value);
        }
        Above { path, list_at, classification, tags, required }
    }

    fn inside(&mut self, properties: Option<Spanned<Vec<Spanned<Property>>>>, span: Span, below: &Above) {
        match properties {
            Some(properties) => self.properties(properties, below),
            None => {
                if !touched(self.report, span) {
                    self.refuse(
                        codes::MISSING_KEY,
                        span,
                        "the object lacks the key `properties`",
                        "name the values in it: only what the contract names is read",
                    );
                }
                // so that nothing is accepted without it
                self.push(below.path.clone(), None);
            }
        }
    }

    fn array(&mut self, mut typed: Property, span: Span, path: Vec<String>, required: bool, above: &Above) {
        self.stray("properties", typed.properties.as_ref().map(|properties| properties.span), LogicalType::Array);
        self.no_keys(&typed, "an array");
        if above.list_at.is_some() {
            self.report.push(codes::not_available(codes::NESTED_NOT_AVAILABLE, span, "an array inside an array"));
            return self.push(path, None);
        }
        let array_options = typed.logical_type_options.take().map(|options| options.value).unwrap_or_default();
        options::not_for_type(LogicalType::Array, &array_options, self.report);
        let rules = options::list_rules(&array_options, self.report);
        let Some(items) = typed.items.take() else {
            if !touched(self.report, span) {
                self.refuse(codes::MISSING_KEY, span, "the array lacks the key `items`", "`items: {logicalType: string}`: what its elements are");
            }
            return self.push(path, None);
        };
        let before = self.report.len();
        let Spanned { value: items, span: items_span } = *items;
        let mut items: Property = Item::into(items);
        if matches!(items.logical_type.as_ref().map(|logical| logical.value), Some(LogicalType::Object | LogicalType::Array)) {
            self.no_keys(&items, "the elements of an array");
        }
        let list_at = Some(path.len());
        match items.logical_type.as_ref().map(|logical| logical.value) {
            Some(LogicalType::Array) => {
                self.report.push(codes::not_available(codes::NESTED_NOT_AVAILABLE, items_span, "an array of arrays"));
                self.push(path, None);
            }
            Some(LogicalType::Object) => self.array_of_objects(typed, items, items_span, (path, required, span), rules, above),
            Some(logical) => {
                for (key, at) in [("properties", items.properties.as_ref().map(|p| p.span)), ("items", items.items.as_ref().map(|i| i.span))] {
                    self.stray(key, at, logical);
                }
                let mut required = required;
                let index = self.columns.len();
                let name = path.join(".");
                for rule in typed.quality.take().into_iter().flatten() {
                    for found in quality::rules(rule, &Level::List { column: index, name: &name }, None, self.report) {
                        match found {
                            Found::Required => required = true,
                            Found::Set(rule) => self.rules.push(rule),
                            Found::Value(_) => {}
                        }
                    }
                }
                let custom = custom_properties(typed.custom_properties.take().unwrap_or_default(), self.report);
                let of_items = custom_properties(items.custom_properties.take().unwrap_or_default(), self.report);
                let custom = custom.and(of_items, self.report);
                let (classification, tags) = inherited(&mut typed, above);
                let (classification, tags) = inherited(&mut items, &Above { classification, tags, ..Above::default() });
                let item_required = items.required.as_ref().is_some_and(|required| required.value);
                let named = path.last().is_some_and(|name| !name.is_empty());
                let leaf = Leaf { path, list_at, required, item_required, custom, classification, tags, rules, span };
                self.leaf(items, logical, leaf, before, named);
            }
            None => self.push(path, None),
        }
    }

    fn array_of_objects(
        &mut self,
        mut typed: Property,
        mut items: Property,
        items_span: Span,
        at: (Vec<String>, bool, Span),
        rules: Vec<ValueRule>,
        above: &Above,
    ) {
        let (path, required, span) = at;
        misplaced(typed.custom_properties.as_deref(), self.report);
        misplaced(items.custom_properties.as_deref(), self.report);
        self.stray("items", items.items.as_ref().map(|items| items.span), LogicalType::Object);
        if self.group_quality(typed.quality.take()) || required {
            self.required_objects.push(RequiredObject { path: path.clone(), span });
        }
        let items_required = items.required.as_ref().filter(|required| required.value).map(|required| required.span);
        if self.group_quality(items.quality.take()) || items_required.is_some() {
            let what = codes::not_available(codes::NESTED_NOT_AVAILABLE, items_required.unwrap_or(items_span), "`required` of an array's objects");
            self.report.push(what.help("state `required` of the values in them"));
        }
        for rule in rules.iter().filter(|rule| matches!(rule.check, Check::UniqueItems)) {
            self.report.push(codes::not_available(codes::NESTED_NOT_AVAILABLE, rule.span, "`uniqueItems` of objects").help("remove it"));
        }
        let (classification, tags) = inherited(&mut typed, above);
        let around = Above { classification, tags, ..Above::default() };
        let list_at = Some(path.len());
        let below = self.below(&mut items, path, list_at, &around);
        let first = self.columns.len();
        self.inside(items.properties, items_span, &below);
        // all values of an array's objects are as many: the first column stands for them
        if let Some(Some(column)) = self.columns.get_mut(first) {
            column.rules.splice(0..0, rules);
        }
    }

    /// A column: a value of the row, the elements of an array, or one value of its objects.
    fn leaf(&mut self, typed: Property, logical: LogicalType, mut leaf: Leaf, before: usize, named: bool) {
        let index = self.columns.len();
        let name = leaf.path.join(".");
        let in_list = leaf.list_at.is_some();
        if in_list {
            self.no_keys(&typed, "a value that a row has many of");
        }
        let type_options = typed.logical_type_options.map(|options| options.value).unwrap_or_default();
        options::not_for_type(logical, &type_options, self.report);
        if let Some(base) = &leaf.custom.year_base
            && !matches!(logical, LogicalType::Date | LogicalType::Timestamp)
        {
            let help = "it says what the `yy` of a date counts from: remove it";
            self.report.push(Diagnostic::new(codes::YEAR_BASE, base.span, "`yearBase` is for dates and timestamps").help(help));
        }
        let at = typed.logical_type.as_ref().map_or(leaf.span, |logical| logical.span);
        let found = types::data_type(logical, typed.physical_type.as_ref(), &type_options, leaf.custom.year_base.as_ref(), at, self.report);
        let mut rules = std::mem::take(&mut leaf.rules);
        let each = |rule: ValueRule| ValueRule { each: in_list, ..rule };
        if let Some(found) = &found {
            rules.extend(options::value_rules(&type_options, found, self.flags, self.report).into_iter().map(each));
            let level = if in_list { Level::Elements } else { Level::Column { column: index, name: &name } };
            for rule in typed.quality.into_iter().flatten() {
                let span = rule.span;
                for found in quality::rules(rule, &level, Some(&found.data_type), self.report) {
                    match found {
                        Found::Required if in_list => leaf.item_required = true,
                        Found::Required => leaf.required = true,
                        Found::Value(check) => rules.push(ValueRule { check, each: in_list, span }),
                        Found::Set(rule) => self.rules.push(rule),
                    }
                }
            }
        }
        if !in_list {
            let position = typed.primary_key_position.filter(|position| position.value != -1);
            match (typed.primary_key.filter(|key| key.value), position) {
                (Some(key), position) => self.keys.push(sets::KeyColumn { column: index, position, span: key.span }),
                (None, Some(position)) => {
                    self.refuse(codes::BAD_KEY, position.span, "`primaryKeyPosition` without `primaryKey: true`", "add it, or remove the position");
                }
                (None, None) => {}
            }
            if let Some(flag) = typed.unique.filter(|flag| flag.value) {
                self.rules.push(SetRule { code: format!("{name}.unique"), check: SetCheck::Unique { columns: vec![index] }, span: flag.span });
            }
            self.relationships.extend(typed.relationships.into_iter().flatten().map(|relationship| (index, relationship)));
        }
        let wrong = self.report.len() > before || !named;
        let column = found.filter(|_| !wrong).map(|found| Column {
            name,
            path: leaf.path.clone(),
            list_at: leaf.list_at,
            data_type: if in_list { DataType::List(Box::new(found.data_type)) } else { found.data_type },
            required: leaf.required,
            item_required: leaf.item_required,
            semantic_type: leaf.custom.semantic_type.map(|ty| ty.value),
            join_domain: leaf.custom.join_domain.map(|domain| domain.value),
            classification: leaf.classification,
            tags: leaf.tags,
            rules,
            accepted_findings: leaf.custom.accepted_findings,
            span: leaf.span,
        });
        self.push(leaf.path, column);
    }
}

/// A value is as sensitive as the object that it is part of says, unless it says something of its own; tags add up.
fn inherited(typed: &mut Property, above: &Above) -> (Option<String>, Vec<String>) {
    let classification = typed.classification.take().map(|classification| classification.value).or_else(|| above.classification.clone());
    let mut tags = above.tags.clone();
    for tag in typed.tags.take().into_iter().flat_map(|tags| tags.0) {
        if !tags.contains(&tag.value) {
            tags.push(tag.value);
        }
    }
    (classification, tags)
}

fn column_name(name: Spanned<String>, report: &mut Report) -> Option<String> {
    if !name.value.trim().is_empty() && !name.value.chars().any(char::is_control) {
        return Some(name.value);
    }
    report.push(Diagnostic::new(codes::BAD_NAME, name.span, "a column's name is blank or has control characters").help("write the name as the file has it"));
    None
}

/// What `customProperties` says about a column.
#[derive(Default)]
struct Custom {
    semantic_type: Option<Spanned<String>>,
    join_domain: Option<Spanned<String>>,
    year_base: Option<Spanned<i32>>,
    accepted_findings: Vec<AcceptedFinding>,
}

const OURS: [&str; 4] = ["semanticType", "joinDomain", "yearBase", "acceptedFindings"];

fn custom_properties(list: Vec<CustomProperty>, report: &mut Report) -> Custom {
    let mut custom = Custom::default();
    unique(list.iter().filter_map(|p| p.property.as_ref()).map(|name| (name.value.as_str(), name.span)), "the custom property", report);
    for CustomProperty { property, value, .. } in list {
        let Some(property) = property else { continue };
        let Some(value) = value else { continue };
        if property.value == "acceptedFindings" {
            custom.accepted_findings = accepted_findings(value, report);
            continue;
        }
        let text = match value.value {
            Any::Text(text) => Spanned { value: text, span: value.span },
            _ if OURS.contains(&property.value.as_str()) => {
                let message = format!("`{}` is one word", property.value);
                report.push(Diagnostic::new(codes::BAD_CUSTOM_PROPERTY, value.span, message).help("write one value"));
                continue;
            }
            _ => continue,
        };
        match property.value.as_str() {
            "semanticType" => custom.semantic_type = spanned(text, semantic_type, report),
            "joinDomain" => custom.join_domain = spanned(text, join_domain, report),
            "yearBase" => match text.value.parse::<i32>() {
                Ok(base) if (0..=9900).contains(&base) => custom.year_base = Some(Spanned { value: base, span: text.span }),
                _ => {
                    let message = "`yearBase` is not a year";
                    report.push(
                        Diagnostic::new(codes::YEAR_BASE, text.span, message)
                            .help("the first year that two digits can mean, 0 to 9900: `1900` gives 1900 to 1999"),
                    );
                }
            },
            other => {
                // other tools have properties of their own; a typo in one of ours must not unclassify a column
                if let Some(near) = nearest(other, &OURS) {
                    let message = format!("there is no custom property `{}`", shorten(other));
                    report.push(Diagnostic::new(codes::UNKNOWN_CUSTOM_PROPERTY, property.span, message).help(format!("did you mean `{near}`?")));
                }
            }
        }
    }
    custom
}

/// `[{type: BR_CEP, reason: "…"}]`.
fn accepted_findings(value: Spanned<Any>, report: &mut Report) -> Vec<AcceptedFinding> {
    let mut refuse = |span: Span| {
        let message = "`acceptedFindings` is a list of `{type: …, reason: …}`";
        let help = "for example `[{type: BR_CEP, reason: \"branch numbers of eight digits\"}]`: the reason is what the next reviewer reads";
        report.push(Diagnostic::new(codes::BAD_CUSTOM_PROPERTY, span, message).help(help));
    };
    let Any::List(list) = value.value else {
        refuse(value.span);
        return Vec::new();
    };
    let mut accepted: Vec<AcceptedFinding> = Vec::new();
    let mut types = Vec::new();
    for Spanned { value: entry, span } in list {
        let Any::Map(pairs) = entry else {
            refuse(span);
            continue;
        };
        let (mut info_type, mut reason, mut other) = (None, None, pairs.len() != 2);
        for (key, value) in pairs {
            match (key.value.as_str(), value.value) {
                ("type", Any::Text(text)) => info_type = Some(Spanned { value: text, span: value.span }),
                ("reason", Any::Text(text)) => reason = Some(text).filter(|reason| reason.chars().filter(|c| c.is_alphanumeric()).count() >= 3),
                _ => other = true,
            }
        }
        match (info_type, reason) {
            (Some(info_type), Some(reason)) if !other => types.push((info_type, reason, span)),
            _ => refuse(span),
        }
    }
    for (info_type, reason, span) in types {
        let Some(info_type) = semantic_type(info_type, report) else { continue };
        if accepted.iter().any(|before| before.info_type == info_type) {
            report.push(Diagnostic::new(codes::DUPLICATE_NAME, span, format!("`{info_type}` is accepted twice")).help("state it once"));
        }
        accepted.push(AcceptedFinding { info_type, reason, span });
    }
    accepted
}

fn spanned(text: Spanned<String>, judge: fn(Spanned<String>, &mut Report) -> Option<String>, report: &mut Report) -> Option<Spanned<String>> {
    let span = text.span;
    Some(Spanned { value: judge(text, report)?, span })
}

impl Custom {
    /// What an array and its elements say together.
    fn and(self, other: Self, report: &mut Report) -> Self {
        let mut both = |mine: Option<Spanned<String>>, theirs: Option<Spanned<String>>, key: &str| {
            if let (Some(mine), Some(theirs)) = (&mine, &theirs)
                && mine.value != theirs.value
            {
                let message = format!("`{key}` of the elements is not that of the array");
                report.push(Diagnostic::new(codes::BAD_CUSTOM_PROPERTY, theirs.span, message).help("state it once"));
            }
            mine.or(theirs)
        };
        Self {
            semantic_type: both(self.semantic_type, other.semantic_type, "semanticType"),
            join_domain: both(self.join_domain, other.join_domain, "joinDomain"),
            year_base: self.year_base.or(other.year_base),
            accepted_findings: [self.accepted_findings, other.accepted_findings].concat(),
        }
    }
}

/// Our properties say something about columns only.
fn misplaced(list: Option<&[CustomProperty]>, report: &mut Report) {
    for property in list.into_iter().flatten().filter_map(|property| property.property.as_ref()) {
        if OURS.contains(&property.value.as_str()) {
            let message = format!("`{}` is about a column", property.value);
            report.push(Diagnostic::new(codes::UNKNOWN_CUSTOM_PROPERTY, property.span, message).help("move it to the column's own `customProperties`"));
        }
    }
}
