//! The search: steps that are tried together, their order, and the end of the search.

use std::collections::BTreeSet;

use sdfg_graph::ir::Sdfg;
use sdfg_graph::text;
use sdfg_validate::{Validated, validate};

use super::passes::{PASSES, Pass};
use super::size::Size;
use super::step::{Simplification, steps};
use super::{Candidate, Minimized};

/// A changed program that is smaller than the one it was made of.
pub(super) struct Trial {
    sdfg: Sdfg,
    text: String,
    size: Size,
}

/// A trial that is a program.
pub(super) struct Checked {
    pub(super) program: Validated,
    text: String,
    size: Size,
}

impl Trial {
    /// Makes steps; those that the ones before made impossible are left out. `None` if the result is not smaller.
    pub(super) fn of(sdfg: &Sdfg, steps: &[Simplification], than: Size) -> Option<Self> {
        let mut changed: Option<Sdfg> = None;
        for step in steps {
            let before = changed.as_ref().unwrap_or(sdfg);
            changed = step.apply(before).or(changed);
        }
        let sdfg = changed?;
        let text = text::print(&sdfg);
        let size = Size::with_text(&sdfg, &text);
        (size < than).then_some(Trial { sdfg, text, size })
    }

    /// `None` if it is not valid or its text does not read back as it is.
    pub(super) fn validate(self) -> Option<Checked> {
        let Trial { sdfg, text, size } = self;
        let again = text::parse("candidate", &text).ok()?;
        if text::print(&again) != text {
            return None;
        }
        let program = validate(sdfg).ok()?;
        Some(Checked { program, text, size })
    }
}

/// A reduction under way.
pub(super) struct Search<F> {
    program: Validated,
    size: Size,
    before: Size,
    limit: Option<usize>,
    tries: usize,
    /// Texts that were made of the program as it is now.
    seen: BTreeSet<String>,
    still_fails: F,
}

impl<E, F: FnMut(&Candidate<'_>) -> Result<bool, E>> Search<F> {
    pub(super) fn new(program: &Validated, limit: Option<usize>, still_fails: F) -> Self {
        let size = Size::of(program.sdfg());
        Search {
            program: program.clone(),
            size,
            before: size,
            limit,
            tries: 0,
            seen: BTreeSet::new(),
            still_fails,
        }
    }

    pub(super) fn run(mut self) -> Result<Minimized, E> {
        loop {
            let before = self.size;
            for pass in &PASSES {
                if pass.independent {
                    self.many(pass)?;
                }
                self.one_by_one(pass)?;
            }
            if self.size == before || self.is_exhausted() {
                break;
            }
        }
        let complete = !self.is_exhausted();
        let Search { program, size, before, tries, .. } = self;
        Ok(Minimized { program, before, after: size, tries, complete })
    }

    /// Tries all steps of a kind at once, then each half of them, and so on.
    fn many(&mut self, pass: &Pass) -> Result<(), E> {
        let mut groups = vec![steps(self.program.sdfg(), pass.changes)];
        while let Some(mut group) = groups.pop() {
            if group.len() < 2 || self.is_exhausted() || self.try_steps(&group)? {
                continue;
            }
            let second = group.split_off(group.len() / 2);
            groups.extend([second, group]);
        }
        Ok(())
    }

    /// Tries the steps of a kind, and again those that follow when one was made.
    fn one_by_one(&mut self, pass: &Pass) -> Result<(), E> {
        let mut next = 0;
        let mut list = steps(self.program.sdfg(), pass.changes);
        while let Some(step) = list.get(next) {
            if self.is_exhausted() {
                break;
            }
            if self.try_steps(std::slice::from_ref(step))? {
                list = steps(self.program.sdfg(), pass.changes);
            } else {
                next += 1;
            }
        }
        Ok(())
    }

    /// Makes steps if the program still fails then.
    fn try_steps(&mut self, steps: &[Simplification]) -> Result<bool, E> {
        let Some(trial) = Trial::of(self.program.sdfg(), steps, self.size) else { return Ok(false) };
        if !self.seen.insert(trial.text.clone()) {
            return Ok(false);
        }
        let Some(Checked { program, text, size }) = trial.validate() else { return Ok(false) };
        self.tries += 1;
        let step = match steps {
            [step] => step.what().to_owned(),
            [first, rest @ ..] => format!("{} and {} more", first.what(), rest.len()),
            [] => String::new(),
        };
        let candidate = Candidate { sdfg: program.sdfg(), text: &text, step: &step, size };
        if !(self.still_fails)(&candidate)? {
            return Ok(false);
        }
        self.program = program;
        self.size = size;
        self.seen.clear();
        Ok(true)
    }

    fn is_exhausted(&self) -> bool {
        self.limit.is_some_and(|limit| self.tries >= limit)
    }
}
