//! Memlets that provably leave their container.
//!
//! An access is an error only if it leaves the container whenever it moves anything at all: for all values of the
//! symbols under which its scopes run and its ranges are not empty, some iteration is outside. What is not decided is
//! checked by the interpreter, and by a bounds-checking build.

use super::frame::{Frame, ends};
use super::memlets::declaration;
use super::site::{Findings, Site};
use crate::diagnostic::{Code, Secondary};
use crate::ir::{Access, EdgeId, Flow};
use crate::subset::Range;
use crate::symbolic::{Assumptions, Expr, Symbol};

/// Checks what the memlet of a leaf edge accesses.
pub(super) fn check(site: &Site<'_>, id: EdgeId, frame: &Frame, findings: &mut Findings) {
    let memlet = &site.state.edge(id).memlet;
    // Which elements of a dynamic memlet are accessed is decided while running.
    let is_exact = !memlet.volume.is_dynamic();
    let moves = matches!(memlet.flow, Flow::Read(_) | Flow::Write { .. } | Flow::Copy { .. });
    if !(is_exact && moves) {
        return;
    }
    for access in memlet.accesses() {
        dimensions(site, id, access, frame, findings);
    }
}

fn dimensions(site: &Site<'_>, id: EdgeId, access: &Access, frame: &Frame, findings: &mut Findings) {
    let container = site.sdfg.container(access.container);
    let ranges = &access.subset().0;
    let Some(parameters) = Parameters::of(frame, ranges.iter().flat_map(|range| range.free_symbols())) else {
        return;
    };
    let mut assumptions = frame.assumptions.clone();
    for steps in ranges.iter().filter(|range| !range.is_index()).map(Range::steps) {
        // Of a range that is empty for some iterations, the others would have to be known.
        let varies = frame.parameters.iter().any(|parameter| steps.depends_on(&parameter.symbol));
        if varies && !steps.is_positive(&frame.assumptions).is_proved() {
            return;
        }
        assumptions.assume_nonnegative(steps - 1);
    }
    for (dimension, (range, extent)) in ranges.iter().zip(container.shape()).enumerate() {
        let Some((first, last)) = ends(range) else { continue };
        let below = parameters
            .least(&first, &assumptions)
            .filter(|least| least.is_nonnegative(&assumptions).is_refuted());
        let above = parameters
            .greatest(&last, &assumptions)
            .filter(|greatest| greatest.lt(extent, &assumptions).is_refuted());
        for index in below.into_iter().chain(above) {
            let message = format!(
                "`{}[{}]` takes index {index} of dimension {dimension}, whose indices are 0 to {}",
                container.name,
                access.subset(),
                extent - 1
            );
            let error = site.edge_error(Code::OutOfBounds, id, message).also(Secondary {
                message: format!("dimension {dimension} has {extent} elements"),
                path: declaration(site, &container.name),
                loc: container.loc.clone(),
            });
            findings.push(match parameters.describe() {
                Some(text) => error.note(text),
                None => error,
            });
        }
    }
}

/// The scope parameters that an access depends on, with their ends.
struct Parameters {
    ranges: Vec<(Symbol, Expr, Expr)>,
}

impl Parameters {
    /// `None` if the values of a parameter are not known well enough to tell which of them occur.
    fn of(frame: &Frame, used: impl Iterator<Item = Symbol>) -> Option<Self> {
        let mut needed: std::collections::BTreeSet<Symbol> = used.collect();
        let mut ranges = Vec::new();
        for parameter in frame.parameters.iter().rev() {
            let Some((first, last)) = &parameter.ends else {
                if needed.contains(&parameter.symbol) {
                    return None;
                }
                continue;
            };
            let depends = [first, last]
                .into_iter()
                .flat_map(Expr::free_symbols)
                .any(|symbol| frame.parameters.iter().any(|other| other.symbol == symbol));
            // Where the range depends on another parameter it may be empty for some of its values, and then nothing
            // is accessed there.
            if depends && !nonempty(frame, first, last) {
                return None;
            }
            if needed.contains(&parameter.symbol) {
                needed.extend(first.free_symbols());
                needed.extend(last.free_symbols());
                ranges.push((parameter.symbol.clone(), first.clone(), last.clone()));
            }
        }
        ranges.reverse();
        Some(Parameters { ranges })
    }

    fn least(&self, index: &Expr, assumptions: &Assumptions) -> Option<Expr> {
        let bounds = index.bounds_over_all(&self.ranges, assumptions);
        bounds.lower.filter(|_| bounds.exact)
    }

    fn greatest(&self, index: &Expr, assumptions: &Assumptions) -> Option<Expr> {
        let bounds = index.bounds_over_all(&self.ranges, assumptions);
        bounds.upper.filter(|_| bounds.exact)
    }

    fn describe(&self) -> Option<String> {
        let ranges =
            self.ranges.iter().map(|(symbol, first, last)| format!("{symbol} from {first} to {last}"));
        let ranges: Vec<String> = ranges.collect();
        (!ranges.is_empty()).then(|| format!("the scope runs for {}", ranges.join(", ")))
    }
}

/// Whether a range that depends on outer parameters has a value for each of theirs.
fn nonempty(frame: &Frame, first: &Expr, last: &Expr) -> bool {
    // The frame takes for granted that every range has a value; here that is the question.
    let mut assumptions = Assumptions::new();
    for symbol in first.free_symbols().into_iter().chain(last.free_symbols()) {
        let (lower, upper) = frame.assumptions.range_of(&symbol);
        assumptions.set_range(symbol, lower.cloned(), upper.cloned());
    }
    first.le(last, &assumptions).is_proved()
}
