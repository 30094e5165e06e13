//! No bytes make the parser panic, and nothing wrong is taken: good files with random damage, and text made of YAML's own characters.
use perimeter_contract::{codes, load_policy, load_schema};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// xorshift64*: small, and the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end.max(1)
    }
}

const PIECES: [&str; 40] = [
    ":",
    ": ",
    "\n",
    "\n  ",
    "\n- ",
    "- ",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&a ",
    "*a",
    "!x ",
    "!!str ",
    "|\n",
    ">-\n",
    "'",
    "\"",
    "\\",
    "#",
    "%YAML 1.2\n",
    "---\n",
    "...\n",
    "\t",
    "\r\n",
    "\u{feff}",
    "é",
    "名",
    "\u{0}",
    "~",
    "null",
    "true",
    "007",
    "1e999",
    "<<",
    "key",
    "\u{2028}",
    "${x}",
];

fn damage(random: &mut Random, text: &[u8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => bytes[at] = (random.next() & 0xff) as u8,
            2 => {
                let piece = PIECES[random.below(PIECES.len())].as_bytes();
                bytes.splice(at..at, piece.iter().copied());
            }
            3 => {
                let end = (at + random.below(40)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                let end = (at + random.below(200)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
        }
        if bytes.is_empty() {
            bytes.push(b'a');
        }
    }
    bytes
}

fn judge(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    for mistakes in [load_policy(path).err(), load_schema(path).err()].into_iter().flatten() {
        assert!(!mistakes.list.is_empty());
        assert!(mistakes.list.iter().all(|mistake| mistake.code != codes::INTERNAL), "{:?}\n{mistakes}", String::from_utf8_lossy(bytes));
        assert!(mistakes.list.iter().all(|mistake| mistake.help.is_some()), "{mistakes}");
        let _ = mistakes.to_json();
    }
}

#[test]
fn damaged_files() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file.yaml");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for name in ["broken/good.policy.yaml", "broken/good.odcs.yaml", "everything.odcs.yaml"] {
        let text = fs::read(Path::new("tests").join(name)).unwrap();
        for _ in 0..1200 {
            judge(&path, &damage(&mut random, &text));
        }
    }
}

#[test]
fn yaml_punctuation() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file.yaml");
    let mut random = Random(7);
    for _ in 0..2000 {
        let count = 1 + random.below(24);
        let text: String = (0..count).map(|_| PIECES[random.below(PIECES.len())]).collect();
        judge(&path, text.as_bytes());
    }
}

/// Neither depth nor aliases cost more than the file is long.
#[test]
fn bombs() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file.yaml");
    let laughs: String = (0..30).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(","))).skip(1).collect();
    for text in [format!("a0: &a0 [x]\n{laughs}"), "[".repeat(100_000), "{a: ".repeat(50_000), "- ".repeat(50_000), "? ".repeat(50_000), "\"".repeat(100_001)] {
        judge(&path, text.as_bytes());
    }
}
