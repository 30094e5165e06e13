//! The one type that key bytes live in.
use std::fmt;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// `N` secret bytes: wiped when dropped, printed as `[secret]`, compared in constant time, and not `Clone`.
///
/// The bytes live on the heap, so that moving a secret leaves no copy behind.
pub struct Secret<const N: usize>(Box<[u8; N]>);

impl<const N: usize> Secret<N> {
    /// Takes `bytes` over; the caller's copy is wiped.
    pub fn take(bytes: &mut [u8; N]) -> Self {
        let secret = Self(Box::new(*bytes));
        bytes.zeroize();
        secret
    }

    /// A copy of `bytes`, or `None` when there are not exactly `N` of them. Wiping `bytes` is up to the caller.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        let mut secret = Self::zero();
        if bytes.len() != N {
            return None;
        }
        secret.0.copy_from_slice(bytes);
        Some(secret)
    }

    /// Fresh bytes from the operating system's generator.
    ///
    /// # Errors
    /// When the operating system has no entropy to give.
    pub fn random() -> Result<Self, NoEntropy> {
        let mut secret = Self::zero();
        fill_random(secret.0.as_mut_slice())?;
        Ok(secret)
    }

    /// Zeros, to be filled in place.
    pub(crate) fn zero() -> Self {
        Self(Box::new([0; N]))
    }

    /// The bytes, for a primitive or for another KMS provider. Whoever calls this answers for every copy.
    pub fn expose(&self) -> &[u8; N] {
        &self.0
    }

    /// The bytes, to be filled by a key derivation.
    pub(crate) fn expose_mut(&mut self) -> &mut [u8; N] {
        &mut self.0
    }
}

impl<const N: usize> Drop for Secret<N> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<const N: usize> ZeroizeOnDrop for Secret<N> {}

impl<const N: usize> fmt::Debug for Secret<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl<const N: usize> PartialEq for Secret<N> {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_slice().ct_eq(other.0.as_slice()).into()
    }
}

impl<const N: usize> Eq for Secret<N> {}

/// The operating system's random generator failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system's random generator failed")]
pub struct NoEntropy;

/// Fills `bytes` from the operating system's generator, which needs no seeding and survives forks.
pub(crate) fn fill_random(bytes: &mut [u8]) -> Result<(), NoEntropy> {
    use rand::TryRngCore;
    rand::rngs::OsRng.try_fill_bytes(bytes).map_err(|_| NoEntropy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_nothing_and_compares_bytes() {
        let mut bytes = [0xAB; 32];
        let secret = Secret::take(&mut bytes);
        assert_eq!(bytes, [0; 32], "the caller's copy is wiped");
        assert_eq!(format!("{secret:?} {secret:#?}"), "[secret] [secret]");
        assert_eq!(secret, Secret::from_slice(&[0xAB; 32]).unwrap());
        assert_ne!(secret, Secret::random().unwrap());
        assert!(Secret::<32>::from_slice(&[0; 31]).is_none());
    }
}
