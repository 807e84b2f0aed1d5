//! Distributions of containers over the ranks of a program (`docs/semantics.md`, "Ranks").

use sdfg_language::symbolic::Expr;

/// Distributions of globally addressed containers over the ranks of a program.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Distribution {
    /// Every rank holds all elements.
    #[default]
    Replicated,
    /// Dimensions are cut into parts over a process grid.
    Blocks(Blocks),
    /// Every rank has a container of its own of the declared shape.
    Local,
}

/// A container whose dimensions are cut over a grid of processes. Process `p`, numbered in row-major order over the
/// grid, is on rank `p mod P` of `P` ranks.
///
/// An element belongs to the process that has its part in each dimension of the grid that cuts, and coordinate 0 in the
/// others. Processes that differ only in the others hold copies of it (replicas).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Extents of the process grid.
    pub grid: Vec<Expr>,
    /// For each dimension of the container its cut; `None` if no part lacks any of it.
    pub cuts: Vec<Option<Cut>>,
}

impl Blocks {
    /// The most processes of a grid, and ranks of a strategy. Analyses look at the parts of each (V205).
    pub const MOST_PROCESSES: u32 = 1 << 16;
}

/// Partition of one dimension of a container along a dimension of the process grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The dimension of the grid whose processes have one part each.
    pub along: usize,
    /// Where the parts begin.
    pub parts: Parts,
    /// Width of the halo: positions before and after its part of which a process holds copies. It ends at the ends of the
    /// container.
    pub halo: [Expr; 2],
}

/// Where the parts of a dimension of extent `n` begin that is cut into `c` parts. Part 0 begins at 0. A beginning beyond `n`
/// counts as `n`, and one before that of an earlier part as that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Part `k` begins at `k ceil(n / c)`; the last parts may be smaller or empty.
    Equal,
    /// Part `k` begins at `k n // c`; sizes differ by one at most. With a range from `a` to before `b`, only what lies in it is
    /// balanced: parts 1 to `c - 1` begin at `a + k (b - a) // c`, and the first and last part extend to the ends.
    Balanced(Option<[Expr; 2]>),
    /// Parts 1 to `c - 1` begin here.
    Starts(Vec<Expr>),
}

impl Distribution {
    /// Dimension `d` of a container is cut into `grid[d]` equal parts.
    pub fn block(grid: Vec<Expr>) -> Self {
        let cuts = (0..grid.len()).map(|along| Some(Cut::new(along, Parts::Equal))).collect();
        Distribution::Blocks(Blocks { grid, cuts })
    }

    /// The cuts over a process grid, if elements belong to one rank each.
    pub fn blocks(&self) -> Option<&Blocks> {
        match self {
            Distribution::Blocks(blocks) => Some(blocks),
            Distribution::Replicated | Distribution::Local => None,
        }
    }

    /// Every expression in it.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.blocks().into_iter().flat_map(|blocks| {
            let cuts = blocks.cuts.iter().flatten();
            blocks.grid.iter().chain(cuts.flat_map(|cut| cut.parts.exprs().iter().chain(&cut.halo)))
        })
    }

    /// Every expression in it, to be changed.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let blocks = match self {
            Distribution::Blocks(blocks) => Some(blocks),
            Distribution::Replicated | Distribution::Local => None,
        };
        blocks.into_iter().flat_map(|blocks| {
            let cuts = blocks.cuts.iter_mut().flatten();
            blocks
                .grid
                .iter_mut()
                .chain(cuts.flat_map(|cut| cut.parts.exprs_mut().iter_mut().chain(&mut cut.halo)))
        })
    }
}

impl Blocks {
    /// Whether dimension `d` is cut along dimension `d` of the grid into equal parts without halos: the short form
    /// `block(..)` of the text.
    pub fn is_plain(&self) -> bool {
        let mut cuts = self.cuts.iter().enumerate();
        self.cuts.len() == self.grid.len()
            && cuts.all(|(d, cut)| cut.as_ref().is_some_and(|cut| *cut == Cut::new(d, Parts::Equal)))
    }

    /// Whether some ranks hold copies of what others own.
    pub fn has_copies(&self) -> bool {
        self.has_halos() || self.replicated_over().next().is_some()
    }

    /// Whether some dimension has a halo.
    pub fn has_halos(&self) -> bool {
        self.cuts.iter().flatten().any(Cut::has_halo)
    }

    /// Dimensions of the grid that cut no dimension of the container and may have several processes: these hold replicas.
    pub fn replicated_over(&self) -> impl Iterator<Item = usize> {
        let cuts = |along: usize| self.cuts.iter().flatten().any(|cut| cut.along == along);
        (0..self.grid.len()).filter(move |&along| !cuts(along) && !self.grid[along].is_one())
    }
}

impl Cut {
    /// A cut without a halo.
    pub fn new(along: usize, parts: Parts) -> Self {
        Cut { along, parts, halo: [Expr::zero(), Expr::zero()] }
    }

    /// Whether a process holds copies of elements beside its part.
    pub fn has_halo(&self) -> bool {
        self.halo.iter().any(|width| !width.is_zero())
    }
}

impl Parts {
    /// Every expression in it.
    pub fn exprs(&self) -> &[Expr] {
        match self {
            Parts::Equal | Parts::Balanced(None) => &[],
            Parts::Balanced(Some(range)) => range,
            Parts::Starts(starts) => starts,
        }
    }

    fn exprs_mut(&mut self) -> &mut [Expr] {
        match self {
            Parts::Equal | Parts::Balanced(None) => &mut [],
            Parts::Balanced(Some(range)) => range,
            Parts::Starts(starts) => starts,
        }
    }
}
