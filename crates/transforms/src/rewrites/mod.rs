//! The transformations, one file each.
//!
//! A file contains the type with its parameters, its description, check and edit, and tests. The documentation of the type is
//! its page, with the sections of [`HEADINGS`](crate::HEADINGS).

mod accumulate_transient;
mod buffer_tiling;
mod copy_hoisting;
mod dead_dataflow;
mod dead_state;
mod defined_before;
mod device_queues;
mod diamond_tiling;
mod distribute_container;
mod double_buffering;
mod fill;
mod fission_of_call;
mod gpu_transform;
mod halo_overlap;
mod inline_sdfg;
mod iterations;
mod kept_values;
mod kernel_contents;
mod lift_to_library;
mod local_storage;
mod local_stream;
mod loop_fission;
mod loop_peeling;
mod loop_strip_mining;
mod loop_to_map;
mod loop_unroll;
mod lower_loops;
mod map_collapse;
mod map_dim_shuffle;
mod map_expansion;
mod map_fission;
mod map_fusion;
mod map_interchange;
mod map_pair;
mod map_reduce_fusion;
mod map_schedule;
mod map_split;
mod map_storage;
mod map_tiling;
mod map_to_for_loop;
mod map_unroll;
mod merge_reads;
mod move_loop_into_map;
mod moved_data;
mod mpi_transform;
mod nest_sdfg;
mod nested_maps;
mod partition;
mod raise_loops;
mod reduce_peeling;
mod redundant_array;
mod redundant_read_slice;
mod redundant_redistribution;
mod redundant_second_array;
mod redundant_write_slice;
mod relayout;
mod scalar_to_symbol;
mod sibling_map_fusion;
mod sizes;
mod skewing;
mod sole_write;
mod state_elimination;
mod state_fission;
mod state_fusion;
mod strip_mining;
mod symbol_propagation;
mod tasklet_fission;
mod tasklet_fusion;
#[cfg(test)]
mod tests;
mod transient_to_device;
mod trivial_map;
mod trivial_tasklet;
mod vectorization;

pub use accumulate_transient::AccumulateTransient;
pub use buffer_tiling::BufferTiling;
pub use copy_hoisting::CopyHoisting;
pub use dead_dataflow::DeadDataflowElimination;
pub use dead_state::DeadStateElimination;
pub use diamond_tiling::DiamondTiling;
pub use distribute_container::DistributeContainer;
pub(crate) use distribute_container::copied;
pub use double_buffering::DoubleBuffering;
pub use gpu_transform::GpuTransform;
pub use halo_overlap::HaloOverlap;
pub use inline_sdfg::InlineSdfg;
pub use lift_to_library::LiftToLibrary;
pub use local_storage::LocalStorage;
pub use local_stream::LocalStream;
pub use loop_fission::LoopFission;
pub use loop_peeling::LoopPeeling;
pub use loop_strip_mining::LoopStripMining;
pub use loop_to_map::LoopToMap;
pub use loop_unroll::LoopUnroll;
pub use lower_loops::LowerLoops;
pub use map_collapse::MapCollapse;
pub use map_dim_shuffle::MapDimShuffle;
pub use map_expansion::MapExpansion;
pub use map_fission::MapFission;
pub use map_fusion::MapFusion;
pub use map_interchange::MapInterchange;
pub use map_reduce_fusion::MapReduceFusion;
pub use map_schedule::MapSchedule;
pub use map_split::MapSplit;
pub use map_storage::MapStorage;
pub use map_tiling::MapTiling;
pub use map_to_for_loop::MapToForLoop;
pub use map_unroll::MapUnroll;
pub use merge_reads::MergeReads;
pub use move_loop_into_map::MoveLoopIntoMap;
pub use mpi_transform::MpiTransform;
pub use nest_sdfg::NestSdfg;
pub use raise_loops::RaiseLoops;
pub use reduce_peeling::ReducePeeling;
pub use redundant_array::RedundantArray;
pub use redundant_read_slice::RedundantReadSlice;
pub use redundant_redistribution::RedundantRedistribution;
pub use redundant_second_array::RedundantSecondArray;
pub use redundant_write_slice::RedundantWriteSlice;
pub use relayout::Relayout;
pub use scalar_to_symbol::ScalarToSymbol;
pub use sibling_map_fusion::SiblingMapFusion;
pub use sizes::Size;
pub use skewing::Skewing;
pub use state_elimination::StateElimination;
pub use state_fission::StateFission;
pub use state_fusion::StateFusion;
pub use strip_mining::StripMining;
pub use symbol_propagation::SymbolPropagation;
pub use tasklet_fission::TaskletFission;
pub use tasklet_fusion::TaskletFusion;
pub use transient_to_device::TransientToDevice;
pub use trivial_map::TrivialMapElimination;
pub use trivial_tasklet::TrivialTaskletElimination;
pub use vectorization::Vectorization;

use crate::engine::Registry;

/// Adds all transformations of this crate to a registry.
pub(crate) fn register(registry: &mut Registry) {
    registry.register::<AccumulateTransient>();
    registry.register::<BufferTiling>();
    registry.register::<CopyHoisting>();
    registry.register::<DeadDataflowElimination>();
    registry.register::<DeadStateElimination>();
    registry.register::<DiamondTiling>();
    registry.register::<DistributeContainer>();
    registry.register::<DoubleBuffering>();
    registry.register::<GpuTransform>();
    registry.register::<HaloOverlap>();
    registry.register::<InlineSdfg>();
    registry.register::<LiftToLibrary>();
    registry.register::<LocalStorage>();
    registry.register::<LocalStream>();
    registry.register::<LoopFission>();
    registry.register::<LoopPeeling>();
    registry.register::<LoopStripMining>();
    registry.register::<LoopToMap>();
    registry.register::<LoopUnroll>();
    registry.register::<LowerLoops>();
    registry.register::<MapCollapse>();
    registry.register::<MapDimShuffle>();
    registry.register::<MapExpansion>();
    registry.register::<MapFission>();
    registry.register::<MapFusion>();
    registry.register::<MapInterchange>();
    registry.register::<MapReduceFusion>();
    registry.register::<MapSchedule>();
    registry.register::<MapSplit>();
    registry.register::<MapStorage>();
    registry.register::<MapTiling>();
    registry.register::<MapToForLoop>();
    registry.register::<MapUnroll>();
    registry.register::<MergeReads>();
    registry.register::<MoveLoopIntoMap>();
    registry.register::<MpiTransform>();
    registry.register::<NestSdfg>();
    registry.register::<RaiseLoops>();
    registry.register::<ReducePeeling>();
    registry.register::<RedundantArray>();
    registry.register::<RedundantReadSlice>();
    registry.register::<RedundantRedistribution>();
    registry.register::<RedundantSecondArray>();
    registry.register::<RedundantWriteSlice>();
    registry.register::<ScalarToSymbol>();
    registry.register::<Relayout>();
    registry.register::<SiblingMapFusion>();
    registry.register::<Skewing>();
    registry.register::<StateElimination>();
    registry.register::<StateFission>();
    registry.register::<StateFusion>();
    registry.register::<StripMining>();
    registry.register::<SymbolPropagation>();
    registry.register::<TaskletFission>();
    registry.register::<TaskletFusion>();
    registry.register::<TransientToDevice>();
    registry.register::<TrivialMapElimination>();
    registry.register::<TrivialTaskletElimination>();
    registry.register::<Vectorization>();
}

/// The parts of [`Transformation`](crate::Transformation) that are the same for all: the description, the parameters, and the
/// steps of a pipeline. `of_any_memory` if the check takes no containers of different names for different memory.
macro_rules! described {
    ($metadata:expr, of_any_memory) => {
        described!($metadata);

        fn tells_containers_apart(&self) -> bool {
            false
        }
    };
    ($metadata:expr) => {
        fn metadata(&self) -> &'static crate::Metadata {
            &$metadata
        }

        fn parameters(&self) -> serde_json::Value {
            // The parameters are numbers, words and lists, which have a form in JSON.
            serde_json::to_value(self).unwrap_or_default()
        }
    };
}

/// `at` and `at_all` of a transformation: a step at a place that paths name. With `several`, only `at_all`: the type has an `at`
/// of its own, with a path for each of several elements.
macro_rules! anchored {
    (several $name:ident) => {
        impl $name {
            /// The transformation at the elements with these paths, in the order of its pattern.
            ///
            /// # Panics
            /// If one of the texts is no path. Paths from users are parsed into an [`Anchor`](crate::Anchor).
            pub fn at_all<'a>(self, paths: impl IntoIterator<Item = &'a str>) -> crate::Step {
                let parse = |path: &str| match path.parse() {
                    Ok(path) => path,
                    Err(error) => panic!("`{path}` is no path: {error}"),
                };
                let paths = paths.into_iter().map(parse).collect();
                crate::Step {
                    transformation: Box::new(self),
                    at: crate::Anchor::Paths(paths),
                    under: crate::Conditions::default(),
                }
            }
        }
    };
    ($name:ident) => {
        anchored!(several $name);

        impl $name {
            /// The transformation at the element with this path.
            ///
            /// # Panics
            /// If the text is no path.
            pub fn at(self, path: &str) -> crate::Step {
                self.at_all([path])
            }
        }
    };
}

pub(crate) use {anchored, described};
