//! The three-valued result of comparisons.
//!
//! Subsets, validation and transformations combine such results without expressions.

/// Three-valued answer to a statement about all admissible values of its symbols.
///
/// A statement that holds for some values and fails for others is [`Truth::Unknown`], and so is one that the
/// prover could not decide. Every caller says what `Unknown` means to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Truth {
    /// It holds for every admissible value of every symbol.
    Proved,
    /// It fails for every admissible value of every symbol.
    Refuted,
    /// Neither was shown.
    Unknown,
}

impl Truth {
    /// `Proved` for `true`, `Refuted` for `false`.
    #[must_use]
    pub fn from_bool(value: bool) -> Truth {
        if value { Truth::Proved } else { Truth::Refuted }
    }

    /// Whether the statement was shown to hold.
    #[must_use]
    pub fn is_proved(self) -> bool {
        self == Truth::Proved
    }

    /// Whether the statement was shown to fail.
    #[must_use]
    pub fn is_refuted(self) -> bool {
        self == Truth::Refuted
    }

    /// Conjunction: refuted by one refuted side, proved by two proved ones (Kleene's strong logic).
    #[must_use]
    pub fn and(self, other: Truth) -> Truth {
        match (self, other) {
            (Truth::Refuted, _) | (_, Truth::Refuted) => Truth::Refuted,
            (Truth::Proved, Truth::Proved) => Truth::Proved,
            (Truth::Unknown, _) | (_, Truth::Unknown) => Truth::Unknown,
        }
    }

    /// Disjunction: proved by one proved side, refuted by two refuted ones.
    #[must_use]
    pub fn or(self, other: Truth) -> Truth {
        !(!self).and(!other)
    }
}

impl std::ops::Not for Truth {
    type Output = Truth;

    fn not(self) -> Truth {
        match self {
            Truth::Proved => Truth::Refuted,
            Truth::Refuted => Truth::Proved,
            Truth::Unknown => Truth::Unknown,
        }
    }
}
