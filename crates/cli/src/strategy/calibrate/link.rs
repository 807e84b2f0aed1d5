//! Message time between two threads of this machine: the link of ranks that share its memory.
//!
//! A waiting thread polls, as message-passing libraries do, instead of sleeping.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::ROUNDS;

/// Measurements of the link.
pub(super) struct Link {
    pub(super) bytes_per_second: f64,
    pub(super) latency_seconds: f64,
}

/// Numbers of a large message: 1 MiB.
const NUMBERS: usize = 1 << 17;

/// Large messages of a round, and small ones there and back.
const MESSAGES: u64 = 64;
const RETURNS: u64 = 2000;

pub(super) fn measure() -> Link {
    let best = |measure: fn() -> f64| (0..ROUNDS).map(|_| measure()).fold(f64::INFINITY, f64::min);
    Link { bytes_per_second: 8.0 * NUMBERS as f64 / best(copy), latency_seconds: best(round_trip) / 2.0 }
}

/// Waits for a number; leaves the processor to others now and then, who may be who it waits for.
fn wait_for(place: &AtomicU64, number: u64) {
    let mut looks = 0_u32;
    while place.load(Ordering::Acquire) != number {
        looks = looks.wrapping_add(1);
        if looks.is_multiple_of(4096) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Seconds of a small message to another thread and back.
fn round_trip() -> f64 {
    let (there, back) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=RETURNS {
                wait_for(&there, number);
                back.store(number, Ordering::Release);
            }
        });
        let turn = |number: u64| {
            there.store(number, Ordering::Release);
            wait_for(&back, number);
        };
        // The other thread has begun when the first is back.
        turn(1);
        let start = Instant::now();
        (2..=RETURNS).for_each(turn);
        start.elapsed().as_secs_f64() / (RETURNS - 1) as f64
    })
}

/// Least seconds of copying a large message that another thread has just written.
fn copy() -> f64 {
    let message = Mutex::new(vec![0.0_f64; NUMBERS]);
    let (written, copied) = (AtomicU64::new(0), AtomicU64::new(0));
    // Nobody panics while holding the lock.
    let lock = || message.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=MESSAGES {
                wait_for(&copied, number - 1);
                lock().fill(number as f64);
                written.store(number, Ordering::Release);
            }
        });
        let mut own = vec![0.0_f64; NUMBERS];
        let mut least = f64::INFINITY;
        for number in 1..=MESSAGES {
            wait_for(&written, number);
            let start = Instant::now();
            own.copy_from_slice(&lock());
            std::hint::black_box(&own);
            least = least.min(start.elapsed().as_secs_f64());
            copied.store(number, Ordering::Release);
        }
        least
    })
}
