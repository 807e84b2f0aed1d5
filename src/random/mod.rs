//! Random programs that compare native code with the interpreter.
//!
//! A program counts only if changing some input changes an output; otherwise agreement would prove nothing.
//!
//! ```text
//! generate    a program as steps in control flow; the state of a program under construction
//! control     loops, branches, jumps          maps, tiles        maps over fields
//! resolutions conflicting writes              copies, aliases    copies, views, references
//! transients  chains of transients            corners, lanes     memory of every kind, vectors, truth values
//! calls       nested SDFGs, values            operations         library nodes
//! streams, consume                            components         queues; independent parts of a state
//! expression  code of tasklets                inputs, rng        values of arguments, random numbers
//! check       a program three ways            faulty, races      programs with planted faults
//! features    features of a program           reached            features that a run reached
//! loops       loops at every level, for vectors of several widths
//! vectors     maps of schedule `simd`
//! reducible   programs with sums and products
//! rewritable, repeated, seldom  programs with what transformations look for
//! halos       stencils in loops, for distribution
//! rewrites    transformations at every match, and random chains of them
//! device      maps as kernels of a device
//! pushes      maps that push to streams, for devices
//! schedules   many schedules of one program on a device
//! ```

mod aliases;
mod calls;
mod calls_in_maps;
mod check;
mod components;
mod consume;
mod control;
mod copies;
mod corners;
mod device;
mod expression;
mod faulty;
mod features;
mod generate;
mod halos;
mod inputs;
mod lanes;
mod loops;
mod maps;
mod operations;
mod pushes;
mod races;
mod reached;
mod reducible;
mod repeated;
mod repeated_copies;
mod resolutions;
mod rewritable;
mod rewrites;
mod rng;
mod schedules;
mod seldom;
mod streams;
mod tiles;
mod transients;
mod vectors;

pub use check::{Effort, Failure, Outcome, check, check_orders, reduced};
pub(crate) use check::{difference, expanded};
pub(crate) use device::with_calls;
pub use device::{Device, check_on_device, check_on_device_by};
pub use faulty::{CheckedCode, Verdict, check_faulty};
pub use features::{Features, features};
pub use generate::generate;
pub use inputs::{Sizes, inputs};
pub use loops::{
    Variants, check_loops, check_random_loops, loop_program, random_loops, reduced_loops, suite,
};
pub use operations::Operations;
pub use races::{Race, check_race};
pub use rewrites::{
    check_chain, check_distributed, check_every_match, check_on_ranks, check_optimize, check_simplify,
    transformed,
};
pub use rng::Rng;
pub use schedules::check_schedules;
pub use vectors::{check_vectors, vectors};
