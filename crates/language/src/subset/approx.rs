//! Exactness of results, as a type.

/// A result that is either exact or contains the exact one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Approx<T> {
    /// The exact result.
    Exact(T),
    /// A superset of the exact result; it was not shown to be equal.
    Over(T),
}

impl<T> Approx<T> {
    /// `Exact` or `Over` by a flag.
    pub fn new(value: T, exact: bool) -> Approx<T> {
        if exact { Approx::Exact(value) } else { Approx::Over(value) }
    }

    /// Whether the result was shown to be exact.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        matches!(self, Approx::Exact(_))
    }

    /// The result, forgetting whether it is exact.
    #[must_use]
    pub fn into_inner(self) -> T {
        match self {
            Approx::Exact(value) | Approx::Over(value) => value,
        }
    }

    /// The result, whether it is exact or not.
    #[must_use]
    pub fn as_inner(&self) -> &T {
        match self {
            Approx::Exact(value) | Approx::Over(value) => value,
        }
    }

    /// Applies a function to the result; the function must keep supersets supersets.
    pub fn map<U>(self, function: impl FnOnce(T) -> U) -> Approx<U> {
        match self {
            Approx::Exact(value) => Approx::Exact(function(value)),
            Approx::Over(value) => Approx::Over(function(value)),
        }
    }
}
