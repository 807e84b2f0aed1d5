//! A run of the program of a rank: its arguments out of the whole ones, the call, and the whole results.

use std::collections::BTreeMap;

use sdfg::interpret::{Arguments, stream_of};
use sdfg::symbolic::{EvalError, Expr, Symbol};
use sdfg::tensor::Tensor;
use thiserror::Error;

use super::parts::Whole;
use super::{CONTEXT, LocaliseError, RankProgram};
use crate::interface::ArgumentKind;
use crate::load::{Call, CallError, Library};
use crate::mpi::Hooks;

/// The site of the moves that bring results together; those of a program count from 0.
const RESULTS: i64 = 1 << 19;

/// Why the whole arguments have no part for a rank.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RankError {
    /// A position or extent has no value.
    #[error("the parts of the arguments cannot be computed: {0}")]
    Value(#[from] EvalError),
    /// The parts of an argument cannot be brought together.
    #[error(transparent)]
    Unsupported(#[from] LocaliseError),
    /// Rank 0 has no memory for the whole of an argument.
    #[error("there is no memory for the whole of `{name}`")]
    Memory {
        /// The argument.
        name: String,
    },
    /// A tensor has another shape than the argument.
    #[error("`{name}` is passed with another shape, so it has no parts")]
    Shape {
        /// The argument.
        name: String,
    },
}

impl RankProgram {
    /// What a rank passes: its part of each argument that is cut, the others as they are, and the symbols of the rank.
    ///
    /// # Errors
    /// [`RankError`] if an argument does not fit.
    pub fn local(&self, whole: &Arguments, rank: u32) -> Result<Arguments, RankError> {
        let mut symbols = symbols_of(whole);
        symbols.extend(self.symbols(rank, &symbols)?);
        let mut local = Arguments::new();
        for (symbol, value) in &symbols {
            local.set_symbol(symbol.as_str(), *value);
        }
        for (name, tensor) in whole.tensors() {
            let own = match self.part(name, &symbols)? {
                None => Some(tensor.clone()),
                Some(part) => part.of(tensor),
            };
            local.set(name, own.ok_or_else(|| RankError::Shape { name: name.to_owned() })?);
        }
        Ok(local)
    }

    /// Runs the compiled program of a rank on its arguments, which hold its results afterwards. Every rank does so at the same time.
    ///
    /// `prepare` adds what the call needs beyond the arguments: a number of threads, and the functions of callbacks. Every rank calls
    /// its own function wherever all ranks run the tasklet, so the functions have to give all ranks the same values.
    ///
    /// # Safety
    /// As [`Call::run`]: `library` is this program compiled.
    ///
    /// # Errors
    /// As [`Call::run`]: [`CallError::Missing`] of a callback that `prepare` does not pass.
    pub unsafe fn run(
        &self,
        library: &Library,
        hooks: &Hooks<'_>,
        local: &mut Arguments,
        prepare: impl for<'l, 'd> FnOnce(Call<'l, 'd>) -> Call<'l, 'd>,
    ) -> Result<(), CallError> {
        let interface = library.interface();
        let kind = |name: &str| {
            // Each queue of an array of streams has a tensor of its own.
            let argument = stream_of(name).unwrap_or(name);
            interface.position(argument).map(|position| &interface.arguments()[position].kind)
        };
        let is_symbol = |name: &str| matches!(kind(name), Some(ArgumentKind::Symbol { .. }));
        let names: Vec<String> = local.tensors().map(|(name, _)| name.to_owned()).collect();
        let passed = names.into_iter().filter(|name| kind(name).is_some());
        let mut tensors: Vec<_> =
            passed.filter_map(|name| local.take(&name).map(|tensor| (name, tensor))).collect();
        let mut call = prepare(library.call());
        for (symbol, value) in local.symbols().chain([(CONTEXT, hooks.address())]) {
            if is_symbol(symbol) {
                call = call.symbol(symbol, value);
            }
        }
        for (name, kind) in &self.moves {
            call = call.callback(name, hooks.function(*kind));
        }
        for (name, tensor) in &mut tensors {
            call = call.tensor(name, tensor);
        }
        // SAFETY: the caller vouches for the program. The functions move data as the program describes it.
        let result = unsafe { call.run() };
        for (name, tensor) in tensors {
            local.set(name, tensor);
        }
        result
    }

    /// The whole of an argument that is passed in parts, on rank 0, and `None` on the others. Every rank does so at the same time.
    ///
    /// # Safety
    /// `own` has the elements of the [part](RankProgram::part) of this rank.
    ///
    /// # Errors
    /// [`RankError::Value`] if a position has no value, [`RankError::Unsupported`], and [`RankError::Memory`].
    pub unsafe fn gather_on_first(
        &self,
        hooks: &Hooks<'_>,
        rank: u32,
        (name, own): (&str, &Tensor),
        symbols: &BTreeMap<Symbol, i64>,
    ) -> Result<Option<Tensor>, RankError> {
        let of_rank = self.symbols(rank, symbols)?;
        let all: BTreeMap<Symbol, i64> =
            symbols.iter().chain(&of_rank).map(|(k, v)| (k.clone(), *v)).collect();
        let (Some(part), Some(words)) = (self.part(name, &all)?, self.moving(name, Whole::Gather)?) else {
            return Ok((rank == 0).then(|| own.clone()));
        };
        let words = values(&words, symbols)?;
        let whole = if rank == 0 { Some(Tensor::zeros(own.element(), part.shape)) } else { None };
        let mut whole = whole.transpose().map_err(|_| RankError::Memory { name: name.to_owned() })?;
        let target = whole.as_mut().map_or(std::ptr::null_mut(), |whole| whole.bytes_mut().as_mut_ptr());
        // SAFETY: the tensors have the elements of the part of this rank, and on rank 0 of the whole argument.
        unsafe { hooks.run(RESULTS, &words, own.bytes().as_ptr().cast(), target.cast()) };
        Ok(whole)
    }

    /// The whole arguments after a run, on every rank. Every rank does so at the same time.
    ///
    /// # Safety
    /// `local` comes from [`local`](RankProgram::local) for the rank of the hooks, and `whole` is what it was made of.
    ///
    /// # Errors
    /// [`RankError::Value`] if a position has no value, and [`RankError::Unsupported`].
    pub unsafe fn gather(
        &self,
        hooks: &Hooks<'_>,
        whole: &Arguments,
        local: &Arguments,
    ) -> Result<Arguments, RankError> {
        let symbols = symbols_of(whole);
        let mut results = whole.clone();
        for (site, (name, like)) in (RESULTS..).zip(whole.tensors()) {
            let Some(own) = local.get(name) else { continue };
            let mut found = own.clone();
            if let Some(words) = self.moving(name, Whole::GatherEverywhere)? {
                let words = values(&words, &symbols)?;
                found = like.clone();
                let (source, target) = (own.bytes().as_ptr(), found.bytes_mut().as_mut_ptr());
                // SAFETY: the tensors have the elements of the part of this rank, and of the whole argument.
                unsafe { hooks.run(site, &words, source.cast(), target.cast()) };
            }
            results.set(name, found);
        }
        Ok(results)
    }
}

fn values(words: &[Expr], symbols: &BTreeMap<Symbol, i64>) -> Result<Vec<i64>, EvalError> {
    words.iter().map(|word| word.eval(&|name| symbols.get(name).copied())).collect()
}

fn symbols_of(arguments: &Arguments) -> BTreeMap<Symbol, i64> {
    arguments.symbols().map(|(name, value)| (Symbol::of(name), value)).collect()
}
