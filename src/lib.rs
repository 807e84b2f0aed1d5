//! Example programs of the SDFG compiler, each made with the builder.
