//! [`TransientToDevice`].

use sdfg::analysis::Use;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Container, ContainerKind, Flow, NodeKind, Storage};
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Places a transient of the host that is only copied from and to a GPU in the memory of the GPU.
///
/// Kernels that follow each other over a transient then exchange data on the GPU, in one state or in several:
/// `GPUTransform` takes the data of each kernel back to the host. `RedundantArray` and `RedundantSecondArray`
/// remove the copies that are left.
///
/// # When it applies
///
/// The transient is an array or scalar in the memory of the host, outside of all scopes. Every edge at its access nodes copies
/// elements without a conflict resolution from or to a container with the storage `gpu_global`.
///
/// # Refusals
///
/// - The container is an argument, a constant, a stream, a view or a reference, or in another memory than that of the host.
/// - An access node of the container is in a scope, or the container belongs to a nested SDFG.
/// - A map, tasklet, nested SDFG, view, condition or assignment uses it.
/// - It is copied from or to the host, or combined by a conflict resolution.
///
/// # Before
///
/// ```sdft
/// sdfg twice {
///   symbol N: i64
///   array A: f64[N] storage(gpu_global)
///   array B: f64[N] storage(gpu_global)
///   transient array T: f64[N]
///   transient array T_device0: f64[N] storage(gpu_global)
///
///   state first {
///     access A
///     access T
///     access T_device0
///     map m [i = 0:N] schedule(gpu_grid) {
///       tasklet t (x) -> (y) { y = 2.0 * x }
///       m.A -> t.x: A[i]
///       t.y -> m.T: T_device0[i]
///     }
///     A -> m.A
///     m.T -> T_device0
///     T_device0 -> T
///   }
///   state second {
///     access T
///     access B
///     T -> B
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg twice {
///   symbol N: i64
///   array A: f64[N] storage(gpu_global)
///   array B: f64[N] storage(gpu_global)
///   transient array T: f64[N] storage(gpu_global)
///   transient array T_device0: f64[N] storage(gpu_global)
///
///   state first {
///     access A
///     access T
///     access T_device0
///     map m [i = 0:N] schedule(gpu_grid) {
///       tasklet t (x) -> (y) { y = 2.0 * x }
///       m.A -> t.x: A[i]
///       t.y -> m.T: T_device0[i]
///     }
///     A -> m.A
///     m.T -> T_device0
///     T_device0 -> T
///   }
///   state second {
///     access T
///     access B
///     T -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// A copy gives the same values wherever its ends lie. Nothing but copies accesses the transient, so no code of the host finds
/// it in memory that it does not reach.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransientToDevice {}

static METADATA: Metadata = Metadata {
    name: "TransientToDevice",
    group: Group::Hardware,
    summary: "Places a transient that is only copied from and to a GPU in the memory of the GPU.",
    source: "paper, Table 4 (GPUTransform), the copies of it that data on the device does not need",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("transient_to_device.rs"),
    parameters: &[],
};

anchored!(TransientToDevice);

impl Transformation for TransientToDevice {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("transient", NodeClass::Access)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let Some(id) = site.state().node(site.found.node(0)).kind.container() else {
            return Err(Refusal::structure(site.label(0), "accesses no container"));
        };
        let container = site.sdfg.container(id);
        of_host(container)?;
        if !site.found.calls.is_empty() {
            return Err(Refusal::container(&container.name, "belongs to a nested SDFG"));
        }
        let mut evidence = Evidence::default();
        let mut n_copies = 0;
        for used in site.uses().of(id) {
            match *used {
                Use::Access(state, node) => {
                    if site.scopes_of(state).scope_of(node).is_some() {
                        return Err(Refusal::container(&container.name, "has an access node in a scope"));
                    }
                }
                Use::Memlet(state, edge) => {
                    let state = site.sdfg.state(state);
                    let edge = state.edge(edge);
                    let is_access = |node| matches!(state.node(node).kind, NodeKind::Access(_));
                    let Flow::Copy { from, to, resolution } = &edge.memlet.flow else {
                        return Err(site.used(id, *used));
                    };
                    if !is_access(edge.src) || !is_access(edge.dst) {
                        return Err(site.used(id, *used));
                    }
                    if resolution.is_some() {
                        return Err(Refusal::container(
                            &container.name,
                            "is combined by a conflict resolution",
                        ));
                    }
                    let other = if from.container == id { to.container } else { from.container };
                    let other = site.sdfg.container(other);
                    if other.storage != Storage::GpuGlobal || other.is_alias() || other.is_stream() {
                        let reason =
                            format!("is copied from or to `{}`, which is no array on the GPU", other.name);
                        return Err(Refusal::container(&container.name, reason));
                    }
                    n_copies += 1;
                }
                Use::Condition(..) | Use::Block(_) | Use::Transition(_) => return Err(site.used(id, *used)),
            }
        }
        if n_copies == 0 {
            return Err(Refusal::container(&container.name, "is copied nowhere"));
        }
        evidence.note(&container.name, Claim::NoOtherUse);
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, node) = (found.state(), found.node(0));
        let id = editor.state(state)?.node(node).kind.container().ok_or(EditError::NoNode(node))?;
        editor.change_container(id, |container| container.storage = Storage::GpuGlobal)
    }
}

/// A transient array or scalar in memory of the host.
fn of_host(container: &Container) -> Result<(), Refusal> {
    let is_plain = match container.kind {
        ContainerKind::Scalar | ContainerKind::Array(_) => true,
        ContainerKind::Stream { .. } | ContainerKind::View(_) | ContainerKind::Reference(_) => false,
    };
    if container.is_argument() || container.constant.is_some() || !is_plain {
        return Err(Refusal::container(&container.name, "is no transient array or scalar"));
    }
    match container.storage {
        Storage::Default | Storage::CpuHeap | Storage::CpuPinned => Ok(()),
        Storage::Register
        | Storage::CpuThreadLocal
        | Storage::GpuGlobal
        | Storage::GpuShared
        | Storage::FpgaGlobal
        | Storage::FpgaLocal
        | Storage::FpgaRegister
        | Storage::File => Err(Refusal::container(&container.name, "does not lie in the memory of the host")),
    }
}
