//! Lifts containers and constants.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use sdfg::dtype::ScalarType;
use sdfg::ir::{
    Container, ContainerId, ContainerKind, Distribution, Flow, Layout, Lifetime, NodeKind, Sdfg, Storage,
};
use sdfg::symbolic::Expr;

use super::SdfgLifting;
use crate::model::{Constant, Descriptor, DescriptorKind, Dtype};
use crate::report::{Code, Failed};

type Containers = IndexMap<String, Descriptor>;
type Constants = IndexMap<String, Constant>;

/// Scalar arguments that some state writes.
pub(super) fn written_scalars(sdfg: &Sdfg) -> BTreeSet<ContainerId> {
    let mut written = BTreeSet::new();
    for (_, state) in sdfg.states() {
        for (id, node) in state.nodes() {
            let NodeKind::Access(container) = node.kind else { continue };
            let found = sdfg.container(container);
            let is_scalar = found.kind == ContainerKind::Scalar && found.is_argument();
            let moves = |edge| !matches!(state.edge(edge).memlet.flow, Flow::Order);
            if is_scalar && state.in_edges(id).into_iter().any(moves) {
                written.insert(container);
            }
        }
    }
    written
}

impl SdfgLifting<'_> {
    /// All containers, and those of them that are constants apart.
    pub(super) fn containers(&self) -> Result<(Containers, Constants), Failed> {
        let (mut containers, mut constants) = (Containers::new(), Constants::new());
        let mut failed = None;
        for (id, container) in self.sdfg.containers() {
            match self.container(id, container) {
                Ok(descriptor) => match &container.constant {
                    Some(values) => {
                        if self.kept.contains(&id) {
                            let descriptor = Descriptor { transient: true, ..descriptor.clone() };
                            containers.insert(container.name.clone(), descriptor);
                        }
                        let constant = Constant { descriptor, values: values.clone() };
                        constants.insert(container.name.clone(), constant);
                    }
                    None => {
                        containers.insert(container.name.clone(), descriptor);
                    }
                },
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok((containers, constants)), Err)
    }

    fn container(&self, id: ContainerId, container: &Container) -> Result<Descriptor, Failed> {
        let name = &container.name;
        self.check_name(name, "container")?;
        let refuse = |message: String| Err(self.refuse(Code::UnwritableContainer, name, message));
        if container.element.lanes() > 1 {
            let message = format!(
                "its elements are short vectors ({}), which DaCe's code has not; give lanes a dimension of their own",
                container.element
            );
            return Err(self.refuse(Code::UnwritableType, name, message));
        }
        if container.element.lane() == ScalarType::F16 {
            let message = "DaCe 1.0.2 does not compute with f16 on CPUs; use f32".to_owned();
            return Err(self.refuse(Code::UnwritableType, name, message));
        }
        if let Some(memory) = unreachable_memory(container.storage) {
            return refuse(format!("it lies in {memory}, which this form has not; use the default storage"));
        }
        if container.lifetime == Lifetime::External {
            return refuse("the caller allocates it; make it an argument".to_owned());
        }
        if container.distribution != Distribution::Replicated {
            return refuse("it is spread over ranks, which this form has not".to_owned());
        }
        let is_lossy = |ty: ScalarType| ty.is_complex() || ty == ScalarType::U64;
        if container.constant.is_some() && is_lossy(container.element.lane()) {
            return refuse(format!("constants of {} cannot be written exactly", container.element));
        }
        let (kind, layout) = match &container.kind {
            ContainerKind::Scalar => (DescriptorKind::Scalar, Layout::packed(vec![Expr::one()])),
            ContainerKind::Array(layout) => (DescriptorKind::Array, layout.clone()),
            ContainerKind::View(layout) => (DescriptorKind::View, self.shown(id, layout)?),
            ContainerKind::Reference(layout) => (DescriptorKind::Reference, self.shown(id, layout)?),
            ContainerKind::Stream { capacity: Some(_), .. } => {
                return refuse("DaCe's queues have no bound on CPUs; leave out the capacity".to_owned());
            }
            ContainerKind::Stream { shape, capacity: None } => {
                let shape = if shape.is_empty() { vec![Expr::one()] } else { shape.clone() };
                (DescriptorKind::Stream, Layout::packed(shape))
            }
        };
        if layout.shape.is_empty() {
            return refuse("it is an array without dimensions; make it a scalar".to_owned());
        }
        Ok(Descriptor {
            kind,
            dtype: Dtype::of(container.element),
            offset: vec![Expr::zero(); layout.shape.len()],
            shape: layout.shape,
            strides: layout.strides,
            start_offset: layout.offset,
            total_size: layout.total_size,
            transient: container.transient,
            storage: container.storage,
            lifetime: container.lifetime,
            by_reference: self.by_reference.contains(&id),
        })
    }
}

/// A noun for memory that DaCe does not have.
fn unreachable_memory(storage: Storage) -> Option<&'static str> {
    match storage {
        Storage::Default
        | Storage::Register
        | Storage::CpuHeap
        | Storage::CpuThreadLocal
        | Storage::CpuPinned
        | Storage::GpuGlobal
        | Storage::GpuShared => None,
        Storage::FpgaGlobal | Storage::FpgaLocal | Storage::FpgaRegister => Some("the memory of an FPGA"),
        Storage::File => Some("a file"),
    }
}
