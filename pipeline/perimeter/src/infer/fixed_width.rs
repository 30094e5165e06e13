//! Fixed width has nothing that infer can go by: it is only recognized, so that a record is not taken for a name.
use super::header::longest_digit_run;
use super::sniff::Layout;
use perimeter_detect::InfoType;
use std::collections::BTreeMap;

/// Lines that are looked at.
const LINES: usize = 1_000;

/// Shorter lines are words.
const LEAST: usize = 20;

/// What the lines of a fixed-width file have in common, in characters, in words for a message; `None`: it does not look like fixed width.
pub(super) fn recognized(text: &str, whole: bool, layout: &Layout) -> Option<String> {
    if layout.steady && (layout.delimiter != b' ' || !text.contains("   ")) {
        return None;
    }
    let cut_off = !whole && !text.ends_with('\n');
    let lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let (count, ended) = (lines.len(), lines.len() > 1);
    let lines: Vec<&str> = lines.into_iter().enumerate().filter(|(at, _)| !(ended && cut_off && at + 1 == count)).map(|(_, line)| line).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.trim().is_empty() && *line != "\u{1a}").take(LINES).collect();
    let first = *lines.first()?;
    if is_one_value(first) {
        return None;
    }
    let length = |line: &str| line.chars().count();
    if lines.len() == 1 {
        // One record, or all of them without line ends between.
        return (length(first) >= 5 * LEAST && (layout.width == 1 || layout.delimiter == b' ') && is_padded(first))
            .then(|| format!("one line of {} characters", length(first)));
    }
    let mut lengths = BTreeMap::<usize, usize>::new();
    lines.iter().for_each(|line| *lengths.entry(length(line)).or_default() += 1);
    let (&usual, &same) = lengths.iter().max_by_key(|(length, count)| (**count, **length))?;
    if usual >= LEAST && 10 * same >= 9 * lines.len() && (length(first) == usual || is_padded(first)) {
        return Some(match lines.len() - same {
            0 => format!("all {same} lines looked at have {usual} characters"),
            _ => format!("{same} of {} lines looked at have {usual} characters", lines.len()),
        });
    }
    // Some tools take the blanks at the ends of lines away, and then only those inside are left.
    let padded = lines.iter().filter(|line| is_padded(line.trim_end())).count();
    let (&shortest, &longest) = (lengths.keys().next()?, lengths.keys().next_back()?);
    (longest >= LEAST && is_padded(first) && 10 * padded >= 9 * lines.len()).then(|| format!("lines of {shortest} to {longest} characters, padded inside"))
}

/// A name, or a value that has a form of its own: a file of one column.
fn is_one_value(line: &str) -> bool {
    const TYPES: [InfoType; 4] = [InfoType::Email, InfoType::Url, InfoType::Uuid, InfoType::Iban];
    let name = line.starts_with(|c: char| c.is_alphabetic() || c == '_') && line.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    (name && longest_digit_run(line) < 4) || TYPES.iter().any(|info_type| info_type.validate(line).agrees())
}

fn is_padded(line: &str) -> bool {
    line.contains("   ") || longest_digit_run(line) >= 8
}

#[cfg(test)]
mod tests {
    use super::super::sniff::layout;
    use super::*;

    fn said(text: &str) -> Option<String> {
        recognized(text, true, &layout(text, true, None, Some(b'"'), None).unwrap())
    }

    fn padded(lines: &[&str], width: usize) -> String {
        lines.iter().map(|line| format!("{line:width$}\r\n")).collect()
    }

    #[test]
    fn records_of_one_length() {
        let lines = ["0HEADER BANK, OF; SOMEWHERE", "1000010ONE SOMEONE, X", "1000011TWO", "9000002"];
        assert_eq!(said(&padded(&lines, 60)).as_deref(), Some("all 4 lines looked at have 60 characters"));
        assert!(said(&padded(&["HEADER", "MARY", "JOHN"], 40)).is_some());
        // The same, torn once in twenty.
        let torn = padded(&["1000010ONE SOMEONE"; 20], 60) + "1000\r\n";
        assert_eq!(said(&torn).as_deref(), Some("20 of 21 lines looked at have 60 characters"));
        let stripped: String = (0..9).map(|at| format!("1{at:07}{}\n", ["ONE    X", "SOMEONE ELSE    LONGER"][at % 2])).collect();
        assert!(said(&stripped).is_some_and(|said| said.contains("padded inside")));
        let endless = lines.iter().map(|line| format!("{line:240}")).collect::<String>();
        assert_eq!(said(&endless.replace([',', ';'], " ")).as_deref(), Some("one line of 960 characters"));
        let text = padded(&lines, 60) + "1000";
        let layout = layout(&text, false, None, Some(b'"'), None).unwrap();
        assert_eq!(recognized(&text, false, &layout).as_deref(), Some("all 4 lines looked at have 60 characters"));
    }

    #[test]
    fn delimited_text_and_files_of_one_column() {
        for text in [
            "id   ;name               \n00001;SOMEONE            \n00002;SOMEONE            \n",
            "a_name_of_a_column_with_25\n01234567890123456789012345\n",
            "id\n0f8fad5b-d9cb-469f-a165-70867728950e\n7c9e6679-7425-40de-944b-e07fc1f90ae7\n",
            "0f8fad5b-d9cb-469f-a165-70867728950e\n7c9e6679-7425-40de-944b-e07fc1f90ae7\n",
            "only\nx\ny\n",
            "A11 6 A34 some words here and\nA12 48 A32 others are there x\n",
        ] {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
