//! Pipelines: transformations applied to a program one after the other, and recorded.

use sdfg::diagnostic::Severity;
use sdfg::edit::{Changes, EditError, Editor, Snapshot};
use sdfg::ir::{NodeId, Sdfg, StateId};
use sdfg::validate::{Validated, validate};

use super::chain::{Chain, ChainStep, SIMPLIFY};
use super::found::holds;
use super::promise::{self, TouchedStates};
use super::shared_arguments::checked;
use super::surroundings::surroundings;
use super::{
    Anchor, Conditions, Evidence, Match, Refusal, Registry, Site, Step, Tables, Tally, TransformError,
    Transformation, apply_under, fixed_point, places,
};

/// A program with the transformations that were applied to it.
#[derive(Debug)]
pub struct Pipeline {
    program: Sdfg,
    applied: Vec<Applied>,
}

#[derive(Debug)]
struct Applied {
    before: Snapshot,
    step: ChainStep,
    application: Application,
}

/// The outcome of one application.
#[derive(Debug)]
pub struct Application {
    /// The transformation.
    pub name: &'static str,
    /// Paths of the elements of the match, as they were before.
    pub at: String,
    /// Changes of the graph.
    pub changes: Changes,
    /// The facts that the check relied on.
    pub evidence: Evidence,
    /// Conditions of the step that the check took for granted.
    pub conditions: Conditions,
    /// The branches, loops, scopes and calls around the match, from the outside, in words. The facts hold for values of symbols
    /// that all of them admit.
    pub surroundings: Vec<String>,
}

impl Pipeline {
    /// Begins with a program.
    pub fn on(program: Sdfg) -> Self {
        Pipeline { program, applied: Vec::new() }
    }

    /// The program as it is now.
    pub fn program(&self) -> &Sdfg {
        &self.program
    }

    /// Applies a transformation.
    ///
    /// # Errors
    /// If it does not match at the place, refuses it, or applies endlessly. The program is then unchanged. A step at every place
    /// may have none, but takes no conditions.
    pub fn apply(&mut self, step: impl Into<Step>) -> Result<&Application, TransformError> {
        let Step { transformation, at, under } = step.into();
        if let Anchor::Everywhere { limit } = at {
            return self.apply_everywhere(transformation, limit, under);
        }
        let all = places(&self.program, transformation.as_ref());
        let found = at.resolve_among(&self.program, transformation.as_ref(), &all)?;
        self.apply_under(transformation.as_ref(), &found, Some(&all), &under)
    }

    /// Applies the strict transformations of a registry until none applies, at most `fuel` times, as one step. Gives the number of
    /// work of each that applied.
    pub fn simplify(&mut self, registry: &Registry, fuel: Option<usize>) -> Vec<Tally> {
        let before = Snapshot::of(&self.program);
        let mut tallies = fixed_point(&mut self.program, &registry.strict(), fuel);
        tallies.retain(|tally| tally.applications > 0);
        let application = Application {
            name: SIMPLIFY,
            at: self.program.name.clone(),
            changes: Changes::default(),
            evidence: Evidence::default(),
            conditions: Conditions::default(),
            surroundings: Vec::new(),
        };
        self.applied.push(Applied { before, step: ChainStep::simplification(fuel), application });
        tallies
    }

    /// Applies a transformation at a match.
    ///
    /// # Errors
    /// If it refuses the match. The program is then unchanged.
    pub fn apply_at(
        &mut self,
        transformation: &dyn Transformation,
        found: &Match,
    ) -> Result<&Application, TransformError> {
        self.apply_under(transformation, found, None, &Conditions::default())
    }

    /// Applies a transformation at a match. `all` are its matches, if they are known: they name this one in the chain.
    fn apply_under(
        &mut self,
        transformation: &dyn Transformation,
        found: &Match,
        all: Option<&[Match]>,
        under: &Conditions,
    ) -> Result<&Application, TransformError> {
        let before = Snapshot::of(&self.program);
        let application = apply_under(&mut self.program, transformation, found, under)?;
        let anchor = match all {
            Some(all) => Anchor::of(before.sdfg(), found, all),
            // Callers try many matches; only one that is applied needs a name.
            None => Anchor::of(before.sdfg(), found, &places(before.sdfg(), transformation)),
        };
        let step = ChainStep {
            transformation: application.name.to_owned(),
            parameters: transformation.parameters(),
            at: anchor,
            under: under.clone(),
        };
        Ok(self.add(Applied { before, step, application }))
    }

    /// Applies a transformation at every match until none is left, as one step.
    fn apply_everywhere(
        &mut self,
        transformation: Box<dyn Transformation>,
        limit: Option<usize>,
        under: Conditions,
    ) -> Result<&Application, TransformError> {
        if let Some(text) = under.assume.first() {
            let reason = "a condition is about one place, and the step is at every place".to_owned();
            return Err(TransformError::Condition { text: text.clone(), reason });
        }
        let before = Snapshot::of(&self.program);
        let name = transformation.metadata().name;
        let parameters = transformation.parameters();
        let most = limit.unwrap_or_else(|| endless(places(&self.program, transformation.as_ref()).len()));
        let tallies = fixed_point(&mut self.program, &[transformation], Some(most));
        let applications: usize = tallies.iter().map(|tally| tally.applications).sum();
        if limit.is_none() && applications == most {
            before.restore(&mut self.program);
            return Err(TransformError::Endless { name, count: applications });
        }
        let facts = tallies.into_iter().flat_map(|tally| tally.evidence.facts).collect();
        let application = Application {
            name,
            at: format!("every place ({applications})"),
            changes: Changes::default(),
            evidence: Evidence { facts },
            conditions: under.clone(),
            surroundings: Vec::new(),
        };
        let at = Anchor::Everywhere { limit };
        let step = ChainStep { transformation: name.to_owned(), parameters, at, under };
        Ok(self.add(Applied { before, step, application }))
    }

    fn add(&mut self, applied: Applied) -> &Application {
        self.applied.push(applied);
        match self.applied.last() {
            Some(applied) => &applied.application,
            None => unreachable!("an application was just added"),
        }
    }

    /// The matches of a transformation with its default parameters that pass its check. [`matches()`] takes others.
    ///
    /// # Errors
    /// [`TransformError::Parameters`] if a parameter of the transformation has no default: give it to
    /// `matches(program, &transformation)`.
    pub fn matches<T: Transformation + Default>(&self) -> Result<Vec<Match>, TransformError> {
        let transformation = T::default();
        let metadata = transformation.metadata();
        if let Some(required) = metadata.parameters.iter().find(|parameter| parameter.default.is_none()) {
            return Err(metadata.needs(required).into());
        }
        Ok(matches(&self.program, &transformation))
    }

    /// Takes the last application back.
    ///
    /// # Errors
    /// [`TransformError::NothingToUndo`].
    pub fn undo(&mut self) -> Result<(), TransformError> {
        let last = self.applied.pop().ok_or(TransformError::NothingToUndo)?;
        last.before.restore(&mut self.program);
        Ok(())
    }

    /// The applications so far.
    pub fn applications(&self) -> impl Iterator<Item = &Application> {
        self.applied.iter().map(|applied| &applied.application)
    }

    /// The applications so far, to be replayed.
    pub fn chain(&self) -> Chain {
        Chain::of_steps(self.applied.iter().map(|applied| applied.step.clone()))
    }

    /// Validates the program.
    ///
    /// # Errors
    /// [`TransformError::Invalid`] if a transformation left an invalid program.
    pub fn finish(self) -> Result<Validated, TransformError> {
        validate(self.program).map_err(|rejected| {
            let errors = rejected.diagnostics.iter().filter(|found| found.severity == Severity::Error);
            TransformError::Invalid { reason: errors.map(ToString::to_string).collect::<Vec<_>>().join("; ") }
        })
    }
}

/// The matches of a transformation that pass its check.
pub fn matches(program: &Sdfg, transformation: &dyn Transformation) -> Vec<Match> {
    matches_with(program, transformation, &Tables::new())
}

/// As [`matches()`], with the tables of the program: for the matches of many transformations.
pub fn matches_with(program: &Sdfg, transformation: &dyn Transformation, tables: &Tables) -> Vec<Match> {
    let passes = |found: &Match| {
        Site::of(program, found, tables).is_some_and(|site| checked(transformation, &site).is_ok())
    };
    tables.places(program, transformation).into_iter().filter(passes).collect()
}

/// Checks and applies a transformation at a match.
///
/// # Errors
/// [`TransformError::Refused`]. The program is then unchanged.
pub fn apply(
    program: &mut Sdfg,
    transformation: &dyn Transformation,
    found: &Match,
) -> Result<Application, TransformError> {
    let name = transformation.metadata().name;
    let at = found.paths(program).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let refused = |refusal| TransformError::Refused { name, at: at.clone(), refusal: Box::new(refusal) };
    let gone = || refused(Refusal::structure(name, "matches here no more: the program was changed"));
    let tables = Tables::new();
    let site = Site::of(program, found, &tables).filter(|site| holds(transformation, site));
    let site = site.ok_or_else(gone)?;
    let evidence = checked(transformation, &site).map_err(|refusal| refused(refusal.shown(&site)))?;
    let surroundings = surroundings(program, found);
    let edited = edit(program, transformation, found).map_err(refused)?;
    Ok(Application { name, at, changes: edited, evidence, conditions: Conditions::default(), surroundings })
}

fn edit(program: &mut Sdfg, transformation: &dyn Transformation, found: &Match) -> Result<Changes, Refusal> {
    let reach = Tables::new().reach_to_keep(program, transformation);
    // What lanes could not run before, they need not run now.
    let had_promises = promise::keep_promises(program).is_ok();
    let mut editor = Editor::new(program);
    within(&mut editor, &found.calls, &mut |editor| transformation.apply(editor, found))?;
    if let Some(reach) = &reach {
        reach.is_kept_in(editor.sdfg())?;
    }
    if had_promises {
        promise::keep_promises(editor.sdfg())?;
    }
    Ok(editor.commit()?)
}

/// Checks and applies a transformation at a match, as a part of a series of edits. The tables are those of the program and follow
/// the edits. Gives whether it was applied; otherwise nothing is changed.
pub(super) fn apply_in_series(
    editor: &mut Editor<'_>,
    transformation: &dyn Transformation,
    found: &Match,
    tables: &mut Tables,
) -> Option<Evidence> {
    let site = Site::of(editor.sdfg(), found, tables).filter(|site| holds(transformation, site))?;
    let evidence = checked(transformation, &site).ok()?;
    let before = editor.position();
    let reach = tables.reach_to_keep(editor.sdfg(), transformation);
    let edits = |editor: &mut Editor<'_>| {
        within(editor, &found.calls, &mut |editor| transformation.apply(editor, found))?;
        reach.as_ref().map_or(Ok(()), |reach| reach.is_kept_in(editor.sdfg()))?;
        Ok::<_, Refusal>(TouchedStates::since(editor, before))
    };
    let has_promises = tables.has_promises(editor.sdfg());
    let mut broken = None;
    let kept = editor.attempt(|editor| {
        let touched = edits(editor)?;
        let kept = if has_promises { touched.keep_promises(editor.sdfg()) } else { Ok(()) };
        if kept.is_err() {
            broken = Some(touched);
        }
        kept
    });
    match broken {
        // What lanes could not run before, they need not run now.
        Some(touched) if touched.keep_promises(editor.sdfg()).is_err() => {
            editor.attempt(edits).ok()?;
        }
        Some(_) | None => kept.ok()?,
    }
    editor.propagate_pending();
    tables.follow(editor.sdfg(), editor.touched_since(before));
    Some(evidence)
}

/// The number of applications after which a transformation with so many matches counts as one that always applies again.
fn endless(matches: usize) -> usize {
    matches.saturating_mul(4).saturating_add(8)
}

/// Edits the SDFG behind some calls.
pub(super) fn within(
    editor: &mut Editor<'_>,
    calls: &[(StateId, NodeId)],
    edits: &mut dyn FnMut(&mut Editor<'_>) -> Result<(), EditError>,
) -> Result<(), EditError> {
    match calls.split_first() {
        None => edits(editor),
        Some(((state, node), rest)) => editor.within(*state, *node, |editor| within(editor, rest, edits)),
    }
}
