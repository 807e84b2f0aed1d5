//! Random programs that hold native code against the interpreter.
//!
//! A program counts only if changing some input changes an output; otherwise agreement would show nothing.

mod check;
mod corners;
mod expression;
mod faulty;
mod features;
mod generate;
mod inputs;
mod rng;
mod streams;
mod transients;

pub use check::{Failure, Outcome, check, check_orders, reduced};
pub use faulty::{Verdict, check_faulty};
pub use features::{Features, features};
pub use generate::generate;
pub use inputs::{Sizes, inputs, same};
pub use rng::Rng;
