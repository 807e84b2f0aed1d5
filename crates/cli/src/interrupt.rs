//! Ends a long command at the user's request: it keeps what it has. A second request ends the process.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the command should end.
static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on, the first interrupt (Ctrl-C) or request to terminate is a wish that [`is_asked`] tells.
pub(crate) fn listen() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let handler: extern "C" fn(c_int) = note;
        // SAFETY: zeros are a value of this structure, and the handler only writes an atomic variable.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
            libc::sigemptyset(&raw mut action.sa_mask);
            // Without a handler, the signal ends the process, as before.
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

extern "C" fn note(_signal: c_int) {
    ASKED.store(true, Ordering::Relaxed);
}

/// Whether the user asked for the end, or [`ask`] did.
pub(crate) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Asks for the end.
pub(crate) fn ask() {
    ASKED.store(true, Ordering::Relaxed);
}
