//! Text as token ids, by a Hugging Face `tokenizer.json`.
//!
//! [`Tokenizer::from_bytes`] reads the file once; [`Tokenizer::encode`] takes a column and gives ragged ids, in parallel and in the order of the rows, equal
//! to those of the Python package `tokenizers` with `add_special_tokens=False` and `encode_special_tokens=True`. Begin and end marks are the job's choice, and
//! so is the number of tokens: the file's own post-processor, truncation and padding do not count. A file with dropout is refused: it would encode the same
//! text in another way each time.
//!
//! **Text never becomes a control token.** Special tokens and the marks are looked for in no text; and where the model itself would give one (a Unigram model
//! has `</s>` among its pieces, and a normalizer can make it of other characters), the text is cut inside the look-alike and its parts are encoded apart. The
//! id of what is unknown is no control token: text may well be unknown.
use super::overflow::Side;
use crate::shard::{Text, plain};
use arrow::array::{Array, ArrayRef};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt;

/// Rows that a thread takes at a time.
const CHUNK_ROWS: usize = 256;

/// What is added to every text, and how long it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The token that begins every text, by its name in the vocabulary: `<s>`.
    pub bos: Option<String>,
    /// The token that ends every text, also a truncated one: `</s>`.
    pub eos: Option<String>,
    /// Tokens of a text at most, the marks included; absent: as many as there are.
    pub max_tokens: Option<usize>,
    /// The end from which longer texts are cut.
    pub truncate: Side,
}

/// Why a tokenizer cannot be used, or a text not be encoded. The texts quote neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenizeError {
    /// Not a `tokenizer.json` that the `tokenizers` crate reads.
    #[error("the file is no tokenizer.json of a known form")]
    Form,
    /// The file asks for random encodings.
    #[error("the tokenizer has `dropout` or samples its encodings, so the same text would differ from run to run")]
    NotDeterministic,
    /// `bos` or `eos` is not in the vocabulary.
    #[error("`{0}` is no token of the vocabulary")]
    UnknownMark(&'static str),
    /// `maxTokens` leaves no room beside the marks.
    #[error("`maxTokens` leaves no room for a token of the text")]
    NoRoom,
    /// The column holds no text.
    #[error("the column is no text")]
    NotText,
    /// A null: fill it first.
    #[error("row {row}: a text is null")]
    Null {
        /// From 0.
        row: usize,
    },
    /// Bytes that are no UTF-8.
    #[error("row {row}: a text is not UTF-8")]
    NotUtf8 {
        /// From 0.
        row: usize,
    },
    /// The model refused a text.
    #[error("row {row}: the tokenizer cannot encode a text")]
    Encode {
        /// From 0.
        row: usize,
    },
    /// One character of a text is a control token by itself, so it cannot be cut apart.
    #[error("row {row}: a character of a text is a control token of the tokenizer")]
    ControlCharacter {
        /// From 0.
        row: usize,
    },
}

/// The ids of a column's texts, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// All ids.
    pub ids: Vec<i64>,
    /// Where each row's ids end.
    pub ends: Vec<usize>,
    /// Tokens of texts that truncation cut off.
    pub truncated: u64,
}

impl Tokens {
    /// The ids of a row; none beyond the last.
    pub fn row(&self, row: usize) -> &[i64] {
        let end = self.ends.get(row).copied().unwrap_or_default();
        let start = row.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        self.ids.get(start..end).unwrap_or_default()
    }

    fn append(&mut self, other: &Self) {
        let before = self.ids.len();
        self.ids.extend_from_slice(&other.ids);
        self.ends.extend(other.ends.iter().map(|end| before + end));
        self.truncated = self.truncated.saturating_add(other.truncated);
    }
}

/// A tokenizer with the job's options.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    sha256: String,
    /// Ids that no text may become.
    control: BTreeSet<u32>,
    bos: Option<u32>,
    eos: Option<u32>,
    /// Tokens of the text itself at most.
    room: usize,
    truncate: Side,
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer").field("sha256", &self.sha256).field("size", &self.size()).finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// [`TokenizeError::Form`], [`NotDeterministic`](TokenizeError::NotDeterministic), [`UnknownMark`](TokenizeError::UnknownMark),
    /// [`NoRoom`](TokenizeError::NoRoom).
    pub fn from_bytes(json: &[u8], options: &Options) -> Result<Self, TokenizeError> {
        let file: serde_json::Value = serde_json::from_slice(json).map_err(|_| TokenizeError::Form)?;
        let model = file.get("model").ok_or(TokenizeError::Form)?;
        let random = |key: &str| model.get(key).is_some_and(|value| !value.is_null() && value.as_f64() != Some(0.0));
        if random("dropout") || random("alpha") || random("nbest_size") {
            return Err(TokenizeError::NotDeterministic);
        }
        let mut inner = tokenizers::Tokenizer::from_bytes(json).map_err(|_| TokenizeError::Form)?;
        inner.with_truncation(None).map_err(|_| TokenizeError::Form)?;
        inner.with_padding(None);
        inner.set_encode_special_tokens(true);
        let mark = |name: &Option<String>, which| name.as_ref().map(|name| inner.token_to_id(name).ok_or(TokenizeError::UnknownMark(which))).transpose();
        let (bos, eos) = (mark(&options.bos, "bos")?, mark(&options.eos, "eos")?);
        let unknown = match (model.get("unk_token"), model.get("unk_id")) {
            (Some(serde_json::Value::String(name)), _) => inner.token_to_id(name),
            (_, Some(id)) => id.as_u64().and_then(|id| u32::try_from(id).ok()),
            _ => None,
        };
        let special = inner.get_added_tokens_decoder().into_iter().filter(|(_, token)| token.special).map(|(id, _)| id);
        let mut control: BTreeSet<u32> = special.filter(|&id| Some(id) != unknown).collect();
        control.extend([bos, eos].into_iter().flatten());
        let marks = usize::from(bos.is_some()) + usize::from(eos.is_some());
        let room = options.max_tokens.map_or(Some(usize::MAX), |most| most.checked_sub(marks).filter(|&room| room > 0)).ok_or(TokenizeError::NoRoom)?;
        Ok(Self { inner, sha256: hex::encode(Sha256::digest(json)), control, bos, eos, room, truncate: options.truncate })
    }

    /// SHA-256 of the file, in hex.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// One more than the largest id: the rows of an embedding.
    pub fn size(&self) -> u32 {
        self.inner.get_vocab(true).into_values().max().map_or(0, |largest| largest.saturating_add(1))
    }

    /// The ids of every row of a text column, on the threads of the current rayon pool. The result depends on the texts alone.
    ///
    /// # Errors
    /// [`TokenizeError::NotText`], or the first row's: [`Null`](TokenizeError::Null), [`NotUtf8`](TokenizeError::NotUtf8),
    /// [`Encode`](TokenizeError::Encode), [`ControlCharacter`](TokenizeError::ControlCharacter).
    pub fn encode(&self, column: &ArrayRef) -> Result<Tokens, TokenizeError> {
        let column = plain(column).map_err(|_| TokenizeError::NotText)?;
        let text = Text::of(&column).ok_or(TokenizeError::NotText)?;
        let starts: Vec<usize> = (0..column.len()).step_by(CHUNK_ROWS).collect();
        let chunks: Vec<Result<Tokens, TokenizeError>> = starts
            .into_par_iter()
            .map(|start| {
                let mut tokens = Tokens::default();
                for row in start..column.len().min(start + CHUNK_ROWS) {
                    if column.is_null(row) {
                        return Err(TokenizeError::Null { row });
                    }
                    let text = std::str::from_utf8(text.value(row)).map_err(|_| TokenizeError::NotUtf8 { row })?;
                    self.push(text, &mut tokens).map_err(|refused| match refused {
                        Refused::Model => TokenizeError::Encode { row },
                        Refused::ControlCharacter => TokenizeError::ControlCharacter { row },
                    })?;
                }
                Ok(tokens)
            })
            .collect();
        let mut all = Tokens::default();
        for chunk in chunks {
            all.append(&chunk?);
        }
        Ok(all)
    }

    /// Appends one text with its marks.
    fn push(&self, text: &str, tokens: &mut Tokens) -> Result<(), Refused> {
        tokens.ids.extend(self.bos.map(i64::from));
        let start = tokens.ids.len();
        self.push_text(text, &mut tokens.ids)?;
        let beyond = (tokens.ids.len() - start).saturating_sub(self.room);
        match self.truncate {
            Side::Left => drop(tokens.ids.drain(start..start + beyond)),
            Side::Right => tokens.ids.truncate(tokens.ids.len() - beyond),
        }
        tokens.truncated = tokens.truncated.saturating_add(beyond as u64);
        tokens.ids.extend(self.eos.map(i64::from));
        tokens.ends.push(tokens.ids.len());
        Ok(())
    }

    /// Appends the ids of a text, cut wherever it would become a control token.
    fn push_text(&self, text: &str, ids: &mut Vec<i64>) -> Result<(), Refused> {
        let mut parts = vec![text];
        while let Some(part) = parts.pop() {
            let encoding = self.inner.encode_fast(part, false).map_err(|_| Refused::Model)?;
            if !encoding.get_ids().iter().any(|id| self.control.contains(id)) {
                ids.extend(encoding.get_ids().iter().map(|&id| i64::from(id)));
                continue;
            }
            // Rare: once more, with places in the text (in bytes).
            let encoding = self.inner.encode(part, false).map_err(|_| Refused::Model)?;
            let mut cuts = vec![0];
            for (id, &(start, end)) in encoding.get_ids().iter().zip(encoding.get_offsets()) {
                if self.control.contains(id) {
                    // After its first character.
                    let cut = (start.saturating_add(1)..end).find(|&place| part.is_char_boundary(place)).ok_or(Refused::ControlCharacter)?;
                    cuts.push(cut);
                }
            }
            cuts.push(part.len());
            // The last part is pushed first, so that the first is next.
            for pair in cuts.windows(2).rev() {
                match part.get(pair[0]..pair[1]) {
                    Some(piece) if piece.len() < part.len() => parts.push(piece),
                    _ => return Err(Refused::ControlCharacter),
                }
            }
        }
        Ok(())
    }
}

/// Why one text was not encoded.
enum Refused {
    Model,
    ControlCharacter,
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BinaryArray, Int32Array, StringArray, StringViewArray};
    use proptest::prelude::*;
    use std::io::Write as _;
    use std::path::Path;
    use std::sync::Arc;

    const BYTE_LEVEL_BPE: &str = include_str!("../../../../tests/interop/tokenizers/byte_level_bpe.json");
    const WORD_PIECE: &str = include_str!("../../../../tests/interop/tokenizers/word_piece.json");
    const UNIGRAM: &str = include_str!("../../../../tests/interop/tokenizers/unigram.json");
    const ALL: [(&str, &str); 3] = [("byte_level_bpe", BYTE_LEVEL_BPE), ("word_piece", WORD_PIECE), ("unigram", UNIGRAM)];

    fn options() -> Options {
        Options { bos: None, eos: None, max_tokens: None, truncate: Side::Right }
    }

    fn tokenizer(json: &str, options: &Options) -> Tokenizer {
        Tokenizer::from_bytes(json.as_bytes(), options).unwrap()
    }

    fn column(texts: &[&str]) -> ArrayRef {
        Arc::new(StringArray::from(texts.to_vec()))
    }

    fn names(tokenizer: &Tokenizer, ids: &[i64]) -> Vec<String> {
        ids.iter().map(|&id| tokenizer.inner.id_to_token(u32::try_from(id).unwrap()).unwrap()).collect()
    }

    const LOOK_ALIKES: [&str; 10] = [
        "<|endoftext|>",
        "[CLS] and [SEP]",
        "</s>",
        "a</s>b</s></s>",
        "\u{ff1c}/s\u{ff1e}",
        "<extra_id_0><pad>",
        "compra <|im_start|>system<|im_end|> [PAD][MASK]",
        "</s",
        "<<//ss>>",
        " </s> <|endoftext|>[CLS]",
    ];

    #[test]
    fn text_never_becomes_a_control_token() {
        for (name, json) in ALL {
            let tokenizer = tokenizer(json, &options());
            assert!(!tokenizer.control.is_empty());
            let tokens = tokenizer.encode(&column(&LOOK_ALIKES)).unwrap();
            for (row, text) in LOOK_ALIKES.iter().enumerate() {
                let ids = tokens.row(row);
                assert!(!ids.is_empty());
                assert!(ids.iter().all(|&id| !tokenizer.control.contains(&u32::try_from(id).unwrap())), "{name}: {text}");
            }
        }
        // Nothing of the text is lost by it.
        let bpe = tokenizer(BYTE_LEVEL_BPE, &options());
        let ids = bpe.encode(&column(&["Compra <|endoftext|> fim"])).unwrap().ids;
        let ids: Vec<u32> = ids.iter().map(|&id| u32::try_from(id).unwrap()).collect();
        assert_eq!(bpe.inner.decode(&ids, false).unwrap(), "Compra <|endoftext|> fim");
        let unigram = tokenizer(UNIGRAM, &options());
        assert_eq!(names(&unigram, &unigram.encode(&column(&["a </s> b"])).unwrap().ids).concat().replace('\u{2581}', ""), "a<unk><unk>s<unk>b");
    }

    /// An end mark that the file does not call special is one all the same when the job uses it.
    #[test]
    fn the_jobs_marks_are_control_tokens() {
        let json = BYTE_LEVEL_BPE.replace(r#""special":true"#, r#""special":false"#);
        assert_ne!(json, BYTE_LEVEL_BPE);
        let plain = tokenizer(&json, &options());
        let eos = i64::from(plain.inner.token_to_id("<|endoftext|>").unwrap());
        assert_eq!(plain.encode(&column(&["<|endoftext|>"])).unwrap().ids, [eos], "an ordinary token, as in Python");
        let marked = tokenizer(&json, &Options { eos: Some("<|endoftext|>".to_owned()), ..options() });
        let ids = marked.encode(&column(&["fim<|endoftext|>"])).unwrap().ids;
        assert_eq!(ids.iter().filter(|&&id| id == eos).count(), 1);
        assert_eq!(ids.last(), Some(&eos));
    }

    #[test]
    fn a_control_token_of_one_character_is_refused() {
        // A model with a piece for a character that the file calls special.
        let json = UNIGRAM.replace(r#""<extra_id_0>""#, r#""e""#);
        assert_ne!(json, UNIGRAM);
        let tokenizer = tokenizer(&json, &options());
        assert_eq!(tokenizer.encode(&column(&["aaa", "R$ 0 z", "eee"])).unwrap_err(), TokenizeError::ControlCharacter { row: 2 });
    }

    /// torchtune PR 2967: truncated or not, the end mark is the last token, within the length.
    #[test]
    fn marks_stay_when_texts_are_cut() {
        for truncate in [Side::Left, Side::Right] {
            let options = Options { bos: Some("<|im_start|>".to_owned()), eos: Some("<|endoftext|>".to_owned()), max_tokens: Some(6), truncate };
            let marked = tokenizer(BYTE_LEVEL_BPE, &options);
            let bare = tokenizer(BYTE_LEVEL_BPE, &self::options());
            let texts = ["", "Compra", "Compra aprovada no cart\u{e3}o de cr\u{e9}dito, parcela 3 de 10"];
            let tokens = marked.encode(&column(&texts)).unwrap();
            let whole = bare.encode(&column(&texts)).unwrap();
            let mut cut = 0;
            for row in 0..texts.len() {
                let (ids, body) = (tokens.row(row), whole.row(row));
                assert!(ids.len() <= 6);
                assert_eq!((ids.first(), ids.last()), (marked.bos.map(i64::from).as_ref(), marked.eos.map(i64::from).as_ref()));
                let kept = body.len().min(4);
                let expected = if truncate == Side::Left { &body[body.len() - kept..] } else { &body[..kept] };
                assert_eq!(&ids[1..ids.len() - 1], expected);
                cut += body.len() - kept;
            }
            assert!(cut > 0 && tokens.truncated == cut as u64);
        }
    }

    #[test]
    fn the_files_own_truncation_and_padding_do_not_count() {
        // The file truncates to 8 and pads to 16.
        let tokens = tokenizer(BYTE_LEVEL_BPE, &options()).encode(&column(&["a", "uma frase bem mais longa que oito tokens"])).unwrap();
        assert_eq!(tokens.row(0).len(), 1);
        assert!(tokens.row(1).len() > 8);
    }

    #[test]
    fn files_that_cannot_be_used_are_refused() {
        let refused = |json: &str, options: Options| Tokenizer::from_bytes(json.as_bytes(), &options).unwrap_err();
        assert_eq!(refused("{}", options()), TokenizeError::Form);
        assert_eq!(refused("secret", options()), TokenizeError::Form);
        assert_eq!(refused(&BYTE_LEVEL_BPE.replacen("\"dropout\":null", "\"dropout\":0.1", 1), options()), TokenizeError::NotDeterministic);
        assert_eq!(refused(BYTE_LEVEL_BPE, Options { bos: Some("<s>".to_owned()), ..options() }), TokenizeError::UnknownMark("bos"));
        let full = Options { bos: Some("<|im_start|>".to_owned()), max_tokens: Some(1), ..options() };
        assert_eq!(refused(BYTE_LEVEL_BPE, full), TokenizeError::NoRoom);
        assert!(Tokenizer::from_bytes(BYTE_LEVEL_BPE.replacen("\"dropout\":null", "\"dropout\":0.0", 1).as_bytes(), &options()).is_ok());
    }

    #[test]
    fn columns_that_are_no_text_are_refused() {
        let tokenizer = tokenizer(WORD_PIECE, &options());
        let refused = |array: ArrayRef| tokenizer.encode(&array).unwrap_err();
        assert_eq!(refused(Arc::new(Int32Array::from(vec![1]))), TokenizeError::NotText);
        assert_eq!(refused(Arc::new(StringArray::from(vec![Some("a"), None]))), TokenizeError::Null { row: 1 });
        assert_eq!(refused(Arc::new(BinaryArray::from(vec![&b"a"[..], b"\xff"]))), TokenizeError::NotUtf8 { row: 1 });
        assert_eq!(tokenizer.encode(&column(&[])).unwrap(), Tokens::default());
        assert!(!format!("{tokenizer:?}").contains("vocab"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Any number of threads and any batches: the same ids, row by row.
        #[test]
        fn threads_do_not_show(texts in prop::collection::vec("[ a-e</s>|\\[\\]CLSáé\u{ff1c}\u{ff1e}]{0,40}", 0..600), threads in 1_usize..4) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            for (_, json) in ALL {
                let tokenizer = tokenizer(json, &options());
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let views: ArrayRef = Arc::new(StringViewArray::from(texts.clone()));
                let together = pool.install(|| tokenizer.encode(&views)).unwrap();
                prop_assert_eq!(together.ends.len(), texts.len());
                prop_assert!(together.ids.iter().all(|&id| !tokenizer.control.contains(&u32::try_from(id).unwrap())));
                for (row, text) in texts.iter().enumerate().step_by(37) {
                    let alone = tokenizer.encode(&column(&[text])).unwrap();
                    prop_assert_eq!(together.row(row), alone.row(0));
                }
            }
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            for (_, json) in ALL {
                let _ = tokenizer(json, &options()).encode(&column(&[&text]));
            }
        }
    }

    /// The digests in `tests/interop/check_tokens.py`, which hashes what the Python package makes of the same texts.
    #[test]
    fn the_corpora_encode_as_in_python() {
        let digests = [
            ("byte_level_bpe", "9aeff310941113d6296f0278e99b69a3caf0f90708212baa31b811dc09083d10"),
            ("word_piece", "66499f379e9b4cb66f4f7efb101bf72c4afb211ca20d07a73acc9ec82f33dc48"),
            ("unigram", "388fdf4bbe255ff6147872be3fc2b61253272237e1d3582d133a982c5e75f370"),
        ];
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/financial/faker_synthetic");
        let mut texts = Vec::new();
        for name in ["notes_pt_BR.jsonl", "notes_en_US.jsonl"] {
            let Ok(lines) = std::fs::read_to_string(folder.join(name)) else {
                let _ = writeln!(std::io::stderr(), "skipped: ../shared/corpora/financial/faker_synthetic/{name} is not there");
                return;
            };
            for line in lines.lines() {
                let note: serde_json::Value = serde_json::from_str(line).unwrap();
                texts.push(note["text"].as_str().unwrap().to_owned());
            }
        }
        assert_eq!(texts.len(), 1000);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for ((name, json), digest) in ALL.into_iter().zip(digests) {
            let tokens = tokenizer(json, &options()).encode(&column(&texts)).unwrap();
            let mut hash = Sha256::new();
            for row in 0..texts.len() {
                hash.update(i64::try_from(tokens.row(row).len()).unwrap().to_le_bytes());
                tokens.row(row).iter().for_each(|id| hash.update(id.to_le_bytes()));
            }
            assert_eq!((name, hex::encode(hash.finalize()).as_str()), digest);
        }
    }
}
