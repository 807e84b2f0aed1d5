//! Library nodes and their expansions.
