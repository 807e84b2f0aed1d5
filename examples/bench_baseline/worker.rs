//! Worker process: holds one library and its arguments, and runs it on request.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::ffi::c_void;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use libloading::Library;

use crate::Error;
use crate::cases::{BANDWIDTH, CASES, Case, Fill, Type};

/// The first word of a worker's command line.
pub(crate) const COMMAND: &str = "--worker";

/// A worker as the benchmark sees it.
pub(crate) struct Worker {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Worker {
    pub(crate) fn start(case: &str, library: &Path, ours: bool, threads: u32) -> Result<Self, Error> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(COMMAND).arg(case).arg(library).arg(if ours { "ours" } else { "c" });
        // Threads that wait must not take the processor from the others' turns.
        command.env("OMP_NUM_THREADS", threads.to_string()).env("OMP_WAIT_POLICY", "passive");
        command.env("OMP_PROC_BIND", "true").env("OMP_PLACES", "cores").env("OMP_DYNAMIC", "false");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (to, from) = pipes.ok_or("a worker has no pipes")?;
        Ok(Worker { child, to, from: BufReader::new(from) })
    }

    fn ask(&mut self, question: &str) -> Result<f64, Error> {
        writeln!(self.to, "{question}")?;
        let mut answer = String::new();
        self.from.read_line(&mut answer)?;
        answer.trim().parse().map_err(|_| format!("a worker answers `{}`", answer.trim()).into())
    }

    /// One run, in milliseconds.
    pub(crate) fn run(&mut self) -> Result<f64, Error> {
        self.ask("run")
    }

    /// One run, and the sum of all results.
    pub(crate) fn check(&mut self) -> Result<f64, Error> {
        self.ask("check")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The worker ends on request. Its last output is ignored.
        let _ = writeln!(self.to, "end");
        let _ = self.child.wait();
    }
}

/// The loop of a worker.
pub(crate) fn serve(arguments: &[String]) -> Result<(), Error> {
    let [name, path, kind] = arguments else { return Err("a worker is given case, library and kind".into()) };
    let case = CASES.iter().chain([&BANDWIDTH]).find(|case| case.name == name).ok_or("no such case")?;
    // SAFETY: the library was just made by the benchmark; loading it runs no code of its own.
    let library = unsafe { Library::new(path)? };
    let memory: Vec<Memory> = case.arguments.iter().map(|fill| Memory::new(*fill)).collect();
    let pointers: Vec<*mut c_void> = memory.iter().map(|memory| memory.address.cast()).collect();
    let run = entry(&library, case.program, kind == "ours")?;
    let lines = std::io::stdin().lock().lines();
    for line in lines {
        let start = Instant::now();
        match line?.as_str() {
            "run" => {
                run(&pointers)?;
                println!("{}", start.elapsed().as_secs_f64() * 1e3);
            }
            "check" => {
                run(&pointers)?;
                println!("{:e}", sum(case, &memory));
            }
            _ => break,
        }
    }
    Ok(())
}

/// Something that runs a library on arguments.
type Run = Box<dyn Fn(&[*mut c_void]) -> Result<(), Error>>;

/// The function to run.
fn entry(library: &Library, name: &str, ours: bool) -> Result<Run, Error> {
    if !ours {
        type C = unsafe extern "C" fn(*const *mut c_void);
        // SAFETY: every C source of the benchmark defines this function.
        let run: C = unsafe { *library.get(b"run\0")? };
        return Ok(Box::new(move |arguments| {
            // SAFETY: the list has the arguments of the case, which outlive the call.
            unsafe { run(arguments.as_ptr()) };
            Ok(())
        }));
    }
    type Create = unsafe extern "C" fn(*const c_void, *mut *mut c_void) -> i32;
    type Invoke = unsafe extern "C" fn(*mut c_void, *const *mut c_void) -> i32;
    // SAFETY: these are the signatures of the functions that every compiled program exports.
    let (create, invoke): (Create, Invoke) = unsafe {
        let create = *library.get(format!("{name}_create\0").as_bytes())?;
        (create, *library.get(format!("{name}__invoke\0").as_bytes())?)
    };
    let mut handle = std::ptr::null_mut();
    // SAFETY: no configuration is the default one; the handle is written.
    if unsafe { create(std::ptr::null(), &mut handle) } != 0 {
        return Err("no handle".into());
    }
    Ok(Box::new(move |arguments| {
        // SAFETY: the handle is that of this library, the list has the arguments of the case.
        match unsafe { invoke(handle, arguments.as_ptr()) } {
            0 => Ok(()),
            status => Err(format!("status {status}").into()),
        }
    }))
}

/// An argument in memory.
struct Memory {
    address: *mut u8,
    ty: Type,
    count: usize,
}

impl Memory {
    fn new(fill: Fill) -> Self {
        let (ty, count) = match fill {
            Fill::Int(_) => (Type::I64, 1),
            Fill::Scalar(ty, _) => (ty, 1),
            Fill::Zeros(ty, count) | Fill::Random(ty, count) => (ty, count),
            // Four bytes each, as two of a type with eight would be.
            Fill::Picture(rows) => (Type::F32, rows * rows),
            Fill::Rows(rows, _) => (Type::F32, rows + 1),
            Fill::Indices(count, _) => (Type::F32, count),
            Fill::Dominant(rows) => (Type::F64, rows * rows),
        };
        let layout =
            Layout::from_size_align(count * ty.bytes(), 2 << 20).unwrap_or(Layout::new::<[u64; 8]>());
        // SAFETY: no case has an argument without elements.
        let address = unsafe { alloc_zeroed(layout) };
        if address.is_null() {
            handle_alloc_error(layout);
        }
        let memory = Memory { address, ty, count };
        memory.fill(fill);
        memory
    }

    fn fill(&self, fill: Fill) {
        match fill {
            Fill::Int(value) => self.slice::<i64>()[0] = value,
            Fill::Scalar(Type::F32, value) => self.slice::<f32>()[0] = value as f32,
            Fill::Scalar(Type::F64, value) => self.slice::<f64>()[0] = value,
            Fill::Scalar(Type::I64, value) => self.slice::<i64>()[0] = value as i64,
            // Every page is touched.
            Fill::Zeros(..) => self.slice::<u8>().fill(0),
            Fill::Random(Type::F32, _) => {
                // Products with 2^24 are whole, so that no value is 1.
                self.slice::<f32>()
                    .iter_mut()
                    .zip(Numbers(1))
                    .for_each(|(x, bits)| *x = (bits >> 40) as f32 / 16777216.0);
            }
            Fill::Random(..) => {
                self.slice::<f64>()
                    .iter_mut()
                    .zip(Numbers(1))
                    .for_each(|(x, bits)| *x = (bits >> 11) as f64 / 9007199254740992.0);
            }
            Fill::Picture(rows) => {
                let wave = |at: usize, length: f32| (at as f32 / rows as f32 * length).sin();
                for (row, pixels) in self.slice::<f32>().chunks_exact_mut(rows).enumerate() {
                    let height = 0.49 * wave(row, 9.0);
                    let along = pixels.iter_mut().enumerate();
                    along.for_each(|(column, pixel)| *pixel = 0.5 + height * wave(column, 7.0));
                }
            }
            Fill::Rows(_, length) => {
                self.slice::<u32>()
                    .iter_mut()
                    .enumerate()
                    .for_each(|(row, start)| *start = (row * length) as u32);
            }
            Fill::Indices(_, below) => {
                self.slice::<u32>()
                    .iter_mut()
                    .zip(Numbers(2))
                    .for_each(|(x, bits)| *x = ((bits >> 33) % below as u64) as u32);
            }
            Fill::Dominant(rows) => {
                let scale = 1.0 / rows as f64;
                for (at, (x, bits)) in self.slice::<f64>().iter_mut().zip(Numbers(3)).enumerate() {
                    let value = (bits >> 11) as f64 / 9007199254740992.0;
                    *x = if at / rows == at % rows { 2.0 } else { value * scale };
                }
            }
        }
    }

    #[expect(
        clippy::mut_from_ref,
        reason = "memory of the benchmark's own, which nothing else names meanwhile"
    )]
    fn slice<T>(&self) -> &mut [T] {
        let count = self.count * self.ty.bytes() / size_of::<T>();
        // SAFETY: so many bytes were allocated, zeroed and aligned; every pattern of bytes is a value of the types used.
        unsafe { std::slice::from_raw_parts_mut(self.address.cast(), count) }
    }
}

/// Numbers that look random (splitmix64).
struct Numbers(u64);

impl Iterator for Numbers {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(z ^ (z >> 31))
    }
}

/// The sum of all results, each weighted a little by its position.
fn sum(case: &Case, memory: &[Memory]) -> f64 {
    fn weighted(values: impl Iterator<Item = f64>) -> f64 {
        values.enumerate().map(|(at, value)| value * (1.0 + (at % 1021) as f64 / 1021.0)).sum()
    }
    case.results
        .iter()
        .map(|at| {
            let memory = &memory[*at];
            match memory.ty {
                Type::F32 => weighted(memory.slice::<f32>().iter().map(|x| f64::from(*x))),
                Type::F64 => weighted(memory.slice::<f64>().iter().copied()),
                Type::I64 => weighted(memory.slice::<i64>().iter().map(|x| *x as f64)),
            }
        })
        .sum()
}
