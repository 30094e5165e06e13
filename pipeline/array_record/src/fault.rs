//! What can be wrong with the bytes of a file.

/// What is wrong with the bytes of a file. No variant holds a byte of a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Fewer bytes than the smallest file has (two blocks of 64 KiB): empty, cut, or never closed.
    #[error("a file has at least 131072 bytes, this one has {0}: it is cut, or was never closed")]
    TooSmall(u64),
    /// Files are whole blocks.
    #[error("a file is a whole number of 65536-byte blocks, this one has {0} bytes: it is cut, or something was appended")]
    NotWholeBlocks(u64),
    /// The first 64 bytes are the same in every file.
    #[error("the file signature is not there")]
    Signature,
    /// The last block does not hold the postscript.
    #[error("the last block holds no ArrayRecord postscript ({0}): the file is cut, was never closed, or is of another format")]
    Postscript(&'static str),
    /// The footer contradicts itself or the file.
    #[error("the footer is wrong: {0}")]
    Footer(&'static str),
    /// Another version of the format.
    #[error("version {0} of the format is not known")]
    Version(u64),
    /// A block header's hash does not hold.
    #[error("block header hash mismatch")]
    BlockHeaderHash,
    /// A block header holds, but points to other chunk boundaries than there are.
    #[error("a block header names other chunk boundaries")]
    BlockHeaderDistance,
    /// A chunk header's hash does not hold.
    #[error("chunk header hash mismatch")]
    ChunkHeaderHash,
    /// A chunk's data does not match its hash.
    #[error("chunk data hash mismatch")]
    ChunkDataHash,
    /// A chunk would end behind what the file has for it.
    #[error("a chunk ends behind the space that the file has for it")]
    ChunkPastEnd,
    /// The bytes end inside a chunk.
    #[error("the file ends inside a chunk")]
    CutShort,
    /// A chunk of this kind cannot stand here.
    #[error("a chunk of kind {0:#04x} cannot stand here")]
    ChunkKind(u8),
    /// No such compression.
    #[error("compression {0:#04x} is not known")]
    Compression(u8),
    /// The compressed bytes do not decompress to what the chunk says.
    #[error("the {0} of a chunk do not decompress")]
    Decompress(&'static str),
    /// The chunk's hash holds, yet it does not describe records.
    #[error("a chunk does not describe its records: {0}")]
    Chunk(&'static str),
    /// The index and a chunk disagree.
    #[error("the footer and a chunk disagree about {0}")]
    IndexMismatch(&'static str),
    /// A data chunk that the index does not name.
    #[error("the footer does not name a data chunk")]
    Unindexed,
    /// Padding is zero in every file that a writer makes.
    #[error("padding is not zero")]
    Padding,
    /// The decoded chunk is larger than the reader allows.
    #[error("a chunk would decode to {0} bytes, more than the limit")]
    OverLimit(u64),
}
