//! Re-encodes a file: `copy SRC DST OPTIONS`, e.g. `copy a.array_record b.array_record group_size:64,zstd:5`.
use array_record::{Options, Reader, Writer};
use std::error::Error;
use std::fs::File;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [source, target, options] = arguments.as_slice() else { return Err("usage: copy SRC DST OPTIONS".into()) };
    let reader = Reader::open(File::open(source)?)?;
    let mut writer = Writer::new(File::create(target)?, &options.parse::<Options>()?)?;
    let mut records = reader.records(0..reader.num_records());
    while let Some(record) = records.next_borrowed() {
        writer.write_record(record?)?;
    }
    writer.close()?;
    Ok(())
}
