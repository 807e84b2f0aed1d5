//! The ranks that run this process: agreement between them, and measurements, from Rust.
//!
//! Compiled programs call the library themselves. This is for commands that run on several ranks.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

use sdfg::dtype::ScalarType;

use super::hooks::{BeginAllFunction, BeginFunction, MoveFunction};
use super::{Combination, Dimension, Elements, Flags, Move, MpiError, MpiLibrary, Side};

/// The version of the library's interface that this module calls.
const ABI: i64 = 1;

/// A communicator of the caller: the kinds of `communicator_kind` in the configuration of compiled libraries in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Communicator {
    /// All ranks. If nobody has initialised MPI, the context does, and MPI ends with the process.
    World,
    /// The address of an `MPI_Comm` in C.
    Address(*const c_void),
    /// A handle of Fortran, or of mpi4py's `comm.py2f()`.
    Fortran(i64),
}

/// A communicator of ranks that run this process, in which compiled programs exchange messages: that of all ranks
/// ([`of_world`](Self::of_world)), or of some ([`of_communicator`](Self::of_communicator)).
///
/// All methods but those that say otherwise are collective: every rank calls them in the same order. One thread has the context.
#[derive(Debug)]
pub struct Context {
    context: *mut c_void,
    functions: Functions,
    /// The functions are in it.
    _library: libloading::Library,
}

/// Functions of the library.
#[derive(Clone, Copy, Debug)]
pub(super) struct Functions {
    close: unsafe extern "C" fn(*mut c_void),
    rank: unsafe extern "C" fn(*const c_void) -> i64,
    ranks: unsafe extern "C" fn(*const c_void) -> i64,
    pub(super) error: unsafe extern "C" fn(*const c_void) -> *const c_char,
    agree: unsafe extern "C" fn(*mut c_void, i64, *mut c_char, i64) -> i64,
    same: unsafe extern "C" fn(*mut c_void, *const i64, i64, *mut i64, *mut i64) -> i64,
    pub(super) moves: MoveFunction,
    pub(super) combine: MoveFunction,
    pub(super) begin: BeginFunction,
    pub(super) begin_all: BeginAllFunction,
    pub(super) finish: unsafe extern "C" fn(*mut c_void, i64) -> i64,
    measure: MeasureFunction,
    pub(super) counters: unsafe extern "C" fn(*const c_void, *mut i64),
    pub(super) abort: unsafe extern "C" fn(*mut c_void, i64, *const c_char),
}

type MeasureFunction =
    unsafe extern "C" fn(*mut c_void, i64, *const i64, i64, *const c_void, *mut c_void, i64, *mut f64) -> i64;
type OpenFunction = unsafe extern "C" fn(i64, *const c_void, *mut *mut c_void) -> i64;

impl Context {
    /// Opens a context of the world of MPI.
    ///
    /// # Errors
    /// [`MpiError::Load`] if the library cannot be opened, and [`MpiError::Communication`] with MPI's message.
    pub fn of_world(library: &MpiLibrary) -> Result<Self, MpiError> {
        // SAFETY: the world needs no communicator.
        unsafe { Context::of_communicator(library, Communicator::World) }
    }

    /// Opens a context of a communicator. Its ranks alone call this, and run programs with its hooks; other ranks may do something else.
    /// The context sends messages through a duplicate of the communicator, so that they meet no others. Except for the world, the
    /// caller has initialised MPI, and finalises it after the context is dropped.
    ///
    /// ```no_run
    /// use sdfg_codegen::mpi::{Communicator, Context, Mpi};
    ///
    /// # extern "C" fn handle_of_my_part() -> i64 { 0 }
    /// let library = Mpi::find()?.library(None)?;
    /// // For example, `MPI_Comm_c2f` of what `MPI_Comm_split` made.
    /// let handle: i64 = handle_of_my_part();
    /// // SAFETY: the handle is one of the MPI that `Mpi::find` finds, which this process has initialised.
    /// let context = unsafe { Context::of_communicator(&library, Communicator::Fortran(handle)) }?;
    /// println!("rank {} of {}", context.rank(), context.ranks());
    /// # Ok::<(), sdfg_codegen::mpi::MpiError>(())
    /// ```
    ///
    /// # Safety
    /// An address is that of an `MPI_Comm`, and a handle is one of a communicator, of the MPI for which the library was built.
    ///
    /// # Errors
    /// [`MpiError::Load`] if the library cannot be opened, and [`MpiError::Communication`] if the communicator is `MPI_COMM_NULL` or one
    /// between two groups, MPI is not initialised, or with MPI's message.
    pub unsafe fn of_communicator(
        library: &MpiLibrary,
        communicator: Communicator,
    ) -> Result<Self, MpiError> {
        let failed = |source| MpiError::Load { path: library.path().to_owned(), source };
        // SAFETY: `Mpi` built the file from the sources of this project, and the cache checks its hash. Nothing runs when it is
        // opened, except for what MPI's own libraries do.
        let loaded = unsafe { libloading::Library::new(library.path()) }.map_err(failed)?;
        // SAFETY: `sdfg_mpi.h` declares the functions with these types, in the version that the caller of `functions` checks.
        let (abi, open, functions) = unsafe { functions(&loaded) }.map_err(failed)?;
        // SAFETY: it only returns a number.
        let found = unsafe { abi() };
        if found != ABI {
            let message = format!("the library of communication has version {found}, not {ABI}");
            return Err(MpiError::Communication { status: 3, message });
        }
        let mut context = null_mut();
        let (kind, given) = match &communicator {
            Communicator::World => (0, null()),
            Communicator::Address(address) => (1, *address),
            Communicator::Fortran(handle) => (2, (&raw const *handle).cast()),
        };
        // SAFETY: the caller vouches for the communicator; `communicator` and `context` outlive the call.
        let status = unsafe { open(kind, given, &mut context) };
        let context = Context { context, functions, _library: loaded };
        context.checked(status)?;
        Ok(context)
    }

    pub(super) fn pointer(&self) -> *mut c_void {
        self.context
    }

    pub(super) fn functions(&self) -> Functions {
        self.functions
    }

    /// The rank of this process. Not collective.
    pub fn rank(&self) -> usize {
        // SAFETY: the context is open.
        usize::try_from(unsafe { (self.functions.rank)(self.context) }).unwrap_or_default()
    }

    /// The number of ranks. Not collective.
    pub fn ranks(&self) -> usize {
        // SAFETY: the context is open.
        usize::try_from(unsafe { (self.functions.ranks)(self.context) }).unwrap_or(1)
    }

    /// Whether every rank succeeded. A rank that failed passes its message.
    ///
    /// # Errors
    /// [`MpiError::Communication`] with the message of the lowest rank that failed, on every rank.
    pub fn agree(&mut self, failure: Option<&str>) -> Result<(), MpiError> {
        let mut message = [0_u8; 512];
        let text = failure.unwrap_or_default().as_bytes();
        let length = text.len().min(message.len() - 1);
        message[..length].copy_from_slice(&text[..length]);
        let capacity = i64::try_from(message.len()).unwrap_or_default();
        // SAFETY: the context is open, and the message is a string in so many bytes.
        let status = unsafe {
            (self.functions.agree)(
                self.context,
                i64::from(failure.is_some()),
                message.as_mut_ptr().cast(),
                capacity,
            )
        };
        self.checked(status)
    }

    /// Checks that all ranks pass the same words.
    ///
    /// # Errors
    /// [`MpiError::Communication`], which names the first rank and word that differ, on every rank.
    pub fn same(&mut self, words: &[i64]) -> Result<(), MpiError> {
        let n = i64::try_from(words.len()).unwrap_or(i64::MAX);
        // SAFETY: the context is open, and there are so many words.
        let status =
            unsafe { (self.functions.same)(self.context, words.as_ptr(), n, null_mut(), null_mut()) };
        self.checked(status)
    }

    /// The largest of the ranks' numbers; NaN if one is.
    ///
    /// # Errors
    /// [`MpiError::Communication`].
    pub fn largest(&mut self, number: f64) -> Result<f64, MpiError> {
        let ranks = i64::try_from(self.ranks()).unwrap_or(1);
        let dimension = |extent, cut: Option<usize>, moved| Dimension {
            extent,
            cut,
            starts: if cut.is_some() { (0..=extent).collect() } else { vec![0, extent] },
            before: 0,
            after: 0,
            elements: Elements { begin: 0, step: 1, moved },
        };
        let words = Move {
            scalar: ScalarType::F64,
            lanes: 1,
            combination: Combination::Max,
            flags: Flags { is_target_everywhere: true, is_fresh: true, ..Flags::default() },
            extents: vec![ranks],
            source: Side { grid: vec![ranks], dimensions: vec![dimension(ranks, Some(0), Some(0))] },
            target: Side { grid: vec![], dimensions: vec![dimension(1, None, None)] },
        }
        .words();
        let mut result = 0_f64;
        let n = i64::try_from(words.len()).unwrap_or(i64::MAX);
        // SAFETY: the context is open. By the words, each rank has one element of the source and one of the target.
        let status = unsafe {
            let (source, target) = ((&raw const number).cast(), (&raw mut result).cast());
            (self.functions.combine)(self.context, SITE, words.as_ptr(), n, source, target)
        };
        self.checked(status)?;
        Ok(result)
    }

    /// The bytes that rank 0 passes, on every rank.
    ///
    /// # Errors
    /// [`MpiError::Communication`].
    pub fn broadcast(&mut self, bytes: &[u8]) -> Result<Vec<u8>, MpiError> {
        let is_source = self.rank() == 0;
        // Lengths of memory are exact as floating-point numbers far beyond what there is.
        let n = self.largest(if is_source { bytes.len() as f64 } else { 0.0 })? as i64;
        if n == 0 {
            return Ok(Vec::new());
        }
        let dimension = Dimension {
            extent: n,
            cut: None,
            starts: vec![0, n],
            before: 0,
            after: 0,
            elements: Elements { begin: 0, step: 1, moved: Some(0) },
        };
        let side = Side { grid: vec![], dimensions: vec![dimension] };
        let description = Move {
            scalar: ScalarType::U8,
            lanes: 1,
            combination: Combination::Assign,
            flags: Flags { is_target_everywhere: true, ..Flags::default() },
            extents: vec![n],
            source: side.clone(),
            target: side,
        };
        let source = if is_source { bytes.as_ptr() } else { null() };
        // SAFETY: rank 0 has the bytes.
        unsafe { self.moved(BROADCAST_SITE, &description, source, n as usize) }
    }

    /// The words of all ranks, in the order of the ranks, on every rank. All ranks pass as many.
    ///
    /// # Errors
    /// [`MpiError::Communication`].
    pub fn gather(&mut self, words: &[i64]) -> Result<Vec<i64>, MpiError> {
        let ranks = i64::try_from(self.ranks()).unwrap_or(1);
        let n = i64::try_from(words.len()).unwrap_or(i64::MAX);
        if n == 0 {
            return Ok(Vec::new());
        }
        let dimension = |extent: i64, cut: Option<usize>, moved| Dimension {
            extent,
            cut,
            starts: if cut.is_some() { (0..=extent).collect() } else { vec![0, extent] },
            before: 0,
            after: 0,
            elements: Elements { begin: 0, step: 1, moved: Some(moved) },
        };
        let side =
            |grid, cut| Side { grid, dimensions: vec![dimension(ranks, cut, 0), dimension(n, None, 1)] };
        let description = Move {
            scalar: ScalarType::I64,
            lanes: 1,
            combination: Combination::Assign,
            flags: Flags { is_target_everywhere: true, ..Flags::default() },
            extents: vec![ranks, n],
            source: side(vec![ranks], Some(0)),
            target: side(vec![], None),
        };
        // SAFETY: each rank has its words.
        unsafe { self.moved(GATHER_SITE, &description, words.as_ptr(), words.len() * self.ranks()) }
    }

    /// The elements that a move gives each rank, of which there are `n`.
    ///
    /// # Safety
    /// `source` has the elements that the description takes from this rank, and the description has `n` elements of type `T` for
    /// each rank.
    ///
    /// # Errors
    /// [`MpiError::Communication`].
    unsafe fn moved<T: Clone + Default>(
        &mut self,
        site: i64,
        description: &Move,
        source: *const T,
        n: usize,
    ) -> Result<Vec<T>, MpiError> {
        let mut result = vec![T::default(); n];
        let words = description.words();
        let n_words = i64::try_from(words.len()).unwrap_or(i64::MAX);
        let target = result.as_mut_ptr().cast();
        // SAFETY: the context is open, and the caller vouches for the elements.
        let status = unsafe {
            (self.functions.moves)(self.context, site, words.as_ptr(), n_words, source.cast(), target)
        };
        self.checked(status)?;
        Ok(result)
    }

    /// Seconds that a move takes, or a combination: the median over the repetitions (1 to 101) of the slowest rank.
    ///
    /// # Errors
    /// [`MpiError::Communication`], also if a rank has no memory for the arrays.
    pub fn measure(
        &mut self,
        description: &Move,
        is_combination: bool,
        repetitions: u32,
    ) -> Result<f64, MpiError> {
        let flags = description.flags;
        let bytes = description.element_bytes();
        let source = self.array(&description.source, flags.is_source_everywhere, bytes);
        let target = self.array(&description.target, flags.is_target_everywhere, bytes);
        let missing =
            (source.is_none() || target.is_none()).then_some("no memory for the arrays to measure with");
        self.agree(missing)?;
        let (Some(source), Some(mut target)) = (source, target) else { return Ok(0.0) };
        // One array has room for both ends.
        if flags.is_in_place {
            target.resize(target.len().max(source.len()), 0);
        }
        let to: *mut c_void = target.as_mut_ptr().cast();
        let from: *const c_void = if flags.is_in_place { to } else { source.as_ptr().cast() };
        let words = description.words();
        let (n, mut seconds) = (i64::try_from(words.len()).unwrap_or(i64::MAX), 0.0);
        // SAFETY: the context is open, and the arrays have the elements that this rank holds. The library checks the words, and that
        // what is moved lies inside.
        let status = unsafe {
            let combine = i64::from(is_combination);
            let words = words.as_ptr();
            (self.functions.measure)(
                self.context,
                combine,
                words,
                n,
                from,
                to,
                repetitions.into(),
                &mut seconds,
            )
        };
        self.checked(status)?;
        Ok(seconds)
    }

    /// Prints a message and ends all ranks. Any rank may call it.
    pub fn abort(&mut self, status: i64, message: &str) -> ! {
        let mut text: Vec<u8> = message.bytes().filter(|byte| *byte != 0).collect();
        text.push(0);
        // SAFETY: the context is open, and the text ends with its only zero.
        unsafe { (self.functions.abort)(self.context, status, text.as_ptr().cast()) };
        std::process::abort()
    }

    /// An aligned local array of this rank; `None` if there is no memory for it.
    fn array(&self, side: &Side, is_everywhere: bool, bytes: i64) -> Option<Vec<u128>> {
        let Some(held) = side.held(self.rank(), is_everywhere) else { return Some(Vec::new()) };
        let mut size = usize::try_from(bytes).ok()?;
        for range in held {
            size = size.checked_mul(usize::try_from(range.end - range.start).ok()?)?;
        }
        let n = size.div_ceil(size_of::<u128>());
        let mut array = Vec::new();
        array.try_reserve_exact(n).ok()?;
        array.resize(n, 0);
        Some(array)
    }

    fn checked(&self, status: i64) -> Result<(), MpiError> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the message is a string, of the context or, if there is none, of the failure to open it.
        let message = unsafe { CStr::from_ptr((self.functions.error)(self.context)) };
        Err(MpiError::Communication { status, message: message.to_string_lossy().into_owned() })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: nobody else has the context; NULL is permitted.
        unsafe { (self.functions.close)(self.context) };
    }
}

/// The site of this module's own combination.
const SITE: i64 = (1 << 20) - 1;

/// That of its broadcast.
const BROADCAST_SITE: i64 = SITE - 1;

/// That of its words of all ranks.
const GATHER_SITE: i64 = SITE - 2;

/// The functions of a library.
///
/// # Safety
/// Its functions have the types of `sdfg_mpi.h`.
unsafe fn functions(
    library: &libloading::Library,
) -> Result<(unsafe extern "C" fn() -> i64, OpenFunction, Functions), libloading::Error> {
    // SAFETY: the caller vouches for the types.
    unsafe {
        let functions = Functions {
            close: *library.get(b"sdfg_mpi_close\0")?,
            rank: *library.get(b"sdfg_mpi_rank\0")?,
            ranks: *library.get(b"sdfg_mpi_ranks\0")?,
            error: *library.get(b"sdfg_mpi_error\0")?,
            agree: *library.get(b"sdfg_mpi_agree\0")?,
            same: *library.get(b"sdfg_mpi_same\0")?,
            moves: *library.get(b"sdfg_mpi_move\0")?,
            combine: *library.get(b"sdfg_mpi_combine\0")?,
            begin: *library.get(b"sdfg_mpi_begin\0")?,
            begin_all: *library.get(b"sdfg_mpi_begin_all\0")?,
            finish: *library.get(b"sdfg_mpi_finish\0")?,
            measure: *library.get(b"sdfg_mpi_measure\0")?,
            counters: *library.get(b"sdfg_mpi_counters\0")?,
            abort: *library.get(b"sdfg_mpi_abort\0")?,
        };
        Ok((*library.get(b"sdfg_mpi_abi\0")?, *library.get(b"sdfg_mpi_open\0")?, functions))
    }
}
