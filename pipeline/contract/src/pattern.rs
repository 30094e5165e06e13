//! ECMA-262 patterns, as ODCS has them, as Rust regular expressions that match the whole value: [`compile`].
//!
//! Where the two read one text differently, ECMA's reading is written out: `\d`, `\w` and `\b` are ASCII, and `[`, `&`, `~` stand for
//! themselves in a class. What only ECMA has (look-around, back-references) is refused by the compiler.

/// Compiled programs stay under this many bytes.
const SIZE_LIMIT: usize = 1 << 20;

/// The pattern, anchored.
///
/// # Errors
/// Why not, on one line.
pub(crate) fn compile(pattern: &str) -> Result<regex::Regex, String> {
    let translated = translate(pattern)?;
    // alone first: `a)|(b` is only an expression once it is wrapped
    build(&translated)?;
    build(&format!(r"\A(?:{translated})\z"))
}

fn build(pattern: &str) -> Result<regex::Regex, String> {
    regex::RegexBuilder::new(pattern).size_limit(SIZE_LIMIT).nest_limit(50).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
        other => other.to_string().lines().last().unwrap_or("it is not a pattern").trim().trim_start_matches("error: ").to_owned(),
    })
}

fn translate(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut in_class = false;
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('d') => out.push_str("[0-9]"),
                Some('D') => out.push_str("[^0-9]"),
                Some('w') => out.push_str("[0-9A-Za-z_]"),
                Some('W') => out.push_str("[^0-9A-Za-z_]"),
                Some('b') if in_class => out.push_str(r"\x08"),
                Some('b') => out.push_str(r"(?-u:\b)"),
                Some('B') if !in_class => return Err(r"`\B` is not taken".to_owned()),
                Some(other) => {
                    out.push('\\');
                    out.push(other);
                }
                None => return Err("it ends in a backslash".to_owned()),
            },
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                if characters.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                if characters.peek() == Some(&']') {
                    return Err("an empty class".to_owned());
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '[' | '&' | '~' if in_class => {
                out.push('\\');
                out.push(character);
            }
            '-' if in_class && characters.peek() == Some(&'-') => return Err(r"`--` in a class: write `\-`".to_owned()),
            other => out.push(other),
        }
    }
    Ok(out)
}
