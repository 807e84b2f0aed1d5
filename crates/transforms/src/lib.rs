//! Graph transformations (paper, section 4.1 and Appendices B and D), chains of them,
//! retargeting to another machine, and the strategy search over SDFGs.
//!
//! A [`Transformation`] is a pattern, a check that refuses with a reason, and an edit of the graph. A [`Pipeline`] applies
//! transformations to a program and records them in a [`Chain`], which is replayed on other versions of the program.
//!
//! ```
//! use sdfg_transforms::{Pipeline, rewrites::MapTiling};
//!
//! let program = sdfg::text::parse("double.sdft", "
//! sdfg double {
//!   symbol N: i64
//!   array A: f64[N]
//!   state main {
//!     access A
//!     access B = A
//!     map m [i = 0:N] {
//!       tasklet t (x) -> (y) { y = 2 * x }
//!       m.A -> t.x: A[i]
//!       t.y -> m.A: A[i]
//!     }
//!     A -> m.A
//!     m.A -> B
//!   }
//! }").expect("a program");
//!
//! let mut pipeline = Pipeline::on(program);
//! pipeline.apply(MapTiling::new([32]).at("m"))?;
//! assert!(sdfg::text::print(pipeline.program()).contains("32"));
//! # Ok::<(), sdfg_transforms::TransformError>(())
//! ```
#![forbid(unsafe_code)]

pub mod auto;
pub mod distribute;
mod engine;
mod lanes;
mod loops;
pub mod pattern;
mod random;
mod ranks;
pub mod retarget;
pub mod rewrites;
pub mod strategy;
pub mod tune;
pub mod verify;

pub use ranks::useful_ranks;

pub use engine::{
    Action, Anchor, Application, Chain, ChainError, Claim, Conditions, Difference, Evidence, Fact, Group,
    HEADINGS, Match, Matched, Metadata, Page, Parameter, ParameterError, Pipeline, Refusal, Registry,
    Section, Site, Soundness, Step, Tables, Tally, TransformError, Transformation, Tuned, apply, apply_under,
    checked, fixed_point, matches, matches_with, places, simplify,
};
