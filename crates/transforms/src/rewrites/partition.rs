//! Distribution of a container over the parts of an iteration domain.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::symbols::assigned_symbols;
use sdfg::ir::{Blocks, Cut, Parts, Sdfg};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Assumptions, Expr, Symbol};

/// The parts of an iteration domain: a parameter for each dimension of the process grid, and its number of parts.
#[derive(Clone, Debug)]
pub(super) struct Domain {
    pub(super) params: Vec<Symbol>,
    pub(super) parts: Vec<u32>,
}

/// The elements of a container that a part of the domain accesses.
pub(super) struct Accessed<'a> {
    /// In the parameters of the domain.
    pub(super) subset: &'a Subset,
    /// Extents of the container.
    pub(super) shape: &'a [Expr],
}

impl Domain {
    /// Cuts that let each process hold what its part reads: its own part of a dimension and a halo. A dimension without such a
    /// cut is held whole. `None` if no dimension is cut.
    pub(super) fn for_reads(&self, accessed: &Accessed<'_>, known: &Assumptions) -> Option<Blocks> {
        self.cuts(accessed, |range, extent, free| self.read_cut(range, extent, free, known))
    }

    /// Cuts that let each process own what its part writes, with the dimensions of the grid that cut nothing.
    pub(super) fn for_writes(&self, accessed: &Accessed<'_>, known: &Assumptions) -> (Blocks, Vec<usize>) {
        let blocks = self.cuts(accessed, |range, extent, free| self.written_cut(range, extent, free, known));
        let grid = || self.parts.iter().map(|parts| Expr::int(i64::from(*parts))).collect();
        let whole = || Blocks { grid: grid(), cuts: vec![None; accessed.shape.len()] };
        let blocks = blocks.unwrap_or_else(whole);
        let cuts = |along: usize| blocks.cuts.iter().flatten().any(|cut| cut.along == along);
        let idle = (0..self.parts.len()).filter(|along| !cuts(*along)).collect();
        (blocks, idle)
    }

    fn cuts(
        &self,
        accessed: &Accessed<'_>,
        cut: impl Fn(&Range, &Expr, &BTreeSet<usize>) -> Option<Cut>,
    ) -> Option<Blocks> {
        let mut free: BTreeSet<usize> =
            (0..self.params.len()).filter(|along| self.parts[*along] > 1).collect();
        let mut cuts = Vec::with_capacity(accessed.shape.len());
        for (range, extent) in accessed.subset.0.iter().zip(accessed.shape) {
            let found = cut(range, extent, &free);
            if let Some(cut) = &found {
                free.remove(&cut.along);
            }
            cuts.push(found);
        }
        let grid = self.parts.iter().map(|parts| Expr::int(i64::from(*parts))).collect();
        cuts.iter().any(Option::is_some).then_some(Blocks { grid, cuts })
    }

    /// Dimensions of the domain whose parameters an expression mentions.
    fn mentioned(&self, range: &Range) -> Vec<usize> {
        let symbols: BTreeSet<Symbol> = range.free_symbols();
        (0..self.params.len()).filter(|along| symbols.contains(&self.params[*along])).collect()
    }

    fn read_cut(
        &self,
        range: &Range,
        extent: &Expr,
        free: &BTreeSet<usize>,
        known: &Assumptions,
    ) -> Option<Cut> {
        let along = self.mentioned(range).into_iter().find(|along| free.contains(along))?;
        // Of other parts of the domain, the range has all positions.
        let others: Vec<(Symbol, Expr, Expr)> = self
            .mentioned(range)
            .into_iter()
            .filter(|other| *other != along)
            .map(|other| {
                (self.params[other].clone(), Expr::zero(), Expr::int(i64::from(self.parts[other]) - 1))
            })
            .collect();
        let (first, end) = ends(range)?;
        let first = first.bounds_over_all(&others, known).lower?;
        let end = end.bounds_over_all(&others, known).upper?;
        let overlap = self.overlap(&first, &end, along);
        if overlap.free_symbols().contains(&self.params[along]) {
            return None;
        }
        let halo = match overlap.as_int() {
            Some(overlap) => {
                let before = overlap.max(0) / 2;
                [Expr::int(before), Expr::int(overlap.max(0) - before)]
            }
            None if overlap.is_nonnegative(known).is_proved() => {
                let before = overlap.floor_div(&Expr::int(2));
                [before.clone(), &overlap - &before]
            }
            None => return None,
        };
        let parts = self.parts_from(&(&first + &halo[0]), extent, along);
        Some(Cut { along, parts, halo })
    }

    fn written_cut(
        &self,
        range: &Range,
        extent: &Expr,
        free: &BTreeSet<usize>,
        known: &Assumptions,
    ) -> Option<Cut> {
        let [along] = self.mentioned(range)[..] else { return None };
        if !free.contains(&along) {
            return None;
        }
        let (first, end) = ends(range)?;
        let overlap = self.overlap(&first, &end, along);
        let is_apart = match overlap.as_int() {
            Some(overlap) => overlap <= 0,
            None => (-&overlap).is_nonnegative(known).is_proved(),
        };
        is_apart.then(|| Cut::new(along, self.parts_from(&first, extent, along)))
    }

    /// Number of positions that a part shares with the one before it; where extents are numbers, the most of all parts.
    fn overlap(&self, first: &Expr, end: &Expr, along: usize) -> Expr {
        let param = &self.params[along];
        let before = &Expr::symbol(param.clone()) - &Expr::one();
        let overlap = &end.substitute(&BTreeMap::from([(param.clone(), before)])) - first;
        // Beginnings may have been simplified for the values of the parameter, and ends for others.
        let begins_in_order = || self.of_parts(first, along).is_some_and(|begins| begins.is_sorted());
        match self.of_parts(&overlap, along).and_then(|overlaps| overlaps.into_iter().max()) {
            Some(most) if overlap.free_symbols().contains(param) && begins_in_order() => Expr::int(most),
            Some(_) | None => overlap,
        }
    }

    /// The values of an expression of the parameter for all parts but the first, if they are numbers.
    fn of_parts(&self, expr: &Expr, along: usize) -> Option<Vec<i64>> {
        let param = &self.params[along];
        let at = |part: u32| {
            expr.substitute(&BTreeMap::from([(param.clone(), Expr::int(i64::from(part)))])).as_int()
        };
        (1..self.parts[along]).map(at).collect()
    }

    /// Parts that begin at an expression of the parameter, in closed form where there is one.
    fn parts_from(&self, start: &Expr, extent: &Expr, along: usize) -> Parts {
        let (param, count) = (&self.params[along], i64::from(self.parts[along]));
        let at = |part: i64| start.substitute(&BTreeMap::from([(param.clone(), Expr::int(part))]));
        let (begin, end) = (at(0), at(count));
        // Numbers may have been simplified, so that the closed form is not to be seen.
        let shares = |extent: i64| (1..count).map(|part| Some(extent.checked_mul(part)? / count)).collect();
        let begins = self.of_parts(start, along).filter(|_| begin.is_zero());
        if begins.is_some() && extent.as_int().and_then(shares) == begins {
            return Parts::Balanced(None);
        }
        let balanced =
            &begin + &(&Expr::symbol(param.clone()) * &(&end - &begin)).floor_div(&Expr::int(count));
        if balanced == *start {
            let is_all = begin.is_zero() && end == *extent;
            return Parts::Balanced((!is_all).then_some([begin, end]));
        }
        Parts::Starts((1..count).map(at).collect())
    }
}

/// The first position of a range in ascending order, and the end behind the last.
pub(super) fn ends(range: &Range) -> Option<(Expr, Expr)> {
    let step = range.step.as_int()?;
    if !range.tile.is_one() {
        return None;
    }
    if range.is_index() {
        return Some((range.begin.clone(), &range.begin + &Expr::one()));
    }
    Some(if step > 0 {
        (range.begin.clone(), range.end.clone())
    } else {
        (&range.end + &Expr::one(), &range.begin + &Expr::one())
    })
}

/// Symbols that keep the values that the caller gives.
pub(super) fn fixed_symbols(sdfg: &Sdfg) -> BTreeSet<Symbol> {
    let assigned = assigned_symbols(sdfg);
    sdfg.symbols().map(|(symbol, _)| symbol.clone()).filter(|symbol| !assigned.contains(symbol)).collect()
}
