//! `perimeter reveal`: tokens in, values out on stdout, and nowhere else.
use super::arguments::{Global, Reveal};
use super::commands::{Done, Ended, say, uri};
use crate::error::{Culprit, Error, Failure};
use crate::reveal::{self, Audit, Request, Unopened};
use crate::run::Services;
use serde_json::json;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Tokens are asked for by the case, not by the table.
const INPUT_BYTES: u64 = 256 << 20;

pub(super) async fn execute(global: &Global, asked: Reveal) -> Done {
    let services = Services::new(global.limits());
    let contract = perimeter_contract::load(&asked.job, &global.parameters()).map_err(Error::from)?;
    let column = reveal::column(&contract, &asked.column).await?;
    let audit = Audit::new(&uri(&asked.audit)?, asked.audit_retain)?;
    let input = read(&asked.file)?;
    let tokens = lines(&input);
    if tokens.len() > asked.max {
        return Err(refused(
            "too-many-tokens",
            format!("{} tokens are more than --max {}", tokens.len(), asked.max),
            "ask for those that the case needs, or raise --max: the record says how many",
        ));
    }
    if tokens.is_empty() {
        return Err(refused("no-tokens", "there is no token to reveal".to_owned(), "give a file with one token a line, or write them to stdin"));
    }
    let request = Request { contract: &contract, column: &column, version: asked.key_version, reason: &asked.reason, audit: &audit, rate: asked.rate };
    let mut unopened = Vec::new();
    let mut stdout = io::stdout();
    let mut show = |position: usize, opened: Result<&str, Unopened>| {
        let line = position + 1;
        if let Err(why) = opened {
            unopened.push((line, why));
        }
        let text = match (global.json, opened) {
            (true, Ok(value)) => format!("{}\n", json!({"line": line, "value": value})),
            (true, Err(why)) => format!("{}\n", json!({"line": line, "value": null, "why": why.code()})),
            (false, Ok(value)) if value.contains(['\n', '\r']) => {
                say(&format!("line {line}: the value has line breaks, which are shown as spaces; --json shows it as it is\n"));
                format!("{}\n", value.replace(['\n', '\r'], " "))
            }
            (false, Ok(value)) => format!("{value}\n"),
            (false, Err(_)) => "\n".to_owned(),
        };
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    };
    let counts = reveal::reveal(&request, &tokens, &services.stores, &mut show).await??;
    if column.transform == "cryptoReplaceFfxFpe" && !global.json {
        say("format-preserving tokens carry no proof: text that was never a token of this column gives a value too, of nobody\n");
    }
    if counts.unopened == 0 {
        return Ok(());
    }
    // As JSON they stand among the results.
    for (line, why) in unopened.iter().filter(|_| !global.json) {
        say(&format!("line {line}: {}\n", explain(*why)));
    }
    Err(Ended::Failed(
        Failure::new(Culprit::Data, "tokens-not-opened", format!("{} of {} tokens do not open", counts.unopened, tokens.len()))
            .help("look at column, job and keyring; a token is the whole text, with its version in front where it has one")
            .into(),
    ))
}

fn explain(why: Unopened) -> &'static str {
    match why {
        Unopened::Rejected => "no token of this column and key, or altered",
        Unopened::Destroyed => "its key version is destroyed",
        Unopened::OtherVersion => "its key version is not opened here",
    }
}

fn refused(code: &'static str, message: String, help: &str) -> Ended {
    Ended::Failed(Failure::new(Culprit::File, code, message).help(help).into())
}

fn read(file: &Path) -> Result<Vec<u8>, Ended> {
    let mut input = Vec::new();
    let name = file.display();
    let read = if file == Path::new("-") {
        io::stdin().lock().take(INPUT_BYTES + 1).read_to_end(&mut input)
    } else {
        File::open(file).and_then(|opened| opened.take(INPUT_BYTES + 1).read_to_end(&mut input))
    };
    match read {
        Err(error) => Err(refused("unreadable-tokens", format!("{name} cannot be read ({})", error.kind()), "give a file with one token a line")),
        Ok(length) if length as u64 > INPUT_BYTES => {
            Err(refused("too-many-tokens", format!("{name} is longer than {INPUT_BYTES} bytes"), "ask for those that the case needs"))
        }
        Ok(_) => Ok(input),
    }
}

/// An end of line ends a line and begins none.
fn lines(input: &[u8]) -> Vec<&[u8]> {
    let body = input.strip_suffix(b"\n").unwrap_or(input);
    if body.is_empty() && input.len() < 2 {
        return Vec::new();
    }
    body.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn tokens_by_line() {
        let none: [&[u8]; 0] = [];
        assert_eq!(lines(b""), none);
        assert_eq!(lines(b"\n"), none);
        assert_eq!(lines(b"a"), [b"a"]);
        assert_eq!(lines(b"a\r\nb\n"), [b"a", b"b"]);
        assert_eq!(lines(b"a\n\nb"), [&b"a"[..], b"", b"b"]);
    }
}
