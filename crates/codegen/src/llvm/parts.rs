//! Compilation of a large program in parts, by several threads.
//!
//! LLVM compiles one module on one thread. A program with many loops of teams has as many functions that are
//! never inlined. [`Cut`] distributes them over modules. Each thread reads the whole module into a context of
//! its own, and keeps the functions of one part; the others become declarations.
//!
//! - The cut depends on the module only, so the objects do not depend on the number of threads.
//! - Passes over the whole program run before the cut, so constants and facts cross it.
//! - Small functions that several parts call are copied into each, so they can be inlined.
//! - A function that another part calls is hidden. Its declaration there has the default visibility: objects in one
//!   process may be too far apart for relative addresses.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use inkwell::GlobalVisibility;
use inkwell::attributes::AttributeLoc;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage, Module};
use inkwell::values::{AnyValueEnum, BasicValue, FunctionValue};

use super::emitter::Emit;
use super::error::LlvmError;
use super::machine::Machine;
use super::options::CompileOptions;
use crate::plan::Plan;

/// Emitted instructions from which on a module may be cut: below, threads gain less than the cut costs.
const LARGE: usize = 20_000;

/// Instructions of a part, after the passes over the whole program.
const OF_PART: usize = 4_000;

/// Parts at most: each thread reads the whole module for each part.
const MOST: usize = 16;

/// Whether a module is large enough for parts, and so for the passes that precede them.
pub(super) fn is_large(module: &Module<'_>) -> bool {
    defined(module).map(size).sum::<usize>() >= LARGE
}

/// A module that is distributed over several ones.
pub(super) struct Cut {
    bitcode: Vec<u8>,
    program: String,
    unit_strides: bool,
    n_parts: usize,
    /// The part of each function that exists once. Others are copied.
    homes: BTreeMap<String, usize>,
}

impl Cut {
    /// Distributes the functions of `module` over parts of similar sizes, and exports those that other parts call.
    /// `None` if there is nothing to distribute.
    pub(super) fn of(module: &Module<'_>, plan: &Plan) -> Option<Self> {
        let program = plan.name.as_str();
        // Functions of the program have its name, in front of a point if they are not exported; helpers have other names.
        let is_located = |name: &str| name.starts_with(program);
        let mut units: Vec<(String, usize)> = Vec::new();
        for function in defined(module) {
            let name = name_of(function);
            if is_located(&name) && wrapped(&name).is_none() {
                units.push((name, size(function)));
            }
        }
        let total: usize = units.iter().map(|(_, size)| size).sum();
        let n_parts = (total / OF_PART).min(MOST).min(units.len());
        if n_parts < 2 {
            return None;
        }
        // The largest first, each into the part that has least so far; equal ones in the order of the module.
        units.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        let mut sizes = vec![0; n_parts];
        let mut homes = BTreeMap::new();
        for (name, size) in units {
            let (least, part) = sizes.iter_mut().zip(0..).min_by_key(|(size, _)| **size)?;
            *least += size;
            homes.insert(name, part);
        }
        for function in defined(module) {
            let name = name_of(function);
            if let Some(part) = wrapped(&name).and_then(|wrapped| homes.get(wrapped).copied()) {
                homes.insert(name, part);
            }
        }
        for function in defined(module) {
            let home = homes.get(&name_of(function)).copied();
            if home.is_some()
                && function.get_linkage() == Linkage::Internal
                && is_called_elsewhere(function, &homes)
            {
                function.set_linkage(Linkage::External);
                function.as_global_value().set_visibility(GlobalVisibility::Hidden);
            }
        }
        let bitcode = module.write_bitcode_to_memory().as_slice().to_vec();
        let (program, unit_strides) = (program.to_owned(), plan.has_free_strides());
        Some(Cut { bitcode, program, unit_strides, n_parts, homes })
    }

    /// The objects of the parts, in order, compiled by up to so many threads.
    pub(super) fn compile(&self, options: &CompileOptions, threads: NonZeroUsize) -> Emit<Vec<Vec<u8>>> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(BTreeMap::new());
        let work = || {
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= self.n_parts {
                    return;
                }
                let object = self.part(part, options);
                done.lock().unwrap_or_else(PoisonError::into_inner).insert(part, object);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.get().min(self.n_parts) {
                scope.spawn(work);
            }
            work();
        });
        done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }

    /// The object of one part.
    fn part(&self, part: usize, options: &CompileOptions) -> Emit<Vec<u8>> {
        let machine = Machine::new(options)?.with_unit_strides(self.unit_strides);
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(&self.bitcode, &self.program);
        let module = Module::parse_bitcode_from_buffer(&buffer, &context).map_err(|error| {
            LlvmError::Malformed { program: self.program.clone(), message: error.to_string() }
        })?;
        let elsewhere = |function: &FunctionValue<'_>| {
            self.homes.get(&name_of(*function)).is_some_and(|home| *home != part)
        };
        for function in defined(&module).filter(elsewhere).collect::<Vec<_>>() {
            declare_only(&module, function);
        }
        machine.optimise_part(&module)?;
        machine.object(&module)
    }
}

/// The functions of a module that have bodies, in its order.
fn defined<'ctx>(module: &Module<'ctx>) -> impl Iterator<Item = FunctionValue<'ctx>> {
    module.get_functions().filter(|function| function.count_basic_blocks() > 0)
}

fn name_of(function: FunctionValue<'_>) -> String {
    function.get_name().to_string_lossy().into_owned()
}

/// The function that a wrapper unpacks arguments for, whose part it shares.
fn wrapped(name: &str) -> Option<&str> {
    name.strip_suffix(".part")
}

/// Number of instructions.
fn size(function: FunctionValue<'_>) -> usize {
    function.get_basic_block_iter().map(|block| block.get_instructions().count()).sum()
}

/// Whether anything but functions of its own part uses a function.
fn is_called_elsewhere(function: FunctionValue<'_>, homes: &BTreeMap<String, usize>) -> bool {
    let home = homes.get(&name_of(function));
    let first = function.as_global_value().as_pointer_value().get_first_use();
    let mut uses = std::iter::successors(first, |each| each.get_next_use());
    uses.any(|each| {
        let AnyValueEnum::InstructionValue(user) = each.get_user() else { return true };
        let caller = user.get_parent().and_then(|block| block.get_parent());
        caller.is_none_or(|caller| homes.get(&name_of(caller)) != home)
    })
}

/// Replaces a function by a declaration with its attributes, which may be in another object.
fn declare_only<'ctx>(module: &Module<'ctx>, function: FunctionValue<'ctx>) {
    let name = name_of(function);
    function.as_global_value().set_name("");
    let declaration = module.add_function(&name, function.get_type(), None);
    let parameters = (0..function.count_params()).map(AttributeLoc::Param);
    for place in [AttributeLoc::Function, AttributeLoc::Return].into_iter().chain(parameters) {
        for attribute in function.attributes(place) {
            declaration.add_attribute(place, attribute);
        }
    }
    function.replace_all_uses_with(declaration);
    // SAFETY: nothing refers to the function any more, neither uses nor this program.
    unsafe { function.delete() }
}
