//! The official option string, `group_size:1,zstd:3`.
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// How chunks are compressed. The same codec applies to record sizes, record values and the footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// Bytes as they are.
    Uncompressed,
    /// Zstandard (RFC 8878).
    Zstd {
        /// −131072 to 22; 3 is the format's default.
        level: i32,
    },
    /// Brotli (RFC 7932).
    Brotli {
        /// 0 to 11; 6 is the format's default.
        level: u8,
    },
    /// Snappy, its raw format.
    Snappy,
}

/// How a file is written: the options that the official writer takes, in its own notation.
///
/// ```
/// use array_record::{Compression, Options};
/// let options: Options = "group_size:64,zstd:5".parse()?;
/// assert_eq!(options.group_size(), 64);
/// assert_eq!(options.compression(), Compression::Zstd { level: 5 });
/// assert_eq!(options.to_string(), "group_size:64,transpose:false,pad_to_block_boundary:false,zstd:5,window_log:20");
/// # Ok::<(), array_record::OptionsError>(())
/// ```
///
/// | option | values | default |
/// |---|---|---|
/// | `group_size` | records in a chunk, 1 to 2³¹−1 | 1 |
/// | `zstd[:level]` | −131072 to 22 | `zstd:3` |
/// | `brotli[:level]` | 0 to 11 | level 6 |
/// | `snappy`, `uncompressed` | | |
/// | `window_log` | `auto`, 10 to 31 (zstd), 10 to 30 (brotli) | 20 (zstd), 22 (brotli) |
/// | `pad_to_block_boundary[:true\|false]` | every chunk starts a block | false |
/// | `max_parallelism` | threads that encode, `auto`: those of the rayon pool | 1 |
/// | `transpose`, `transpose_bucket_size`, `saturation_delay_ms` | parsed; see [`Writer::new`](crate::Writer::new) | |
///
/// `default` stands alone and means what the empty string means.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    group_size: u32,
    compression: Compression,
    window_log: Option<u8>,
    pad_to_block_boundary: bool,
    transpose: bool,
    transpose_bucket_bytes: u64,
    max_parallelism: Option<NonZeroUsize>,
    max_parallelism_auto: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            group_size: 1,
            compression: Compression::Zstd { level: 3 },
            window_log: Some(ZSTD_WINDOW_LOG),
            pad_to_block_boundary: false,
            transpose: false,
            transpose_bucket_bytes: 256,
            max_parallelism: None,
            max_parallelism_auto: false,
        }
    }
}

/// The official writer's choice for zstd when no `window_log` is named.
const ZSTD_WINDOW_LOG: u8 = 20;

/// The option string is wrong: which option, and what would be right. Whoever wrote the string has to act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// There is no such option.
    #[error(
        "unknown option `{option}`; known are group_size, zstd, brotli, snappy, uncompressed, window_log, pad_to_block_boundary, max_parallelism, transpose, transpose_bucket_size, saturation_delay_ms"
    )]
    Unknown {
        /// As written.
        option: String,
    },
    /// The value does not fit the option.
    #[error("option `{option}` takes {expected}")]
    Value {
        /// The option's name.
        option: &'static str,
        /// What it takes.
        expected: &'static str,
    },
    /// An option stands twice.
    #[error("option `{option}` stands twice")]
    Repeated {
        /// The option's name.
        option: &'static str,
    },
    /// Two options exclude each other.
    #[error("option `{option}` cannot stand beside `{other}`")]
    Conflict {
        /// The later option.
        option: &'static str,
        /// The one it cannot join.
        other: &'static str,
    },
}

const NAMES: [&str; 12] = [
    "default",
    "group_size",
    "max_parallelism",
    "saturation_delay_ms",
    "transpose",
    "transpose_bucket_size",
    "uncompressed",
    "brotli",
    "zstd",
    "snappy",
    "window_log",
    "pad_to_block_boundary",
];

fn number<T: FromStr + PartialOrd>(option: &'static str, value: &str, range: std::ops::RangeInclusive<T>, expected: &'static str) -> Result<T, OptionsError> {
    value.parse().ok().filter(|n| range.contains(n)).ok_or(OptionsError::Value { option, expected })
}

fn flag(option: &'static str, value: &str) -> Result<bool, OptionsError> {
    match value {
        "" | "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(OptionsError::Value { option, expected: "true or false" }),
    }
}

/// `64`, `1.5k`, `2M`: a number of bytes as the official parser takes it.
fn byte_count(option: &'static str, value: &str) -> Result<u64, OptionsError> {
    let wrong = OptionsError::Value { option, expected: "`auto` or a number of bytes from 1, with an optional suffix of BkKMGTPE" };
    let (digits, shift) = match value.chars().last() {
        Some('B') => (&value[..value.len() - 1], 0),
        Some('k' | 'K') => (&value[..value.len() - 1], 10),
        Some('M') => (&value[..value.len() - 1], 20),
        Some('G') => (&value[..value.len() - 1], 30),
        Some('T') => (&value[..value.len() - 1], 40),
        Some('P') => (&value[..value.len() - 1], 50),
        Some('E') => (&value[..value.len() - 1], 60),
        _ => (value, 0),
    };
    let Ok(number) = digits.parse::<f64>() else { return Err(wrong) };
    let bytes = (number * (1u64 << shift) as f64).round();
    // The comparison also refuses what is not a number; the cast saturates.
    if bytes >= 1.0 { Ok(bytes as u64) } else { Err(wrong) }
}

impl FromStr for Options {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let mut options = Self::default();
        let mut seen: Vec<&'static str> = Vec::new();
        let mut codec: Option<&'static str> = None;
        let mut window_log: Option<&str> = None;
        for part in text.split(',').filter(|part| !part.is_empty()) {
            // The official parser takes spaces around numbers.
            let (name, value) = part.split_once(':').map_or((part, ""), |(name, value)| (name, value.trim()));
            let Some(&name) = NAMES.iter().find(|known| **known == name) else {
                return Err(OptionsError::Unknown { option: name.chars().take(64).collect() });
            };
            if seen.contains(&name) {
                return Err(OptionsError::Repeated { option: name });
            }
            if let Some(&other) = seen.iter().find(|other| **other == "default" || (name == "default" && !seen.is_empty())) {
                return Err(OptionsError::Conflict { option: name, other });
            }
            seen.push(name);
            let bare = |name| if value.is_empty() { Ok(()) } else { Err(OptionsError::Value { option: name, expected: "no value" }) };
            match name {
                "default" => bare(name)?,
                "group_size" => options.group_size = number(name, value, 1..=i32::MAX as u32, "an integer from 1 to 2147483647")?,
                "max_parallelism" if value == "auto" => options.max_parallelism_auto = true,
                "max_parallelism" => {
                    let threads: usize = number(name, value, 1..=i32::MAX as usize, "`auto` or an integer from 1 to 2147483647")?;
                    options.max_parallelism = NonZeroUsize::new(threads);
                }
                "saturation_delay_ms" => drop(number(name, value, 1..=i32::MAX, "an integer from 1 to 2147483647")?),
                "transpose" => options.transpose = flag(name, value)?,
                "transpose_bucket_size" if value == "auto" => {}
                "transpose_bucket_size" => options.transpose_bucket_bytes = byte_count(name, value)?,
                "pad_to_block_boundary" => options.pad_to_block_boundary = flag(name, value)?,
                "window_log" => window_log = Some(value),
                _ => {
                    if let Some(other) = codec {
                        return Err(OptionsError::Conflict { option: name, other });
                    }
                    codec = Some(name);
                    options.compression = match (name, value) {
                        ("zstd", "") => Compression::Zstd { level: 3 },
                        ("zstd", _) => Compression::Zstd { level: number(name, value, -131_072..=22, "an integer from -131072 to 22")? },
                        ("brotli", "") => Compression::Brotli { level: 6 },
                        ("brotli", _) => Compression::Brotli { level: number(name, value, 0..=11, "an integer from 0 to 11")? },
                        ("snappy", "") => Compression::Snappy,
                        // Levels change how hard the official encoder tries, not the format.
                        ("snappy", _) => number(name, value, 1..=2, "1, 2 or no value").map(|_: u8| Compression::Snappy)?,
                        _ => bare(name).map(|()| Compression::Uncompressed)?,
                    };
                }
            }
        }
        if !options.transpose {
            options.transpose_bucket_bytes = Self::default().transpose_bucket_bytes;
        }
        options.window_log = match (options.compression, window_log) {
            (Compression::Zstd { .. }, None | Some("auto")) => Some(ZSTD_WINDOW_LOG),
            (Compression::Zstd { .. }, Some(value)) => Some(number("window_log", value, 10..=31, "`auto` or an integer from 10 to 31")?),
            (_, None) | (Compression::Brotli { .. }, Some("auto")) => None,
            (Compression::Brotli { .. }, Some(value)) => Some(number("window_log", value, 10..=30, "`auto` or an integer from 10 to 30")?),
            (Compression::Snappy, Some(_)) => return Err(OptionsError::Conflict { option: "window_log", other: "snappy" }),
            (Compression::Uncompressed, Some(_)) => return Err(OptionsError::Conflict { option: "window_log", other: "uncompressed" }),
        };
        Ok(options)
    }
}

impl Options {
    /// Records in a chunk: what one random access reads and decompresses.
    pub fn group_size(&self) -> u32 {
        self.group_size
    }

    /// How chunks are compressed.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// The logarithm of the compressor's window, where one is set.
    pub fn window_log(&self) -> Option<u8> {
        self.window_log
    }

    /// Whether every chunk starts a block of 64 KiB.
    pub fn pad_to_block_boundary(&self) -> bool {
        self.pad_to_block_boundary
    }

    /// Whether chunks are transposed. Such files are read, never written.
    pub fn transpose(&self) -> bool {
        self.transpose
    }

    /// How many threads encode chunks at most. The bytes written do not depend on it.
    ///
    /// Unset, it is one, and the digests of what was written are computed beside it when rayon's pool has a thread free. Set to one
    /// (`max_parallelism:1`), everything happens on the calling thread.
    pub fn max_parallelism(&self) -> NonZeroUsize {
        match self.max_parallelism {
            Some(threads) => threads,
            None if self.max_parallelism_auto => NonZeroUsize::new(rayon::current_num_threads()).unwrap_or(NonZeroUsize::MIN),
            None => NonZeroUsize::MIN,
        }
    }

    pub(crate) fn is_single_threaded(&self) -> bool {
        self.max_parallelism == Some(NonZeroUsize::MIN)
    }

    /// The same options with another number of encoding threads; one means that no other thread takes any part.
    #[must_use]
    pub fn with_max_parallelism(mut self, threads: NonZeroUsize) -> Self {
        self.max_parallelism = Some(threads);
        self
    }

    /// For the postscript, which is never compressed.
    pub(crate) fn uncompressed() -> Self {
        Self { compression: Compression::Uncompressed, window_log: None, ..Self::default() }
    }

    /// What the footer says of the options: what the official writer says without a thread pool, however many threads
    /// encoded, so that the bytes of a file do not depend on the machine.
    pub(crate) fn as_written(&self) -> String {
        Self { max_parallelism: Some(NonZeroUsize::MIN), ..self.clone() }.to_string()
    }
}

impl fmt::Display for Options {
    /// The official writer's own notation; parses back to equal options.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group_size, transpose, pad_to_block_boundary, .. } = self;
        write!(f, "group_size:{group_size},transpose:{transpose},pad_to_block_boundary:{pad_to_block_boundary}")?;
        if self.transpose {
            write!(f, ",transpose_bucket_size:{}", self.transpose_bucket_bytes)?;
        }
        match self.compression {
            Compression::Uncompressed => write!(f, ",uncompressed")?,
            Compression::Brotli { level } => write!(f, ",brotli:{level}")?,
            Compression::Zstd { level } => write!(f, ",zstd:{level}")?,
            Compression::Snappy => write!(f, ",snappy")?,
        }
        if let Some(window_log) = self.window_log {
            write!(f, ",window_log:{window_log}")?;
        }
        match self.max_parallelism {
            Some(threads) => write!(f, ",max_parallelism:{threads}"),
            None if self.max_parallelism_auto => write!(f, ",max_parallelism:auto"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        text.parse::<Options>().map_err(|error| error.to_string())
    }

    #[test]
    fn official_strings_mean_what_they_mean_there() {
        // Left the string, right what the official writer (0.8.6) leaves in the footer.
        for (text, written) in [
            ("", "group_size:1,transpose:false,pad_to_block_boundary:false,zstd:3,window_log:20,max_parallelism:1"),
            ("default", "group_size:1,transpose:false,pad_to_block_boundary:false,zstd:3,window_log:20,max_parallelism:1"),
            ("group_size:7,zstd:19", "group_size:7,transpose:false,pad_to_block_boundary:false,zstd:19,window_log:20,max_parallelism:1"),
            ("group_size:1,uncompressed", "group_size:1,transpose:false,pad_to_block_boundary:false,uncompressed,max_parallelism:1"),
            ("group_size:100,brotli", "group_size:100,transpose:false,pad_to_block_boundary:false,brotli:6,max_parallelism:1"),
            ("group_size: 100,snappy:1", "group_size:100,transpose:false,pad_to_block_boundary:false,snappy,max_parallelism:1"),
            ("snappy,group_size:100", "group_size:100,transpose:false,pad_to_block_boundary:false,snappy,max_parallelism:1"),
            ("pad_to_block_boundary", "group_size:1,transpose:false,pad_to_block_boundary:true,zstd:3,window_log:20,max_parallelism:1"),
            (
                "group_size:10,transpose",
                "group_size:10,transpose:true,pad_to_block_boundary:false,transpose_bucket_size:256,zstd:3,window_log:20,max_parallelism:1",
            ),
            ("transpose_bucket_size:512", "group_size:1,transpose:false,pad_to_block_boundary:false,zstd:3,window_log:20,max_parallelism:1"),
            ("zstd,max_parallelism:8", "group_size:1,transpose:false,pad_to_block_boundary:false,zstd:3,window_log:20,max_parallelism:1"),
        ] {
            let options = parse(text).unwrap();
            assert_eq!(options.as_written(), written, "{text}");
            assert_eq!(options.to_string().parse(), Ok(options), "{text} round trip");
        }
        assert_eq!(parse("zstd:-5,window_log:17").unwrap().window_log(), Some(17));
        assert!(parse("transpose,transpose_bucket_size:1.5k").unwrap().to_string().contains("transpose_bucket_size:1536"));
        assert_eq!(parse("max_parallelism:3").unwrap().max_parallelism().get(), 3);
        assert_eq!(parse("").unwrap().max_parallelism().get(), 1);
    }

    #[test]
    fn wrong_strings_name_the_option() {
        for (text, message) in [
            ("group_size:0", "option `group_size` takes an integer from 1 to 2147483647"),
            ("group_size:two", "option `group_size` takes an integer from 1 to 2147483647"),
            ("group_size", "option `group_size` takes an integer from 1 to 2147483647"),
            ("zstd:23", "option `zstd` takes an integer from -131072 to 22"),
            ("brotli:12", "option `brotli` takes an integer from 0 to 11"),
            ("snappy:3", "option `snappy` takes 1, 2 or no value"),
            ("zstd,window_log:9", "option `window_log` takes `auto` or an integer from 10 to 31"),
            ("uncompressed,window_log:20", "option `window_log` cannot stand beside `uncompressed`"),
            ("zstd,brotli", "option `brotli` cannot stand beside `zstd`"),
            ("default,zstd", "option `zstd` cannot stand beside `default`"),
            ("zstd:3,zstd:4", "option `zstd` stands twice"),
            ("transpose:maybe", "option `transpose` takes true or false"),
            ("max_parallelism:0", "option `max_parallelism` takes `auto` or an integer from 1 to 2147483647"),
        ] {
            assert_eq!(parse(text).unwrap_err(), message, "{text}");
        }
        assert!(parse("zst:3").unwrap_err().starts_with("unknown option `zst`"));
    }
}
