//! The image of a subset under map parameters: the elements that all iterations of a scope name together.
//!
//! Parameters are eliminated one at a time, from the last to the first, because ranges of later parameters
//! may mention earlier ones. A step is exact if the parameter moves only one dimension, and the moved ranges
//! join without gaps or form tiles. Otherwise the result is a bounding range.

use std::cell::{OnceCell, RefCell};
use std::hash::Hash;
use std::rc::Rc;

use super::{Approx, Range, Subset};
use crate::symbolic::proof_cache::{self, CacheMap};
use crate::symbolic::{Assumptions, Atom, Expr, Sign, Symbol};

/// Answers for the same parameters beyond these are not kept.
const MOST: usize = 1 << 10;

impl Subset {
    /// All elements that the subset names while the parameters run through their ranges; later ranges may mention
    /// earlier parameters. The result mentions no parameter.
    ///
    /// `None` when some dimension cannot be bounded, such as an index that is an opaque function of a parameter;
    /// the whole container is then the only bound.
    #[must_use]
    pub fn image(&self, parameters: &[(Symbol, Range)], assumptions: &Assumptions) -> Option<Approx<Subset>> {
        Eliminations::of(parameters, assumptions).image(self)
    }
}

/// Parameters on their way out of subsets and sums: what all expressions under them have in common.
pub struct Eliminations {
    /// The outermost first.
    parameters: Vec<(Symbol, Range)>,
    around: Assumptions,
    steps: OnceCell<Vec<Elimination>>,
    /// Of each parameter whether its number of steps is known not to be negative.
    counts: OnceCell<Vec<bool>>,
    /// What was asked for: most accesses of a scope name the same elements, and move one.
    images: RefCell<CacheMap<Subset, Option<Approx<Subset>>>>,
    sums: RefCell<CacheMap<Expr, Option<Expr>>>,
}

impl Eliminations {
    /// For parameters with their ranges, of which later ones may mention earlier parameters, under what is known around them.
    /// Scopes of one program have few different ones, so they are kept as long as proofs are.
    pub fn of(parameters: &[(Symbol, Range)], around: &Assumptions) -> Rc<Eliminations> {
        let new = || Eliminations {
            parameters: parameters.to_vec(),
            around: around.clone(),
            steps: OnceCell::new(),
            counts: OnceCell::new(),
            images: RefCell::default(),
            sums: RefCell::default(),
        };
        proof_cache::eliminations(parameters, around, new)
    }

    /// See [`Subset::image`].
    pub fn image(&self, subset: &Subset) -> Option<Approx<Subset>> {
        if let Some(known) = self.images.borrow().get(subset) {
            return known.clone();
        }
        let image = self.new_image(subset);
        keep(&self.images, subset, &image);
        image
    }

    fn new_image(&self, subset: &Subset) -> Option<Approx<Subset>> {
        let steps = self.steps.get_or_init(|| {
            let mut outer = self.around.clone();
            let step = |(symbol, range): &(Symbol, Range)| {
                let step = Elimination::new(symbol, range, &outer);
                range.constrain(symbol.clone(), &mut outer);
                step
            };
            self.parameters.iter().map(step).collect()
        });
        let mut subset = subset.clone();
        let mut exact = true;
        for step in steps.iter().rev() {
            exact &= step.apply(&mut subset)?;
        }
        let simplified = subset.0.iter().map(|range| range.map(|part| part.simplify(&self.around)));
        Some(Approx::new(simplified.collect(), exact))
    }

    /// Sum of a number over all values of the parameters; `None` without a closed form that is known to hold.
    pub fn sum(&self, each: &Expr) -> Option<Expr> {
        if let Some(known) = self.sums.borrow().get(each) {
            return known.clone();
        }
        let sum = self.new_sum(each);
        keep(&self.sums, each, &sum);
        sum
    }

    fn new_sum(&self, each: &Expr) -> Option<Expr> {
        let mut sum = each.clone();
        let counts = self.counts.get_or_init(|| self.counts());
        for ((symbol, range), counts) in self.parameters.iter().zip(counts).rev() {
            sum = if *counts {
                sum.sum_over(symbol, range)?
            } else if !sum.depends_on(symbol) {
                // The clamped number of iterations holds for every range.
                sum * range.count()
            } else {
                return None;
            };
        }
        Some(sum)
    }

    fn counts(&self) -> Vec<bool> {
        let mut before = self.around.clone();
        let count = |(symbol, range): &(Symbol, Range)| {
            let counts = range.steps().is_nonnegative(&before).is_proved();
            range.constrain(symbol.clone(), &mut before);
            counts
        };
        self.parameters.iter().map(count).collect()
    }
}

/// Keeps an answer while there is room.
fn keep<K: Clone + Eq + Hash, V: Clone>(answers: &RefCell<CacheMap<K, V>>, question: &K, answer: &V) {
    let mut answers = answers.borrow_mut();
    if answers.len() < MOST {
        answers.insert(question.clone(), answer.clone());
    }
}

/// One parameter on its way out.
struct Elimination {
    symbol: Symbol,
    /// The values, ascending; `None` when their order is not known.
    values: Option<Range>,
    /// Facts outside of the parameter's scope.
    outer: Assumptions,
    /// Facts within it.
    within: Assumptions,
    never_empty: bool,
}

/// A range without the parameter, and whether it is the exact union.
type Union = (Range, bool);

impl Elimination {
    fn new(symbol: &Symbol, range: &Range, outer: &Assumptions) -> Elimination {
        let values = range.ascending(outer);
        let mut within = outer.clone();
        values.as_ref().unwrap_or(range).constrain(symbol.clone(), &mut within);
        let never_empty = range.is_empty(outer).is_refuted();
        Elimination { symbol: symbol.clone(), values, outer: outer.clone(), within, never_empty }
    }

    /// Replaces the subset by its union over the values; tells whether that is exact.
    fn apply(&self, subset: &mut Subset) -> Option<bool> {
        let moving = subset.0.iter().filter(|range| self.moves(range)).count();
        if moving == 0 {
            // Without iterations, nothing is named.
            return Some(self.never_empty);
        }
        let mut exact = moving == 1;
        for range in subset.0.iter_mut().filter(|range| self.moves(range)) {
            let (union, union_exact) = self.union(range)?;
            exact &= union_exact;
            *range = union;
        }
        Some(exact)
    }

    fn moves(&self, range: &Range) -> bool {
        [&range.begin, &range.end, &range.step, &range.tile]
            .into_iter()
            .any(|part| part.depends_on(&self.symbol))
    }

    fn union(&self, range: &Range) -> Option<Union> {
        let values = self.values.as_ref()?;
        let range = range.ascending(&self.within)?;
        if let Some(union) = self.progression(&range, values).or_else(|| self.clipped_tiles(&range, values)) {
            return Some(union);
        }
        self.hull(&range, values)
    }

    /// The union of copies of one shape that move by a constant stride.
    fn progression(&self, range: &Range, values: &Range) -> Option<Union> {
        if !values.tile.is_one() || range.step.depends_on(&self.symbol) || range.tile.depends_on(&self.symbol)
        {
            return None;
        }
        let length = &range.end - &range.begin;
        let (slope, rest) = range.begin.linear_in(&self.symbol)?;
        if length.depends_on(&self.symbol) {
            return None;
        }
        let at = |value: &Expr| &slope * value + &rest;
        let (first, last, stride, ascends) = match slope.sign(&self.outer) {
            Sign::Positive | Sign::NonNegative => {
                (at(&values.begin), at(&values.last()), &slope * &values.step, true)
            }
            Sign::Negative | Sign::NonPositive => {
                (at(&values.last()), at(&values.begin), -&slope * &values.step, false)
            }
            Sign::Zero | Sign::Unknown => return None,
        };
        let proved_le = |a: &Expr, b: &Expr| a.le(b, &self.outer).is_proved();
        // Copies that adjoin or overlap continue the shape, as long as its own steps fit into the stride.
        let fits = range.step.is_one() || range.step.divides(&stride, &self.outer).is_proved();
        if fits && (length == stride || proved_le(&stride, &length)) {
            let exact = self.never_empty || length == stride;
            return Some((Range { end: last + length, begin: first, ..range.clone() }, exact));
        }
        // Separate blocks are tiles; a single index is a tile of one.
        if range.is_contiguous() && proved_le(&Expr::one(), &stride) && proved_le(&length, &stride) {
            // Ends between the last start and the next one are equivalent; the first of these needs no quotient.
            let end = if ascends { at(&(&values.end - 1)) + 1 } else { last + 1 };
            return Some((Range { begin: first, end, step: stride, tile: length }.with_proper_tile(), true));
        }
        None
    }

    /// The union of tiles of which the last is cut off, as a tiled map runs through them: `t:min(t + s, e)` for `t` in `b:e:s`.
    fn clipped_tiles(&self, range: &Range, values: &Range) -> Option<Union> {
        if !range.is_contiguous() || !values.tile.is_one() {
            return None;
        }
        let (slope, rest) = range.begin.linear_in(&self.symbol)?;
        let Some(Atom::Min(operands)) = range.end.as_atom() else { return None };
        let (moving, fixed): (Vec<&Expr>, Vec<&Expr>) =
            operands.iter().partition(|operand| operand.depends_on(&self.symbol));
        let [end] = moving[..] else { return None };
        let length = end - &range.begin;
        if !slope.is_one() || length.depends_on(&self.symbol) {
            return None;
        }
        let stop =
            fixed.iter().skip(1).fold((*fixed.first()?).clone(), |least, other| Expr::min(&least, other));
        // Tiles touch, and the last one would reach to the end of the values, which is not before the cut.
        let proved_le = |a: &Expr, b: &Expr| a.le(b, &self.outer).is_proved();
        let is_exact = proved_le(&values.step, &length) && proved_le(&stop, &(&values.end + &rest));
        is_exact.then(|| (Range::new(&values.begin + &rest, stop), true))
    }

    /// The bounding range, which is exact when neighbouring ranges touch and its ends are attained.
    fn hull(&self, range: &Range, values: &Range) -> Option<Union> {
        let last = values.exact_stop() - 1;
        let over = |end: &Expr| end.bounds_over(&self.symbol, &values.begin, &last, &self.outer);
        let (lower, upper) = (over(&range.begin), over(&range.stop()));
        let union = Range::new(lower.lower?, upper.upper?);
        let exact = lower.exact
            && upper.exact
            && range.is_contiguous()
            && values.tile.is_one()
            && self.neighbours_touch(range, values)
            && (self.never_empty || self.vanishes(&union, values));
        Some((union, exact))
    }

    /// Whether the ranges of each two consecutive values leave no gap between them.
    fn neighbours_touch(&self, range: &Range, values: &Range) -> bool {
        let next = Expr::symbol(self.symbol.clone()) + &values.step;
        let (begin, end) =
            (range.begin.with_symbol(&self.symbol, &next), range.end.with_symbol(&self.symbol, &next));
        let mut pairs = self.outer.clone();
        pairs.set_range(
            self.symbol.clone(),
            Some(values.begin.clone()),
            Some(values.exact_stop() - 1 - &values.step),
        );
        begin.le(&range.end, &pairs).is_proved() && range.begin.le(&end, &pairs).is_proved()
    }

    /// Whether the range is empty whenever there are no values.
    fn vanishes(&self, union: &Range, values: &Range) -> bool {
        let mut nothing = self.outer.clone();
        nothing.assume_nonnegative(&values.begin - &values.end);
        union.end.le(&union.begin, &nothing).is_proved()
    }
}
