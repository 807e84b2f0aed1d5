//! The example programs, built with the builder. `programs/` contains each as text.

mod control;
mod divided;
mod linear_algebra;
pub mod polybench;
mod stencils;
mod streams;

pub use control::{branching, mandelbrot};
pub use divided::{attention, conv2d, fft, kmeans};
pub use linear_algebra::{blas, butterfly, histogram, matmul, spmv, triangular_solve};
pub use stencils::{jacobi2d, laplace};
pub use streams::{fibonacci, query, quicksort, systolic};

use sdfg::validate::{Rejected, Validated, Warnings};

/// A function that makes a program.
pub type Build = fn() -> Result<(Validated, Warnings), Rejected>;

/// Every example program by name, alphabetically.
pub const ALL: [(&str, Build); 18] = [
    ("attention", attention),
    ("blas", blas),
    ("branching", branching),
    ("butterfly", butterfly),
    ("conv2d", conv2d),
    ("fft", fft),
    ("fibonacci", fibonacci),
    ("histogram", histogram),
    ("jacobi2d", jacobi2d),
    ("kmeans", kmeans),
    ("laplace", laplace),
    ("mandelbrot", mandelbrot),
    ("matmul", matmul),
    ("query", query),
    ("quicksort", quicksort),
    ("spmv", spmv),
    ("systolic", systolic),
    ("triangular_solve", triangular_solve),
];
