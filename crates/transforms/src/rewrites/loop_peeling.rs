//! [`LoopPeeling`].

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{BlockKind, Sdfg};
use sdfg::symbolic::Expr;
use sdfg::syntax::{CompareOp, Expression};
use serde::{Deserialize, Serialize};

use super::{anchored, described, iterations};
use crate::engine::{
    Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Tables, Transformation,
};
use crate::loops::Counted;
use crate::pattern::{BlockClass, Pattern};

/// Runs the first `count` iterations of a loop before it.
///
/// # When it applies
///
/// The loop counts and runs to its end. Its symbol, and symbols that its body sets, are not read after it.
/// Each peeled iteration runs under the condition that the loop has it, unless that is known.
///
/// # Refusals
///
/// - The loop may be left early, or its symbol gets another value in the body.
/// - A symbol of the loop is read after it.
/// - The body may end in the middle.
/// - `count` is not between 1 and 64.
///
/// # Before
///
/// ```sdft
/// sdfg prefix_sums {
///   symbol N: i64
///   array A: f64[N]
///   array sums: f64[N + 1]
///
///   for elements: i = 0:N {
///     state add {
///       access A
///       access before = sums
///       access after = sums
///       tasklet plus (s, a) -> (t) { t = s + a }
///       before -> plus.s: sums[i]
///       A -> plus.a: A[i]
///       plus.t -> after: sums[i + 1]
///     }
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg prefix_sums {
///   symbol N: i64
///   array A: f64[N]
///   array sums: f64[N + 1]
///
///   start "elements.peeled0"
///   for elements: i = 1:N {
///     state add {
///       access A
///       access before = sums
///       access after = sums
///       tasklet plus (s, a) -> (t) { t = s + a }
///       before -> plus.s: sums[i]
///       A -> plus.a: A[i]
///       plus.t -> after: sums[i + 1]
///     }
///   }
///   -> end
///   if "elements.peeled0": 0 < N {
///     state "add.copy0" {
///       access A
///       access before = sums
///       access after = sums
///       tasklet plus (s, a) -> (t) { t = s + a }
///       before -> plus.s: sums[0]
///       A -> plus.a: A[0]
///       plus.t -> after: sums[1]
///     }
///   }
///   -> elements
/// }
/// ```
///
/// # Soundness
///
/// The peeled copies run for the first values of the symbol, in their order, and the loop goes on with the
/// next value. So the same iterations run in the same order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoopPeeling {
    /// Number of iterations to peel.
    pub count: i64,
}

impl Default for LoopPeeling {
    fn default() -> Self {
        LoopPeeling { count: 1 }
    }
}

static METADATA: Metadata = Metadata {
    name: "LoopPeeling",
    group: Group::ControlFlow,
    summary: "Runs the first iterations of a loop before it.",
    source: "DaCe, LoopPeeling",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("loop_peeling.rs"),
    parameters: &[Parameter {
        name: "count",
        ty: "integer",
        default: Some("1"),
        summary: "Number of iterations to peel.",
    }],
};

anchored!(LoopPeeling);

/// The most iterations that one application peels.
const LIMIT: i64 = 64;

impl Transformation for LoopPeeling {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::block("loop", BlockClass::Loop)
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        if !(1..=LIMIT).contains(&self.count) {
            let reason = format!("{} is not between 1 and {LIMIT}", self.count);
            return Err(Refusal::Parameter { parameter: "count", reason });
        }
        let counted = Counted::of(site)?;
        let label = &site.sdfg.block(counted.block).label;
        iterations::ends_at_its_ends(site.sdfg, label, counted.repeated.body)?;
        counted.symbols_die(site)?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let block = found.block(0);
        let here = Match { calls: Vec::new(), elements: found.elements.clone() };
        let tables = Tables::new();
        let counted = Site::of(editor.sdfg(), &here, &tables).and_then(|site| {
            let counted = Counted::of(&site).ok()?;
            Some((counted.symbol, counted.range, counted.repeated.body))
        });
        let Some((symbol, range, body)) = counted else { return Err(EditError::NoBlock(block)) };
        let label = editor.sdfg().block(block).label.clone();
        let written = |sdfg: &Sdfg, value: &Expr| iterations::bound(sdfg, &label, value);
        let ascends = range.step.as_int().is_some_and(|step| step > 0);
        let goes_on = if ascends { CompareOp::Less } else { CompareOp::Greater };
        let at = |number: i64| &range.begin + &(&range.step * &Expr::int(number));
        let mut next = block;
        for number in (0..self.count).rev() {
            let value = at(number);
            let is_there = {
                let sdfg = editor.sdfg();
                Expression::compare(goes_on, written(sdfg, &value)?, written(sdfg, &range.end)?)
            };
            let copy = iterations::copy_of(editor, (block, body), (&symbol, &value), Some(is_there))?;
            if next == block {
                iterations::redirect_to(editor, block, copy.start)?;
            } else {
                iterations::redirect_to(editor, next, copy.start)?;
            }
            iterations::go_on(editor, &copy, next)?;
            next = copy.start;
        }
        let init = written(editor.sdfg(), &at(self.count))?;
        editor.change_block(block, |block| {
            if let BlockKind::Loop(repeated) = &mut block.kind {
                repeated.init = Some(init);
            }
        })
    }
}
