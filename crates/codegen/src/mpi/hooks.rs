//! The functions that compiled programs of ranks call to move data, on the library of communication.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Context;
use super::context::Functions;

pub(super) type MoveFunction =
    unsafe extern "C" fn(*mut c_void, i64, *const i64, i64, *const c_void, *mut c_void) -> i64;
pub(super) type BeginFunction =
    unsafe extern "C" fn(*mut c_void, i64, i64, *const i64, i64, *const c_void, *mut c_void) -> i64;
pub(super) type BeginAllFunction =
    unsafe extern "C" fn(*mut c_void, i64, *const i64, i64, *const *const c_void, *const *mut c_void) -> i64;

/// The function that a compiled program of a rank calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MoveKind {
    /// Moves data from one container to another one, or within one.
    Move,
    /// Combines partial results.
    Combine,
    /// Moves data of so many pairs of containers, 2 to 4, with one message between every two ranks. The function takes all sources,
    /// then all targets.
    Together(usize),
    /// Begins to move data of so many pairs of containers, 1 to 4. The function takes what the one takes that moves them.
    Begin(usize),
    /// Waits until data has moved. The function takes what the one took that began.
    Finish(usize),
}

/// What a compiled program of a rank needs to move data: pass [`address`](Hooks::address) for the symbol
/// [`CONTEXT`](crate::ranks::CONTEXT), and [`function`](Hooks::function) for each function of
/// [`RankProgram::moves`](crate::ranks::RankProgram::moves).
///
/// A failed move ends all ranks with its message: the program between moves knows no errors.
#[derive(Debug)]
pub struct Hooks<'c> {
    state: Box<State>,
    /// The functions use the context.
    _context: std::marker::PhantomData<&'c Context>,
}

/// What the functions find behind the address.
#[derive(Debug)]
struct State {
    context: *mut c_void,
    functions: Functions,
    begun: Arc<AtomicU64>,
}

/// The number of moves and combinations that programs of a rank have begun. Other threads may ask while a program runs.
#[derive(Clone, Debug)]
pub struct MovesBegun(Arc<AtomicU64>);

impl MovesBegun {
    /// The number so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Bytes that this rank has moved so far, as counted where MPI is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Sent by moves and combinations.
    pub sent: i64,
    /// Received by moves and combinations.
    pub received: i64,
    /// Sent by combinations.
    pub combined: i64,
}

impl Context {
    /// The functions of this context for compiled programs.
    pub fn hooks(&self) -> Hooks<'_> {
        let state = State { context: self.pointer(), functions: self.functions(), begun: Arc::default() };
        let state = Box::new(state);
        Hooks { state, _context: std::marker::PhantomData }
    }
}

impl Hooks<'_> {
    /// The address that compiled programs pass to the functions.
    pub fn address(&self) -> i64 {
        (&raw const *self.state).expose_provenance() as i64
    }

    /// The function of a kind.
    pub fn function(&self, kind: MoveKind) -> *const c_void {
        match kind {
            MoveKind::Move => move_data as *const c_void,
            MoveKind::Combine => combine_data as *const c_void,
            MoveKind::Together(2) => move_two as *const c_void,
            MoveKind::Together(3) => move_three as *const c_void,
            // `localise` groups no more.
            MoveKind::Together(_) => move_four as *const c_void,
            MoveKind::Begin(1) => begin_one as *const c_void,
            MoveKind::Begin(2) => begin_two as *const c_void,
            MoveKind::Begin(3) => begin_three as *const c_void,
            MoveKind::Begin(_) => begin_four as *const c_void,
            MoveKind::Finish(1) => finish_one as *const c_void,
            MoveKind::Finish(2) => finish_two as *const c_void,
            MoveKind::Finish(3) => finish_three as *const c_void,
            MoveKind::Finish(_) => finish_four as *const c_void,
        }
    }

    /// Bytes that this rank has moved so far.
    pub fn counters(&self) -> Counters {
        let mut words = [0_i64; 8];
        // SAFETY: the context is open, and there are eight words.
        unsafe { (self.state.functions.counters)(self.state.context, words.as_mut_ptr()) };
        Counters { sent: words[0], received: words[1], combined: words[6] }
    }

    /// The number of moves that programs have begun through these functions, for another thread.
    pub fn moves_begun(&self) -> MovesBegun {
        MovesBegun(Arc::clone(&self.state.begun))
    }

    /// Moves data of this rank and of the others, which do the same, as the words of a [`Move`](super::Move) say.
    ///
    /// # Safety
    /// Source and target have the elements that this rank holds by the description.
    pub unsafe fn run(&self, site: i64, words: &[i64], source: *const c_void, target: *mut c_void) {
        // SAFETY: there are so many words, the state lives as long as this, and the caller vouches for the arrays.
        unsafe { move_data(self.address(), site, words.as_ptr(), words.len() as i64, source, target) };
    }
}

/// Moves data. Compiled programs call it.
///
/// # Safety
/// As [`State::call`].
unsafe extern "C" fn move_data(
    hooks: i64,
    site: i64,
    words: *const i64,
    n: i64,
    source: *const c_void,
    target: *mut c_void,
) {
    // SAFETY: as the caller says.
    unsafe { State::call(hooks, |functions| functions.moves, (site, words, n), (source, target)) }
}

/// Combines partial results. Compiled programs call it.
///
/// # Safety
/// As [`State::call`].
unsafe extern "C" fn combine_data(
    hooks: i64,
    site: i64,
    words: *const i64,
    n: i64,
    source: *const c_void,
    target: *mut c_void,
) {
    // SAFETY: as the caller says.
    unsafe { State::call(hooks, |functions| functions.combine, (site, words, n), (source, target)) }
}

/// Begins to move data. Compiled programs call it.
///
/// # Safety
/// As [`State::call`].
unsafe extern "C" fn begin_one(
    hooks: i64,
    site: i64,
    words: *const i64,
    n: i64,
    source: *const c_void,
    target: *mut c_void,
) {
    // SAFETY: the caller vouches for the address and the arrays.
    unsafe {
        let state = &*std::ptr::with_exposed_provenance::<State>(hooks as usize);
        state.begun.fetch_add(1, Ordering::Relaxed);
        state.end_on_failure((state.functions.begin)(state.context, site, 0, words, n, source, target));
    }
}

/// A function for several pairs of containers at once, which compiled programs call.
macro_rules! together {
    ($name:ident, $call:ident, $($source:ident),+; $($target:ident),+) => {
        /// Calls the library for several pairs of containers at once. Compiled programs call it.
        ///
        /// # Safety
        /// As [`State::call`].
        unsafe extern "C" fn $name(
            hooks: i64,
            site: i64,
            words: *const i64,
            n: i64,
            $($source: *const c_void,)+
            $($target: *mut c_void),+
        ) {
            // SAFETY: as the caller says.
            unsafe { State::$call(hooks, (site, words, n), [$($source),+], [$($target),+]) }
        }
    };
}

together!(move_two, move_all, source0, source1; target0, target1);
together!(move_three, move_all, source0, source1, source2; target0, target1, target2);
together!(move_four, move_all, source0, source1, source2, source3; target0, target1, target2, target3);
together!(begin_two, begin_all, source0, source1; target0, target1);
together!(begin_three, begin_all, source0, source1, source2; target0, target1, target2);
together!(begin_four, begin_all, source0, source1, source2, source3; target0, target1, target2, target3);
together!(finish_one, finish_all, source0; target0);
together!(finish_two, finish_all, source0, source1; target0, target1);
together!(finish_three, finish_all, source0, source1, source2; target0, target1, target2);
together!(finish_four, finish_all, source0, source1, source2, source3; target0, target1, target2, target3);

impl State {
    /// Moves data of several pairs of arrays, and ends all ranks if that fails.
    ///
    /// # Safety
    /// As [`State::call`].
    unsafe fn move_all<const N: usize>(
        hooks: i64,
        words: (i64, *const i64, i64),
        sources: [*const c_void; N],
        targets: [*mut c_void; N],
    ) {
        // SAFETY: as the caller says.
        unsafe {
            State::begin_all(hooks, words, sources, targets);
            State::finish_all(hooks, words, sources, targets);
        }
    }

    /// Begins to move data of several pairs of arrays, of which there are as many as the words describe.
    ///
    /// # Safety
    /// As [`State::call`].
    unsafe fn begin_all<const N: usize>(
        hooks: i64,
        (site, words, n): (i64, *const i64, i64),
        sources: [*const c_void; N],
        targets: [*mut c_void; N],
    ) {
        // SAFETY: the caller vouches for the address and the arrays.
        unsafe {
            let state = &*std::ptr::with_exposed_provenance::<State>(hooks as usize);
            state.begun.fetch_add(N as u64, Ordering::Relaxed);
            let (sources, targets) = (sources.as_ptr(), targets.as_ptr());
            let status = (state.functions.begin_all)(state.context, site, words, n, sources, targets);
            state.end_on_failure(status);
        }
    }

    /// Waits until the moves of a site are done. The library knows their arrays.
    ///
    /// # Safety
    /// As [`State::call`].
    unsafe fn finish_all<const N: usize>(
        hooks: i64,
        (site, ..): (i64, *const i64, i64),
        _sources: [*const c_void; N],
        _targets: [*mut c_void; N],
    ) {
        // SAFETY: the caller vouches for the address.
        unsafe {
            let state = &*std::ptr::with_exposed_provenance::<State>(hooks as usize);
            state.end_on_failure((state.functions.finish)(state.context, site));
        }
    }

    /// Calls a function of the library, and ends all ranks if it fails.
    ///
    /// # Safety
    /// The address is that of hooks that live, there are so many words, and the arrays have the elements that they describe.
    unsafe fn call(
        hooks: i64,
        function: impl Fn(&Functions) -> MoveFunction,
        (site, words, n): (i64, *const i64, i64),
        (source, target): (*const c_void, *mut c_void),
    ) {
        // SAFETY: the caller vouches for the address and the arrays.
        unsafe {
            let state = &*std::ptr::with_exposed_provenance::<State>(hooks as usize);
            state.begun.fetch_add(1, Ordering::Relaxed);
            let status = function(&state.functions)(state.context, site, words, n, source, target);
            state.end_on_failure(status);
        }
    }

    /// Ends all ranks with the message of the library unless a status is 0.
    fn end_on_failure(&self, status: i64) {
        if status != 0 {
            // SAFETY: the message is a string of the context, which is open.
            unsafe {
                let message = (self.functions.error)(self.context);
                (self.functions.abort)(self.context, status, message);
            }
        }
    }
}
