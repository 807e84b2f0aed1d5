//! The bounds of the machine, and what a benchmark needs of MPI: `benches/mpi/machine.c`.

use std::path::Path;

use libloading::Library;

use crate::Error;
use crate::peers::file_of;

/// Functions of the library. All are collective.
pub(crate) struct Machine {
    barrier: unsafe extern "C" fn(),
    largest: unsafe extern "C" fn(f64) -> f64,
    sum: unsafe extern "C" fn(*mut f64, i64),
    bandwidth: unsafe extern "C" fn(i64) -> f64,
    operations: unsafe extern "C" fn(i64) -> f64,
    exchange: unsafe extern "C" fn(i64) -> f64,
    /// The functions are in it.
    _library: Library,
}

impl Machine {
    /// The library in a folder of compiled peers.
    pub(crate) fn open(folder: &Path) -> Result<Self, Error> {
        // SAFETY: the command just compiled it; loading it runs no code of its own.
        let library = unsafe { Library::new(file_of(folder, "machine"))? };
        // SAFETY: `machine.c` defines the functions with these types.
        unsafe {
            Ok(Machine {
                barrier: *library.get(b"machine_barrier\0")?,
                largest: *library.get(b"machine_largest\0")?,
                sum: *library.get(b"machine_sum\0")?,
                bandwidth: *library.get(b"machine_bandwidth\0")?,
                operations: *library.get(b"machine_operations\0")?,
                exchange: *library.get(b"machine_exchange\0")?,
                _library: library,
            })
        }
    }

    /// Waits for all ranks.
    pub(crate) fn barrier(&self) {
        // SAFETY: MPI is initialised, and all ranks call this.
        unsafe { (self.barrier)() }
    }

    /// The largest of the ranks' numbers.
    pub(crate) fn largest(&self, own: f64) -> f64 {
        // SAFETY: as above.
        unsafe { (self.largest)(own) }
    }

    /// Adds up the arrays of the ranks.
    pub(crate) fn sum(&self, values: &mut [f64]) {
        // SAFETY: as above; there are so many values.
        unsafe { (self.sum)(values.as_mut_ptr(), values.len() as i64) }
    }

    /// Bytes a second of one rank, on arrays of so many elements.
    pub(crate) fn bandwidth(&self, elements: i64) -> f64 {
        // SAFETY: as above.
        unsafe { (self.bandwidth)(elements) }
    }

    /// Operations a second of one rank, in products of such matrices.
    pub(crate) fn operations(&self, size: i64) -> f64 {
        // SAFETY: as above.
        unsafe { (self.operations)(size) }
    }

    /// Seconds in which two ranks exchange so many bytes.
    pub(crate) fn exchange(&self, bytes: i64) -> f64 {
        // SAFETY: as above.
        unsafe { (self.exchange)(bytes) }
    }
}
