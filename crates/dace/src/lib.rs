//! Reading and writing DaCe's .sdfg files.
