//! `#! test edit EDIT; EDIT ... [-> refused PART]`: edits of the program, in one series.
//!
//! The output block `edit` contains the program after the edits. A path names an element
//! (`docs/text-format.md`, "Paths"). Edits of a called SDFG are made inside the call.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{BlockId, BlockKind, NodeId, Sdfg, StateId};
use sdfg::path::{ElementPath, ElementPlace, Target};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::text;

use crate::expectation::one_line;

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edits {
    edits: Vec<Edit>,
    /// A part of the message that refuses the edits, if they are refused.
    pub(crate) refused: Option<String>,
}

/// One edit.
#[derive(Clone, Debug, PartialEq)]
enum Edit {
    RenameContainer { path: ElementPath, to: String },
    RenameSymbol { from: String, to: String },
    Substitute { symbol: String, value: Expr },
    Remove(ElementPath),
    UnwrapMap(ElementPath),
    Inline(ElementPath),
    StateBefore(ElementPath),
    StateAfter(ElementPath),
    MergeStates(ElementPath, ElementPath),
    CopyNodes(ElementPath, ElementPath),
    Nest { label: String, nodes: Vec<ElementPath> },
    Order(ElementPath, ElementPath),
}

/// Why edits are not made.
#[derive(Debug)]
enum Failure {
    /// The command does not fit the program: a mistake of the test.
    Command(String),
    /// The editor refuses the edit.
    Refused(EditError),
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        Failure::Refused(error)
    }
}

impl Edits {
    /// Reads what stands behind `edit`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        // An edge has an arrow, too.
        let (edits, refused) = match text.split_once("-> refused ") {
            Some((edits, part)) => (edits, Some(part.trim().to_owned())),
            None => (text, None),
        };
        let edits = edits.split(';').map(|edit| Edit::parse(edit.trim())).collect::<Result<_, _>>()?;
        Ok(Edits { edits, refused })
    }

    /// The printed program after the edits; `None` if they are refused as expected.
    pub(crate) fn run(&self, program: &Sdfg) -> Result<Option<String>, String> {
        let mut edited = program.clone();
        let result = self.make(&mut edited);
        match (result, &self.refused) {
            (Err(Failure::Command(message)), _) => Err(message),
            (Ok(()), None) => Ok(Some(text::print(&edited))),
            (Ok(()), Some(part)) => Err(format!("expected `refused {part}`, but the edits are made")),
            (Err(Failure::Refused(error)), None) => Err(format!("refused {error}")),
            (Err(Failure::Refused(error)), Some(part)) => {
                let message = one_line(&error.to_string());
                if text::print(&edited) != text::print(program) {
                    return Err(format!("the edits are refused, but the program is changed: {message}"));
                }
                if message.contains(part) {
                    Ok(None)
                } else {
                    Err(format!("expected `refused {part}`, found `refused {message}`"))
                }
            }
        }
    }

    fn make(&self, program: &mut Sdfg) -> Result<(), Failure> {
        let mut editor = Editor::new(program);
        self.edits.iter().try_for_each(|edit| edit.make(&mut editor))?;
        editor.commit()?;
        Ok(())
    }
}

impl Edit {
    fn parse(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let path = |text: &str| -> Result<ElementPath, String> {
            text.trim().parse().map_err(|error| format!("`{text}`: {error}"))
        };
        let two = |separator: &str| {
            rest.split_once(separator)
                .ok_or_else(|| format!("`{word}` takes two arguments around `{separator}`"))
        };
        Ok(match word {
            "rename_container" => {
                let (from, to) = two(" to ")?;
                Edit::RenameContainer { path: path(from)?, to: to.trim().to_owned() }
            }
            "rename_symbol" => {
                let (from, to) = two(" to ")?;
                Edit::RenameSymbol { from: from.trim().to_owned(), to: to.trim().to_owned() }
            }
            "substitute" => {
                let (symbol, value) = two("=")?;
                let value = value.trim().parse().map_err(|error| format!("`{value}`: {error}"))?;
                Edit::Substitute { symbol: symbol.trim().to_owned(), value }
            }
            "remove" => Edit::Remove(path(rest)?),
            "unwrap_map" => Edit::UnwrapMap(path(rest)?),
            "inline" => Edit::Inline(path(rest)?),
            "insert_state_before" => Edit::StateBefore(path(rest)?),
            "insert_state_after" => Edit::StateAfter(path(rest)?),
            "merge_states" => {
                let (first, second) = two(" and ")?;
                Edit::MergeStates(path(first)?, path(second)?)
            }
            "copy_nodes" => {
                let (from, into) = two(" into ")?;
                Edit::CopyNodes(path(from)?, path(into)?)
            }
            "wrap_in_nested" => {
                let (nodes, label) = two(" as ")?;
                let nodes = nodes.split(',').map(path).collect::<Result<_, _>>()?;
                Edit::Nest { label: label.trim().to_owned(), nodes }
            }
            "order" => {
                let (first, second) = two(" before ")?;
                Edit::Order(path(first)?, path(second)?)
            }
            _ => {
                return Err(format!(
                    "there is no edit `{word}`; known: rename_container PATH to NAME, rename_symbol NAME to NAME, \
                     substitute NAME = EXPR, remove PATH, unwrap_map PATH, inline PATH, insert_state_before PATH, \
                     insert_state_after PATH, merge_states PATH and PATH, copy_nodes PATH into PATH, wrap_in_nested PATH, PATH as NAME, \
                     order PATH before PATH"
                ));
            }
        })
    }

    fn make(&self, editor: &mut Editor<'_>) -> Result<(), Failure> {
        match self {
            Edit::RenameSymbol { from, to } => Ok(editor.rename_symbol(&symbol(from)?, to)?),
            Edit::Substitute { symbol: name, value } => {
                Ok(editor.substitute(&BTreeMap::from([(symbol(name)?, value.clone())]))?)
            }
            Edit::RenameContainer { path, to } => at(editor, path, &|editor, target| {
                let Target::Container(id) = target else { return Err(other_kind(path, "container")) };
                Ok(editor.rename_container(*id, to)?)
            }),
            Edit::Remove(path) => at(editor, path, &|editor, target| match target {
                Target::Node(state, node) => Ok(editor.remove_node(*state, *node)?),
                Target::Edge(state, edge) => Ok(editor.remove_edge(*state, *edge)?),
                Target::Block(block) => Ok(editor.remove_block(*block)?),
                Target::Container(id) => Ok(editor.remove_container(*id)?),
                Target::Transition(id) => Ok(editor.remove_transition(*id)?),
                Target::Symbol(symbol) => Ok(editor.undeclare_symbol(symbol)?),
                Target::Sdfg | Target::Connector(..) => Err(other_kind(path, "part that can be removed")),
            }),
            Edit::UnwrapMap(path) => {
                node(editor, path, &|editor, state, node| editor.unwrap_map(state, node))
            }
            Edit::Inline(path) => {
                node(editor, path, &|editor, state, node| editor.inline_nested(state, node))
            }
            Edit::StateBefore(path) => {
                block(editor, path, &|editor, block| editor.insert_state_before(block).map(drop))
            }
            Edit::StateAfter(path) => {
                block(editor, path, &|editor, block| editor.insert_state_after(block).map(drop))
            }
            Edit::MergeStates(first, second) => {
                let Target::Block(second) = resolved(editor, second)?.target else {
                    return Err(other_kind(second, "block"));
                };
                block(editor, first, &|editor, first| editor.merge_states(first, second))
            }
            Edit::CopyNodes(from, into) => {
                let Target::Block(into) = resolved(editor, into)?.target else {
                    return Err(other_kind(into, "block"));
                };
                block(editor, from, &|editor, from| {
                    let state = |editor: &Editor<'_>, block| {
                        let BlockKind::State(state) = editor.sdfg().block(block).kind else {
                            return Err(EditError::NoBlock(block));
                        };
                        Ok(state)
                    };
                    let (from, into) = (state(editor, from)?, state(editor, into)?);
                    editor.copy_nodes(from, into).map(drop)
                })
            }
            Edit::Nest { label, nodes } => {
                let Some(first) = nodes.first() else { return Ok(()) };
                let mut ids = BTreeSet::new();
                for path in nodes {
                    let Target::Node(_, id) = resolved(editor, path)?.target else {
                        return Err(other_kind(path, "node"));
                    };
                    ids.insert(id);
                }
                node(editor, first, &|editor, state, _| editor.wrap_in_nested(state, &ids, label).map(drop))
            }
            Edit::Order(first, second) => {
                let Target::Node(_, second) = resolved(editor, second)?.target else {
                    return Err(other_kind(second, "node"));
                };
                node(editor, first, &|editor, state, first| editor.add_order(state, first, second))
            }
        }
    }
}

type Inside<'e> = &'e dyn Fn(&mut Editor<'_>, &Target) -> Result<(), Failure>;

/// Edits the element of a path, inside of the calls that lead to it.
fn at(editor: &mut Editor<'_>, path: &ElementPath, edit: Inside<'_>) -> Result<(), Failure> {
    let place = resolved(editor, path)?;
    inside(editor, &place.calls, &place.target, edit)
}

fn inside(
    editor: &mut Editor<'_>,
    calls: &[(StateId, NodeId)],
    target: &Target,
    edit: Inside<'_>,
) -> Result<(), Failure> {
    match calls {
        [] => edit(editor, target),
        [(state, node), rest @ ..] => {
            editor.within(*state, *node, |editor| inside(editor, rest, target, edit))
        }
    }
}

fn node(
    editor: &mut Editor<'_>,
    path: &ElementPath,
    edit: &dyn Fn(&mut Editor<'_>, StateId, NodeId) -> Result<(), EditError>,
) -> Result<(), Failure> {
    at(editor, path, &|editor, target| {
        let Target::Node(state, node) = target else { return Err(other_kind(path, "node")) };
        Ok(edit(editor, *state, *node)?)
    })
}

fn block(
    editor: &mut Editor<'_>,
    path: &ElementPath,
    edit: &dyn Fn(&mut Editor<'_>, BlockId) -> Result<(), EditError>,
) -> Result<(), Failure> {
    at(editor, path, &|editor, target| {
        let Target::Block(block) = target else { return Err(other_kind(path, "block")) };
        Ok(edit(editor, *block)?)
    })
}

fn resolved(editor: &Editor<'_>, path: &ElementPath) -> Result<ElementPlace, Failure> {
    let place = path.resolve(editor.sdfg()).map_err(|error| Failure::Command(error.to_string()))?;
    Ok(place)
}

fn symbol(name: &str) -> Result<Symbol, Failure> {
    Symbol::new(name).map_err(|_| Failure::Command(format!("`{name}` is no name of a symbol")))
}

fn other_kind(path: &ElementPath, kind: &str) -> Failure {
    Failure::Command(format!("`{path}` is no {kind}"))
}
