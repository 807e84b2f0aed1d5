//! [`LoopUnroll`].

use sdfg::edit::{EditError, Editor};
use sdfg::symbolic::Expr;
use serde::{Deserialize, Serialize};

use super::{anchored, described, iterations};
use crate::engine::{
    Claim, Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Tables, Transformation,
};
use crate::loops::Counted;
use crate::pattern::{BlockClass, Pattern};

/// Writes the iterations of a loop out, one copy of the body for each value of its symbol.
///
/// # When it applies
///
/// The loop counts over a range of numbers, of at most `limit` values, and runs to its end. Its symbol, and
/// symbols that its body sets, are not read after it.
///
/// # Refusals
///
/// - An end of the range is no number, or the range has more than `limit` values.
/// - The loop may be left early, or its symbol gets another value in the body.
/// - A symbol of the loop is read after it.
/// - The body may end in the middle.
///
/// # Before
///
/// ```sdft
/// sdfg two_rows {
///   symbol N: i64
///   array A: f64[2, N]
///   array total: f64[1]
///
///   for rows: i = 0:2 {
///     state row {
///       access A
///       access total
///       map columns [j = 0:N] {
///         tasklet element (a) -> (t) { t = a }
///         columns.A -> element.a: A[i, j]
///         element.t -> columns.total: total[0] wcr(sum)
///       }
///       A -> columns.A
///       columns.total -> total
///     }
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg two_rows {
///   symbol N: i64
///   array A: f64[2, N]
///   array total: f64[1]
///
///   start "row.copy1"
///   state "rows.after0" {}
///   -> end
///   state "row.copy0" {
///     access A
///     access total
///     map columns [j = 0:N] {
///       tasklet element (a) -> (t) { t = a }
///       columns.A -> element.a: A[1, j]
///       element.t -> columns.total: total[0] wcr(sum)
///     }
///     A -> columns.A
///     columns.total -> total
///   }
///   -> "rows.after0"
///   state "row.copy1" {
///     access A
///     access total
///     map columns [j = 0:N] {
///       tasklet element (a) -> (t) { t = a }
///       columns.A -> element.a: A[0, j]
///       element.t -> columns.total: total[0] wcr(sum)
///     }
///     A -> columns.A
///     columns.total -> total
///   }
///   -> "row.copy0"
/// }
/// ```
///
/// # Soundness
///
/// The copies run for the values of the symbol, in the order of the iterations, so the same iterations run in
/// the same order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoopUnroll {
    /// Largest number of iterations to write out.
    pub limit: i64,
}

impl Default for LoopUnroll {
    fn default() -> Self {
        LoopUnroll { limit: 16 }
    }
}

static METADATA: Metadata = Metadata {
    name: "LoopUnroll",
    group: Group::ControlFlow,
    summary: "Writes the iterations of a loop over numbers out.",
    source: "DaCe, LoopUnroll",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("loop_unroll.rs"),
    parameters: &[Parameter {
        name: "limit",
        ty: "integer",
        default: Some("16"),
        summary: "Largest number of iterations to write out.",
    }],
};

anchored!(LoopUnroll);

impl LoopUnroll {
    /// The values of the symbol.
    fn values(&self, label: &str, counted: &Counted<'_>) -> Result<Vec<i64>, Refusal> {
        let range = &counted.range;
        let numbers = [&range.begin, &range.end, &range.step].map(Expr::as_int);
        let [Some(begin), Some(end), Some(step)] = numbers else {
            return Err(Refusal::structure(label, format!("counts over {range}, whose ends are no numbers")));
        };
        let goes_on = |at: &i64| if step > 0 { *at < end } else { *at > end };
        let next = |at: &i64| at.checked_add(step);
        let values = std::iter::successors(Some(begin), next).take_while(goes_on);
        let limit = usize::try_from(self.limit).unwrap_or(0);
        let values: Vec<i64> = values.take(limit.saturating_add(1)).collect();
        if values.len() > limit {
            let reason = format!("{range} has more than {limit} values");
            return Err(Refusal::Parameter { parameter: "limit", reason });
        }
        Ok(values)
    }
}

impl Transformation for LoopUnroll {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::block("loop", BlockClass::Loop)
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let counted = Counted::of(site)?;
        let label = &site.sdfg.block(counted.block).label;
        iterations::ends_at_its_ends(site.sdfg, label, counted.repeated.body)?;
        let values = self.values(label, &counted)?;
        counted.symbols_die(site)?;
        let mut evidence = Evidence::default();
        let count = Expr::int(i64::try_from(values.len()).unwrap_or(i64::MAX));
        evidence.note(counted.symbol.as_str(), Claim::Equal(counted.range.steps(), count));
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let block = found.block(0);
        let here = Match { calls: Vec::new(), elements: found.elements.clone() };
        let tables = Tables::new();
        let unrolled = Site::of(editor.sdfg(), &here, &tables).and_then(|site| {
            let counted = Counted::of(&site).ok()?;
            let values = self.values("", &counted).ok()?;
            Some((counted.symbol, counted.repeated.body, values))
        });
        let Some((symbol, body, values)) = unrolled else { return Err(EditError::NoBlock(block)) };
        // The loop ends as this empty state.
        let after = editor.insert_state_after(block)?;
        let mut next = after;
        for value in values.into_iter().rev() {
            let value = Expr::int(value);
            let copy = iterations::copy_of(editor, (block, body), (&symbol, &value), None)?;
            iterations::go_on(editor, &copy, next)?;
            next = copy.start;
        }
        iterations::redirect_to(editor, block, next)?;
        editor.remove_block(block)
    }
}
