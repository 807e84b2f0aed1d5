//! Positions in the text of a plan, and their possible order of execution.

/// A place in the text of a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct PlanPosition {
    /// Statements before it.
    pub(super) position: usize,
    /// The statements around it that may run again, by their positions: from anywhere in one, everything in it may be reached.
    pub(super) repeated: Vec<usize>,
    /// The functions around it, outermost first: positions of statements, 0 for that of the program.
    pub(super) functions: Vec<usize>,
}

impl PlanPosition {
    /// Whether what happens here may have happened before `later`, in a function that `later` is in.
    pub(super) fn may_precede(&self, later: &PlanPosition) -> bool {
        let is_seen = later.functions.starts_with(&self.functions);
        let is_again = || self.repeated.iter().any(|around| later.repeated.contains(around));
        is_seen && (self.position < later.position || is_again())
    }

    /// Whether it is inside of the statement at a position, which may run again.
    pub(super) fn is_in(&self, position: usize) -> bool {
        self.repeated.contains(&position)
    }

    /// Whether it is in a function.
    pub(super) fn is_in_function(&self, function: usize) -> bool {
        self.functions.contains(&function)
    }
}
