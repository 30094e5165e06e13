//! Says what the file that an input of `array_record_read` means is taken for: `cargo run --release --example explain -- INPUT [FILE]`.
//! With a second name the file is written there.
use array_record::{Reader, verify};

fn main() {
    let mut names = std::env::args().skip(1);
    let input = std::fs::read(names.next().expect("an input")).unwrap();
    let Some(file) = perimeter_fuzz::array_record_read::file(&input) else {
        println!("no file");
        return;
    };
    if let Some(name) = names.next() {
        std::fs::write(name, &file).unwrap();
    }
    match verify(&file) {
        Ok(sound) => println!("{sound:?}"),
        Err(damage) => println!("{damage}"),
    }
    match Reader::open(&file) {
        Ok(reader) => {
            println!("opens: {} records", reader.num_records());
            for index in 0..reader.num_records().min(20) {
                match reader.record(index) {
                    Ok(record) => println!("{index}: {} bytes", record.len()),
                    Err(error) => println!("{index}: {error}"),
                }
            }
        }
        Err(error) => println!("does not open: {error}"),
    }
}
