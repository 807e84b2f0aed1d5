//! [`LoopStripMining`].

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{BlockKind, Loop, Sdfg};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{BinaryOp, CompareOp, Expression};
use serde::{Deserialize, Serialize};

use super::{anchored, described, iterations};
use crate::engine::{
    Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Tables, Transformation,
};
use crate::loops::Counted;
use crate::pattern::{BlockClass, Pattern};

/// Divides the iterations of a loop into strips: a new loop around it runs over strips, and the loop over one strip.
///
/// So `LoopFission` can divide the body for the iterations of a strip alone. `StripMining` is the same for maps.
///
/// # When it applies
///
/// The loop counts and runs to its end. Its symbol, and symbols that its body sets, are not read after it.
///
/// # Refusals
///
/// - The loop may be left early, or its symbol gets another value in the body.
/// - A symbol of the loop is read after it.
/// - The loop is marked to be unrolled.
/// - `size` is not greater than 0.
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
///   for "elements.strips0": i_strip0 = 0:N:64 {
///     for elements: i = i_strip0:min(N, i_strip0 + 64) {
///       state add {
///         access A
///         access before = sums
///         access after = sums
///         tasklet plus (s, a) -> (t) { t = s + a }
///         before -> plus.s: sums[i]
///         A -> plus.a: A[i]
///         plus.t -> after: sums[i + 1]
///       }
///     }
///   }
/// }
/// ```
///
/// # Soundness
///
/// Each iteration is in exactly one strip, and strips and the iterations of each of them keep their order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoopStripMining {
    /// Iterations of a strip.
    pub size: i64,
}

impl Default for LoopStripMining {
    fn default() -> Self {
        LoopStripMining { size: 64 }
    }
}

static METADATA: Metadata = Metadata {
    name: "LoopStripMining",
    group: Group::ControlFlow,
    summary: "Divides the iterations of a loop into strips.",
    source: "Wolfe, Supercomputing 1989: strip mining",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("loop_strip_mining.rs"),
    parameters: &[Parameter {
        name: "size",
        ty: "integer",
        default: Some("64"),
        summary: "Iterations of a strip.",
    }],
};

anchored!(LoopStripMining);

impl Transformation for LoopStripMining {
    described!(METADATA, of_any_memory);

    fn pattern(&self) -> Pattern {
        Pattern::block("loop", BlockClass::Loop)
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        if self.size < 1 {
            return Err(Refusal::Parameter {
                parameter: "size",
                reason: "it is not greater than 0".to_owned(),
            });
        }
        let counted = Counted::of(site)?;
        if counted.repeated.unroll {
            let label = &site.sdfg.block(counted.block).label;
            return Err(Refusal::structure(label, "is to be unrolled, and a strip has no constant bounds"));
        }
        counted.symbols_die(site)?;
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let block = found.block(0);
        let here = Match { calls: Vec::new(), elements: found.elements.clone() };
        let tables = Tables::new();
        let counted = Site::of(editor.sdfg(), &here, &tables).and_then(|site| {
            let counted = Counted::of(&site).ok()?;
            Some((counted.symbol, counted.range, counted.repeated.clone()))
        });
        let Some((symbol, range, repeated)) = counted else { return Err(EditError::NoBlock(block)) };
        let label = editor.sdfg().block(block).label.clone();
        let written = |sdfg: &Sdfg, value: &Expr| iterations::bound(sdfg, &label, value);
        let step = range.step.as_int().and_then(|step| step.checked_mul(self.size));
        let step = step
            .ok_or_else(|| EditError::ControlFlow { label: label.clone(), reason: iterations::NO_BOUND })?;
        let name = editor.derived_container_name(symbol.as_str(), "strip");
        let strip = Symbol::new(&name).map_err(|_| EditError::InvalidName { name })?;
        let after = &Expr::symbol(strip.clone()) + &Expr::int(step);
        let (goes_on, next, end) = if step > 0 {
            (CompareOp::Less, BinaryOp::Add, Expr::min(&range.end, &after))
        } else {
            (CompareOp::Greater, BinaryOp::Subtract, Expr::max(&range.end, &after))
        };
        let counter = |symbol: &Symbol| Expression::name(symbol.as_str());
        let header = Loop {
            symbol: Some(strip.clone()),
            init: Some(written(editor.sdfg(), &range.begin)?),
            condition: Expression::compare(goes_on, counter(&strip), written(editor.sdfg(), &range.end)?),
            update: Some(Expression::binary(
                next,
                counter(&strip),
                Expression::integer(step.saturating_abs()),
            )),
            ..repeated
        };
        let condition = Expression::compare(goes_on, counter(&symbol), written(editor.sdfg(), &end)?);
        let strips = editor.derived_block_label(&label, "strips");
        editor.wrap_in_loop(block, &strips, header)?;
        editor.change_block(block, |block| {
            if let BlockKind::Loop(repeated) = &mut block.kind {
                repeated.init = Some(counter(&strip));
                repeated.condition = condition;
            }
        })
    }
}
