//! Pushes of a tasklet.
//!
//! Another tasklet that takes an element may read values that this one wrote, so a tasklet that writes values pushes after they are written.
//! Until then each push of its text has variables of its own or, where a loop may repeat one, each connector a queue of its own.

use std::collections::BTreeSet;

use sdfg::tasklet::ConnectorId;

use super::error::{Print, defect};
use super::function::{Function, Lanes};
use super::tasklet::{Names, Variable};
use super::text::Code;
use crate::plan::{Binding, Compute, Location};

/// The pushes of a piece of code.
#[derive(Default)]
pub(super) struct Pushes {
    label: String,
    held: Held,
}

/// Where elements are until the values are written.
#[derive(Default)]
enum Held {
    /// They are pushed at once.
    #[default]
    Nowhere,
    /// In the variables of their push, in the order of the text, of which so many were met.
    InVariables(Vec<OnePush>, usize),
    /// In a queue of their connector.
    InQueues(Vec<Option<String>>),
}

/// A push in the text.
struct OnePush {
    connector: ConnectorId,
    value: Variable,
    is_reached: String,
}

impl Function<'_, '_> {
    /// Prepares the pushes of a tasklet.
    pub(super) fn begin_pushes(&mut self, compute: &Compute, taken: &mut BTreeSet<String>) -> Print<Pushes> {
        let found = compute.pushes();
        // Nothing takes elements while a kernel runs.
        let writes = !self.is_of_device
            && compute.bindings.iter().any(|binding| matches!(binding, Binding::Store { .. }));
        let held = match (found.connectors.is_empty() || !writes, found.in_loop) {
            (true, _) => Held::Nowhere,
            (false, false) => {
                let mut places = Vec::with_capacity(found.connectors.len());
                for connector in found.connectors {
                    let description = compute.code.environment.connector_at(connector);
                    let (name, description) = description.ok_or_else(|| defect("a push has no connector"))?;
                    let value = self.new_variable(name, description.element, taken);
                    self.declare_variable(&value);
                    let is_reached = self.new_names(&format!("pushes_{name}"), 1, taken).remove(0);
                    self.line(format!("bool {is_reached} = false;"));
                    places.push(OnePush { connector, value: value.declared(), is_reached });
                }
                Held::InVariables(places, 0)
            }
            (false, true) => {
                let mut queues = Vec::with_capacity(compute.bindings.len());
                for binding in &compute.bindings {
                    let queue = binding.pushed_queue().map(|queue| self.open_own_queue(queue.buffer, "held"));
                    queues.push(queue.transpose()?);
                }
                Held::InQueues(queues)
            }
        };
        Ok(Pushes { label: compute.label.clone(), held })
    }

    /// Pushes an element, or holds it. With `is_free`, the value may be computed where the push is not reached.
    pub(super) fn note_push(
        &mut self,
        names: &mut Names<'_>,
        connector: ConnectorId,
        value: &Lanes,
        is_free: bool,
    ) -> Print<()> {
        if let Some(check) = names.check(connector.index()) {
            self.check(check)?;
        }
        let queue = names.queue(connector)?.clone();
        let Pushes { label, held } = &mut names.pushes;
        match held {
            Held::Nowhere => self.push_element(label, &queue, value, None),
            Held::InVariables(places, met) => {
                let place = places.get_mut(*met).filter(|place| place.connector == connector);
                let place = place.ok_or_else(|| defect("pushes are met out of order"))?;
                *met += 1;
                let held = (place.value.clone(), place.is_reached.clone());
                self.assign_flagged(names, held, value, is_free);
                Ok(())
            }
            Held::InQueues(queues) => {
                let Some(Some(name)) = queues.get(connector.index()) else {
                    return Err(defect("a push has no queue"));
                };
                self.push_value(label, queue.buffer, &format!("{name}, 0"), value)
            }
        }
    }

    /// Pushes what is held.
    pub(super) fn finish_pushes(&mut self, names: &Names<'_>) -> Print<()> {
        let Pushes { label, held } = &names.pushes;
        match held {
            Held::Nowhere => {}
            Held::InVariables(places, _) => {
                for place in places {
                    let queue = names.queue(place.connector)?;
                    self.push_element(label, queue, &place.value.value(), Some(&place.is_reached))?;
                }
            }
            Held::InQueues(queues) => {
                for (name, binding) in queues.iter().zip(names.bindings) {
                    let (Some(name), Some(queue)) = (name, binding.pushed_queue()) else { continue };
                    self.block("", |f| {
                        let place = f.element_place(queue.buffer)?;
                        f.block(
                            format!("while (sdfg_stream_take({name}, 0, &{}, 1, 0) != 0)", place.text),
                            |f| {
                                let value = f.load(&place)?;
                                f.push_element(label, queue, &value, None)
                            },
                        )
                    })?;
                    self.close_own_queue(name);
                }
            }
        }
        Ok(())
    }

    /// The number of elements that a connector's queue holds.
    pub(super) fn length_of(
        &mut self,
        names: &Names<'_>,
        connector: ConnectorId,
        indices: &[Code],
    ) -> Print<Code> {
        match names.bindings.get(connector.index()) {
            Some(Binding::Length(queues)) => self.length(queues, indices),
            Some(
                Binding::Load(_)
                | Binding::Store { .. }
                | Binding::View(_)
                | Binding::ViewMut { .. }
                | Binding::Push(_),
            )
            | None => Err(defect(names.unbound(connector))),
        }
    }
}

impl Names<'_> {
    /// The queue that a connector pushes to.
    fn queue(&self, connector: ConnectorId) -> Print<&Location> {
        let queue = self.bindings.get(connector.index()).and_then(Binding::pushed_queue);
        queue.ok_or_else(|| defect(self.unbound(connector)))
    }
}
