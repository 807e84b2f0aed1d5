//! Graphviz source, for `dot -Tsvg` and other tools.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;

use sdfg_graph::analysis::ScopeTree;
use sdfg_graph::ir::{BlockId, BlockKind, Flow, NodeId, NodeKind, RegionId, Sdfg, State};

use super::{label, palette};

/// The graph as Graphviz source: clusters for control flow, states, scopes and nested SDFGs.
pub fn write(sdfg: &Sdfg) -> String {
    let mut writer = Writer { text: String::new(), depth: 1, clusters: 0, nodes: 0 };
    let title = quote(std::slice::from_ref(&sdfg.name), "\\n");
    writer.text.push_str(&format!("digraph {title} {{\n"));
    writer.line("compound=true; fontname=monospace; labeljust=l;");
    writer.line("node [fontname=monospace, fontsize=11, style=filled, fillcolor=white];");
    writer.line("edge [fontname=monospace, fontsize=9];");
    writer.region(sdfg, sdfg.body());
    writer.text.push_str("}\n");
    writer.text
}

/// Ends of lines at a block: a node in it, and the cluster around it if it has one.
struct Anchor {
    first: String,
    last: String,
    cluster: Option<String>,
}

struct Writer {
    text: String,
    depth: usize,
    clusters: usize,
    nodes: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let depth = self.depth;
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:1$}{line}", "", 2 * depth);
    }

    fn open(&mut self, heading: &[String], style: &str) -> String {
        let name = format!("cluster{}", self.clusters);
        self.clusters += 1;
        self.line(&format!("subgraph {name} {{"));
        self.depth += 1;
        self.line(&format!("label={}; {style}", quote(heading, "\\n")));
        name
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    fn node(&mut self, attributes: &str) -> String {
        let name = format!("n{}", self.nodes);
        self.nodes += 1;
        self.line(&format!("{name} [{attributes}];"));
        name
    }

    fn invisible(&mut self) -> String {
        self.node("shape=point, style=invis")
    }

    fn region(&mut self, sdfg: &Sdfg, id: RegionId) -> Option<Anchor> {
        let region = sdfg.get_region(id)?;
        let mut anchors: BTreeMap<BlockId, Anchor> = BTreeMap::new();
        for id in &region.blocks {
            if sdfg.get_block(*id).is_some() {
                let anchor = self.block(sdfg, *id);
                anchors.insert(*id, anchor);
            }
        }
        for id in &region.transitions {
            let Some(transition) = sdfg.get_transition(*id) else { continue };
            let (Some(src), Some(dst)) = (anchors.get(&transition.src), anchors.get(&transition.dst)) else {
                continue;
            };
            let label = quote(&label::transition(transition), "\\n");
            let tail = src.cluster.as_ref().map_or(String::new(), |cluster| format!(", ltail={cluster}"));
            let head = dst.cluster.as_ref().map_or(String::new(), |cluster| format!(", lhead={cluster}"));
            let line = format!("{} -> {} [label={label}, penwidth=2{tail}{head}];", src.last, dst.first);
            self.line(&line);
        }
        region.start.and_then(|start| anchors.remove(&start)).or_else(|| anchors.into_values().next())
    }

    fn block(&mut self, sdfg: &Sdfg, id: BlockId) -> Anchor {
        let block = sdfg.block(id);
        let heading = [label::block(&block.label, &block.kind)];
        let cluster = match &block.kind {
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => {
                let name = self.node(&format!("shape=octagon, label={}", quote(&heading, "\\n")));
                return Anchor { first: name.clone(), last: name, cluster: None };
            }
            BlockKind::State(_) => self.open(&heading, "style=\"filled,rounded\"; fillcolor=\"#fafafa\";"),
            BlockKind::Loop(_) => self.open(&heading, "style=\"filled,rounded\"; fillcolor=\"#fff8e1\";"),
            BlockKind::Branch(_) => self.open(&heading, "style=\"filled,rounded\"; fillcolor=\"#faf2fc\";"),
        };
        let first = self.invisible();
        match &block.kind {
            BlockKind::State(state) => {
                if let Some(state) = sdfg.get_state(*state) {
                    self.state(sdfg, state);
                }
            }
            BlockKind::Loop(body) => {
                self.region(sdfg, body.body);
            }
            BlockKind::Branch(branch) => {
                for (condition, body) in &branch.arms {
                    self.arm(sdfg, label::cut(&format!("if {condition}")), *body);
                }
                if let Some(body) = branch.otherwise {
                    self.arm(sdfg, "else".to_owned(), body);
                }
            }
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
        let last = self.invisible();
        self.close();
        Anchor { first, last, cluster: Some(cluster) }
    }

    fn arm(&mut self, sdfg: &Sdfg, heading: String, body: RegionId) {
        self.open(&[heading], "style=dashed;");
        self.region(sdfg, body);
        self.close();
    }

    fn state(&mut self, sdfg: &Sdfg, state: &State) {
        let tree = ScopeTree::of(state);
        let mut names = BTreeMap::new();
        self.scope(sdfg, state, &tree, None, &mut names);
        for (_, edge) in state.edges() {
            let (Some(src), Some(dst)) = (names.get(&edge.src), names.get(&edge.dst)) else { continue };
            let mut lines = label::memlet(sdfg, &edge.memlet);
            let code = |node: NodeId, name: &Option<String>| {
                name.clone().filter(|_| state.node(node).kind.is_code()).unwrap_or_default()
            };
            let ends = (code(edge.src, &edge.src_connector), code(edge.dst, &edge.dst_connector));
            if !(ends.0.is_empty() && ends.1.is_empty()) {
                lines.insert(0, format!("{} → {}", ends.0, ends.1).trim().to_owned());
            }
            let style = match &edge.memlet.flow {
                Flow::Order | Flow::Bind(_) => ", style=dotted",
                Flow::Write { resolution: Some(_), .. } | Flow::Copy { resolution: Some(_), .. } => {
                    ", style=dashed"
                }
                Flow::Read(_) | Flow::Write { .. } | Flow::Copy { .. } | Flow::Value => "",
            };
            let line = format!("{src} -> {dst} [label={}{style}];", quote(&lines, "\\n"));
            self.line(&line);
        }
    }

    fn scope(
        &mut self,
        sdfg: &Sdfg,
        state: &State,
        tree: &ScopeTree,
        scope: Option<NodeId>,
        names: &mut BTreeMap<NodeId, String>,
    ) {
        for &id in tree.children(scope) {
            if state.node(id).kind.is_scope_entry() {
                self.open(&[], "style=rounded;");
                let name = self.dataflow_node(sdfg, state, id);
                names.insert(id, name);
                self.scope(sdfg, state, tree, Some(id), names);
                if let Some(exit) = tree.exit_of(id) {
                    let name = self.dataflow_node(sdfg, state, exit);
                    names.insert(exit, name);
                }
                self.close();
            } else if let Entry::Vacant(unnamed) = names.entry(id) {
                // An exit has its name already, from its entry.
                unnamed.insert(self.dataflow_node(sdfg, state, id));
            }
        }
    }

    fn dataflow_node(&mut self, sdfg: &Sdfg, state: &State, id: NodeId) -> String {
        let node = state.node(id);
        let lines = label::node(sdfg, node);
        let (shape, colour) = match &node.kind {
            NodeKind::Access(container) => {
                let storage = sdfg.get_container(*container).map(|container| container.storage);
                ("ellipse", storage.map_or("#ffffff", palette::storage))
            }
            NodeKind::Tasklet(_) => ("octagon", "#ffffff"),
            NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) => ("invtrapezium", schedule(&node.kind)),
            NodeKind::MapExit(exit) | NodeKind::ConsumeExit(exit) => {
                ("trapezium", state.get_node(exit.entry).map_or("#ffffff", |entry| schedule(&entry.kind)))
            }
            NodeKind::Reduce(_) => ("invtriangle", schedule(&node.kind)),
            NodeKind::Library(_) => ("component", "#ffffff"),
            NodeKind::Nested(nested) => {
                self.open(&lines, "style=\"filled,rounded\"; fillcolor=white;");
                let name = self
                    .node(&format!("shape=box, label={}", quote(std::slice::from_ref(&node.label), "\\n")));
                self.region(&nested.sdfg, nested.sdfg.body());
                self.close();
                return name;
            }
        };
        let line = if matches!(node.kind, NodeKind::Tasklet(_)) { "\\l" } else { "\\n" };
        self.node(&format!("shape={shape}, fillcolor=\"{colour}\", label={}", quote(&lines, line)))
    }
}

fn schedule(kind: &NodeKind) -> &'static str {
    palette::schedule_of(kind).map_or("#ffffff", palette::schedule)
}

/// Lines as a quoted string; `end` ends each, as Graphviz wants for its alignment.
fn quote(lines: &[String], end: &str) -> String {
    let escaped = lines.iter().map(|line| line.replace('\\', "\\\\").replace('"', "\\\""));
    let mut text = escaped.collect::<Vec<_>>().join(end);
    if end == "\\l" {
        text.push_str(end);
    }
    format!("\"{text}\"")
}
