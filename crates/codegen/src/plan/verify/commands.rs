//! Command streams: the streams and events of a plan exist, commands of a stream are not inside of others, and nothing waits for an event
//! that nothing before it records.

use std::collections::BTreeSet;

use super::PlanError;
use crate::plan::{EventId, Plan, Statement};

/// Looks at all commands, in the order of the text.
pub(super) fn check(plan: &Plan, errors: &mut Vec<PlanError>) {
    statements(plan, &plan.body, false, &mut BTreeSet::new(), errors);
}

fn statements(
    plan: &Plan,
    body: &[Statement],
    is_inside: bool,
    recorded: &mut BTreeSet<EventId>,
    errors: &mut Vec<PlanError>,
) {
    // The streams that a loop joins at its beginning have their ends there, so an event is recorded before it in the text, too.
    for statement in body {
        let (after, event, is_commands): (&[EventId], _, _) = match statement {
            Statement::Commands(commands) => {
                if is_inside || commands.stream >= plan.command_streams {
                    errors.push(PlanError::CommandStream { stream: commands.stream });
                }
                (&commands.after, commands.event, true)
            }
            Statement::Await(events) => (events, None, false),
            _ => (&[], None, false),
        };
        for event in after.iter().chain(&event).filter(|event| event.0 >= plan.events) {
            errors.push(PlanError::Event { event: event.0 });
        }
        for event in after.iter().filter(|event| !recorded.contains(event)) {
            errors.push(PlanError::BeforeRecorded { event: event.0 });
        }
        for body in statement.bodies() {
            statements(plan, body, is_inside || is_commands, recorded, errors);
        }
        recorded.extend(event);
    }
}

#[cfg(test)]
mod tests {
    use sdfg::ir::FloatMode;

    use super::*;
    use crate::plan::Commands;

    fn errors(body: Vec<Statement>) -> Vec<PlanError> {
        let plan = Plan { command_streams: 2, events: 1, body, ..Plan::new("p", FloatMode::Strict) };
        plan.verify().err().unwrap_or_default()
    }

    fn commands(stream: u32, after: &[u32], event: Option<u32>, body: Vec<Statement>) -> Statement {
        let after = after.iter().copied().map(EventId).collect();
        Statement::Commands(Commands { stream, after, body, event: event.map(EventId) })
    }

    #[test]
    fn events_are_recorded_before_something_waits_for_them() {
        let first = || commands(1, &[], Some(0), Vec::new());
        let wait = || Statement::Await(vec![EventId(0)]);
        assert_eq!(errors(vec![first(), commands(0, &[0], None, Vec::new()), wait()]), []);
        let early = [PlanError::BeforeRecorded { event: 0 }];
        assert_eq!(errors(vec![commands(0, &[0], None, Vec::new()), first()]), early);
        assert_eq!(errors(vec![wait(), first()]), early);
        // A command does not wait for its own event.
        assert_eq!(errors(vec![commands(0, &[0], Some(0), Vec::new())]), early);
    }

    #[test]
    fn streams_and_events_are_those_of_the_plan() {
        let unknown = commands(1, &[], Some(1), Vec::new());
        assert_eq!(errors(vec![unknown]), [PlanError::Event { event: 1 }]);
        assert_eq!(
            errors(vec![commands(2, &[], None, Vec::new())]),
            [PlanError::CommandStream { stream: 2 }]
        );
        let inside = commands(0, &[], None, vec![commands(1, &[], None, Vec::new())]);
        assert_eq!(errors(vec![inside]), [PlanError::CommandStream { stream: 1 }]);
    }
}
