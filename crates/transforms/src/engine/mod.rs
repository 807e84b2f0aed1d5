//! The engine: transformations, where they match, chains of them, and the evidence they leave.

mod anchor;
mod chain;
mod condition;
mod error;
mod evidence;
mod found;
mod magnitude;
mod metadata;
mod page;
mod pipeline;
mod promise;
mod reach;
mod refusal;
mod registry;
mod shared_arguments;
mod simplify;
mod tables;
mod transformation;
mod tuned;

pub use anchor::{Anchor, Step};
pub use chain::{Action, Chain, ChainError};
pub use condition::{Conditions, apply_under};
pub use error::TransformError;
pub use evidence::{Claim, Evidence, Fact};
pub(crate) use found::state_of;
pub use found::{Match, Matched, Site, places};
pub use metadata::{Group, Metadata, Parameter, ParameterError, Soundness};
pub use page::{HEADINGS, Page, Section};
pub use pipeline::{Application, Pipeline, apply, matches, matches_with};
pub use refusal::Refusal;
pub use registry::Registry;
pub use shared_arguments::checked;
pub use simplify::{Tally, fixed_point, simplify};
pub use tables::Tables;
pub use transformation::Transformation;
pub use tuned::Tuned;
