//! The example programs, built with the builder. `programs/` contains each as text.

mod control;
mod linear_algebra;
pub mod polybench;
mod stencils;
mod streams;

pub use control::{branching, mandelbrot};
pub use linear_algebra::{blas, butterfly, histogram, matmul, spmv, triangular_solve};
pub use stencils::{jacobi2d, laplace};
pub use streams::{fibonacci, query, quicksort, systolic};

use sdfg::validate::{Rejected, Validated, Warnings};

/// A function that makes a program.
pub type Build = fn() -> Result<(Validated, Warnings), Rejected>;

/// Every example program by name, alphabetically.
pub const ALL: [(&str, Build); 14] = [
    ("blas", blas),
    ("branching", branching),
    ("butterfly", butterfly),
    ("fibonacci", fibonacci),
    ("histogram", histogram),
    ("jacobi2d", jacobi2d),
    ("laplace", laplace),
    ("mandelbrot", mandelbrot),
    ("matmul", matmul),
    ("query", query),
    ("quicksort", quicksort),
    ("spmv", spmv),
    ("systolic", systolic),
    ("triangular_solve", triangular_solve),
];
