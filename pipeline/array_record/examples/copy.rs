//! Re-encodes a file: `copy SRC DST OPTIONS`, e.g. `copy a.array_record b.array_record group_size:64,zstd:5`.
//!
//! DST appears when it is whole: it is written beside its place and renamed.
use array_record::{Options, Reader, Writer};
use std::error::Error;
use std::fs::{self, File};
use std::path::Path;

fn copy(reader: &Reader<File>, target: File, options: &Options) -> Result<(), Box<dyn Error>> {
    let mut writer = Writer::new(target, options)?;
    let mut records = reader.records(0..reader.num_records());
    while let Some(record) = records.next_borrowed() {
        writer.write_record(record?)?;
    }
    writer.close()?.1.sync_all()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [source, target, options] = arguments.as_slice() else { return Err("usage: copy SRC DST OPTIONS".into()) };
    let options: Options = options.parse()?;
    let reader = Reader::open(File::open(source)?)?;
    let staged = format!("{target}.part");
    let copied = File::create_new(&staged).map_err(Into::into).and_then(|file| copy(&reader, file, &options));
    match copied {
        Ok(()) => Ok(fs::rename(&staged, target)?),
        Err(error) => {
            let _ = fs::remove_file(Path::new(&staged));
            Err(error)
        }
    }
}
