//! `deidentifyText`: what becomes of each type that is found in a text, with the rule, key and join domain that the policy's short
//! forms borrow.
//!
//! A short form (`BR_CPF: cryptoHash`) stands for the policy's rule that decides columns of that semantic type, in the join domain of the
//! job's columns of it, so that a value in a text and the same value in a column get one token. Whatever of this is missing or can be
//! understood in two ways is a diagnostic.
use super::decide::{JoinDomain, decides};
use super::lineage::ColumnLineage;
use super::{PlannedColumn, value_type};
use datafusion::arrow::datatypes::DataType;
use perimeter_contract::policy::{DetectorCheckDigit, DetectorLikelihood, Policy, Rule, TextDetector, TextMatcher, TextType, TextTypes, Transform, Treatment};
use perimeter_contract::schema::Column;
use perimeter_contract::{Contract, Diagnostic};
use perimeter_detect::{CheckDigit, Context, CustomDetector, Detector, DetectorError, DetectorOptions, InfoType, Likelihood, Matcher};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is done to the texts of one column.
#[derive(Clone, Debug)]
pub struct TextPlan {
    /// The types that the policy names, in its order.
    pub listed: Vec<TypePlan>,
    /// What every other type becomes.
    pub default: Becomes,
    /// What finds them.
    pub detector: Arc<Detector>,
    /// How many detectors of the policy's own it has.
    pub custom: u16,
    /// What the column's name announces.
    pub place: Context,
}

/// One type that the policy names.
#[derive(Clone, Debug)]
pub struct TypePlan {
    /// The type.
    pub info_type: InfoType,
    /// Its name.
    pub name: String,
    /// What its values become.
    pub becomes: Becomes,
}

/// What the values of one type become.
#[derive(Clone, Debug)]
pub struct Becomes {
    /// The transform: keyed, without a key, or `keep`.
    pub transform: Transform,
    /// The policy's rule that it was taken from.
    pub rule: Option<String>,
    /// The join domain of its tokens; there where the transform has a key.
    pub join_domain: Option<JoinDomain>,
}

impl Becomes {
    fn keyless(transform: &Transform, rule: Option<&Rule>) -> Self {
        Self { transform: transform.clone(), rule: rule.map(|rule| rule.name.clone()), join_domain: None }
    }
}

impl PlannedColumn {
    /// The key names that its tokens need.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.decision.transform.key().into_iter().chain(self.text.iter().flat_map(TextPlan::keys))
    }

    /// Whether a tokenizer may read it: text that the policy keeps, or out of which it has taken what detectors find. Other transforms leave
    /// tokens, which say nothing to a model of text and can be told apart piece by piece.
    pub fn may_be_tokenized(&self) -> bool {
        *value_type(&self.data_type) == DataType::Utf8 && matches!(self.decision.transform, Transform::Keep | Transform::DeidentifyText(_))
    }
}

impl TextPlan {
    /// Key names that its tokens need.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.listed.iter().filter_map(|listed| listed.becomes.transform.key())
    }
}

/// Every `deidentifyText` of a policy, against one job.
#[derive(Debug)]
pub struct Texts<'a> {
    contract: &'a Contract,
    detector: Arc<Detector>,
}

impl<'a> Texts<'a> {
    /// Compiles the policy's detectors and looks up every type that it names; `None` where it has neither.
    ///
    /// # Errors
    /// Diagnostics: a detector that does not compile, a type that nothing finds.
    pub fn new(contract: &'a Contract) -> Result<Option<Self>, Vec<Diagnostic>> {
        let policy = &contract.policy;
        let entries: Vec<&TextType> = policy.rules.iter().filter_map(|rule| types_of(&rule.transform)).flat_map(|types| &types.listed).collect();
        if policy.detectors.is_empty() && !policy.rules.iter().any(|rule| types_of(&rule.transform).is_some()) {
            return Ok(None);
        }
        let detector = Arc::new(detector(policy).map_err(|problem| vec![problem])?);
        let unknown: Vec<Diagnostic> =
            entries.into_iter().filter(|entry| find(policy, &entry.name).is_none()).map(|entry| unknown_type(policy, entry)).collect();
        if unknown.is_empty() { Ok(Some(Self { contract, detector })) } else { Err(unknown) }
    }

    /// What is done to the texts of a column of this lineage.
    ///
    /// # Errors
    /// A diagnostic for each short form that says too little for this job.
    pub fn column(&self, types: &TextTypes, lineage: &ColumnLineage) -> Result<TextPlan, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let mut listed = Vec::with_capacity(types.listed.len());
        for entry in &types.listed {
            let becomes = match find(&self.contract.policy, &entry.name) {
                Some((info_type, semantic_type)) => becomes(self.contract, entry, semantic_type).map(|becomes| (info_type, becomes)),
                None => Err(unknown_type(&self.contract.policy, entry)),
            };
            match becomes {
                Ok((info_type, becomes)) => listed.push(TypePlan { info_type, name: entry.name.clone(), becomes }),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        // The contract's name, not that of the query: an alias must not hide what a column says of itself.
        let mut names = lineage.from.iter().map(|from| from.column.as_str());
        let place = match (names.next(), names.next()) {
            (Some(name), None) => Context::column(name),
            _ => Context::NONE,
        };
        let custom = u16::try_from(self.contract.policy.detectors.len()).unwrap_or(u16::MAX);
        Ok(TextPlan { listed, default: Becomes::keyless(&types.default, None), detector: Arc::clone(&self.detector), custom, place })
    }
}

fn types_of(transform: &Transform) -> Option<&TextTypes> {
    if let Transform::DeidentifyText(types) = transform { Some(types) } else { None }
}

/// The detector of a policy: all built-in types, and the policy's own. Compile once, share.
///
/// # Errors
/// A diagnostic at the detector that does not compile, or whose name is taken.
pub fn detector(policy: &Policy) -> Result<Detector, Diagnostic> {
    let options = DetectorOptions { custom: customs(policy), ..DetectorOptions::default() };
    Detector::new(&options).map_err(|error| {
        let named = |name: &String| policy.detectors.iter().find(|detector| detector.name == *name);
        let (at, help) = match &error {
            DetectorError::Duplicate { name } => (named(name), "the names of built-in types are taken: choose another name"),
            DetectorError::Regex { name } => (named(name), "the patterns of a policy compile to 64 MiB at most, all together: repeat less, or match less"),
            DetectorError::Dictionary { name } => (named(name), "write words that are not blank, and fewer of them"),
            DetectorError::Name { index } => (policy.detectors.get(*index), "upper-case letters, digits and `_`, a letter first: `EMPLOYEE_ID`"),
            _ => (None, "write fewer detectors: a dictionary holds many words, a pattern many forms"),
        };
        let at = at.or(policy.detectors.last()).map(|detector| detector.span).unwrap_or_default();
        Diagnostic::new("detector-refused", at, error.to_string()).help(help)
    })
}

/// A policy's own detectors, in its order: `InfoType::Custom(n)` is the n-th.
pub(crate) fn customs(policy: &Policy) -> Vec<CustomDetector> {
    policy.detectors.iter().map(custom).collect()
}

fn custom(detector: &TextDetector) -> CustomDetector {
    CustomDetector {
        name: detector.name.clone(),
        matcher: match &detector.matcher {
            TextMatcher::Regex(pattern) => Matcher::Regex(pattern.clone()),
            TextMatcher::Dictionary(words) => Matcher::Dictionary(words.clone()),
        },
        check_digit: detector.check_digit.map(|digit| match digit {
            DetectorCheckDigit::Luhn => CheckDigit::Luhn,
            DetectorCheckDigit::Cpf => CheckDigit::Cpf,
            DetectorCheckDigit::Cnpj => CheckDigit::Cnpj,
            DetectorCheckDigit::Iban => CheckDigit::Iban,
        }),
        likelihood: match detector.likelihood {
            DetectorLikelihood::Possible => Likelihood::Possible,
            DetectorLikelihood::Likely => Likelihood::Likely,
            DetectorLikelihood::VeryLikely => Likelihood::VeryLikely,
        },
        context: detector.context.clone(),
    }
}

/// The type of a name, and the semantic type of columns that hold its values.
fn find<'a>(policy: &'a Policy, name: &str) -> Option<(InfoType, &'a str)> {
    if let Some(index) = policy.detectors.iter().position(|detector| detector.name == name) {
        return Some((InfoType::Custom(u16::try_from(index).ok()?), policy.detectors[index].name.as_str()));
    }
    InfoType::from_name(name).map(|info_type| (info_type, info_type.semantic_type()))
}

fn unknown_type(policy: &Policy, entry: &TextType) -> Diagnostic {
    let names = InfoType::all().map(|info_type| info_type.name()).chain(policy.detectors.iter().map(|detector| detector.name.as_str()));
    // A name that holds the other: `CPF`, `BR_CPF_NUMBER`.
    let mut near: Vec<&str> = names.filter(|name| name.contains(&entry.name) || entry.name.contains(name)).collect();
    near.truncate(4);
    let help = if near.is_empty() {
        "the types are listed in docs/transforms.md; a detector of the policy's own goes under `detectors`".to_owned()
    } else {
        format!("did you mean {}?", near.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or "))
    };
    Diagnostic::new("unknown-info-type", entry.span, format!("nothing finds the type `{}`", entry.name)).help(help)
}

fn becomes(contract: &Contract, entry: &TextType, semantic_type: &str) -> Result<Becomes, Diagnostic> {
    let rules = &contract.policy.rules;
    let (transform, rule, said) = match &entry.treatment {
        Treatment::Own { transform, join_domain } => (&**transform, None, join_domain),
        Treatment::AsRule { rule, join_domain } => match rules.iter().find(|candidate| candidate.name == *rule) {
            Some(rule) if rule.transform.is_for_text() => (&rule.transform, Some(rule), join_domain),
            // The contract has looked.
            _ => return Err(Diagnostic::new("text-rule", entry.span, format!("rule `{rule}` cannot be used for `{}`", entry.name)).help("name another rule")),
        },
        Treatment::AsColumns { transform } => {
            let rule = rule_of_columns(contract, entry, semantic_type, transform)?;
            (&rule.transform, Some(rule), &None)
        }
    };
    if transform.key().is_none() {
        return Ok(Becomes::keyless(transform, rule));
    }
    let join_domain = match said {
        Some(name) => name.clone(),
        None => domain_of_columns(contract, entry, semantic_type, transform, rule)?,
    };
    Ok(Becomes { transform: transform.clone(), rule: rule.map(|rule| rule.name.clone()), join_domain: Some(JoinDomain::Named(join_domain)) })
}

/// The columns of a semantic type, in all sources of the job.
fn columns_of<'a>(contract: &'a Contract, semantic_type: &'a str) -> impl Iterator<Item = (&'a str, &'a Column)> {
    let columns = contract.job.sources.iter().flat_map(|source| source.schema.columns.iter().map(|column| (source.name.as_str(), column)));
    columns.filter(move |(_, column)| column.semantic_type.as_deref() == Some(semantic_type))
}

/// The rule that a short form stands for: the one that decides the job's columns of the type, else the only one of the policy.
fn rule_of_columns<'a>(contract: &'a Contract, entry: &TextType, semantic_type: &str, transform: &str) -> Result<&'a Rule, Diagnostic> {
    let refuse = |message: String, help: String| Diagnostic::new("text-rule", entry.span, message).help(help);
    let name = &entry.name;
    let write = |rule: &str| {
        format!("write `{name}: {{rule: {rule}, joinDomain: …}}`, or the transform itself: `{name}: {{transform: {transform}, key: …, joinDomain: …}}`")
    };
    let mut deciding: Vec<&Rule> = columns_of(contract, semantic_type).filter_map(|(_, column)| decides(&contract.policy.rules, column)).collect();
    if deciding.is_empty() {
        deciding = contract.policy.rules.iter().filter(|rule| rule.matches.semantic_type.iter().any(|wanted| wanted == semantic_type)).collect();
        deciding.retain(|rule| rule.transform.name() == transform);
    }
    let mut seen = BTreeSet::new();
    deciding.retain(|rule| seen.insert(rule.name.as_str()));
    match deciding.as_slice() {
        [rule] if rule.transform.name() == transform => Ok(rule),
        [rule] => Err(refuse(
            format!(
                "`{name}: {transform}` takes key and options from the rule for columns of {semantic_type}, but rule `{}` says `{}`",
                rule.name,
                rule.transform.name()
            ),
            format!("write the transform itself: `{name}: {{transform: {transform}, key: …, joinDomain: …}}`"),
        )),
        [] => Err(refuse(
            format!("`{name}: {transform}` takes key and options from the rule for columns of {semantic_type}, and there is none"),
            format!("write the transform itself: `{name}: {{transform: {transform}, key: …, joinDomain: …}}`"),
        )),
        [first, ..] => {
            let names: BTreeSet<String> = deciding.iter().map(|rule| format!("`{}`", rule.name)).collect();
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            Err(refuse(
                format!("`{name}: {transform}` takes key and options from the rule for columns of {semantic_type}, and there are several: {names}"),
                write(&first.name),
            ))
        }
    }
}

/// The one join domain of the job's columns of a type.
fn domain_of_columns(contract: &Contract, entry: &TextType, semantic_type: &str, transform: &Transform, rule: Option<&Rule>) -> Result<String, Diagnostic> {
    let name = &entry.name;
    let domains: BTreeSet<Option<&String>> = columns_of(contract, semantic_type).map(|(_, column)| column.join_domain.as_ref()).collect();
    let mut domains = domains.into_iter();
    let (message, example) = match (domains.next(), domains.next()) {
        (Some(Some(one)), None) => return Ok(one.clone()),
        (None, _) => (format!("the job has no column of {semantic_type} that says which join domain tokens of `{name}` belong to"), None),
        (Some(None), None) => (format!("the job's columns of {semantic_type} are in no join domain, and tokens of `{name}` would join with nothing"), None),
        (first, second) => (
            format!("the job's columns of {semantic_type} are not in one join domain, and tokens of `{name}` could belong to any"),
            [first, second].into_iter().flatten().flatten().next(),
        ),
    };
    let domain = example.map_or("…", String::as_str);
    let help = match rule {
        Some(rule) => format!("say it: `{name}: {{rule: {}, joinDomain: {domain}}}`", rule.name),
        None => format!("say it: `{name}: {{transform: {}, key: {}, joinDomain: {domain}}}`", transform.name(), transform.key().unwrap_or("…")),
    };
    Err(Diagnostic::new("text-join-domain", entry.span, message).help(help))
}

#[cfg(test)]
mod tests;
