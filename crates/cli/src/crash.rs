//! Reports a native run that a signal ends. Native code trusts its program, so a wrong program may end the
//! process without any message of its own.

use std::ffi::{c_int, c_void};
use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use sdfg_codegen::load::on_each_thread;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// The signals that faults of code raise, and what they mean.
const SIGNALS: [(c_int, &str, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV", "an access to memory that is not there, or a stack that is full"),
    (libc::SIGBUS, "SIGBUS", "an access to memory that is not there"),
    (libc::SIGFPE, "SIGFPE", "an integer division that has no result"),
    (libc::SIGILL, "SIGILL", "an instruction that the processor does not have, or a trap"),
    (libc::SIGABRT, "SIGABRT", "a call of `abort`, or memory of the process that was destroyed"),
];

/// The code that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    /// Whether it looks at every access.
    pub(crate) checked: bool,
    /// Whether some of it is C or C++ of the program or a library.
    pub(crate) external: bool,
}

impl Running {
    /// The remedy for a crash: a command that finds its cause.
    fn help(self) -> &'static str {
        match (self.checked, self.external) {
            (false, false) => "run it with --checked: every access is looked at, and a wrong one is named",
            (false, true) => {
                "run it with --checked: every access is looked at, and a wrong one is named, but none in C or C++ code"
            }
            (true, true) => "C and C++ code is not checked: look for the fault there, with a debugger",
            (true, false) => "checked code should end with a message: please report this with the program",
        }
    }
}

/// The message of each signal: a handler may allocate nothing.
static MESSAGES: OnceLock<Vec<(c_int, String)>> = OnceLock::new();

/// Whether a thread writes its message already.
static TOLD: AtomicBool = AtomicBool::new(false);

/// From now on, a signal that ends the process leaves a message. The exit status stays that of the signal.
pub(crate) fn report_signals(running: Running, terminal: Terminal) {
    let message = |(signal, name, meaning): (c_int, &str, &str)| {
        let failure = Failure::program(format_args!("the run was ended by the signal {name}: {meaning}"));
        (signal, format!("{}\n", failure.help(running.help()).render(terminal.style())))
    };
    MESSAGES.get_or_init(|| SIGNALS.into_iter().map(message).collect());
    for (signal, ..) in SIGNALS {
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = tell;
        // SAFETY: zeros are a value of this structure, and the handler calls nothing that a handler may not call.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            // Rust's runtime gave the main thread a second stack; others get one from `report_stack_overflows`.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut action.sa_mask);
            // What cannot be installed is not: the run ends without a message, as before.
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Gives the threads of teams of this size a second stack each, on which they can tell that the first is full.
///
/// The OpenMP runtime keeps threads from team to team. One that it starts later, for a larger team or inside of another, ends without a
/// message when its stack is full.
pub(crate) fn report_stack_overflows(threads: Option<NonZeroU32>) {
    // A program whose runtime is missing was not loaded.
    let _ = on_each_thread(threads, give_second_stack);
}

/// Enough for the handler and the registers of every processor.
const SECOND_STACK: usize = 1 << 16;

extern "C" fn give_second_stack(_: *mut c_void) {
    // SAFETY: zeros are a value of this structure, which is only written. A thread without a second stack gets memory that nobody else
    // has, and that stays as long as the process.
    unsafe {
        let mut present: libc::stack_t = std::mem::zeroed();
        if libc::sigaltstack(std::ptr::null(), &raw mut present) != 0
            || present.ss_flags & libc::SS_DISABLE == 0
        {
            return;
        }
        let memory: &'static mut [u8] = Box::leak(vec![0; SECOND_STACK].into_boxed_slice());
        let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: memory.len() };
        libc::sigaltstack(&raw const stack, std::ptr::null_mut());
    }
}

/// Writes the message, and leaves the end of the process to the signal itself, whose exit status and core file are those without a handler.
extern "C" fn tell(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    if TOLD.swap(true, Ordering::Relaxed) {
        // Another thread writes, and ends the process then. Whichever it was, this one must not go on for ever.
        let while_it_writes = libc::timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        // SAFETY: a handler may call this function; it reads the structure.
        unsafe { libc::nanosleep(&raw const while_it_writes, std::ptr::null_mut()) };
    } else if let Some((_, message)) =
        MESSAGES.get().and_then(|messages| messages.iter().find(|(of, _)| *of == signal))
    {
        let mut rest = message.as_bytes();
        while !rest.is_empty() {
            // SAFETY: a handler may call this function; the bytes live as long as the process.
            let written = unsafe { libc::write(libc::STDERR_FILENO, rest.as_ptr().cast(), rest.len()) };
            let Some(after) = usize::try_from(written).ok().and_then(|written| rest.get(written..)) else {
                break;
            };
            rest = after;
        }
    }
    // SAFETY: a handler may call these functions; the system passes information for handlers that ask for it.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        // An instruction that faulted does so again. What was sent has to be sent again.
        if info.is_null() || (*info).si_code <= 0 {
            libc::raise(signal);
        }
    }
}
