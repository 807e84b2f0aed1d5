//! Random dataflow: nodes in nested scopes, and edges that follow the order of creation.

use proptest::strategy::{Strategy, ValueTree};
use sdfg_language::subset::Subset;
use sdfg_language::tasklet::{Code, Dialect, ExternalCall, ExternalOrigin};

use super::Random;
use crate::ir::{
    Access, Consume, ContainerId, Edge, Flow, LibraryNode, Map, Memlet, NestedSdfg, Node, NodeId, NodeKind,
    Port, Reduce, ScopeExit, Sdfg, State, Tasklet, TaskletBody, Volume,
};
use crate::text::syntax_arbitrary as arbitrary;

pub(super) struct GraphBuilder<'r, 'g> {
    random: &'r mut Random,
    sdfg: &'g Sdfg,
    graph: State,
    containers: Vec<ContainerId>,
}

/// A scope with its entry and exit; `None` is the state as a whole.
type Scope = Option<(NodeId, NodeId)>;

impl<'r, 'g> GraphBuilder<'r, 'g> {
    pub(super) fn new(random: &'r mut Random, sdfg: &'g Sdfg, graph: State) -> Self {
        let containers = sdfg.containers().map(|(id, _)| id).collect();
        GraphBuilder { random, sdfg, graph, containers }
    }

    pub(super) fn fill(mut self, depth: usize) -> State {
        self.scope(&[], 3, depth);
        self.graph
    }

    /// Fills a scope, of which `path` tells the entries and exits from the outside in.
    fn scope(&mut self, path: &[(NodeId, NodeId)], scopes_left: usize, depth: usize) {
        let scope = path.last().copied();
        let mut members = Vec::new();
        for _ in 0..self.random.below(6) {
            let is_scope = scopes_left > 0 && self.random.chance(25);
            if is_scope {
                let inner = self.inner_scope(path, scopes_left, depth);
                if self.random.chance(30) {
                    let access = self.symbol_from_data(inner.0);
                    members.push(access);
                }
                members.push(inner);
                continue;
            }
            let kind = self.node_kind(depth);
            let is_access = kind.container().is_some();
            let node = self.add(kind);
            if is_access || self.random.chance(70) {
                self.connect_outside(path, node);
            }
            members.push((node, node));
        }
        for (i, &(_, src)) in members.iter().enumerate() {
            for &(dst, _) in &members[i + 1..] {
                if self.random.chance(25) {
                    self.connect(src, dst);
                }
            }
        }
        self.enclose(scope, &members);
    }

    fn add(&mut self, kind: NodeKind) -> NodeId {
        let label = self.random.label("n");
        self.graph.add_node(Node { label, kind, loc: None })
    }

    fn inner_scope(
        &mut self,
        path: &[(NodeId, NodeId)],
        scopes_left: usize,
        depth: usize,
    ) -> (NodeId, NodeId) {
        let random = &mut *self.random;
        let schedule = random.schedule();
        let consume = random.chance(30);
        let entry_kind = if consume {
            NodeKind::ConsumeEntry(Consume {
                element: random.symbol(),
                elements: random.symbolic(),
                chunk: random.symbolic(),
                condition: random.maybe(50, Random::expression),
                schedule,
            })
        } else {
            let params = random.several(0, 3, Random::symbol);
            let ranges = random.subset(params.len());
            NodeKind::MapEntry(Map { params, ranges, schedule })
        };
        let label = random.label("scope");
        let entry = self.graph.add_node(Node { label: label.clone(), kind: entry_kind, loc: None });
        let exit = ScopeExit { entry };
        let exit_kind = if consume { NodeKind::ConsumeExit(exit) } else { NodeKind::MapExit(exit) };
        let exit = self.graph.add_node(Node { label, kind: exit_kind, loc: None });
        let mut inner = path.to_vec();
        inner.push((entry, exit));
        self.scope(&inner, scopes_left - 1, depth);
        (entry, exit)
    }

    /// Gives the entry of a scope a symbol from data, and tells the access node that was made for it.
    fn symbol_from_data(&mut self, entry: NodeId) -> (NodeId, NodeId) {
        let container = self.random.pick(&self.containers);
        let access = self.add(NodeKind::Access(container));
        let memlet = Memlet::read(self.access(container));
        let connector = Some(self.random.label("s"));
        self.edge((access, None), (entry, connector), memlet);
        (access, access)
    }

    fn node_kind(&mut self, depth: usize) -> NodeKind {
        let random = &mut *self.random;
        match random.below(if depth > 0 { 11 } else { 10 }) {
            0..4 => NodeKind::Access(random.pick(&self.containers)),
            4 | 5 => {
                let dialect = random.pick(&[Dialect::Python, Dialect::C]);
                let tree =
                    arbitrary::block().new_tree(&mut random.runner).expect("the strategy does not reject");
                let code = if random.chance(10) {
                    Code::parse("a = 1  # }\n\nb = '}'; c = 2", dialect).or_else(|_| Code::parse("", dialect))
                } else {
                    Code::from_block(&tree.current(), dialect)
                };
                let body = TaskletBody::Code(code.expect("generated code parses"));
                NodeKind::Tasklet(Tasklet { inputs: random.connectors(), outputs: random.connectors(), body })
            }
            6 => {
                let origins = [
                    ExternalOrigin::Library("blas".into()),
                    ExternalOrigin::File("a \"b\"\\c.c".into()),
                    ExternalOrigin::Source("int f(void) {\n\treturn 1;\n}".into()),
                    ExternalOrigin::Cpp("extern \"C\" int f() { return 1; }".into()),
                    ExternalOrigin::Callback,
                ];
                let call = ExternalCall {
                    symbol: "f".into(),
                    arguments: random.several(0, 3, Random::expression),
                    result: random.maybe(40, |_| "r".to_owned()),
                    origin: random.pick(&origins),
                };
                let body = TaskletBody::External(call);
                NodeKind::Tasklet(Tasklet { inputs: random.connectors(), outputs: random.connectors(), body })
            }
            7 | 8 => NodeKind::Reduce(Reduce {
                axes: random.maybe(70, |random| random.several(0, 3, |random| random.below(5))),
                resolution: random.resolution(),
                identity: random.maybe(50, Random::expression),
                schedule: random.schedule().kind(),
            }),
            9 => NodeKind::Library(LibraryNode {
                operation: random.label("Op"),
                inputs: random.connectors(),
                outputs: random.connectors(),
                properties: random.several(0, 3, |random| (random.label("p"), random.expression())),
                expansion: random.maybe(50, |random| random.label("pure")),
            }),
            _ => NodeKind::Nested(Box::new(NestedSdfg {
                sdfg: random.sdfg(depth - 1),
                inputs: random.connectors(),
                outputs: random.connectors(),
                symbol_mapping: random.several(0, 2, |random| (random.symbol(), random.symbolic())),
            })),
        }
    }

    /// Joins a node in the scope at the end of `path` with access nodes outside of all scopes.
    fn connect_outside(&mut self, path: &[(NodeId, NodeId)], node: NodeId) {
        if path.is_empty() {
            return;
        }
        for reads in [true, false] {
            if self.random.chance(40) {
                continue;
            }
            let container = self.random.pick(&self.containers);
            let access = self.add(NodeKind::Access(container));
            let name = self.random.label("x");
            let mut previous: (NodeId, Option<String>) = (access, None);
            for &(entry, exit) in path {
                let scope = if reads { entry } else { exit };
                let memlet = self.outer(container, reads);
                let (near, far) = (Some(Port::In(&name).into()), Some(Port::Out(&name).into()));
                previous = if reads {
                    self.edge(previous, (scope, near), memlet);
                    (scope, far)
                } else {
                    self.edge((scope, far), previous, memlet);
                    (scope, near)
                };
            }
            let end = (node, self.connector(node, reads));
            let memlet = self.leaf(container, node, reads);
            if reads { self.edge(previous, end, memlet) } else { self.edge(end, previous, memlet) }
        }
    }

    /// An outer memlet: a declared one, or what stands for one that is derived.
    fn outer(&mut self, container: ContainerId, reads: bool) -> Memlet {
        let declared = self.random.chance(20);
        let access = if declared {
            self.access(container)
        } else {
            super::super::implied::whole(self.sdfg, container)
        };
        let mut memlet = if reads { Memlet::read(access) } else { Memlet::write(access) };
        memlet.declared = declared;
        if declared {
            self.adorn(&mut memlet);
        }
        memlet
    }

    /// The memlet at the inner end of a path: a copy if the node is an access node.
    fn leaf(&mut self, container: ContainerId, node: NodeId, reads: bool) -> Memlet {
        let outside = self.access(container);
        let mut memlet = match self.graph.node(node).kind.container() {
            Some(inner) if reads => Memlet::copy(outside, self.access(inner)),
            Some(inner) => Memlet::copy(self.access(inner), outside),
            None if reads => Memlet::read(outside),
            None => Memlet::write(outside),
        };
        self.adorn(&mut memlet);
        memlet
    }

    /// A random memlet between two nodes of one scope.
    fn connect(&mut self, src: NodeId, dst: NodeId) {
        let kinds = [src, dst].map(|node| {
            let kind = &self.graph.node(node).kind;
            (kind.container(), kind.is_code())
        });
        let bind = self.random.chance(20);
        let mut memlet = match kinds {
            [(Some(from), _), (Some(_), _)] if bind => Memlet::bind(self.access(from)),
            [(Some(from), _), (Some(to), _)] if self.random.chance(40) => Memlet::copy(
                super::super::implied::whole(self.sdfg, from),
                super::super::implied::whole(self.sdfg, to),
            ),
            [(Some(from), _), (Some(to), _)] => Memlet::copy(self.access(from), self.access(to)),
            [(Some(from), _), (_, true)] => Memlet::read(self.access(from)),
            [(_, true), (Some(to), _)] => Memlet::write(self.access(to)),
            [(_, true), (_, true)] => Memlet::value(),
            _ => Memlet::order(),
        };
        if self.random.chance(10) {
            memlet = Memlet::order();
        }
        self.adorn(&mut memlet);
        let (src_connector, dst_connector) = match memlet.flow {
            Flow::Order => (None, None),
            _ => (self.connector(src, false), self.connector(dst, true)),
        };
        self.edge((src, src_connector), (dst, dst_connector), memlet);
    }

    /// Now and then a resolution and a volume of its own.
    fn adorn(&mut self, memlet: &mut Memlet) {
        if let Flow::Write { resolution, .. } | Flow::Copy { resolution, .. } = &mut memlet.flow {
            *resolution = self.random.maybe(30, Random::resolution);
        }
        if self.random.chance(30) {
            memlet.volume = match self.random.below(3) {
                0 => Volume::Exact(self.random.symbolic()),
                1 => Volume::AtMost(self.random.symbolic()),
                _ => Volume::Dynamic,
            };
        }
    }

    fn access(&mut self, container: ContainerId) -> Access {
        let rank = self.sdfg.container(container).shape().len();
        let subset: Subset = self.random.subset(rank);
        super::super::implied::access(self.sdfg, container, subset)
    }

    /// A connector name for nodes that have connectors.
    fn connector(&mut self, node: NodeId, input: bool) -> Option<String> {
        let kind = &self.graph.node(node).kind;
        let declared = if input { kind.inputs() } else { kind.outputs() };
        match declared.first() {
            Some(connector) => Some(connector.name.clone()),
            None if kind.is_code() && !matches!(kind, NodeKind::Reduce(_)) => Some(self.random.label("k")),
            None => None,
        }
    }

    fn edge(&mut self, src: (NodeId, Option<String>), dst: (NodeId, Option<String>), memlet: Memlet) {
        let ((src, src_connector), (dst, dst_connector)) = (src, dst);
        self.graph.add_edge(Edge { src, src_connector, dst, dst_connector, memlet, loc: None });
    }

    /// Orders what nothing else ties to its scope.
    fn enclose(&mut self, scope: Scope, members: &[(NodeId, NodeId)]) {
        let Some((entry, exit)) = scope else { return };
        for &(first, last) in members {
            if self.graph.in_edges(first).is_empty() {
                self.edge((entry, None), (first, None), Memlet::order());
            }
            if self.graph.out_edges(last).is_empty() {
                self.edge((last, None), (exit, None), Memlet::order());
            }
        }
        if self.graph.out_edges(entry).is_empty() {
            self.edge((entry, None), (exit, None), Memlet::order());
        }
    }
}
