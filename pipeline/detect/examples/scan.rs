//! Scans texts and says what is where: `scan FILE [REPEAT] [LIKELIHOOD]`, a JSON object `{"text", "column"?}` a line.
//!
//! Writes one line per finding (line from 0, first and last code point, type, likelihood, what the check digit says), then on stderr how many texts
//! one thread scans in a second of its own processor time. `tests/bench/detect.py` compares it with Presidio.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

use perimeter_detect::{Context, Detector, DetectorOptions, Findings, Likelihood};
use std::fmt::Write;
use std::sync::LazyLock;
use std::time::Instant;

/// Seconds that this thread has run; where the system does not say, seconds on the clock.
fn processor_seconds() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let clock = START.elapsed();
    let run = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    run.and_then(|run| run.split(' ').next()?.parse::<f64>().ok()).map_or(clock.as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("scan FILE [REPEAT]")?;
    let repeat: usize = arguments.next().map_or(Ok(1), |repeat| repeat.parse())?;
    let mut texts = Vec::new();
    for line in std::fs::read_to_string(file)?.lines() {
        let row: serde_json::Value = serde_json::from_str(line)?;
        let context = row["column"].as_str().map_or(Context::NONE, Context::column);
        texts.push((row["text"].as_str().unwrap_or_default().to_owned(), context));
    }
    let mut options = DetectorOptions::default();
    if let Some(least) = arguments.next() {
        options.min_likelihood = Likelihood::from_name(&least).ok_or("a likelihood is VERY_UNLIKELY, UNLIKELY, POSSIBLE, LIKELY or VERY_LIKELY")?;
    }
    let detector = Detector::new(&options)?;
    let mut findings = Findings::new();
    let mut out = String::new();
    for (row, (text, context)) in texts.iter().enumerate() {
        detector.scan(text, context, &mut findings);
        for finding in &findings {
            let at = |byte: usize| text[..byte].chars().count();
            writeln!(
                out,
                "{row}\t{}\t{}\t{}\t{}\t{:?}",
                at(finding.span.start),
                at(finding.span.end),
                finding.info_type.name(),
                finding.likelihood.name(),
                finding.check
            )?;
        }
    }
    print!("{out}");
    let start = processor_seconds();
    let mut found = 0;
    for _ in 0..repeat {
        for (text, context) in &texts {
            detector.scan(text, context, &mut findings);
            found += findings.as_slice().len();
        }
    }
    let seconds = processor_seconds() - start;
    let (rows, bytes) = (repeat * texts.len(), repeat * texts.iter().map(|(text, _)| text.len()).sum::<usize>());
    eprintln!("{:.0} {:.1} {}", rows as f64 / seconds, bytes as f64 / seconds / 1e6, found / repeat.max(1));
    Ok(())
}
