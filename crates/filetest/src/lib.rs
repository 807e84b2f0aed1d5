//! File tests: text programs with commands in their heads and expectations in their comments, one reported test
//! for each file. CONTRIBUTING.md describes the dialect.
//!
//! Every suite of the project uses this one parser and this one way to bless. The crate runs the commands about
//! the graph itself. A suite passes a [`BackEnd`] for the commands about plans and native code, because the suite
//! of `sdfg` builds without LLVM.

mod back_end;
mod bless;
mod collect;
mod command;
mod edit;
mod expectation;
mod interpret;
mod json_file;
mod outcome;
mod roundtrip;
mod survive;
mod tensor_text;
mod test_file;
#[cfg(test)]
mod tests;

pub use back_end::{Agreement, BackEnd, Native, NoBackEnd, PlanOptions};
pub use collect::{blesses, document_blocks, files};
