//! Dependence queries about two accesses, split into cases by the order of iterations.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use sdfg_language::subset::Range;
use sdfg_language::symbolic::{Assumptions, Expr, Sign, Symbol, Truth};

use super::access::{IteratedAccess, Iterations};
use super::parts::are_in_different_parts;
use super::problem::Problem;
use super::{Dependence, Distance};

/// Compared pairs of iterations of the outermost common scopes and loops of both accesses. All pairs of
/// iterations further in are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Iteration {
    /// The same iteration of this many common scopes.
    Same(usize),
    /// The same iteration of this many, and two different ones of the next.
    Different(usize),
    /// The same iteration of this many, and of the next, a loop, one for the second access that runs later.
    Later(usize),
}

/// Order of two values of a symbol.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The first access has the lesser value.
    Less,
    Equal,
    /// The first access has the greater value.
    Greater,
}

/// Pairs of iterations: the leading symbols are equal, and the next may be ordered.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Case {
    equal: usize,
    order: Option<(usize, Order)>,
    /// A further order, of which a distance is made.
    direction: Option<(usize, Order)>,
}

impl Case {
    /// Whether the case says of a symbol that it is ordered otherwise.
    fn excludes(&self, at: usize, order: Order) -> bool {
        if at < self.equal {
            return order != Order::Equal;
        }
        self.order.is_some_and(|(ordered, own)| ordered == at && own != order)
    }
}

/// Whether `first` and `second`, accesses of one container, touch a common element in iterations as asked for, and how far
/// apart those are.
///
/// `n_common` is the number of outermost scopes and loops that both have in common. `known` is what is known of
/// symbols that no scope or loop around the accesses defines.
pub fn dependence(
    first: &IteratedAccess,
    second: &IteratedAccess,
    n_common: usize,
    iteration: Iteration,
    known: &Assumptions,
) -> Dependence {
    let question = Question { first, second, n_common, iteration, known, prefix: OnceCell::new() };
    match question.answer(false) {
        Answer::Unknown => Dependence::unknown(),
        Answer::Never => Dependence::none(),
        Answer::In { base, cases, proved } => {
            let exists = if proved { Truth::Proved } else { Truth::Unknown };
            Dependence { exists, distances: question.distances(&base, &cases) }
        }
    }
}

/// [`Dependence::exists`] alone, which takes a fraction of the time.
pub fn meets(
    first: &IteratedAccess,
    second: &IteratedAccess,
    n_common: usize,
    iteration: Iteration,
    known: &Assumptions,
) -> Truth {
    match (Question { first, second, n_common, iteration, known, prefix: OnceCell::new() }).answer(true) {
        Answer::Unknown => Truth::Unknown,
        Answer::Never => Truth::Refuted,
        Answer::In { proved: true, .. } => Truth::Proved,
        Answer::In { proved: false, .. } => Truth::Unknown,
    }
}

struct Question<'a> {
    first: &'a IteratedAccess,
    second: &'a IteratedAccess,
    n_common: usize,
    iteration: Iteration,
    known: &'a Assumptions,
    /// Prefixes of the names of variables.
    prefix: OnceCell<String>,
}

/// Result of a query.
enum Answer<'a> {
    /// It cannot be posed.
    Unknown,
    /// In no case is an element shared.
    Never,
    /// One may be, in these of the cases.
    In {
        /// Before the cases are told apart.
        base: Box<Posed<'a>>,
        cases: Vec<Case>,
        /// Whether one of the cases provably happens.
        proved: bool,
    },
}

/// A case as a problem.
struct Posed<'a> {
    problem: Problem<'a>,
    /// The values of the common symbols for the two accesses.
    values: Vec<(Symbol, Expr, Expr)>,
    /// Expressions that are zero where the accesses meet, one for each dimension.
    differences: Vec<Expr>,
}

impl<'a> Question<'a> {
    /// Decides the cases one by one; `until_proved` leaves the rest out after the first that is proved.
    fn answer(&self, until_proved: bool) -> Answer<'a> {
        if self.first.subset.rank() != self.second.subset.rank() {
            return Answer::Unknown;
        }
        if self.indices_tell_iterations() {
            return Answer::Never;
        }
        let all = Case { equal: self.equal(), order: None, direction: None };
        let base = self.pose(all);
        if base.is_refuted() {
            return Answer::Never;
        }
        let (mut cases, mut proved) = (self.cases(), false);
        if cases.as_slice() == [all] {
            // Nothing is told apart.
            proved = self.sure() && base.problem.proved();
            return Answer::In { base: Box::new(base), cases, proved };
        }
        for case in std::mem::take(&mut cases) {
            let posed = self.pose(case);
            if !posed.is_refuted() {
                proved |= self.sure() && posed.problem.proved();
                cases.push(case);
            }
            if proved && until_proved {
                break;
            }
        }
        if cases.is_empty() { Answer::Never } else { Answer::In { base: Box::new(base), cases, proved } }
    }

    /// Whether two iterations of the level in question never share an element because each of its symbols is an index of
    /// both accesses, up to the same distance: what nearly all maps do, and what the equations show at more length. Or because it
    /// numbers the parts of what such an index goes through further in.
    fn indices_tell_iterations(&self) -> bool {
        let at = self.same_levels();
        let (Some(own), Some(other)) = (self.first.around.get(at), self.second.around.get(at)) else {
            return false;
        };
        let names = |level: &Iterations| -> Vec<Symbol> {
            level.symbols.iter().map(|(symbol, _)| symbol.clone()).collect()
        };
        let asks = self.differing().is_some() && at < self.n_common && own.exactly_once;
        let symbols = names(own);
        if !asks || symbols.is_empty() || symbols != names(other) {
            return false;
        }
        // How often a level gives a symbol a value; another one may hide it.
        let sides = [self.first, self.second];
        let n_bound = |access: &IteratedAccess, symbol: &Symbol| {
            let of_level = |level: &Iterations| {
                let own = level.symbols.iter().filter(|(own, _)| own == symbol).count();
                own + level.given.iter().chain(&level.changing).filter(|own| *own == symbol).count()
            };
            access.around.iter().map(of_level).sum::<usize>()
        };
        let is_fixed = |symbol: &Symbol| sides.iter().all(|access| n_bound(access, symbol) == 0);
        let is_own = |symbol: &Symbol| sides.iter().all(|access| n_bound(access, symbol) == 1);
        let is_index = |symbol: &Symbol| {
            let mut indices = self.first.subset.0.iter().zip(&self.second.subset.0);
            indices.any(|(first, second)| {
                first == second && first.is_index() && first.begin.is_shifted(symbol, &is_fixed)
            })
        };
        let inner =
            |access: &'a IteratedAccess| access.around.iter().skip(at + 1).flat_map(|level| &level.symbols);
        let numbers_parts = |part: &Symbol| {
            inner(self.first).any(|(symbol, range)| {
                is_own(symbol)
                    && is_index(symbol)
                    && inner(self.second).any(|(other_symbol, other)| {
                        other_symbol == symbol && are_in_different_parts(range, other, part, &is_fixed)
                    })
            })
        };
        own.symbols.iter().zip(&other.symbols).all(|((symbol, range), (_, other))| {
            let counts = |range: &Range| range.step.as_int().is_some_and(|step| step != 0);
            is_own(symbol) && counts(range) && counts(other) && (is_index(symbol) || numbers_parts(symbol))
        })
    }

    /// Number of leading symbols that are equal in all cases.
    fn equal(&self) -> usize {
        self.common_before(self.same_levels())
    }

    fn same_levels(&self) -> usize {
        match self.iteration {
            Iteration::Same(n) | Iteration::Different(n) | Iteration::Later(n) => n.min(self.n_common),
        }
    }

    /// The level of which two different iterations are compared.
    fn differing(&self) -> Option<&Iterations> {
        match self.iteration {
            Iteration::Same(_) => None,
            Iteration::Different(_) | Iteration::Later(_) => self.first.around.get(self.same_levels()),
        }
    }

    /// Number of symbols of the levels before `level`.
    fn common_before(&self, level: usize) -> usize {
        self.first.around.iter().take(level).map(|iterations| iterations.symbols.len()).sum()
    }

    /// Whether both accesses are made for sure in each iteration.
    fn sure(&self) -> bool {
        let scopes = self.first.around.iter().chain(&self.second.around);
        self.first.certain && self.second.certain && scopes.into_iter().all(|scope| scope.exactly_once)
    }

    /// The pairs of iterations that are asked for, without overlap.
    fn cases(&self) -> Vec<Case> {
        let equal = self.equal();
        let Some(level) = self.differing().filter(|level| !level.symbols.is_empty()) else {
            return vec![Case { equal, order: None, direction: None }];
        };
        // Processing elements may be the same in two iterations.
        let is_loop = matches!(self.iteration, Iteration::Later(_));
        if !level.exactly_once && !is_loop {
            return vec![Case { equal, order: None, direction: None }];
        }
        let mut cases = Vec::new();
        for (at, (_, range)) in level.symbols.iter().enumerate() {
            let orders: &[Order] = match range.step.sign(self.known) {
                Sign::Positive if is_loop => &[Order::Less],
                Sign::Negative if is_loop => &[Order::Greater],
                _ if self.is_symmetric() => &[Order::Less],
                _ => &[Order::Less, Order::Greater],
            };
            let case = |order: &Order| Case {
                equal: equal + at,
                order: Some((equal + at, *order)),
                direction: None,
            };
            cases.extend(orders.iter().map(case));
        }
        cases
    }

    /// Writes a case as a problem.
    fn pose(&self, case: Case) -> Posed<'a> {
        let prefix = self.prefix.get_or_init(|| self.fresh_prefix());
        let mut problem = Problem::new(self.known, prefix);
        self.inhabited().into_iter().for_each(|range| problem.inhabit(range));
        let mut sides = [Side::new(self.first), Side::new(self.second)];
        let mut values = Vec::new();
        for level in 0..self.n_common {
            let (Some(own), Some(other)) = (self.first.around.get(level), self.second.around.get(level))
            else {
                break;
            };
            let together = values.len() <= case.equal && level <= self.same_levels();
            enter(&mut problem, &mut sides, own, together, level > 0);
            change(&mut problem, &mut sides, own);
            for ((symbol, range), (_, other)) in own.symbols.iter().zip(&other.symbols) {
                let first = sides[0].bind(&mut problem, symbol, range, None);
                let shared = (values.len() < case.equal).then(|| first.clone());
                let second = sides[1].bind(&mut problem, symbol, other, shared);
                for (at, order) in case.order.into_iter().chain(case.direction) {
                    if at == values.len() {
                        constrain(&mut problem, &first, &second, order);
                    }
                }
                values.push((symbol.clone(), first, second));
            }
        }
        for side in &mut sides {
            for level in side.access.around.iter().skip(self.n_common) {
                for symbol in level.given.iter().chain(&level.changing) {
                    side.forget(&mut problem, symbol);
                }
                for (symbol, range) in &level.symbols {
                    side.bind(&mut problem, symbol, range, None);
                }
            }
        }
        let mut differences = Vec::new();
        for (own, other) in self.first.subset.0.iter().zip(&self.second.subset.0) {
            let own = problem.value_in(&own.substitute(&sides[0].values));
            let other = problem.value_in(&other.substitute(&sides[1].values));
            differences.push(other - own);
        }
        problem.equate_all(&differences);
        Posed { problem, values, differences }
    }

    /// Ranges around the accesses that are the same in all iterations.
    fn inhabited(&self) -> BTreeSet<&Range> {
        let levels = || self.first.around.iter().chain(&self.second.around);
        let bound = |level: &Iterations| -> Vec<Symbol> {
            let own = level.symbols.iter().map(|(symbol, _)| symbol);
            own.chain(&level.given).chain(&level.changing).cloned().collect()
        };
        let bound: BTreeSet<Symbol> = levels().flat_map(bound).collect();
        let ranges = levels().flat_map(|level| &level.symbols).map(|(_, range)| range);
        let is_free = |range: &&Range| {
            let mut free = true;
            range.visit_symbols(&mut |symbol| free &= !bound.contains(symbol));
            free
        };
        ranges.filter(is_free).collect()
    }

    /// Whether the two accesses may change roles, so that half of the orders tell all.
    fn is_symmetric(&self) -> bool {
        matches!(self.iteration, Iteration::Different(_)) && self.first == self.second
    }

    /// Distances of iterations in the common symbols, in any of the cases.
    fn distances(&self, base: &Posed<'_>, cases: &[Case]) -> Vec<Distance> {
        let equal = self.equal();
        let mut distances = Vec::new();
        for (at, (symbol, first, second)) in base.values.iter().enumerate() {
            let exact =
                if at < equal { Some(Expr::zero()) } else { base.problem.fixed_value(&(second - first)) };
            let may = |order: Order| match &exact {
                Some(distance) => {
                    let sign = match order {
                        Order::Less => distance.is_positive(self.known),
                        Order::Equal => distance.equals(&Expr::zero(), self.known),
                        Order::Greater => (-distance).is_positive(self.known),
                    };
                    !sign.is_refuted()
                }
                None => cases.iter().any(|case| {
                    let direction = Some((at, order));
                    !case.excludes(at, order) && !self.pose(Case { direction, ..*case }).is_refuted()
                }),
            };
            let (mut greater, equal, mut less) = (may(Order::Less), may(Order::Equal), may(Order::Greater));
            if self.is_symmetric() {
                (greater, less) = (greater || less, greater || less);
            }
            distances.push(Distance { symbol: symbol.clone(), greater, equal, less, exact });
        }
        distances
    }

    /// The beginning of no name in use.
    fn fresh_prefix(&self) -> String {
        let mut longest = 0;
        let mut count = |symbol: &Symbol| {
            let name = symbol.as_str();
            longest = longest.max(name.len() - name.trim_start_matches('_').len());
        };
        for access in [self.first, self.second] {
            access.subset.0.iter().for_each(|range| range.visit_symbols(&mut count));
            for level in &access.around {
                level.given.iter().chain(&level.changing).for_each(&mut count);
                for (symbol, range) in &level.symbols {
                    count(symbol);
                    range.visit_symbols(&mut count);
                }
            }
        }
        self.known.visit_symbols(&mut count);
        "_".repeat(longest + 1)
    }
}

impl Posed<'_> {
    fn is_refuted(&self) -> bool {
        self.problem.refuted()
            || self
                .differences
                .iter()
                .any(|difference| difference.equals(&Expr::zero(), &self.problem.within).is_refuted())
    }
}

/// One of the two accesses while its symbols get values.
struct Side<'a> {
    access: &'a IteratedAccess,
    values: BTreeMap<Symbol, Expr>,
    /// Symbols that the access depends on, directly or through ranges.
    used: BTreeSet<Symbol>,
}

impl<'a> Side<'a> {
    fn new(access: &'a IteratedAccess) -> Side<'a> {
        let ranges = access.around.iter().flat_map(|level| &level.symbols).map(|(_, range)| range);
        let used = ranges.chain(&access.subset.0).flat_map(Range::free_symbols).collect();
        Side { access, values: BTreeMap::new(), used }
    }

    /// Gives an iteration symbol a value: the given one, or any of the range.
    fn bind(
        &mut self,
        problem: &mut Problem<'_>,
        symbol: &Symbol,
        range: &Range,
        shared: Option<Expr>,
    ) -> Expr {
        let value = shared.unwrap_or_else(|| problem.value_in(&range.substitute(&self.values)));
        self.values.insert(symbol.clone(), value.clone());
        value
    }

    /// Replaces a symbol by one of which nothing is known.
    fn forget(&mut self, problem: &mut Problem<'_>, symbol: &Symbol) {
        if self.used.contains(symbol) {
            problem.not_provable();
            let unknown = problem.unknown_symbol();
            self.values.insert(symbol.clone(), Expr::symbol(unknown));
        }
    }
}

/// Gives the symbols that data decides at the entry of a common level their values: the same for both accesses if they
/// enter it together.
fn enter(
    problem: &mut Problem<'_>,
    sides: &mut [Side<'_>; 2],
    level: &Iterations,
    together: bool,
    inner: bool,
) {
    for symbol in &level.given {
        let [first, second] = sides;
        if !together {
            first.forget(problem, symbol);
            second.forget(problem, symbol);
        } else if first.used.contains(symbol) || second.used.contains(symbol) {
            if inner {
                // The value belongs to the iteration further out, which is not ours to choose then.
                problem.not_provable();
            }
            let unknown = Expr::symbol(problem.unknown_symbol());
            first.values.insert(symbol.clone(), unknown.clone());
            second.values.insert(symbol.clone(), unknown);
        }
    }
}

/// Gives the symbols that a loop sets their values, which may differ.
fn change(problem: &mut Problem<'_>, sides: &mut [Side<'_>; 2], level: &Iterations) {
    for symbol in &level.changing {
        sides.iter_mut().for_each(|side| side.forget(problem, symbol));
    }
}

/// Orders two values of a symbol.
fn constrain(problem: &mut Problem<'_>, first: &Expr, second: &Expr, order: Order) {
    let (low, high) = match order {
        Order::Less => (first, second),
        Order::Greater => (second, first),
        Order::Equal => {
            problem.equate_all(&[second - first]);
            return;
        }
    };
    let gap = high - low - 1;
    problem.assume(&gap);
    // The prover does better with a bound than with a fact.
    let only = |of: &Expr, than: &Expr| {
        let mut symbols = of.free_symbols().into_iter().filter(|symbol| !than.depends_on(symbol));
        symbols.next().filter(|_| symbols.next().is_none())
    };
    let (Some(lesser), Some(greater)) = (only(low, high), only(high, low)) else {
        problem.within.assume_nonnegative(gap);
        return;
    };
    let alike = low.with_symbol(&lesser, &Expr::symbol(greater.clone())) == *high;
    // Whether the value grows with its variable, which may come from a symbol further out.
    let growth = low.with_symbol(&lesser, &(Expr::symbol(lesser.clone()) + 1)) - low;
    let (lesser, greater) = match growth.sign(&problem.within) {
        Sign::Positive if alike => (lesser, greater),
        Sign::Negative if alike => (greater, lesser),
        Sign::Positive
        | Sign::Negative
        | Sign::NonPositive
        | Sign::Zero
        | Sign::NonNegative
        | Sign::Unknown => {
            problem.within.assume_nonnegative(gap);
            return;
        }
    };
    let upper = problem.within.range_of(&greater).1.cloned();
    problem.within.set_range(greater, Some(Expr::symbol(lesser) + 1), upper);
}
