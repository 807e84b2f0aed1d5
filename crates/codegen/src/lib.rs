//! Lowering of SDFGs to plans, and the back ends that print them.
