//! How a column writes numbers, found by elimination.

/// Text in front of amounts that is looked for.
pub(super) const PREFIXES: [&str; 6] = ["R$ ", "R$", "US$", "$", "€", "£"];

/// Separators that a source can be read with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) decimal: u8,
    pub(super) thousands: Option<u8>,
}

/// In order of preference.
pub(super) const STYLES: [Style; 6] = [
    Style { decimal: b'.', thousands: None },
    Style { decimal: b',', thousands: None },
    Style { decimal: b'.', thousands: Some(b',') },
    Style { decimal: b',', thousands: Some(b'.') },
    Style { decimal: b',', thousands: Some(b' ') },
    Style { decimal: b'.', thousands: Some(b'\'') },
];

/// How many values fit something. Counting ends where it is plain that it is not what the column holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fit {
    hits: u64,
    misses: u64,
}

impl Fit {
    /// More misses than typing errors explain.
    pub(super) fn is_hopeless(&self) -> bool {
        self.misses > 8 && self.misses > self.hits / 9
    }

    pub(super) fn count(&mut self, fits: bool) {
        *(if fits { &mut self.hits } else { &mut self.misses }) += 1;
    }

    pub(super) fn total(&self) -> u64 {
        self.hits + self.misses
    }

    /// Every value fits.
    pub(super) fn all(&self) -> bool {
        self.misses == 0 && self.hits > 0
    }

    /// The share of values that fit, where it is nine of ten or more but not all.
    pub(super) fn nearly(&self) -> Option<f64> {
        (self.misses > 0 && self.hits >= 9 * self.misses).then(|| self.hits as f64 / (self.hits + self.misses) as f64)
    }
}

/// What the numbers of a column have in common, read in one style.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    /// Digits before and after the decimal separator, at most.
    pub(super) whole: u32,
    pub(super) fraction: u32,
    /// Digits after it, at least, where there is one.
    pub(super) least_fraction: Option<u32>,
    /// A number is padded with zeros in front.
    pub(super) padded: bool,
    pub(super) exponent: bool,
    pub(super) negative: bool,
    pub(super) grouped: bool,
    /// A digit other than zero after the separator.
    pub(super) fractions_count: bool,
    /// Outside of 64 bits.
    pub(super) wide: bool,
}

/// The numbers of one column.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    /// By style; `None`: a value is no number in it.
    pub(super) styles: [Option<Figures>; STYLES.len()],
    /// By style: values that are numbers in it or not.
    fits: [Fit; STYLES.len()],
    /// Values with this prefix.
    pub(super) prefixed: Option<(usize, u64)>,
}

impl Default for Numbers {
    fn default() -> Self {
        Self { styles: [Some(Figures::default()); STYLES.len()], fits: [Fit::default(); STYLES.len()], prefixed: None }
    }
}

impl Numbers {
    /// No style fits every value.
    pub(super) fn is_dead(&self) -> bool {
        self.styles.iter().all(Option::is_none)
    }

    /// The style that fits most values, and their share.
    pub(super) fn nearly(&self) -> Option<f64> {
        self.fits.iter().filter_map(Fit::nearly).max_by(f64::total_cmp)
    }

    /// Whether a style fits most values though not all of them.
    pub(super) fn is_nearly(&self, style: usize) -> bool {
        self.fits.get(style).is_some_and(|fit| fit.nearly().is_some())
    }

    /// Takes one value.
    pub(super) fn see(&mut self, cell: &str) {
        let cell = self.without_prefix(cell);
        for ((style, figures), fit) in STYLES.iter().zip(&mut self.styles).zip(&mut self.fits) {
            if fit.is_hopeless() {
                continue;
            }
            let mut known = figures.unwrap_or_default();
            let fits = take(cell, *style, &mut known);
            *figures = figures.filter(|_| fits).map(|_| known);
            fit.count(fits);
        }
    }

    /// A column has one prefix, or none.
    fn without_prefix<'a>(&mut self, cell: &'a str) -> &'a str {
        let (minus, rest) = cell.strip_prefix('-').map_or((false, cell), |rest| (true, rest));
        let found = PREFIXES.iter().enumerate().find_map(|(index, prefix)| rest.strip_prefix(prefix).map(|rest| (index, rest)));
        let Some((index, rest)) = found else { return cell };
        match &mut self.prefixed {
            None => self.prefixed = Some((index, 1)),
            Some((known, count)) if *known == index => *count += 1,
            Some(_) => return cell,
        }
        // A second sign is no number: the text stays as it is then.
        if minus && rest.starts_with('-') { cell } else { rest }
    }
}

/// Adds a number to the figures; false: it is none.
fn take(cell: &str, style: Style, known: &mut Figures) -> bool {
    let (negative, body) = cell.strip_prefix('-').map_or((false, cell), |rest| (true, rest));
    let (mantissa, exponent) = match body.find(['e', 'E']) {
        Some(at) => (&body[..at], Some(&body[at + 1..])),
        None => (body, None),
    };
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits.is_empty()
            || digits.len() > 3
            || !digits.bytes().all(|b| b.is_ascii_digit())
            || style != STYLES[0]
            || !body.parse::<f64>().is_ok_and(f64::is_finite)
        {
            return false;
        }
    }
    let (whole, fraction) = match mantissa.bytes().rposition(|b| b == style.decimal) {
        Some(at) => (&mantissa[..at], Some(&mantissa[at + 1..])),
        None => (mantissa, None),
    };
    if fraction.is_some_and(|fraction| fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit())) {
        return false;
    }
    let without_whole = whole.is_empty() && fraction.is_some();
    let whole = if without_whole { Some((0, false, b'.')) } else { whole_digits(whole, style.thousands) };
    let Some((digits, grouped, first)) = whole else { return false };
    let fraction_digits = fraction.map_or(0, |fraction| count(fraction.len()));
    known.whole = known.whole.max(digits);
    known.fraction = known.fraction.max(fraction_digits);
    if let Some(fraction) = fraction {
        known.least_fraction = Some(known.least_fraction.map_or(fraction_digits, |least| least.min(fraction_digits)));
        known.fractions_count |= fraction.bytes().any(|b| b != b'0');
    }
    known.padded |= first == b'0' && digits > 1;
    known.exponent |= exponent.is_some();
    known.negative |= negative;
    known.grouped |= grouped;
    known.wide |= exponent.is_none() && digits >= 19 && cell.replace(|c: char| !c.is_ascii_digit() && c != '-', "").parse::<i64>().is_err();
    true
}

/// Number of digits, whether they are grouped, the first one.
fn whole_digits(whole: &str, thousands: Option<u8>) -> Option<(u32, bool, u8)> {
    let first = *whole.as_bytes().first()?;
    let Some(separator) = thousands else {
        return whole.bytes().all(|b| b.is_ascii_digit()).then_some((count(whole.len()), false, first));
    };
    let groups: Vec<&str> = whole.split(char::from(separator)).collect();
    let digits = |group: &&str| group.bytes().all(|b| b.is_ascii_digit());
    if !groups.iter().all(digits) {
        return None;
    }
    let (head, rest) = groups.split_first()?;
    let fits = rest.is_empty() || ((1..=3).contains(&head.len()) && rest.iter().all(|group| group.len() == 3));
    fits.then(|| (count(head.len() + 3 * rest.len()), !rest.is_empty(), first))
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(cells: &[&str], style: usize) -> Option<Figures> {
        let mut numbers = Numbers::default();
        cells.iter().for_each(|cell| numbers.see(cell));
        numbers.styles[style]
    }

    #[test]
    fn styles_by_elimination() {
        let point = figures(&["1.5", "-20", "0.25"], 0).unwrap();
        assert_eq!((point.whole, point.fraction, point.least_fraction, point.negative, point.padded), (2, 2, Some(1), true, false));
        assert!(figures(&["1.5"], 1).is_none());
        assert_eq!(figures(&["1,50", "3"], 1).map(|f| f.fraction), Some(2));
        assert_eq!(figures(&["1.234,56", "7"], 3).map(|f| (f.whole, f.fraction, f.grouped)), Some((4, 2, true)));
        assert!(figures(&["1.23,56"], 3).is_none());
        assert!(figures(&["1,234.56"], 2).is_some_and(|f| f.grouped));
        for wrong in ["", "-", "--1", "1.", "1e", "1e5000", "١", "+1", " 1", "0x1", "1_000", "NaN", "inf"] {
            assert!(figures(&[wrong], 0).is_none(), "{wrong}");
        }
    }

    #[test]
    fn zeros_in_front_wide_numbers_and_exponents() {
        assert!(figures(&["007"], 0).is_some_and(|f| f.padded));
        assert!(figures(&["0", "0.5"], 0).is_some_and(|f| !f.padded));
        assert!(figures(&["9223372036854775807", "-9223372036854775808"], 0).is_some_and(|f| !f.wide));
        assert!(figures(&["9223372036854775808"], 0).is_some_and(|f| f.wide));
        assert!(figures(&["1.5E-7"], 0).is_some_and(|f| f.exponent));
        assert!(figures(&["91750.0"], 0).is_some_and(|f| !f.fractions_count && f.fraction == 1));
    }

    #[test]
    fn one_typing_error_in_ten() {
        let numbers = |cells: &[&str]| {
            let mut numbers = Numbers::default();
            cells.iter().for_each(|cell| numbers.see(cell));
            (numbers.is_dead(), numbers.nearly())
        };
        assert_eq!(numbers(&["1", "2", "3", "4", "5", "6", "7", "8", "9", "1O"]), (true, Some(0.9)));
        assert_eq!(numbers(&["1O", "1", "2", "3", "4", "5", "6", "7", "8", "9"]), (true, Some(0.9)));
        assert_eq!(numbers(&["1", "2", "x", "4", "5", "6", "7", "8", "y", "1O"]), (true, None));
        assert_eq!(numbers(&["1", "2"]), (false, None));
        let mut fit = Fit::default();
        (0..9).for_each(|_| fit.count(false));
        assert!(fit.is_hopeless(), "nothing but misses");
        assert!(!fit.all() && !Fit::default().all());
    }

    #[test]
    fn one_prefix_a_column() {
        let mut numbers = Numbers::default();
        ["$1.5", "$-2", "-$3", "4"].iter().for_each(|cell| numbers.see(cell));
        assert_eq!(numbers.prefixed, Some((3, 3)));
        assert!(numbers.styles[0].is_some());
        numbers.see("€5");
        assert!(numbers.is_dead());
    }
}
