//! Text with its findings replaced.

use crate::Finding;

/// Writes `text` to `out` with every finding replaced by what `replacement` writes; what lies between is kept byte for byte.
///
/// `findings` are those of [`crate::Findings`]: in order, not overlapping. A finding that lies outside of the text, starts before the
/// one before it has ended, or cuts a character is left out of the replacing only if it is empty or outside; where it merely overlaps,
/// the part that is not replaced yet is replaced too, so that nothing found is ever kept.
///
/// # Errors
/// The first error of `replacement`; `out` then holds the text up to the finding, which the caller should drop.
pub fn replace_spans<E>(
    text: &str,
    findings: &[Finding],
    out: &mut String,
    mut replacement: impl FnMut(&Finding, &str, &mut String) -> Result<(), E>,
) -> Result<(), E> {
    let mut kept = 0;
    for finding in findings {
        let start = floor(text, finding.span.start).max(kept);
        let end = ceil(text, finding.span.end);
        if start >= end {
            continue;
        }
        out.push_str(&text[kept..start]);
        replacement(finding, &text[start..end], out)?;
        kept = end;
    }
    out.push_str(&text[kept..]);
    Ok(())
}

fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Check, Context, Detector, DetectorOptions, Findings, InfoType, Likelihood};
    use std::convert::Infallible;

    fn finding(span: std::ops::Range<usize>) -> Finding {
        Finding { info_type: InfoType::Email, span, likelihood: Likelihood::Likely, check: Check::None }
    }

    #[test]
    fn what_lies_between_is_kept() {
        let detector = Detector::new(&DetectorOptions::default()).unwrap();
        let mut findings = Findings::new();
        let text = "é\t foo@bar.com,\u{301} CPF 390.533.447-05;\r\n fim";
        detector.scan(text, &Context::NONE, &mut findings);
        let mut out = String::new();
        replace_spans(text, findings.as_slice(), &mut out, |finding, _, out| {
            out.push('[');
            out.push_str(finding.info_type.name());
            out.push(']');
            Ok::<_, Infallible>(())
        })
        .unwrap();
        assert_eq!(out, "é\t [EMAIL],\u{301} CPF [BR_CPF];\r\n fim");
    }

    #[test]
    fn spans_that_no_scan_returns() {
        let mut out = String::new();
        // Inside é, overlapping, empty, outside.
        let findings = [finding(1..2), finding(1..4), finding(4..4), finding(90..99)];
        replace_spans("aébcd", &findings, &mut out, |_, _, out| {
            out.push('*');
            Ok::<_, Infallible>(())
        })
        .unwrap();
        assert_eq!(out, "a**cd");
        let mut out = String::new();
        assert_eq!(replace_spans("abc", &[finding(1..2)], &mut out, |_, _, _| Err("no")), Err("no"));
        assert_eq!(out, "a");
    }
}
