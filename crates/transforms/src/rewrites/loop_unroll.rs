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
/// It applies to a loop that counts over a range of numbers, of at most `limit` values, that runs to its end, and whose symbol
/// and symbols of the body are not read after it. Copies run in the order of the iterations.
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
