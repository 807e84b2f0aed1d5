//! Accumulators: thread-local or loop-local memory that combines conflicting writes before they reach their
//! target.
//!
//! [`conflict`](super::conflict) decides which loops need accumulators. This module decides where a write
//! combines its value, and which elements an accumulator covers.

use std::collections::BTreeMap;

use sdfg::dtype::ElementType;
use sdfg::ir::ConflictResolution;
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol, Truth};
use sdfg::tasklet::{Environment, TypedCode, TypedExpressionKind, TypedStatement};
use sdfg::value::Value;

use super::Lowering;
use super::access::{AccessKind, Record};
use super::conflict::{Accumulators, OpenLoop};
use super::memory::RootShape;
use super::scalar::typed;
use crate::plan::{
    Allocation, Binding, Buffer, BufferId, Compute, Location, PrivateAccumulator, Realisation, Resolved,
    Statement, Stride, Strided, Touch, identity, touches,
};

impl Lowering<'_> {
    /// All elements that an access touches while the variables before `fixed` stay as they are.
    pub(super) fn hull(&self, record: &Record, fixed: usize) -> Option<Subset> {
        self.hull_or(record, fixed, |_| None)
    }

    /// Indices between which an access stays while the variables before `fixed` stay as they are. Where data or loops of the
    /// program decide, other bounds of theirs do. An index that is out of bounds may be among them.
    pub(super) fn indices(&self, record: &Record, fixed: usize) -> Option<Subset> {
        let is_inner = |symbol: &Symbol| self.is_from(symbol, fixed);
        self.hull_or(record, fixed, |range| {
            // Another begin has other steps.
            let is_plain = range.step.is_one() && range.tile.is_one();
            let begin = -(-&range.begin).upper_without(&is_inner);
            is_plain.then(|| Range::new(begin, range.end.upper_without(&is_inner)))
        })
    }

    /// All elements that an access touches. Where they depend on variables that are not fixed, it is those of another range if that
    /// does not, or else all of the dimension: what depends on data or on loops of the program may be anywhere.
    fn hull_or(
        &self,
        record: &Record,
        fixed: usize,
        other: impl Fn(&Range) -> Option<Range>,
    ) -> Option<Subset> {
        let is_fixed = |range: &Range| !range.free_symbols().iter().any(|symbol| self.is_from(symbol, fixed));
        let shape = &self.roots[record.buffer.index()].shape;
        let ranges = self.image(record, fixed)?.0.into_iter().zip(shape).map(|(range, extent)| {
            if is_fixed(&range) {
                return range;
            }
            other(&range).filter(is_fixed).unwrap_or_else(|| Range::new(Expr::zero(), extent.clone()))
        });
        Some(Subset(ranges.collect()))
    }

    /// Whether a variable is not among those before `fixed`.
    fn is_from(&self, symbol: &Symbol, fixed: usize) -> bool {
        self.plan.variables.get_index_of(symbol).is_none_or(|i| i >= fixed)
    }

    /// The union of what an access touches in the loops behind `fixed`.
    fn image(&self, record: &Record, fixed: usize) -> Option<Subset> {
        let shape = &self.roots[record.buffer.index()].shape;
        let ranges = record.subset.as_ref()?.0.iter().zip(shape);
        // A step of unknown sign leaves open where the range begins.
        let ranges = ranges.map(|(range, extent)| {
            ascending(range).unwrap_or_else(|| Range::new(Expr::zero(), extent.clone()))
        });
        let subset = Subset(ranges.collect());
        let inner: Vec<(Symbol, Range)> = record
            .loops
            .iter()
            .map(|number| self.loop_ranges[*number].clone())
            .filter(|(variable, _)| self.is_from(variable, fixed))
            .collect();
        if inner.is_empty() {
            return Some(subset);
        }
        Some(subset.image(&inner, &self.assumptions)?.into_inner())
    }

    /// Bytes of the memory of a block that an accumulator takes, beginning at a multiple of 64: its elements, or one for each thread
    /// where threads have it in registers.
    pub(super) fn bytes_of_block(&self, private: &PrivateAccumulator, accumulators: Accumulators) -> u64 {
        let Accumulators::OfBlocks { threads } = accumulators else { return 0 };
        let buffer = self.plan.buffer(private.buffer);
        let size = buffer.size.as_int().and_then(|size| u64::try_from(size).ok()).unwrap_or(u64::MAX);
        let elements = if size == 1 { u64::from(threads) } else { size };
        elements.saturating_mul(buffer.element.size() as u64).div_ceil(64).saturating_mul(64)
    }

    /// The most bytes of an accumulator: of each thread of a team, or of a block, others of which take so many bytes.
    fn most_accumulated(&self, (accumulators, taken): (Accumulators, u64)) -> u64 {
        match accumulators {
            Accumulators::None | Accumulators::OfThreads => self.target.private_bytes(),
            // Several blocks of a processor share its memory.
            Accumulators::OfBlocks { .. } => (self.target.block.memory / 4).saturating_sub(taken),
        }
    }

    /// An accumulator of each thread or block for a buffer, if the target is small, with the position at which the target begins.
    /// Accumulators of a block for other buffers take so many bytes.
    pub(super) fn private(
        &mut self,
        buffer: BufferId,
        records: &[Record],
        open: &OpenLoop,
        locals: &mut Vec<BufferId>,
        (accumulators, taken): (Accumulators, u64),
    ) -> Option<(PrivateAccumulator, Expr)> {
        let of_blocks = matches!(accumulators, Accumulators::OfBlocks { .. });
        let (combined, read): (Vec<&Record>, Vec<&Record>) =
            records.iter().partition(|record| matches!(record.kind, AccessKind::Combine(_)));
        if self.options.checked || self.has_other_names(buffer, records) {
            return None;
        }
        let AccessKind::Combine(resolution) = combined.first()?.kind.clone() else { return None };
        if combined.iter().any(|record| record.kind != AccessKind::Combine(resolution.clone())) {
            return None;
        }
        let element = self.plan.buffer(buffer).element;
        identity(&resolution, element)?;
        if of_blocks && self.target.realisation(&resolution, element) != Realisation::Atomic {
            return None;
        }
        let fixed = open.first_variable;
        if !self.is_apart(&combined, &read, fixed) {
            return None;
        }
        let records = combined;
        let mut hull: Option<Subset> = None;
        for record in records {
            let touched = match self.hull(record, fixed) {
                Some(touched) => touched,
                None => Subset::full(&self.roots[buffer.index()].shape),
            };
            hull = Some(match hull {
                Some(hull) => hull.bounding_union(&touched, &self.assumptions).into_inner(),
                None => touched,
            });
        }
        let hull = hull?;
        let root = &self.roots[buffer.index()];
        if root.strides.iter().any(|stride| Expr::zero().le(stride, &self.assumptions) != Truth::Proved) {
            return None;
        }
        // From the first to the last element of the target, in the order of memory.
        let (mut first, mut last) = (root.offset.clone(), root.offset.clone());
        for (range, stride) in hull.0.iter().zip(&root.strides) {
            first = &first + &(&range.begin * stride);
            last = &last + &(&range.last() * stride);
        }
        let size = &(&last - &first) + &Expr::one();
        let known = |expr: &Expr| {
            expr.free_symbols().iter().all(|s| self.plan.variables.get_index_of(s).is_some_and(|i| i < fixed))
        };
        if !known(&first) || !known(&size) {
            return None;
        }
        let bytes = i64::try_from(element.size()).ok()?;
        let small = match size.as_int() {
            Some(n) => {
                u64::try_from(n.checked_mul(bytes)?).ok()? <= self.most_accumulated((accumulators, taken))
            }
            // A size that only the caller knows: containers of one dimension are histograms far more often than fields.
            None => !of_blocks && hull.rank() == 1,
        };
        if !small {
            return None;
        }
        let fits_stack = |n: i64| n * bytes <= i64::try_from(self.target.stack.transient).unwrap_or(0);
        let on_stack = of_blocks || size.as_int().is_some_and(fits_stack);
        let allocation = if on_stack { Allocation::Stack } else { Allocation::Thread };
        let name = self.take_name(&format!("{}_private", self.plan.buffer(buffer).name));
        let shape = RootShape::packed(vec![size.clone()]);
        let own = self.push_buffer(Buffer::new(name, element, size.clone(), allocation), shape);
        if !on_stack {
            locals.push(own);
        }
        let origin = Location { buffer, offset: first.clone() };
        let target = Strided { origin, extents: vec![size], strides: vec![Stride::Even(Expr::one())] };
        Some((PrivateAccumulator { buffer: own, copies: None, target, resolution }, first))
    }

    /// Whether reads touch no element that is combined into, while the variables before `fixed` stay as they are. What is replaced is never apart.
    pub(super) fn is_apart(&self, combined: &[&Record], others: &[&Record], fixed: usize) -> bool {
        if others.iter().any(|record| record.kind != AccessKind::Read) {
            return false;
        }
        let hulls = |records: &[&Record]| {
            records.iter().map(|record| self.hull(record, fixed)).collect::<Option<Vec<_>>>()
        };
        others.is_empty()
            || hulls(combined).zip(hulls(others)).is_some_and(|(combined, read)| {
                let apart = |a: &Subset, b: &Subset| a.disjoint(b, &self.assumptions) == Truth::Proved;
                combined.iter().all(|a| read.iter().all(|b| apart(a, b)))
            })
    }

    /// Single elements that a loop only combines into, always the same one of their buffer.
    pub(super) fn accumulated(
        &self,
        body: &mut [Statement],
        open: &OpenLoop,
        records: &BTreeMap<BufferId, Vec<Record>>,
    ) -> Vec<(Location, ConflictResolution)> {
        let mut targets: BTreeMap<BufferId, Option<(Location, ConflictResolution)>> = BTreeMap::new();
        touches(body, &mut |touch| {
            let found = match &touch {
                // An atomic one is in the loop of another team, whose threads share the target.
                Touch::Store(
                    to,
                    Resolved::Combine { resolution, custom: None, realisation: Realisation::Plain },
                )
                | Touch::CopyTo {
                    to,
                    write: Resolved::Combine { resolution, custom: None, realisation: Realisation::Plain },
                    single: true,
                } => Some(((*to).clone(), resolution.clone())),
                Touch::Load(_)
                | Touch::View(_)
                | Touch::Store(..)
                | Touch::ViewMut(..)
                | Touch::CopyFrom(_)
                | Touch::CopyTo { .. }
                | Touch::Pointer(_)
                | Touch::Merge(_)
                | Touch::PushTo(_)
                | Touch::TakeFrom(_)
                | Touch::Length(_)
                | Touch::Name(_) => None,
            };
            // Reads may be of other elements: the records tell.
            if touch.reads() {
                return;
            }
            let known = targets.entry(touch.buffer()).or_insert_with(|| found.clone());
            if *known != found {
                *known = None;
            }
        });
        let moves = |location: &Location| {
            let changes = |s: &Symbol| {
                *s == open.variable
                    || self.plan.variables.get_index_of(s).is_none_or(|i| i >= open.n_variables)
            };
            location.offset.free_symbols().iter().any(changes)
        };
        targets
            .into_values()
            .flatten()
            .filter(|(location, _)| {
                let apart = |records: &Vec<Record>| {
                    if self.has_other_names(location.buffer, records) {
                        return false;
                    }
                    let (combined, others): (Vec<&Record>, Vec<&Record>) =
                        records.iter().partition(|record| matches!(record.kind, AccessKind::Combine(_)));
                    self.is_apart(&combined, &others, open.n_variables)
                };
                location.buffer.index() < open.n_buffers
                    && records.get(&location.buffer).is_some_and(apart)
                    && !moves(location)
            })
            .collect()
    }
}

/// The elements of a range from the lowest one on; `None` if the sign of its step is not known.
fn ascending(range: &Range) -> Option<Range> {
    let step = range.step.as_int()?;
    if step > 0 {
        return Some(range.clone());
    }
    let end = &range.begin + &Expr::one();
    Some(Range::new(range.last(), end).with_step(Expr::int(step.checked_neg()?)))
}

/// Sets an element to a constant.
pub(super) fn set_constant(to: &Location, value: Value, element: ElementType) -> Statement {
    let mut environment = Environment::new();
    let connector = environment.output("value", element);
    let scalar = typed(TypedExpressionKind::Constant(value), ElementType::scalar(element.lane()));
    let value = if element.lanes() == 1 {
        scalar
    } else {
        typed(TypedExpressionKind::Splat(Box::new(scalar)), element)
    };
    let body = vec![TypedStatement::Output { connector, value }];
    let code = TypedCode { environment, locals: Vec::new(), body };
    let bindings = vec![Binding::Store { to: to.clone(), write: Resolved::Store }];
    Statement::Compute(Compute {
        label: "identity".to_owned(),
        code,
        bindings,
        symbols: Vec::new(),
        checks: Vec::new(),
    })
}
