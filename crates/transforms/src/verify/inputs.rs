//! Search for inputs on which a program runs without a trap.
//!
//! A program tells the types and symbolic shapes of arguments, not their values. Sizes, other symbols, index arrays
//! and integer scalars are drawn from a fixed list of recipes, the simplest combinations first. Sizes
//! that are too small for an access grow. If no recipe fits, `refinement` changes single values of the one that ran furthest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use sdfg::dtype::{ScalarKind, ScalarType};
use sdfg::interpret::{Arguments, Interpreter, Options, RunError, Trap, TrapKind, tensors_of};
use sdfg::ir::{Container, Layout, Sdfg};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::arith::cast;
use sdfg::tensor::Tensor;
use sdfg::validate::Validated;
use sdfg::value::Value;

use super::assumed::Assumed;
use super::refinement::{Way, refine};
use crate::random::Random;

/// Runs for one graph.
const RUNS: usize = 600;
/// Recipes that are tried after a trap that depends on sizes and indices only in rare programs.
const TRIES_OF_OTHERS: usize = 60;
/// Recipes that may reach the limit of steps.
const LONG_TRIES: usize = 3;
/// As [`LONG_TRIES`], for programs without sizes: the values of symbols and scalars decide how long they run.
const LONG_TRIES_WITHOUT_SIZES: usize = 12;
/// Growths of sizes within one recipe: programs with many arrays and constant bounds need some for each dimension.
const GROWTHS: usize = 80;
/// The most steps of the interpreter for one recipe.
const STEPS: u64 = 4_000_000;
/// The most steps for the recipe with the smallest sizes that needed more, if no other one fits: sizes may be constants.
const LAST_STEPS: u64 = 40_000_000;
/// The largest size that a growth leads to.
pub(super) const LARGEST: i64 = 600;
/// DaCe's Fortran front end passes a variable that sizes arrays twice: as a scalar, and as a symbol with this prefix.
pub(super) const OF_FORTRAN: &str = "sym_";
/// The most drafts that are refined.
const REFINED: usize = 4;
/// The most elements of one argument.
const MOST_ELEMENTS: i64 = 1 << 23;

/// Values of the symbols in the shapes of arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sizes {
    Same(i64),
    /// This size, the next one, and so on, in order of declaration.
    Ascending(i64),
    /// One symbol is small, the others are larger: iterations meet in one dimension only.
    OneSmall {
        /// The position of the symbol in order of declaration.
        at: usize,
        small: i64,
        others: i64,
    },
}

/// Elements of integer arrays, which may be indices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Indices {
    /// Pseudo-random, from 0 to below the smallest size.
    Below,
    /// Pseudo-random, from 1 to the smallest size, for indices that count from 1.
    FromOne,
    /// The position, up to the smallest size: row pointers, permutations.
    Position,
    Same(i64),
}

const SIZES: [Sizes; 10] = [
    Sizes::Same(8),
    Sizes::Ascending(6),
    // Iterations do not meet where there is one.
    Sizes::Same(1),
    Sizes::Same(2),
    Sizes::Same(16),
    Sizes::Same(4),
    Sizes::Same(32),
    Sizes::Ascending(20),
    Sizes::Same(64),
    Sizes::Same(128),
];
pub(super) const INDICES: [Indices; 6] = [
    Indices::Below,
    Indices::Position,
    Indices::FromOne,
    Indices::Same(0),
    Indices::Same(1),
    Indices::Same(2),
];
/// Elements of arrays of numbers: pseudo-random, or all the same, for filters that count on a certain number.
const FILLS: [Option<f64>; 3] = [None, Some(40.0), Some(0.0)];
/// Values of symbols that are in no shape, and of integer scalars; `None` is the smallest size.
/// Negative ones stand for arrays that count from below zero.
pub(super) const NUMBERS: [Option<i64>; 7] = [Some(1), None, Some(0), Some(2), Some(3), Some(-12), Some(100)];
/// Sizes of a single symbol that is small, and the most symbols for which they are tried.
const SMALL: [i64; 2] = [2, 1];
const MOST_SMALL: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Recipe {
    sizes: Sizes,
    indices: Indices,
    symbols: Option<i64>,
    pub(super) scalars: Option<i64>,
    fill: Option<f64>,
}

impl Recipe {
    /// The smallest size.
    pub(super) fn smallest(self) -> i64 {
        match self.sizes {
            Sizes::Same(size) | Sizes::Ascending(size) => size,
            Sizes::OneSmall { small, .. } => small,
        }
    }

    /// The value of symbols that are in no shape, and of integer scalars.
    fn numbers(self) -> (i64, i64) {
        (self.symbols.unwrap_or(self.smallest()), self.scalars.unwrap_or(self.smallest()))
    }

    /// Whether a run takes at least as many steps as one that took too many: the numbers are the same, and no size is
    /// smaller, if there are sizes.
    fn is_as_long_as(self, other: Recipe, has_sizes: bool) -> bool {
        let same = |sizes: Sizes| matches!(sizes, Sizes::Same(_));
        let sizes = same(self.sizes) == same(other.sizes) && self.smallest() >= other.smallest();
        self.numbers() == other.numbers() && (sizes || !has_sizes)
    }
}

/// The part of a list of choices that makes a difference: all of it, or the first one.
fn choices<T>(all: &[T], makes_a_difference: bool) -> impl Iterator<Item = (usize, &T)> {
    all.iter().take(if makes_a_difference { all.len() } else { 1 }).enumerate()
}

/// A recipe with the values that differ from it.
#[derive(Clone)]
pub(super) struct Draft {
    pub(super) recipe: Recipe,
    /// Sizes that have grown.
    pub(super) grown: BTreeMap<Symbol, i64>,
    /// Values of other symbols and of integer scalars, by name.
    pub(super) numbers: BTreeMap<String, i64>,
    /// Elements of integer arrays, by name.
    pub(super) indices: BTreeMap<String, Indices>,
    /// A symbol or an integer scalar whose value is tried: no repair takes it back.
    pub(super) kept: Option<String>,
}

impl Draft {
    pub(super) fn new(recipe: Recipe, grown: BTreeMap<Symbol, i64>) -> Self {
        Draft { recipe, grown, numbers: BTreeMap::new(), indices: BTreeMap::new(), kept: None }
    }

    /// Whether a repair may change a value.
    pub(super) fn may_change(&self, name: &str) -> bool {
        self.kept.as_deref() != Some(name)
    }
}

/// Whether elements of a container are integers, which may be indices or bounds.
pub(super) fn holds_integers(container: &Container) -> bool {
    let lane = container.element.lane();
    !(lane.is_float() || lane.is_complex() || lane == ScalarType::Bool)
}

/// Whether a container has one element.
pub(super) fn is_scalar(container: &Container) -> bool {
    container.shape().iter().all(Expr::is_one)
}

/// The arguments of a graph that values are looked for.
pub(super) struct Signature<'a> {
    pub(super) sdfg: &'a Sdfg,
    /// Symbols in extents and strides of containers.
    pub(super) sizes: BTreeSet<Symbol>,
    /// Values of symbols that are given.
    pub(super) fixed: &'a BTreeMap<Symbol, i64>,
    /// Comparisons that the values of symbols meet.
    assumed: &'a Assumed,
}

impl<'a> Signature<'a> {
    /// Every recipe that gives other arguments than those before, those first that differ least from the first one.
    pub(super) fn recipes(&self) -> Vec<Recipe> {
        let arguments = || self.sdfg.arguments().map(|(_, container)| container);
        let has_indices =
            arguments().filter(|container| holds_integers(container)).any(|container| !is_scalar(container));
        let has_scalars = arguments().filter(|container| holds_integers(container)).any(is_scalar);
        let has_numbers = arguments().any(|container| !holds_integers(container));
        let has_symbols = self.sdfg.symbols().any(|(symbol, _)| !self.sizes.contains(symbol));
        let has_sizes = !self.sizes.is_empty() || has_indices || has_symbols || has_scalars;
        let mut all = Vec::new();
        let small = |at: usize| SMALL.map(|small| Sizes::OneSmall { at, small, others: 8 });
        let n_sizes = self.sizes.iter().filter(|symbol| !self.fixed.contains_key(symbol)).count();
        let several = (2..=MOST_SMALL).contains(&n_sizes);
        let sizes: Vec<Sizes> =
            SIZES.into_iter().chain((0..if several { n_sizes } else { 0 }).flat_map(small)).collect();
        for (a, sizes) in choices(&sizes, has_sizes) {
            for (b, indices) in choices(&INDICES, has_indices) {
                for (c, symbols) in choices(&NUMBERS, has_symbols) {
                    for (d, scalars) in choices(&NUMBERS, has_scalars) {
                        for (e, fill) in choices(&FILLS, has_numbers) {
                            let recipe = Recipe {
                                sizes: *sizes,
                                indices: *indices,
                                symbols: *symbols,
                                scalars: *scalars,
                                fill: *fill,
                            };
                            all.push((a + b + c + d + 2 * e, recipe));
                        }
                    }
                }
            }
        }
        all.sort_by_key(|(distance, _)| *distance);
        all.into_iter().map(|(_, recipe)| recipe).collect()
    }

    pub(super) fn of(sdfg: &'a Sdfg, fixed: &'a BTreeMap<Symbol, i64>, assumed: &'a Assumed) -> Self {
        // Transients have their sizes, too: indices into them are other symbols.
        let extents = sdfg.containers().flat_map(|(_, container)| container.shape());
        let strides = sdfg
            .containers()
            .filter_map(|(_, container)| container.kind.layout())
            .flat_map(|layout| &layout.strides);
        let sizes = extents.chain(strides).flat_map(Expr::free_symbols).collect();
        Signature { sdfg, sizes, fixed, assumed }
    }

    /// The values of all symbols.
    pub(super) fn symbols(&self, draft: &Draft) -> BTreeMap<Symbol, i64> {
        let Draft { recipe, grown, numbers, .. } = draft;
        let (mut values, mut next) = (BTreeMap::new(), 0);
        let smallest = recipe.smallest();
        for (symbol, _) in self.sdfg.symbols() {
            let value = match recipe.sizes {
                _ if self.fixed.contains_key(symbol) => self.fixed[symbol],
                _ if grown.contains_key(symbol) => grown[symbol],
                _ if numbers.contains_key(symbol.as_str()) => numbers[symbol.as_str()],
                _ if !self.sizes.contains(symbol) => recipe.symbols.unwrap_or(smallest),
                Sizes::Same(size) => size,
                Sizes::Ascending(size) => {
                    next += 1;
                    size + next - 1
                }
                Sizes::OneSmall { at, small, others } => {
                    next += 1;
                    if i64::try_from(at).is_ok_and(|at| at == next - 1) { small } else { others }
                }
            };
            values.insert(symbol.clone(), value);
        }
        self.pack(&mut values);
        self.assumed.adjust(&mut values, self.fixed);
        values
    }

    /// The arguments of a recipe; `None` if a shape has no value or too many elements, or if symbols let elements meet.
    pub(super) fn arguments(&self, draft: &Draft) -> Option<Arguments> {
        let Draft { recipe, numbers, indices, .. } = draft;
        let smallest = recipe.smallest();
        let values = self.symbols(draft);
        if self.assumed.contradicted(&values).is_some() {
            return None;
        }
        let mut arguments = Arguments::new();
        for (symbol, value) in &values {
            arguments.set_symbol(symbol.as_str(), *value);
        }
        let mut rng = Random::new(7);
        for (_, container) in self.sdfg.arguments() {
            let extents =
                container.shape().iter().map(|extent| extent.eval(&|name| values.get(name).copied()));
            let extents: Vec<i64> = extents.collect::<Result<_, _>>().ok()?;
            if !is_possible(&extents) {
                return None;
            }
            let number = |expr: &Expr| expr.eval(&|name| values.get(name).copied()).ok();
            if let Some(layout) = container.kind.layout().filter(|layout| !layout.is_packed())
                && !always_overlaps(layout)
                && overlaps(&extents, &layout.strides.iter().map(number).collect::<Option<Vec<_>>>()?)
            {
                return None;
            }
            let lane = container.element.lane();
            for (name, shape) in tensors_of(container, extents, || 4) {
                let mut bytes = Vec::new();
                let shift = rng.below(4096) as i64;
                for position in 0..shape.iter().product() {
                    for _ in 0..container.element.lanes() {
                        let value = if !holds_integers(container) {
                            // An odd factor permutes the parts: which element is the largest, say, is not open.
                            element(shift + position.wrapping_mul(40_503), position, lane, recipe.fill)
                        } else if is_scalar(container) {
                            let same = Symbol::new(&format!("{OF_FORTRAN}{}", container.name)).ok();
                            let same = same.and_then(|symbol| values.get(&symbol).copied());
                            let own = numbers.get(&container.name).copied();
                            let value = same.or(own).or(recipe.scalars).unwrap_or(smallest);
                            cast(Value::I64(value), lane)
                        } else {
                            let kind = indices.get(&container.name).copied().unwrap_or(recipe.indices);
                            cast(Value::I64(index(kind, position, smallest, &mut rng)), lane)
                        };
                        bytes.extend_from_slice(&value.to_bytes()[..lane.size()]);
                    }
                }
                arguments.set(name, Tensor::from_bytes(container.element, shape, bytes).ok()?);
            }
        }
        Some(arguments)
    }

    /// Gives symbols that are strides of arguments, and extents of none, the values of a packed layout.
    fn pack(&self, values: &mut BTreeMap<Symbol, i64>) {
        let shapes = self.sdfg.containers().flat_map(|(_, container)| container.shape());
        let mut decided: BTreeSet<Symbol> = shapes.flat_map(Expr::free_symbols).collect();
        decided.extend(self.fixed.keys().cloned());
        for (_, container) in self.sdfg.arguments() {
            let Some(layout) = container.kind.layout() else { continue };
            let mut stride = 1_i64;
            for (extent, own) in layout.shape.iter().zip(&layout.strides).rev() {
                if let Some(symbol) = own.as_symbol().filter(|symbol| values.contains_key(symbol))
                    && decided.insert(symbol.clone())
                {
                    values.insert(symbol.clone(), stride);
                }
                let extent = extent.eval(&|name| values.get(name).copied()).unwrap_or(1);
                stride = stride.saturating_mul(extent.max(1));
            }
        }
    }
}

/// Whether an argument may have these extents.
fn is_possible(extents: &[i64]) -> bool {
    let count = extents.iter().try_fold(1_i64, |count, extent| count.checked_mul(*extent));
    extents.iter().all(|extent| *extent >= 0) && count.is_some_and(|count| count <= MOST_ELEMENTS)
}

/// Whether two elements of an array have the same place, so that what is written to one appears in the other.
fn overlaps(shape: &[i64], strides: &[i64]) -> bool {
    let mut places = vec![0_i64];
    for (extent, stride) in shape.iter().zip(strides) {
        places = places.iter().flat_map(|place| (0..*extent).map(move |at| place + at * stride)).collect();
    }
    let count = places.len();
    places.sort_unstable();
    places.dedup();
    places.len() < count
}

/// Whether the dimensions without symbols put two elements at one place: then no values of symbols keep them apart.
fn always_overlaps(layout: &Layout) -> bool {
    let number = |expr: &Expr| expr.eval(&|_| None).ok();
    let pairs = layout.shape.iter().zip(&layout.strides);
    let (extents, strides): (Vec<_>, Vec<_>) = pairs.filter_map(|(a, b)| number(a).zip(number(b))).unzip();
    is_possible(&extents) && overlaps(&extents, &strides)
}

fn index(indices: Indices, position: i64, smallest: i64, rng: &mut Random) -> i64 {
    let below = |rng: &mut Random| rng.below(usize::try_from(smallest).unwrap_or(1).max(1)) as i64;
    match indices {
        Indices::Below => below(rng),
        Indices::FromOne => below(rng) + 1,
        Indices::Position => position.min(smallest),
        Indices::Same(value) => value,
    }
}

/// Part `n` of 4096 as a small number above zero, so that roots, logarithms and quotients have values, or the given one.
/// Elements with the same part differ by their positions: which of them is the largest is not open.
fn element(n: i64, position: i64, ty: ScalarType, fill: Option<f64>) -> Value {
    let further = (position / 4096).rem_euclid(2048) as f64 / f64::from(1 << 24);
    let number = fill.unwrap_or_else(|| 0.25 + 1.5 * n.rem_euclid(4096) as f64 / 4096.0 + further);
    match ty.kind() {
        ScalarKind::Bool => Value::Bool(number > 0.75),
        ScalarKind::Signed | ScalarKind::Unsigned | ScalarKind::Float | ScalarKind::Complex => {
            cast(Value::F64(number), ty)
        }
    }
}

/// Inputs without a trap, and the arguments after the run.
#[derive(Clone, Debug)]
pub struct Fitting {
    /// The inputs.
    pub before: Arguments,
    /// The arguments after the run of the interpreter.
    pub after: Arguments,
    /// The steps of the run.
    pub steps: u64,
}

/// Whether a trap depends on sizes and indices in most programs.
pub(super) fn depends_on_inputs(kind: &TrapKind) -> bool {
    matches!(
        kind,
        TrapKind::OutOfBounds { .. }
            | TrapKind::NegativeExtent { .. }
            | TrapKind::SizeMismatch { .. }
            | TrapKind::UndefinedIndex(_)
    )
}

/// As [`search_under`] without assumptions.
///
/// # Errors
/// As [`search_under`].
pub fn search(
    program: &Validated,
    fixed: &BTreeMap<Symbol, i64>,
    options: &Options<'_>,
) -> Result<Fitting, String> {
    search_under(program, fixed, &Assumed::default(), options)
}

/// Searches for inputs of a program on which the interpreter runs it to its end: sizes, other symbols, index arrays and scalars.
/// `fixed` are values of symbols that are not to be chosen. The limit of steps in `options` holds for the longest run; 40
/// million steps if there is none. The limit of memory is replaced. The values of symbols meet the assumptions.
///
/// # Errors
/// The trap of the inputs that came furthest, or the refusal of the first ones, if none fit.
pub fn search_under(
    program: &Validated,
    fixed: &BTreeMap<Symbol, i64>,
    assumed: &Assumed,
    options: &Options<'_>,
) -> Result<Fitting, String> {
    if let Some(text) = assumed.contradicted(fixed) {
        return Err(format!("the given values of symbols contradict the assumption `{text}`"));
    }
    let mut interpreter = Interpreter::new(program).map_err(|error| error.to_string())?;
    let signature = Signature::of(program.sdfg(), fixed, assumed);
    let last_steps = options.step_limit.unwrap_or(LAST_STEPS);
    let options = Options { step_limit: Some(STEPS.min(last_steps)), memory_limit: 1 << 30, ..*options };
    let long_tries = if signature.sizes.is_empty() { LONG_TRIES_WITHOUT_SIZES } else { LONG_TRIES };
    let (mut first, mut others, mut runs) = (None, 0, 0);
    let (mut contradicted, mut n_contradicted) = (None, 0);
    let mut furthest: Vec<(Box<Trap>, Draft)> = Vec::new();
    let mut long: Vec<(Recipe, Arguments)> = Vec::new();
    // Sizes that an earlier recipe found to be needed.
    let mut known: BTreeMap<(i64, bool), BTreeMap<Symbol, i64>> = BTreeMap::new();
    for recipe in signature.recipes() {
        if long.iter().any(|(other, _)| recipe.is_as_long_as(*other, !signature.sizes.is_empty())) {
            continue;
        }
        let sizes = (recipe.smallest(), matches!(recipe.sizes, Sizes::Same(_)));
        let is_usual = !matches!(recipe.sizes, Sizes::OneSmall { .. });
        let grown = known.get(&sizes).filter(|_| is_usual).cloned().unwrap_or_default();
        let mut draft = Draft::new(recipe, grown);
        for _ in 0..=GROWTHS {
            let Some(before) = signature.arguments(&draft) else {
                let wrong = assumed.contradicted(&signature.symbols(&draft));
                n_contradicted += usize::from(wrong.is_some());
                contradicted = contradicted.or(wrong);
                draft.grown.clear();
                break;
            };
            runs += 1;
            let mut after = before.clone();
            let error = match interpreter.run(&mut after, &options) {
                Ok(report) => return Ok(Fitting { before, after, steps: report.steps }),
                Err(error) => error,
            };
            first.get_or_insert_with(|| error.to_string());
            let RunError::Trap(trap) = error else { break };
            if matches!(trap.kind, TrapKind::StepLimit { .. }) {
                long.push((recipe, before));
                break;
            }
            if depends_on_inputs(&trap.kind) {
                keep_furthest(&mut furthest, &trap, &draft);
            }
            if !matches!(trap.kind, TrapKind::OutOfBounds { .. }) {
                others += usize::from(!depends_on_inputs(&trap.kind));
                break;
            }
            if !signature.grow(&trap.kind, &mut draft) {
                draft.grown.clear();
                break;
            }
        }
        if is_usual {
            known.insert(sizes, draft.grown);
        }
        if runs > RUNS || others.max(n_contradicted) > TRIES_OF_OTHERS || long.len() > long_tries {
            break;
        }
    }
    let shortest = long.into_iter().min_by_key(|(recipe, _)| recipe.smallest());
    if let Some((_, before)) = shortest {
        let mut after = before.clone();
        let options = Options { step_limit: Some(last_steps), ..options };
        if let Ok(report) = interpreter.run(&mut after, &options) {
            return Ok(Fitting { before, after, steps: report.steps });
        }
    }
    // The stable sort keeps the order of the recipes.
    furthest.sort_by_key(|(trap, _)| Reverse(trap.progress));
    furthest.truncate(REFINED);
    let mut failed: Option<Box<Trap>> = None;
    for (way, (trap, draft)) in
        Way::ALL.into_iter().flat_map(|way| furthest.iter().map(move |one| (way, one)))
    {
        match refine(&signature, way, draft.clone(), trap.clone(), &mut interpreter, &options) {
            Ok(found) => return Ok(found),
            Err(trap) if failed.as_ref().is_none_or(|other| other.progress < trap.progress) => {
                failed = Some(trap);
            }
            Err(_) => {}
        }
    }
    if let Some(trap) = failed {
        return Err(RunError::Trap(trap).to_string());
    }
    let unmet =
        || Some(format!("no values of symbols that were tried meet the assumption `{}`", contradicted?));
    Err(first.or_else(unmet).unwrap_or_else(|| {
        "an argument has no shape, too many elements, or elements that share memory".to_owned()
    }))
}

/// Notes a draft that came further than the one before with the same kind of index arrays: a refinement that begins with other
/// indices gets stuck at another place.
fn keep_furthest(furthest: &mut Vec<(Box<Trap>, Draft)>, trap: &Trap, draft: &Draft) {
    let kind = draft.recipe.indices;
    match furthest.iter_mut().find(|(_, other)| other.recipe.indices == kind) {
        Some((other, _)) if other.progress >= trap.progress => {}
        Some(found) => *found = (Box::new(trap.clone()), draft.clone()),
        None => furthest.push((Box::new(trap.clone()), draft.clone())),
    }
}

#[cfg(test)]
mod tests;
