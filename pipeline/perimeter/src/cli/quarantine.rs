//! `perimeter quarantine show`: rejected records, one after the other, for who has the key.
use super::arguments::Global;
use super::commands::{Done, Ended, uri};
use crate::error::{Culprit, Error, Failure};
use crate::quarantine::{self, Record};
use crate::run::Services;
use crate::store::InputFile;
use perimeter_contract::job::{Encoding, Format, Source};
use serde_json::json;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// What of a record is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// Where it stood and what it broke.
    Places,
    /// Its bytes too.
    Raw,
    /// Its bytes alone, to be delivered again.
    Bytes,
}

/// In the order of files and records. Memory: one record.
pub(super) async fn show(global: &Global, job: &Path, files: &[String], shown: Shown) -> Done {
    let services = Services::new(global.limits());
    let contract = perimeter_contract::load(job, &global.parameters()).map_err(Error::from)?;
    let name = contract.job.quarantine.key.clone();
    let root = crate::keys::open_one(&name, &contract.job, &services.stores).await?;
    let places = files.iter().map(|file| uri(file)).collect::<Result<Vec<_>, Ended>>()?;
    let sources = contract.job.sources;
    let work = move || -> Done {
        let files = quarantine::list(&services.stores, &places)?;
        // Before anything is written: what cannot be put together again is refused as a whole.
        let ends = files.iter().map(|file| if shown == Shown::Bytes { line_end(file, &sources) } else { Ok(&b"\n"[..]) });
        let ends = ends.collect::<Result<Vec<_>, Error>>()?;
        let mut out = BufWriter::new(io::stdout().lock());
        for (file, end) in files.iter().zip(ends) {
            for record in quarantine::open(&services.stores, &root, file)? {
                write(&record?, shown, end, &mut out)?;
            }
        }
        Ok(out.flush()?)
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(Error::from(Failure::new(Culprit::Outside, "stopped", "the work was stopped")).into()))
}

fn write(record: &Record<'_>, shown: Shown, end: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let mut line = json!({"file": record.file, "record": record.record, "codes": record.codes});
    match shown {
        Shown::Places => {}
        Shown::Raw => match record.raw_bytes().map(String::from_utf8) {
            Some(Ok(text)) => line["raw"] = text.into(),
            _ => line["rawBase64"] = record.raw.as_str().into(),
        },
        Shown::Bytes => {
            out.write_all(&record.raw_bytes().unwrap_or_default())?;
            return out.write_all(end);
        }
    }
    writeln!(out, "{line}")
}

/// What ends a line of the source that a quarantine file is of; records of columnar formats are lines of JSON.
fn line_end(file: &InputFile, sources: &[Source]) -> Result<&'static [u8], Error> {
    let refused = |why: &str| -> Error {
        Failure::new(Culprit::File, "line-end-unknown", format!("{}: {why}", file.label))
            .help("use `--raw`: it holds the bytes of every record by itself")
            .into()
    };
    let Some(source) = sources.iter().find(|source| quarantine::is_of(file, &source.name)) else {
        return Err(refused("it is of no source of this job, so nobody can tell what ends its lines"));
    };
    let encoding = match &source.format {
        Format::FixedWidth(options) if !options.line_ends => return Ok(b""),
        Format::FixedWidth(options) => options.text.encoding,
        Format::Csv(options) => options.text.encoding,
        Format::Json(options) => options.text.encoding,
        Format::Parquet | Format::Arrow | Format::Avro => return Ok(b"\n"),
    };
    match encoding {
        Encoding::Utf16Le => Ok(b"\n\0"),
        Encoding::Utf16Be => Ok(b"\0\n"),
        Encoding::Utf16 => Err(refused("its source is `utf-16`, of which only the start of each file says the byte order")),
        Encoding::Utf8 | Encoding::Latin1 | Encoding::Windows1252 | Encoding::Cp850 => Ok(b"\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    fn written(raw: &[u8], shown: Shown, end: &[u8]) -> Vec<u8> {
        let record = Record { file: "a.csv".into(), record: 3, codes: vec!["invalid-encoding".into()], raw: STANDARD.encode(raw) };
        let mut out = Vec::new();
        write(&record, shown, end, &mut out).unwrap();
        out
    }

    #[test]
    fn bytes_come_out_as_they_went_in() {
        // Windows-1252 `João`, a byte that is nothing there, and UTF-8.
        for raw in [b"1;Jo\xe3o".as_slice(), b"2;\x81", "3;João".as_bytes(), b"4;\xff\0"] {
            assert_eq!(written(raw, Shown::Bytes, b"\n"), [raw, b"\n"].concat());
            assert_eq!(written(raw, Shown::Bytes, b""), raw);
            let line: serde_json::Value = serde_json::from_slice(&written(raw, Shown::Raw, b"\n")).unwrap();
            let shown = match (line["raw"].as_str(), line["rawBase64"].as_str()) {
                (Some(text), None) => text.as_bytes().to_vec(),
                (None, Some(coded)) => STANDARD.decode(coded).unwrap(),
                other => panic!("{other:?}"),
            };
            assert_eq!(shown, raw);
            assert!(!String::from_utf8(written(raw, Shown::Places, b"\n")).unwrap().contains("raw"));
        }
    }
}
