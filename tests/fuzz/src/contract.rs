//! Any bytes as contract files: a schema, a policy, two schemas to compare, or a job with its policy and schemas.
//!
//! The first byte says which; the byte 255, which no UTF-8 text has, ends one file and begins the next.
use perimeter_contract::{Diagnostics, codes, diff, load_policy_with, load_schema_with, load_with};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Runs one input; whether its files were accepted.
pub fn run(input: &[u8]) -> bool {
    let Some((mode, rest)) = input.split_first() else { return false };
    let files: Vec<&[u8]> = rest.split(|byte| *byte == 255).collect();
    let file = |index: usize| -> io::Result<Vec<u8>> { files.get(index).map(|bytes| bytes.to_vec()).ok_or_else(|| io::ErrorKind::NotFound.into()) };
    match mode & 3 {
        0 => judge(load_schema_with(Path::new("x.odcs.yaml"), &|_| file(0)).err().as_ref()),
        1 => judge(load_policy_with(Path::new("x.yaml"), &|_| file(0)).err().as_ref()),
        2 => {
            let pair = [0, 1].map(|index| load_schema_with(Path::new("x.odcs.yaml"), &|_| file(index)));
            let [first, second] = [0, 1].map(|index: usize| judge(pair[index].as_ref().err()));
            if let [Ok((old, _)), Ok((new, _))] = &pair {
                assert!(diff(old, old).is_empty(), "a file differs from itself");
                let (there, back) = (diff(old, new), diff(new, old));
                assert_eq!(there.is_empty(), back.is_empty(), "a difference in one direction");
                assert!(there.iter().chain(&back).all(|change| !change.message.is_empty() && change.breaks.is_sorted()));
            }
            first && second
        }
        _ => {
            // the job, the policy, and a schema for every other name
            let read = |path: &Path| match path.file_name().and_then(|name| name.to_str()) {
                Some("job.yaml") => file(0),
                Some("policy.yaml") => file(1),
                _ => file(2),
            };
            judge(load_with(Path::new("/nowhere/job.yaml"), &BTreeMap::new(), &read).err().as_ref())
        }
    }
}

/// Whether there are none; a refusal says why, where, and what to do.
fn judge(mistakes: Option<&Diagnostics>) -> bool {
    let Some(mistakes) = mistakes else { return true };
    assert!(!mistakes.list.is_empty(), "refused without a reason");
    for mistake in &mistakes.list {
        assert!(mistake.code != codes::INTERNAL, "{mistakes}");
        assert!(mistake.help.is_some(), "{mistakes}");
        if let Some(file) = mistakes.sources.file(mistake.span) {
            assert!(mistake.span.start <= mistake.span.end && mistake.span.end as usize <= file.text.len(), "outside of the file: {mistakes}");
        }
    }
    assert!(mistakes.render().chars().all(|c| c == '\n' || !c.is_control()), "control characters");
    let _ = mistakes.to_json();
    false
}
