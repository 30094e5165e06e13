//! What a validator says of one value, and how likely a finding is.

/// What a validator says of a whole value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// Not of the type: the form is another, or a check digit is wrong.
    Invalid,
    /// The form fits, and nothing in the value can settle it: there is no check digit, or its issuer is not on the lists here.
    Possible,
    /// Form and check digits are right.
    Valid,
}

impl Verdict {
    pub(crate) fn valid_if(holds: bool) -> Self {
        if holds { Self::Valid } else { Self::Invalid }
    }

    pub(crate) fn possible_if(holds: bool) -> Self {
        if holds { Self::Possible } else { Self::Invalid }
    }

    /// Anything but [`Verdict::Invalid`].
    pub fn agrees(self) -> bool {
        self != Self::Invalid
    }
}

/// How likely a finding is what it is called; the steps are those of Google's Sensitive Data Protection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Likelihood {
    /// Only the shape fits.
    VeryUnlikely,
    /// The shape fits and something speaks against it, e.g. a card number that fails Luhn.
    Unlikely,
    /// Form or context, not both.
    Possible,
    /// A check digit, or a form with its context.
    Likely,
    /// A check digit with its context, or a form that nothing else has.
    VeryLikely,
}

impl Likelihood {
    /// The stable name, as reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::VeryUnlikely => "VERY_UNLIKELY",
            Self::Unlikely => "UNLIKELY",
            Self::Possible => "POSSIBLE",
            Self::Likely => "LIKELY",
            Self::VeryLikely => "VERY_LIKELY",
        }
    }

    /// The likelihood of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::VeryUnlikely, Self::Unlikely, Self::Possible, Self::Likely, Self::VeryLikely].into_iter().find(|step| step.name() == name)
    }
}
