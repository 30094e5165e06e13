//! The bar on a terminal, plain lines elsewhere.
use crate::progress::{Progress, Stage};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Draws the progress of a run until it is dropped.
pub(super) struct Drawn {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drawn {
    pub(super) fn new(progress: Arc<Progress>, quiet: bool) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread =
            (!quiet).then(|| std::thread::spawn(move || if io::stderr().is_terminal() { bar(&progress, &stopped) } else { lines(&progress, &stopped) }));
        Self { stop, thread }
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn say(progress: &Progress, started: Instant) -> String {
    let (passed, rejected) = progress.rows();
    let seconds = started.elapsed().as_secs_f64().max(0.001);
    format!("{} rows, {} rejected, {} rows/s", HumanCount(passed + rejected), HumanCount(rejected), HumanCount(((passed + rejected) as f64 / seconds) as u64))
}

fn bar(progress: &Progress, stop: &AtomicBool) {
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template("{prefix:>6} [{bar:30}] {binary_bytes}/{binary_total_bytes} {msg} {elapsed}") {
        bar.set_style(style.progress_chars("=> "));
    }
    let started = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let (read, total) = progress.bytes();
        bar.set_length(total.max(1));
        bar.set_position(read.min(total));
        bar.set_prefix(progress.stage().name());
        bar.set_message(say(progress, started));
        std::thread::park_timeout(Duration::from_millis(100));
    }
    bar.finish_and_clear();
}

/// What is over sooner needs no progress.
const SILENT: Duration = Duration::from_secs(1);

/// One line when a stage begins, and one every ten seconds within it; none in the first second.
fn lines(progress: &Progress, stop: &AtomicBool) {
    let started = Instant::now();
    let mut last: Option<(Stage, Instant)> = None;
    while !stop.load(Ordering::Relaxed) {
        let stage = progress.stage();
        let due = last.is_none_or(|(said, at)| said != stage || at.elapsed() >= Duration::from_secs(10));
        if due && started.elapsed() >= SILENT && !matches!(stage, Stage::Plan | Stage::Done) {
            let _ = writeln!(io::stderr(), "{:>6}: {} after {:.1} s", stage.name(), say(progress, started), started.elapsed().as_secs_f64());
            last = Some((stage, Instant::now()));
        }
        std::thread::park_timeout(Duration::from_millis(50));
    }
}
