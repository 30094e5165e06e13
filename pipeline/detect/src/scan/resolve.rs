//! One finding per place.

use super::Finding;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Leaves the findings that win their places, in order of place.
///
/// The likelier wins, then the earlier type, then the longer span, then the one that starts first.
pub(super) fn resolve(found: &mut Vec<Finding>) {
    found.sort_unstable_by_key(|finding| finding.span.start);
    if found.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start) {
        return;
    }
    found.sort_by_key(|finding| (Reverse(finding.likelihood), finding.info_type.rank(), Reverse(finding.span.len()), finding.span.start));
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    found.retain(|finding| {
        let before = taken.range(..finding.span.end).next_back();
        let free = before.is_none_or(|(_, &end)| end <= finding.span.start);
        if free {
            taken.insert(finding.span.start, finding.span.end);
        }
        free
    });
    found.sort_unstable_by_key(|finding| finding.span.start);
}
