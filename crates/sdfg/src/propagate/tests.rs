//! Propagated memlets against all accesses of an enumeration.
