//! Policy against lineage: which rule decides what happens to a column of the prepare query.
use super::lineage::{ColumnLineage, SourceColumn};
use perimeter_contract::Contract;
use perimeter_contract::policy::{Invalid, Match, Nulls, Rule, Transform};
use perimeter_contract::schema::Column;
use perimeter_contract::{Diagnostic, Span};
use std::collections::BTreeSet;

/// What the policy says of one output column.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The rule's name; `None` for a column computed from nothing but kept columns.
    pub rule: Option<String>,
    /// What happens.
    pub transform: Transform,
    /// What happens to null.
    pub nulls: Nulls,
    /// What happens to a value of nothing but white space, where the transform refuses it.
    pub empty: Nulls,
    /// What happens to any other value that the transform refuses.
    pub invalid: Invalid,
    /// Which tokens it shares: see [`JoinDomain`].
    pub join_domain: JoinDomain,
    /// The semantic types that it is, or is made of.
    pub semantic_types: BTreeSet<String>,
    /// Where the rule stands.
    pub span: Span,
}

/// Columns in one join domain get the same token for the same value, in every dataset; others never do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinDomain {
    /// `joinDomain` of the contract.
    Named(String),
    /// A column without one is alone in its domain.
    Own(String),
}

impl JoinDomain {
    /// The domain's name for key derivation; own domains can never equal a named one.
    pub fn label(&self) -> String {
        match self {
            Self::Named(name) => format!("named:{name}"),
            Self::Own(column) => format!("own:{column}"),
        }
    }
}

/// The contract column behind a source column.
pub fn contract_column<'a>(contract: &'a Contract, column: &SourceColumn) -> Option<&'a Column> {
    let source = contract.job.sources.iter().find(|source| source.name == column.source)?;
    source.schema.columns.iter().find(|candidate| candidate.name == column.column)
}

/// Whether two source columns are of one named join domain.
pub fn one_domain(contract: &Contract, one: &SourceColumn, other: &SourceColumn) -> bool {
    let domain = |column| contract_column(contract, column).and_then(|column| column.join_domain.as_ref());
    domain(one).is_some() && domain(one) == domain(other)
}

fn any(wanted: &[String], have: Option<&String>) -> bool {
    wanted.is_empty() || have.is_some_and(|have| wanted.contains(have))
}

fn facts_match(matches: &Match, column: &Column) -> bool {
    any(&matches.semantic_type, column.semantic_type.as_ref())
        && any(&matches.classification, column.classification.as_ref())
        && any(&matches.join_domain, column.join_domain.as_ref())
        && (matches.tags.is_empty() || matches.tags.iter().any(|tag| column.tags.contains(tag)))
}

/// The rule that decides a column which passes through.
pub fn decides<'a>(rules: &'a [Rule], column: &Column) -> Option<&'a Rule> {
    rules.iter().find(|rule| rule.matches.derived_from.is_empty() && facts_match(&rule.matches, column))
}

/// Whether the policy lets the column leave as it is.
fn is_kept(contract: &Contract, column: &SourceColumn) -> bool {
    contract_column(contract, column).and_then(|column| decides(&contract.policy.rules, column)).is_some_and(|rule| rule.transform == Transform::Keep)
}

fn describe(column: &Column) -> String {
    match (&column.semantic_type, &column.classification) {
        (Some(semantic_type), _) => format!("semanticType {semantic_type}"),
        (None, Some(classification)) => format!("classification {classification}"),
        (None, None) => "no semanticType and no classification".to_owned(),
    }
}

/// Decides one output column. `name` is its name in the query, `query` the place of the SQL text.
///
/// # Errors
/// A diagnostic with the line to write: no rule, rules that disagree, a computed column that no `derivedFrom` covers.
pub fn decide(contract: &Contract, name: &str, lineage: &ColumnLineage, query: Span) -> Result<Decision, Vec<Diagnostic>> {
    let policy = &contract.policy;
    let mut problems = Vec::new();
    let mut sources = Vec::new();
    // A column that is tied to a sensitive one says what that one says.
    let tied = lineage.tied.iter().filter(|tied| !lineage.from.contains(tied) && !is_kept(contract, tied));
    let tied: BTreeSet<&SourceColumn> = tied.collect();
    for from in lineage.from.iter().chain(tied.iter().copied()) {
        let Some(column) = contract_column(contract, from) else {
            problems.push(Diagnostic::new("unknown-source-column", query, format!("`{name}` reads {from}, which no contract describes")));
            continue;
        };
        match decides(&policy.rules, column) {
            Some(rule) => sources.push((from, column, rule)),
            None => problems.push(
                Diagnostic::new("unmatched-column", column.span, format!("no rule of policy {} matches {from} ({})", policy.name, describe(column))).help(match &column.semantic_type {
                    Some(semantic_type) => format!("add a rule to the policy, for example `{{name: …, match: {{semanticType: {semantic_type}}}, transform: drop}}`, or leave the column out of `prepare`"),
                    None => "give the column a semanticType or a classification that the policy knows, or leave it out of `prepare`".to_owned(),
                }),
            ),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    if lineage.computed || !tied.is_empty() { computed(contract, name, &sources, query) } else { as_it_is(name, &sources, query) }
}

/// A column that passes through: one rule, one join domain (a UNION can bring several source columns together).
fn as_it_is(name: &str, sources: &[(&SourceColumn, &Column, &Rule)], query: Span) -> Result<Decision, Vec<Diagnostic>> {
    let Some((from, column, rule)) = sources.first().copied() else {
        return Err(vec![Diagnostic::new("unknown-source-column", query, format!("`{name}` comes from no source column"))]);
    };
    let domain = |from: &SourceColumn, column: &Column| column.join_domain.clone().map_or_else(|| JoinDomain::Own(from.to_string()), JoinDomain::Named);
    for (other_from, other, other_rule) in &sources[1..] {
        let same_domain = rule.transform.key().is_none() || domain(other_from, other) == domain(from, column);
        if other_rule.name != rule.name || !same_domain {
            return Err(vec![
                Diagnostic::new(
                    "conflicting-rules",
                    query,
                    format!(
                        "`{name}` brings {from} and {other_from} together, but the policy treats them apart (rules \"{}\" and \"{}\")",
                        rule.name, other_rule.name
                    ),
                )
                .help("give both columns the same semanticType and joinDomain, or select them into columns of their own"),
            ]);
        }
    }
    Ok(Decision {
        rule: Some(rule.name.clone()),
        transform: rule.transform.clone(),
        nulls: rule.nulls,
        empty: rule.empty,
        invalid: rule.invalid,
        join_domain: domain(from, column),
        semantic_types: sources.iter().filter_map(|(_, column, _)| column.semantic_type.clone()).collect(),
        span: rule.span,
    })
}

/// A computed column: kept when all it is made of is kept, else a `derivedFrom` rule must cover every sensitive source.
fn computed(contract: &Contract, name: &str, sources: &[(&SourceColumn, &Column, &Rule)], query: Span) -> Result<Decision, Vec<Diagnostic>> {
    let semantic_types: BTreeSet<String> = sources.iter().filter_map(|(_, column, _)| column.semantic_type.clone()).collect();
    let own = JoinDomain::Own(format!("{name} of {}", sources.iter().map(|(from, _, _)| from.to_string()).collect::<Vec<_>>().join(", ")));
    let sensitive: Vec<_> = sources.iter().filter(|(_, _, rule)| rule.transform != Transform::Keep).collect();
    if sensitive.is_empty() {
        return Ok(Decision {
            rule: None,
            transform: Transform::Keep,
            nulls: Nulls::Keep,
            empty: Nulls::Keep,
            invalid: Invalid::Reject,
            join_domain: own,
            semantic_types,
            span: query,
        });
    }
    let covers = |rule: &Rule, column: &Column| column.semantic_type.as_ref().is_some_and(|semantic_type| rule.matches.derived_from.contains(semantic_type));
    let others = |rule: &Rule, column: &Column| {
        let rest = Match { semantic_type: Vec::new(), derived_from: Vec::new(), ..rule.matches.clone() };
        facts_match(&rest, column)
    };
    let rule = contract
        .policy
        .rules
        .iter()
        .find(|rule| sensitive.iter().any(|(_, column, _)| covers(rule, column)) && sensitive.iter().all(|(_, column, _)| others(rule, column)));
    let uncovered: Vec<_> = sensitive.iter().filter(|(_, column, _)| rule.is_none_or(|rule| !covers(rule, column))).collect();
    match (rule, uncovered.as_slice()) {
        (Some(rule), []) => Ok(Decision {
            rule: Some(rule.name.clone()),
            transform: rule.transform.clone(),
            nulls: rule.nulls,
            empty: rule.empty,
            invalid: rule.invalid,
            join_domain: own,
            semantic_types,
            span: rule.span,
        }),
        _ => {
            let from = uncovered.iter().map(|(from, column, _)| format!("{from} ({})", describe(column))).collect::<Vec<_>>().join(", ");
            let types =
                sensitive.iter().filter_map(|(_, column, _)| column.semantic_type.clone()).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ");
            Err(vec![
                Diagnostic::new(
                    "derived-not-covered",
                    query,
                    format!(
                        "`{name}` is computed from or tied by a comparison to {from}, and no rule of policy {} says what may happen to that",
                        contract.policy.name
                    ),
                )
                .help(format!("add a rule to the policy: `{{name: …, match: {{derivedFrom: [{types}]}}, transform: …}}`, or leave `{name}` out of `prepare`")),
            ])
        }
    }
}
