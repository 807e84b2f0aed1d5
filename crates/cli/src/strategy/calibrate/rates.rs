//! Operations and bytes per second of one rank while all threads of all ranks are busy, measured with two small compiled
//! programs.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use sdfg::validate::validate;
use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::load::{CallError, Library};

use super::ROUNDS;
use crate::failure::Failure;

/// Measured rates of a rank.
pub(super) struct Rates {
    pub(super) operations_per_second: f64,
    pub(super) memory_bytes_per_second: f64,
}

/// Products followed by sums in each iteration: enough that loading and storing does not count.
const DEGREE: usize = 16;

/// Elements of the array that stays in the nearest cache, and how often it is gone through in a round.
const NEAR: (usize, usize) = (1024, 10_000);

/// Elements of each of three arrays that fit in no cache, and how often they are gone through in a round.
const FAR: (usize, usize) = (1 << 22, 2);

/// Measures so many ranks of this process, each with so many threads. A rank is as fast as its threads together.
///
/// # Errors
/// If code cannot be generated or run here.
pub(super) fn measure(ranks: usize, threads: u32) -> Result<Rates, Failure> {
    let workers = ranks * threads as usize;
    let (n, times) = NEAR;
    let arithmetic = compiled(&arithmetic())?;
    let seconds = slowest_of_best_round(workers, || {
        let mut x = vec![1.0_f64; n];
        let arithmetic = &arithmetic;
        move || {
            let call = arithmetic.call().symbol("N", n as i64).symbol("R", times as i64);
            // SAFETY: `arithmetic` accesses `X[0:N]`.
            unsafe { call.array_mut("X", &mut x, &[n]).run() }
        }
    })?;
    let of_rank = |work: usize, seconds: f64| f64::from(threads) * work as f64 / seconds;
    let operations_per_second = of_rank(2 * DEGREE * n * times, seconds);
    let (n, times) = FAR;
    let triad = compiled(TRIAD)?;
    let seconds = slowest_of_best_round(workers, || {
        let (a, mut b, c) = (vec![1.0_f64; n], vec![0.0_f64; n], vec![2.0_f64; n]);
        let triad = &triad;
        move || {
            let call = triad.call().symbol("N", n as i64).symbol("R", times as i64);
            let call = call.array("A", &a, &[n]).array_mut("B", &mut b, &[n]).array("C", &c, &[n]);
            // SAFETY: `TRIAD` accesses elements 0 to N - 1 of each.
            unsafe { call.run() }
        }
    })?;
    Ok(Rates { operations_per_second, memory_bytes_per_second: of_rank(24 * n * times, seconds) })
}

/// A polynomial by Horner's rule in each element, again and again.
fn arithmetic() -> String {
    let polynomial = (0..DEGREE).fold("x".to_owned(), |inner, _| format!("({inner}) * 0.5 + 0.25"));
    format!(
        "sdfg arithmetic {{
  symbol N: i64
  symbol R: i64
  array X: f64[N]
  for repeat: r = 0:R {{
    state step {{
      access old = X
      access new = X
      map each [i = 0:N] schedule(sequential) {{
        tasklet polynomial (x) -> (o) {{ o = {polynomial} }}
        each.X -> polynomial.x: X[i]
        polynomial.o -> each.X: X[i]
      }}
      old -> each.X
      each.X -> new
    }}
  }}
}}
"
    )
}

/// Three arrays that are gone through side by side.
const TRIAD: &str = "sdfg triad {
  symbol N: i64
  symbol R: i64
  array A: f64[N]
  array B: f64[N]
  array C: f64[N]
  for repeat: r = 0:R {
    state step {
      access A
      access B
      access C
      map each [i = 0:N] schedule(sequential) {
        tasklet f (a, c) -> (b) { b = 0.5 * a + c }
        each.A -> f.a: A[i]
        each.C -> f.c: C[i]
        f.b -> each.B: B[i]
      }
      A -> each.A
      C -> each.C
      each.B -> B
    }
  }
}
";

/// A program of ours as native code for this processor.
fn compiled(text: &str) -> Result<Library, Failure> {
    let wrong = |what: &dyn std::fmt::Display| Failure::program(format_args!("cannot measure here: {what}"));
    let sdfg = sdfg::text::parse("calibrate.sdft", text).map_err(|found| wrong(&format!("{found:?}")))?;
    let program = validate(sdfg).map_err(|rejected| wrong(&format!("{:?}", rejected.diagnostics)))?;
    let object =
        sdfg_codegen::compile(&program, &CompileOptions::default()).map_err(|error| wrong(&error))?;
    Library::load(&object).map_err(Failure::usage)
}

/// Seconds of the slowest thread in the round in which that was least. Each thread makes its own data and then runs on them,
/// all at once.
fn slowest_of_best_round<W>(n_threads: usize, prepare: impl Fn() -> W + Sync) -> Result<f64, Failure>
where
    W: FnMut() -> Result<(), CallError>,
{
    let start_together = Barrier::new(n_threads);
    let work = || -> Result<Vec<Duration>, CallError> {
        let mut run = prepare();
        // The first run loads code and data; an error must not leave the others waiting.
        let mut outcome = run();
        let mut times = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            start_together.wait();
            let start = Instant::now();
            if outcome.is_ok() {
                outcome = run();
            }
            times.push(start.elapsed());
        }
        outcome.map(|()| times)
    };
    let measured: Vec<Result<Vec<Duration>, CallError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut times = Vec::new();
    for one in measured {
        times.push(one.map_err(Failure::program)?);
    }
    let slowest = |round: usize| times.iter().map(|times| times[round].as_secs_f64()).fold(0.0, f64::max);
    Ok((0..ROUNDS).map(slowest).fold(f64::INFINITY, f64::min))
}
