//! From what was seen to what is proposed.
use super::formats::{PATTERNS, Pattern, Says};
use super::leaf::Leaf;
use super::meaning::{meaning, names_date, names_identifier, percent};
use super::number::{Figures, PREFIXES, STYLES};
use super::profile::{NULL_MARKERS, Profile};
use super::write::counted;
use chrono::Datelike;
use perimeter_contract::schema::{DataType, Offset, Zone};
use perimeter_detect::InfoType;

/// What holds for all columns of a text source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// Index into [`STYLES`].
    pub(super) style: usize,
    /// Index into [`PREFIXES`].
    pub(super) prefix: Option<usize>,
    /// Indices into [`NULL_MARKERS`].
    pub(super) markers: Vec<usize>,
}

/// What a column is proposed to be.
#[derive(Clone, Debug)]
pub(super) struct Proposed {
    pub(super) logical: &'static str,
    pub(super) physical: Option<String>,
    /// `logicalTypeOptions`: keys and values as YAML.
    pub(super) options: Vec<(&'static str, String)>,
    pub(super) year_base: Option<i32>,
    pub(super) required: bool,
    pub(super) semantic_type: Option<&'static str>,
    /// Comments; those that a person has to act on start with `decide:`.
    pub(super) remarks: Vec<String>,
}

impl Proposed {
    fn of(logical: &'static str, physical: Option<String>) -> Self {
        Self { logical, physical, options: Vec::new(), year_base: None, required: false, semantic_type: None, remarks: Vec::new() }
    }

    fn decide(mut self, what: impl std::fmt::Display) -> Self {
        self.remarks.push(format!("decide: {what}"));
        self
    }
}

/// What trying the proposal has shown of a column.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tried {
    /// Values were none of the proposed type.
    pub(super) text_after_all: bool,
    /// There were nulls.
    pub(super) optional: bool,
}

/// Settings that most columns agree with.
pub(super) fn reading(leaves: &[Leaf], json: bool) -> Reading {
    let read = |leaf: &&Leaf| leaf.declared.is_none() && leaf.profile.meant() > 0;
    let mut reading = Reading::default();
    if json {
        return reading;
    }
    // Columns that are numbers but for some cells need the settings too, once somebody decides that they are numbers.
    let fits = |style: usize| {
        let numbers = || leaves.iter().filter(read).map(|leaf| &leaf.profile.numbers);
        let whole = numbers().filter(|numbers| numbers.styles.get(style).is_some_and(Option::is_some)).count();
        (whole, numbers().filter(|numbers| numbers.is_dead() && numbers.is_nearly(style)).count())
    };
    for style in 1..STYLES.len() {
        if fits(style) > fits(reading.style) {
            reading.style = style;
        }
    }
    let numeric = |leaf: &&Leaf| !leaf.profile.numbers.is_dead() || leaf.profile.numbers.nearly().is_some();
    let prefixes = leaves.iter().filter(read).filter(numeric).filter_map(|leaf| leaf.profile.numbers.prefixed);
    let mut counts = [0u64; PREFIXES.len()];
    for (prefix, count) in prefixes {
        counts[prefix] = counts[prefix].saturating_add(count);
    }
    reading.prefix = (0..PREFIXES.len()).filter(|prefix| counts[*prefix] > 0).max_by_key(|prefix| (counts[*prefix], std::cmp::Reverse(*prefix)));
    let with_markers = Reading { markers: (1..NULL_MARKERS.len()).collect(), ..reading.clone() };
    let wanted = |marker: usize| {
        let some = |leaf: &Leaf| leaf.profile.markers.get(marker).is_some_and(|count| *count > 0);
        let typed = |leaf: &Leaf| of_text(leaf, &with_markers).logical != "string" || (leaf.profile.quoted() == 0 && almost(&leaf.profile).is_some());
        leaves.iter().any(|leaf| some(leaf) && leaf.declared.is_none() && leaf.profile.meant() > 0 && typed(leaf))
    };
    reading.markers = (1..NULL_MARKERS.len()).filter(|marker| wanted(*marker)).collect();
    reading
}

/// `complete`: every record was read.
pub(super) fn decide(leaf: &Leaf, reading: &Reading, json: bool, complete: bool, tried: Tried) -> Proposed {
    let profile = &leaf.profile;
    let mut proposed = match &leaf.declared {
        Some(data_type) => declared(data_type, leaf),
        None if profile.values() == 0 => Proposed::of("string", None).decide("the type: there is no value"),
        None if tried.text_after_all && !profile.kinds.several() => {
            Proposed::of("string", None).decide("the type: the file does not hold what its values look like")
        }
        None if json => of_json(leaf),
        None => of_text(leaf, reading),
    };
    let nulls = marked_nulls(profile, reading) + leaf.absent;
    proposed.required = complete && nulls == 0 && profile.values() > 0 && !tried.optional;
    let calendar = matches!(proposed.logical, "date" | "timestamp");
    let number = matches!(proposed.logical, "integer" | "number" | "boolean");
    let mut meaning = meaning(&profile.verdict(), number, calendar);
    if calendar && !matches!(meaning.semantic_type, Some("DATE_OF_BIRTH" | "CREDIT_CARD_EXPIRATION")) {
        meaning.semantic_type = Some(if proposed.logical == "date" { "EVENT_DATE" } else { "EVENT_TIME" });
        meaning.remarks.clear();
    }
    proposed.semantic_type = meaning.semantic_type;
    proposed.remarks.extend(meaning.remarks);
    proposed
}

/// Values that are null under the proposed settings.
pub(super) fn marked_nulls(profile: &Profile, reading: &Reading) -> u64 {
    reading.markers.iter().filter_map(|marker| profile.markers.get(*marker)).sum()
}

/// Different texts that are null under the proposed settings.
pub(super) fn distinct_nulls(profile: &Profile, reading: &Reading) -> u64 {
    reading.markers.iter().filter(|marker| profile.markers.get(**marker).is_some_and(|count| *count > 0)).count() as u64
}

fn of_json(leaf: &Leaf) -> Proposed {
    let kinds = leaf.profile.kinds;
    // What most values are.
    let most = kinds.text.max(kinds.number).max(kinds.boolean());
    let proposed = if most == kinds.text {
        of_calendar(leaf).unwrap_or_else(|| nearly(Proposed::of("string", None), &leaf.profile))
    } else if most == kinds.boolean() {
        Proposed::of("boolean", None)
    } else {
        match leaf.profile.literals.styles[0] {
            Some(figures) => of_figures(&figures, leaf),
            None => Proposed::of("number", Some("double".to_owned())).decide("the numbers differ too much for an exact type; double rounds"),
        }
    };
    if !kinds.several() {
        return proposed;
    }
    let counts = [(kinds.text, "text"), (kinds.number, "number"), (kinds.boolean(), "boolean")];
    let counts: Vec<String> = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(*count, what)).collect();
    let share = percent(most as f64 / leaf.profile.values() as f64);
    proposed.decide(format!("{} stand here: {share} are of this kind, and what is of another is rejected", counts.join(" and ")))
}

/// Text that almost is something else, for a person to decide: a contract that says so rejects what does not fit.
fn nearly(proposed: Proposed, profile: &Profile) -> Proposed {
    match almost(profile) {
        Some((share, what)) => proposed.decide(format!("{what}: {} of the distinct values; the others are none, and would be rejected", percent(share))),
        None => proposed,
    }
}

/// The share of the distinct values that are something else than text, and what.
fn almost(profile: &Profile) -> Option<(f64, &'static str)> {
    let numbers = profile.numbers.nearly().filter(|_| profile.kinds.text > 0).map(|share| (share, "numbers"));
    let calendar = profile.nearly().and_then(|(pattern, share)| Some((share, PATTERNS.get(pattern)?.name())));
    [calendar, numbers].into_iter().flatten().max_by(|a, b| a.0.total_cmp(&b.0))
}

fn of_text(leaf: &Leaf, reading: &Reading) -> Proposed {
    let profile = &leaf.profile;
    let unmarked: u64 = profile.markers.iter().enumerate().filter(|(marker, _)| !reading.markers.contains(marker)).map(|(_, count)| count).sum();
    if profile.meant() == 0 || unmarked > 0 || profile.quoted() > 0 {
        let proposed = Proposed::of("string", None);
        let calendar = (0..PATTERNS.len()).any(|pattern| profile.fits(pattern));
        let looks = profile.meant() > 0 && (profile.numbers.styles.iter().any(Option::is_some) || calendar);
        let empty = if profile.quoted() == profile.markers[0] { "empty text" } else { "quoted text" };
        return if looks && profile.quoted() > 0 {
            proposed.decide(format!("all but {}, which no marker makes null, look like another type", counted(profile.quoted(), empty)))
        } else {
            proposed
        };
    }
    if profile.booleans {
        return Proposed::of("boolean", None);
    }
    if let Some(proposed) = of_calendar(leaf) {
        return proposed;
    }
    let Some(figures) = profile.numbers.styles.get(reading.style).copied().flatten() else {
        let other = profile.numbers.styles.iter().any(Option::is_some);
        let proposed = Proposed::of("string", None);
        return if other { proposed.decide("numbers, written with other separators than those of the rest of the file") } else { nearly(proposed, profile) };
    };
    if profile.numbers.prefixed.is_some_and(|(prefix, _)| Some(prefix) != reading.prefix) {
        return Proposed::of("string", None).decide("amounts, with another sign in front than in the rest of the file");
    }
    let proposed = of_figures(&figures, leaf);
    let ambiguous = STYLES[reading.style].decimal == b',' && figures.least_fraction == Some(3) && figures.fraction == 3;
    if ambiguous { proposed.decide("whether the comma stands before decimals or between thousands: three digits follow everywhere") } else { proposed }
}

/// Numbers that are no identifiers.
fn of_figures(figures: &Figures, leaf: &Leaf) -> Proposed {
    let name = leaf.path.last().map(String::as_str).unwrap_or_default();
    let text = leaf.profile.kinds.number == 0;
    let identifier = leaf.profile.verdict().info_type().is_some_and(|found| found.chance() <= 0.1 && !matches!(found, InfoType::DateTime | InfoType::Date));
    if figures.padded && text {
        return Proposed::of("string", None).decide("digits with zeros in front, which a number would lose");
    }
    if text && !figures.exponent && !figures.negative && !figures.fractions_count && (identifier || names_identifier(name)) {
        let what = if figures.least_fraction.is_some() { "digits, with a fraction of zero behind them" } else { "digits only; integer if it counts something" };
        return Proposed::of("string", None).decide(what);
    }
    if figures.exponent {
        return Proposed::of("number", Some("double".to_owned())).decide("some numbers have exponents; double rounds, a decimal(p,s) does not");
    }
    if figures.least_fraction.is_none() {
        if !figures.wide {
            return Proposed::of("integer", Some("bigint".to_owned()));
        }
        if figures.whole <= 38 {
            return Proposed::of("number", Some(format!("decimal({},0)", figures.whole.max(20))))
                .decide("whole numbers that do not fit 64 bits; string if they are identifiers");
        }
        return Proposed::of("string", None).decide("digits, too many for a number");
    }
    let digits = figures.whole.saturating_add(figures.fraction);
    if digits > 38 {
        return Proposed::of("number", Some("double".to_owned())).decide("more digits than decimal(38,s) holds; double rounds");
    }
    // Room for amounts to come.
    let precision = if digits <= 18 { 18 } else { 38 };
    let proposed = Proposed::of("number", Some(format!("decimal({precision},{})", figures.fraction)));
    if figures.fractions_count { proposed } else { proposed.decide("every fraction is zero: whole numbers that some tool has written as floats?") }
}

fn of_calendar(leaf: &Leaf) -> Option<Proposed> {
    let profile = &leaf.profile;
    let name = leaf.path.last().map(String::as_str).unwrap_or_default();
    if profile.meant() == 0 {
        return None;
    }
    let plausible = |(index, pattern): &(usize, &Pattern)| {
        let Some((first, last)) = profile.days(*index) else { return false };
        let enough = pattern.digits_only.is_none_or(|least| names_date(name) || profile.distinct().is_none_or(|distinct| distinct >= least));
        enough && profile.fits(*index) && (pattern.two_digit_year || (year(first) >= 1800 && year(last) <= 2200) || pattern.digits_only.is_none())
    };
    let fitting: Vec<(usize, &Pattern)> = PATTERNS.iter().enumerate().filter(plausible).collect();
    let (index, pattern) = *fitting.first()?;
    let days = profile.days(index)?;
    let mut proposed = Proposed::of(if pattern.says == Says::Date { "date" } else { "timestamp" }, None);
    if let Some(text) = pattern.text {
        proposed.options.push(("format", text.to_owned()));
    }
    proposed.remarks.push(format!("{}: 100 % of {}", pattern.name(), counted(profile.looked_at(index), "distinct value")));
    if pattern.digits_only.is_some() {
        proposed = proposed.decide("digits only, and every value is such a date; a number could look the same");
    }
    if let Some(other) = fitting
        .iter()
        .find(|(other, another)| another.says == pattern.says && profile.days(*other).is_some_and(|range| range != days))
        .and_then(|(_, p)| p.text)
    {
        proposed = proposed.decide(format!("the format: {other} fits every value as well"));
    }
    if pattern.two_digit_year {
        let (first, last) = (year(days.0), year(days.1));
        // Years that are not over yet by far belong to the century before.
        proposed.year_base = match (first, last) {
            (_, ..=2030) => None,
            (2031.., _) => Some(1900),
            _ => Some(1931),
        };
        let base = proposed.year_base.unwrap_or(2000);
        proposed = proposed.decide(format!("years of two digits: {base} to {}", base + 99));
    }
    if pattern.says == Says::Timestamp {
        let (meant, with) = (profile.meant(), if pattern.text.is_none() { profile.with_offset } else { 0 });
        match pattern.offset {
            Offset::Always => proposed.options.push(("timezone", "true".to_owned())),
            _ if with == 0 => {
                proposed.options.push(("timezone", "false".to_owned()));
                proposed = proposed.decide("no value says its offset: for instants, `timezone: true` and `defaultTimezone`");
            }
            _ => {
                proposed.options.push(("timezone", "true".to_owned()));
                if with < meant {
                    proposed.options.push(("defaultTimezone", "UTC".to_owned()));
                    proposed = proposed.decide(format!("the zone of the {} without an offset", counted(meant - with, "value")));
                }
            }
        }
    }
    Some(proposed)
}

fn year(days: i32) -> i32 {
    chrono::DateTime::from_timestamp(i64::from(days) * 86_400, 0).map_or(0, |instant| instant.year())
}

fn declared(data_type: &DataType, leaf: &Leaf) -> Proposed {
    let physical = |name: &str| Some(name.to_owned());
    let mut proposed = match data_type {
        DataType::String | DataType::List(_) => Proposed::of("string", None),
        DataType::Int32 => Proposed::of("integer", physical("int")),
        DataType::Int64 => Proposed::of("integer", physical("bigint")),
        DataType::Decimal { precision, scale } => Proposed::of("number", Some(format!("decimal({precision},{scale})"))),
        DataType::Float64 => Proposed::of("number", physical("double")),
        DataType::Boolean => Proposed::of("boolean", None),
        DataType::Date { .. } => Proposed::of("date", None),
        DataType::Time { .. } => Proposed::of("time", None),
        DataType::Timestamp { zone, .. } => {
            let mut proposed = Proposed::of("timestamp", None);
            proposed.options.push(("timezone", matches!(zone, Zone::Utc { .. }).to_string()));
            proposed
        }
    };
    if leaf.bytes {
        proposed = proposed.decide("the file has bytes here, which are read as UTF-8");
    }
    proposed
}
