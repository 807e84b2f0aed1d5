//! Cache of proofs, used while a program is read or checked, because the same queries repeat: in every state,
//! for every memlet, whether `i <= N - 1`.
//!
//! The result of a proof depends only on its query, so a cached answer equals a new one. The cache is
//! thread-local and ends with the work that it serves ([`with_proof_cache`]).

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use indexmap::{IndexMap, IndexSet};

use super::{Assumptions, Expr, Sign, Symbol, Truth};
use crate::subset::Range;
use crate::subset::image::Eliminations;

/// Answers beyond these are not kept; questions are small.
const MOST: usize = 1 << 16;

/// Other answers beyond these are dropped, all at once.
const MOST_OTHERS: usize = 1 << 12;

/// A map with a hash that is fast for small keys. What is looked up comes from programs and not from an adversary: with
/// equal hashes for all keys, `MOST` bounds what a look-up costs.
pub type CacheMap<K, V> = IndexMap<K, V, BuildHasherDefault<Mixer>>;

thread_local! {
    static ANSWERS: RefCell<Option<Answers>> = const { RefCell::new(None) };
}

/// Each memory of the process has a number of its own, so that no other takes the names of its assumptions for its own.
static MEMORIES: AtomicU32 = AtomicU32::new(1);

#[derive(Default)]
struct Answers {
    number: u32,
    assumptions: IndexSet<Assumptions, BuildHasherDefault<Mixer>>,
    nonnegative: CacheMap<(u32, Expr), Truth>,
    signs: CacheMap<(u32, Expr), Sign>,
    eliminations: CacheMap<Scope, Rc<Eliminations>>,
    /// Maps of other answers, each under the type of its questions. There are few types.
    others: Vec<(TypeId, Box<dyn Any>)>,
}

/// Parameters with their ranges, under assumptions of this name.
type Scope = (u32, Vec<(Symbol, Range)>);

/// Does some work with a memory for the answers on the way, its own or that of the work around it.
pub fn with_proof_cache<R>(work: impl FnOnce() -> R) -> R {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            ANSWERS.with_borrow_mut(|answers| *answers = None);
        }
    }
    let is_first = ANSWERS.with_borrow_mut(|answers| {
        let is_first = answers.is_none();
        answers.get_or_insert_with(|| Answers {
            number: MEMORIES.fetch_add(1, Ordering::Relaxed),
            ..Answers::default()
        });
        is_first
    });
    let _end = is_first.then_some(End);
    work()
}

/// The answer to whether an expression is at least 0, by `prove` if it is not known.
pub(super) fn nonnegative(
    expression: &Expr,
    assumptions: &Assumptions,
    prove: impl FnOnce(&Assumptions) -> Truth,
) -> Truth {
    recall(expression, assumptions, |answers| &mut answers.nonnegative, prove)
}

/// The sign of an expression, by `prove` if it is not known.
pub(super) fn sign(
    expression: &Expr,
    assumptions: &Assumptions,
    prove: impl FnOnce(&Assumptions) -> Sign,
) -> Sign {
    recall(expression, assumptions, |answers| &mut answers.signs, prove)
}

/// The eliminations of some parameters, which `new` makes if there are none.
pub(crate) fn eliminations(
    parameters: &[(Symbol, Range)],
    around: &Assumptions,
    new: impl FnOnce() -> Eliminations,
) -> Rc<Eliminations> {
    ANSWERS.with_borrow_mut(|answers| {
        let Some((answers, name)) = answers.as_mut().and_then(|answers| {
            let name = answers.name_of(around)?;
            Some((answers, name))
        }) else {
            return Rc::new(new());
        };
        let key = (name, parameters.to_vec());
        if let Some(known) = answers.eliminations.get(&key) {
            return Rc::clone(known);
        }
        let made = Rc::new(new());
        if answers.eliminations.len() < MOST {
            answers.eliminations.insert(key, Rc::clone(&made));
        }
        made
    })
}

/// What `make` answers to a question, made once while proofs are kept, and anew elsewhere. It follows from the question alone, such
/// as from the revision of a graph. Each kind of answers has a type of questions of its own.
pub fn remembered<Q: Hash + Eq + 'static, A: Clone + 'static>(question: Q, make: impl FnOnce() -> A) -> A {
    let known = ANSWERS.with_borrow(|answers| {
        let (_, map) = answers.as_ref()?.others.iter().find(|(kind, _)| *kind == TypeId::of::<(Q, A)>())?;
        map.downcast_ref::<CacheMap<Q, A>>()?.get(&question).cloned()
    });
    known.unwrap_or_else(|| {
        let made = make();
        ANSWERS.with_borrow_mut(|answers| {
            if let Some(answers) = answers {
                keep_other(answers, question, made.clone());
            }
        });
        made
    })
}

fn keep_other<Q: Hash + Eq + 'static, A: 'static>(answers: &mut Answers, question: Q, made: A) {
    let kind = TypeId::of::<(Q, A)>();
    let at = answers.others.iter().position(|(own, _)| *own == kind).unwrap_or_else(|| {
        answers.others.push((kind, Box::new(CacheMap::<Q, A>::default())));
        answers.others.len() - 1
    });
    if let Some(map) = answers.others[at].1.downcast_mut::<CacheMap<Q, A>>() {
        // Most questions are about graphs as they were before an edit: they are asked never again.
        if map.len() >= MOST_OTHERS {
            map.clear();
        }
        map.insert(question, made);
    }
}

fn recall<T: Copy>(
    expression: &Expr,
    assumptions: &Assumptions,
    of: impl Fn(&mut Answers) -> &mut CacheMap<(u32, Expr), T>,
    prove: impl FnOnce(&Assumptions) -> T,
) -> T {
    let known = ANSWERS.with_borrow_mut(|answers| {
        let answers = answers.as_mut()?;
        let key = (answers.name_of(assumptions)?, expression.clone());
        match of(answers).get(&key) {
            Some(found) => Some(Ok(*found)),
            None => {
                let same = answers.assumptions.get_index(key.0 as usize).cloned();
                Some(Err((key, same)))
            }
        }
    });
    match known {
        None => prove(assumptions),
        Some(Ok(answer)) => answer,
        Some(Err((key, same))) => {
            // The proof may ask and remember, too. Of equal assumptions, the first ones have examples already.
            let answer = prove(same.as_ref().unwrap_or(assumptions));
            ANSWERS.with_borrow_mut(|answers| {
                if let Some(kept) = answers.as_mut().map(of).filter(|kept| kept.len() < MOST) {
                    kept.insert(key, answer);
                }
            });
            answer
        }
    }
}

impl Answers {
    /// The same number for equal assumptions, while there is room.
    fn name_of(&mut self, assumptions: &Assumptions) -> Option<u32> {
        let known = assumptions.name_cell().0.load(Ordering::Relaxed);
        if known == Name::REFUSED {
            return None;
        }
        if known >> 32 == u64::from(self.number) {
            return Some(known as u32);
        }
        let place = match self.assumptions.get_index_of(assumptions) {
            Some(place) => place,
            None if self.assumptions.len() < MOST => self.assumptions.insert_full(assumptions.clone()).0,
            None => return None,
        };
        let name = place as u32;
        assumptions.name_cell().0.store(u64::from(self.number) << 32 | u64::from(name), Ordering::Relaxed);
        Some(name)
    }
}

impl Assumptions {
    /// A number that is the same for equal assumptions, within [`with_proof_cache`].
    pub fn name(&self) -> Option<u32> {
        ANSWERS.with_borrow_mut(|answers| answers.as_mut()?.name_of(self))
    }
}

/// Id of some assumptions in a cache, with the number of the cache in the upper half. It does not affect
/// their meaning.
#[derive(Debug, Default)]
pub(super) struct Name(AtomicU64);

impl Name {
    /// No name ever, whatever changes.
    const REFUSED: u64 = u64::MAX;

    /// Forgets the name, as assumptions change.
    pub(super) fn forget(&mut self) {
        let name = self.0.get_mut();
        if *name != Name::REFUSED {
            *name = 0;
        }
    }

    /// Takes no name from now on.
    pub(super) fn refuse(&mut self) {
        *self.0.get_mut() = Name::REFUSED;
    }
}

impl Clone for Name {
    fn clone(&self) -> Name {
        Name(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

impl PartialEq for Name {
    fn eq(&self, _: &Name) -> bool {
        true
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// A hash of few instructions a word.
#[derive(Default)]
pub struct Mixer(u64);

impl Mixer {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(u64::from_le_bytes(last));
    }

    fn write_u8(&mut self, value: u8) {
        self.add(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.add(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.add(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.add(value as u64);
    }

    fn finish(&self) -> u64 {
        // The upper bits are the mixed ones, the lower ones are looked at first.
        self.0.rotate_left(26)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbolic::Symbol;

    #[test]
    fn answers_are_those_of_the_assumptions_at_hand() {
        let (n, i) = (Expr::sym("N"), Expr::sym("i"));
        let ask = |known: &Assumptions| (&n - &i).is_nonnegative(known);
        with_proof_cache(|| {
            let mut known = Assumptions::new();
            assert_eq!(ask(&known), Truth::Unknown);
            assert_eq!((&n - &i).sign(&known), Sign::Unknown);
            known.set_range(Symbol::of("i"), Some(Expr::zero()), Some(&n - 1));
            assert_eq!(ask(&known), Truth::Proved);
            assert_eq!((&n - &i).sign(&known), Sign::Positive);
            let copy = known.clone();
            known.set_range(Symbol::of("i"), Some(&n + 1), None);
            assert_eq!(ask(&known), Truth::Refuted);
            assert_eq!(ask(&copy), Truth::Proved);
            assert_eq!(copy.name(), copy.clone().name());
            assert_ne!(copy.name(), known.name());
            // Facts and both kinds of least values are what is assumed, too.
            for change in [
                |known: &mut Assumptions| _ = known.assume_nonnegative(Expr::sym("K")),
                |known: &mut Assumptions| _ = known.positive(Symbol::of("K")),
                |known: &mut Assumptions| _ = known.nonnegative(Symbol::of("K")),
            ] {
                let mut changed = Assumptions::new();
                assert_eq!(Expr::sym("K").is_nonnegative(&changed), Truth::Unknown);
                change(&mut changed);
                assert_eq!(Expr::sym("K").is_nonnegative(&changed), Truth::Proved);
            }
        });
        assert_eq!(Assumptions::new().name(), None);
        with_proof_cache(|| {
            let mut passing = Assumptions::new();
            passing.keep_no_answers();
            passing.positive(Symbol::of("N"));
            assert_eq!(passing.name(), None);
            assert_eq!(n.is_positive(&passing), Truth::Proved);
        });
    }

    #[test]
    fn other_answers_are_made_once_for_each_question_and_kind() {
        #[derive(PartialEq, Eq, Hash)]
        struct Question(usize);
        let asked = std::cell::Cell::new(0);
        let ask = |question: usize| {
            remembered(Question(question), || {
                asked.set(asked.get() + 1);
                question + 1
            })
        };
        let text = |question: usize| remembered(Question(question), || question.to_string());
        assert_eq!((ask(1), ask(1), asked.get()), (2, 2, 2));
        with_proof_cache(|| {
            assert_eq!((ask(1), ask(2), ask(1), asked.get()), (2, 3, 2, 4));
            // Another kind of answers to the same questions.
            assert_eq!((text(1), ask(1)), ("1".to_owned(), 2));
            // No more than there is room for.
            (0..=MOST_OTHERS).for_each(|question| assert_eq!(ask(question), question + 1));
            let before = asked.get();
            assert_eq!((ask(MOST_OTHERS), asked.get()), (MOST_OTHERS + 1, before));
            assert_eq!((ask(1), asked.get()), (2, before + 1));
        });
        assert_eq!(ask(1), 2);
    }

    #[test]
    fn names_end_with_their_memory() {
        let known = Assumptions::new();
        let other = || Assumptions::new().positive(Symbol::of("N")).clone();
        let first = with_proof_cache(|| known.name());
        // The second memory gives the same number to other assumptions.
        with_proof_cache(|| {
            assert_eq!(other().name(), first);
            assert_ne!(known.name(), first);
        });
    }
}
