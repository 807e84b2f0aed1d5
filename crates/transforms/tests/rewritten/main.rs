//! Transformations of sums and of data: applications and refusals, checked in the interpreter. A refusal that is about meaning
//! comes with a rewrite that is forced, and wrong.

mod buffer_tiling;
mod calls_in_kernels;
mod copy_hoisting;
mod double_buffering;
mod exact_integers;
mod given_strategies;
mod gpu_transform;
mod halo_overlap;
mod hidden_names;
mod kept_values;
mod local_storage;
mod local_stream;
mod map_fission;
mod map_fusion;
mod map_reduce_fusion;
mod map_storage;
mod mpi_transform;
mod reads;
mod redistribution;
mod reduce_peeling;
mod relayout;
mod sibling_map_fusion;
mod skewing;
mod state_fission;
mod support;
mod tasklet_fission;
mod tasklet_fusion;
mod times_of_reads;
mod transient_to_device;
