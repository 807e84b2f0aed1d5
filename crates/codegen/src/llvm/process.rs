//! Settings that LLVM's C interface offers only for a whole process.
//!
//! The settings differ between levels, so threads take turns. Threads that compile at levels with the same
//! settings run side by side; others wait for them to finish. Turns are granted in the order of the requests,
//! which prevents starvation.

use std::ffi::CStr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;

use super::options::OptLevel;

/// Settings of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Settings {
    effort: Effort,
    /// Whether loops get copies for strides of one ([`Plan::has_free_strides`](crate::plan::Plan::has_free_strides)).
    unit_strides: bool,
}

/// Settings that levels share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// For code that nobody waits for.
    Unoptimised,
    /// For code that is there soon.
    Quick,
    /// For code that is fast.
    Optimised,
}

impl Effort {
    const fn of(level: OptLevel) -> Self {
        match level {
            OptLevel::O0 => Effort::Unoptimised,
            OptLevel::Quick => Effort::Quick,
            OptLevel::O1 | OptLevel::O2 | OptLevel::O3 => Effort::Optimised,
        }
    }
}

impl Settings {
    const fn of(level: OptLevel, unit_strides: bool) -> Self {
        Settings { effort: Effort::of(level), unit_strides }
    }

    /// The arguments of a command line, after the name of the program. All of them name the same settings, so that none stays as
    /// others left it.
    ///
    /// - Loop strength reduction is off: it takes 60 % of object emission on loop nests and gains nothing on machines with
    ///   base-plus-scaled-index addressing (measured on stencils).
    /// - What a vectorised loop leaves over is vectorised, too, from vectors of four elements on instead of sixteen: rows of a few
    ///   hundred doubles would spend a quarter of their time on the last few. At the quick level it is not: a second loop takes a
    ///   fifth of the time.
    /// - The quick level takes the shortest way through the machine code generator but for registers, which are allocated as for
    ///   fast code: otherwise every value would go through memory between blocks. Instructions keep their order there.
    /// - No ranges are computed for the run-time checks of addresses that are one of several in an iteration: that of an address which
    ///   is not taken may wrap around, and then tells nothing (LLVM issue 223668).
    /// - No integers are moved to the registers of masks (AVX-512): the pass takes a third of object emission on large functions, and
    ///   changed no instruction of any program here, nor of CLOUDSC.
    /// - Loops over columns get no copy for rows of one element, unless a stride is a symbol of its own. The vectoriser would vectorise
    ///   that copy alone, and never the other one.
    const fn arguments(self) -> [&'static CStr; 8] {
        let [epilogue, registers, schedule] = match self.effort {
            Effort::Unoptimised => [
                c"-enable-epilogue-vectorization=false",
                c"-optimize-regalloc=false",
                c"-enable-misched=false",
            ],
            Effort::Quick => [
                c"-enable-epilogue-vectorization=false",
                c"-optimize-regalloc=true",
                c"-enable-misched=false",
            ],
            Effort::Optimised => {
                [c"-enable-epilogue-vectorization=true", c"-optimize-regalloc=true", c"-enable-misched=true"]
            }
        };
        let forks = c"-max-forked-scev-depth=0";
        let masks = c"-disable-x86-domain-reassignment";
        let minimum = c"-epilogue-vectorization-minimum-VF=4";
        let strides = if self.unit_strides {
            c"-enable-mem-access-versioning=true"
        } else {
            c"-enable-mem-access-versioning=false"
        };
        [c"-disable-lsr", minimum, forks, masks, strides, epilogue, registers, schedule]
    }

    /// Gives LLVM these settings. Nothing of LLVM that reads them may run meanwhile.
    fn apply(self) {
        let arguments = self.arguments();
        let arguments: Vec<_> =
            [c"sdfg"].iter().chain(&arguments).map(|argument| argument.as_ptr()).collect();
        // SAFETY: `arguments` holds NUL-terminated strings that live as long as the program, the count says so,
        // and a null overview is allowed. The options exist in the LLVM that this crate is built against, which takes each as often
        // as it is given, so the parser does not end the process.
        unsafe {
            LLVMParseCommandLineOptions(arguments.len() as i32, arguments.as_ptr(), std::ptr::null());
        }
    }
}

/// Active settings, and waiting threads.
struct Turns {
    settings: Option<Settings>,
    /// Threads that work with them.
    working: usize,
    /// The number that the next thread to ask gets.
    next: u64,
    /// The number of the first thread that waits.
    first: u64,
}

static TURNS: Mutex<Turns> = Mutex::new(Turns { settings: None, working: 0, next: 0, first: 0 });
static CHANGED: Condvar = Condvar::new();

/// While it lives, LLVM has the settings of a level.
pub(super) struct Turn(());

/// Waits until LLVM has the settings of `level`, with copies of loops for strides of one or without. A thread that has a turn must
/// not ask for another one.
pub(super) fn enter(level: OptLevel, unit_strides: bool) -> Turn {
    let settings = Settings::of(level, unit_strides);
    let mut turns = turns();
    let number = turns.next;
    turns.next += 1;
    while turns.first != number || (turns.working > 0 && turns.settings != Some(settings)) {
        turns = CHANGED.wait(turns).unwrap_or_else(PoisonError::into_inner);
    }
    if turns.settings != Some(settings) {
        settings.apply();
        turns.settings = Some(settings);
    }
    turns.first += 1;
    turns.working += 1;
    CHANGED.notify_all();
    Turn(())
}

impl Drop for Turn {
    fn drop(&mut self) {
        turns().working -= 1;
        CHANGED.notify_all();
    }
}

/// The turns; they are whole at every moment, so a panic elsewhere does not spoil them.
fn turns() -> MutexGuard<'static, Turns> {
    TURNS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn levels_with_other_settings_never_work_at_the_same_time() {
        let working: [AtomicUsize; 6] = Default::default();
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let working = &working;
                scope.spawn(move || {
                    for round in 0..50 {
                        let level = OptLevel::ALL[(thread + round * 3) % OptLevel::ALL.len()];
                        let unit_strides = (thread + round) % 5 < 2;
                        let turn = enter(level, unit_strides);
                        let own = 2 * Effort::of(level) as usize + usize::from(unit_strides);
                        working[own].fetch_add(1, Ordering::SeqCst);
                        std::thread::yield_now();
                        for (other, count) in working.iter().enumerate() {
                            assert!(other == own || count.load(Ordering::SeqCst) == 0);
                        }
                        working[own].fetch_sub(1, Ordering::SeqCst);
                        drop(turn);
                    }
                });
            }
        });
    }
}
