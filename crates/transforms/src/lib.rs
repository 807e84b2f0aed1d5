//! Graph transformations, chains and the strategy search.
