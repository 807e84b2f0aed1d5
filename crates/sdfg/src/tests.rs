//! Tests of other modules on programs from the builder, which those modules do not know.

mod dependence;
mod propagate;
