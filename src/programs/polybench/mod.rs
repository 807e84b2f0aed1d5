//! The 30 kernels of PolyBench/C 4.2 as SDFGs, without any optimisation (SC'19 paper, section 5).
//!
//! Loops whose iterations depend on each other are loops, all others are maps, and each statement of the C code is a
//! state. `programs/polybench` contains each as text.
//!
//! Source of the algorithms: L.-N. Pouchet and T. Yuki, *PolyBench/C 4.2*.

mod blas;
mod data;
mod datamining;
mod medley;
mod products;
mod solvers;
mod stencils;

pub use data::arguments;

use sdfg::builder::SdfgBuilder;
use sdfg::dtype::ScalarType::F64;
use sdfg::ir::ConflictResolution;

use super::Build;

/// Symbols with their values.
type Sizes = &'static [(&'static str, i64)];

/// A kernel of PolyBench.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Name: that of PolyBench, as an identifier.
    pub name: &'static str,
    /// Makes the program.
    pub build: Build,
    /// Values of the symbols for the data set MINI.
    pub mini: Sizes,
    /// Values of the symbols for the data set LARGE.
    pub large: Sizes,
}

/// Every kernel by name, alphabetically.
pub const KERNELS: [Kernel; 30] = [
    kernel("adi", stencils::adi, &[("TSTEPS", 20), ("N", 20)], &[("TSTEPS", 500), ("N", 1000)]),
    kernel("atax", products::atax, &[("M", 38), ("N", 42)], &[("M", 1900), ("N", 2100)]),
    kernel("bicg", products::bicg, &[("M", 38), ("N", 42)], &[("M", 1900), ("N", 2100)]),
    kernel("cholesky", solvers::cholesky, &[("N", 40)], &[("N", 2000)]),
    kernel("correlation", datamining::correlation, &[("M", 28), ("N", 32)], &[("M", 1200), ("N", 1400)]),
    kernel("covariance", datamining::covariance, &[("M", 28), ("N", 32)], &[("M", 1200), ("N", 1400)]),
    kernel("deriche", medley::deriche, &[("W", 64), ("H", 64)], &[("W", 4096), ("H", 2160)]),
    kernel(
        "doitgen",
        products::doitgen,
        &[("NQ", 8), ("NR", 10), ("NP", 12)],
        &[("NQ", 140), ("NR", 150), ("NP", 160)],
    ),
    kernel("durbin", solvers::durbin, &[("N", 40)], &[("N", 2000)]),
    kernel(
        "fdtd_2d",
        stencils::fdtd_2d,
        &[("TMAX", 20), ("NX", 20), ("NY", 30)],
        &[("TMAX", 500), ("NX", 1000), ("NY", 1200)],
    ),
    kernel("floyd_warshall", medley::floyd_warshall, &[("N", 60)], &[("N", 2800)]),
    kernel(
        "gemm",
        blas::gemm,
        &[("NI", 20), ("NJ", 25), ("NK", 30)],
        &[("NI", 1000), ("NJ", 1100), ("NK", 1200)],
    ),
    kernel("gemver", blas::gemver, &[("N", 40)], &[("N", 2000)]),
    kernel("gesummv", blas::gesummv, &[("N", 30)], &[("N", 1300)]),
    // PolyBench has 20 rows and 30 columns here: the last ten columns are then rounding errors alone. LARGE likewise.
    kernel("gramschmidt", solvers::gramschmidt, &[("M", 30), ("N", 20)], &[("M", 1200), ("N", 1000)]),
    kernel("heat_3d", stencils::heat_3d, &[("TSTEPS", 20), ("N", 10)], &[("TSTEPS", 500), ("N", 120)]),
    kernel("jacobi_1d", stencils::jacobi_1d, &[("TSTEPS", 20), ("N", 30)], &[("TSTEPS", 500), ("N", 2000)]),
    kernel("jacobi_2d", stencils::jacobi_2d, &[("TSTEPS", 20), ("N", 30)], &[("TSTEPS", 500), ("N", 1300)]),
    kernel(
        "k2mm",
        products::k2mm,
        &[("NI", 16), ("NJ", 18), ("NK", 22), ("NL", 24)],
        &[("NI", 800), ("NJ", 900), ("NK", 1100), ("NL", 1200)],
    ),
    kernel(
        "k3mm",
        products::k3mm,
        &[("NI", 16), ("NJ", 18), ("NK", 20), ("NL", 22), ("NM", 24)],
        &[("NI", 800), ("NJ", 900), ("NK", 1000), ("NL", 1100), ("NM", 1200)],
    ),
    kernel("lu", solvers::lu, &[("N", 40)], &[("N", 2000)]),
    kernel("ludcmp", solvers::ludcmp, &[("N", 40)], &[("N", 2000)]),
    kernel("mvt", products::mvt, &[("N", 40)], &[("N", 2000)]),
    kernel("nussinov", medley::nussinov, &[("N", 60)], &[("N", 2500)]),
    kernel("seidel_2d", stencils::seidel_2d, &[("TSTEPS", 20), ("N", 40)], &[("TSTEPS", 500), ("N", 2000)]),
    kernel("symm", blas::symm, &[("M", 20), ("N", 30)], &[("M", 1000), ("N", 1200)]),
    kernel("syr2k", blas::syr2k, &[("M", 20), ("N", 30)], &[("M", 1000), ("N", 1200)]),
    kernel("syrk", blas::syrk, &[("M", 20), ("N", 30)], &[("M", 1000), ("N", 1200)]),
    kernel("trisolv", solvers::trisolv, &[("N", 40)], &[("N", 2000)]),
    kernel("trmm", blas::trmm, &[("M", 20), ("N", 30)], &[("M", 1000), ("N", 1200)]),
];

const fn kernel(name: &'static str, build: Build, mini: Sizes, large: Sizes) -> Kernel {
    Kernel { name, build, mini, large }
}

/// Connectors, or parameters, with their accesses, or ranges.
type Pairs<'p> = &'p [(&'p str, &'p str)];

/// Begins a program in double precision with its symbols, scalars and arrays; shapes are texts such as `N, M`.
#[track_caller]
fn program(name: &str, symbols: &[&str], scalars: &[&str], arrays: Pairs<'_>) -> SdfgBuilder {
    let mut b = SdfgBuilder::new(name);
    for symbol in symbols {
        b.symbol(symbol);
    }
    for scalar in scalars {
        b.scalar(scalar, F64);
    }
    for (array, shape) in arrays {
        b.array(array, F64, shape.split(", "));
    }
    b
}

/// Adds a state with a map and one tasklet.
#[track_caller]
pub(super) fn map(
    b: &mut SdfgBuilder,
    label: &str,
    ranges: Pairs<'_>,
    inputs: Pairs<'_>,
    code: &str,
    outputs: Pairs<'_>,
) {
    b.state(label, |s| {
        s.mapped_tasklet(
            label,
            ranges.iter().copied(),
            inputs.iter().copied(),
            code,
            outputs.iter().copied(),
        );
    });
}

/// Adds a state with one tasklet.
#[track_caller]
fn tasklet(b: &mut SdfgBuilder, label: &str, inputs: Pairs<'_>, code: &str, outputs: Pairs<'_>) {
    b.state(label, |s| {
        let begun = s.tasklet(label);
        let read =
            inputs.iter().fold(begun, |tasklet, (connector, access)| tasklet.input(connector, *access));
        outputs
            .iter()
            .fold(read, |tasklet, (connector, access)| tasklet.output(connector, *access))
            .code(code);
    });
}

/// Adds a state with a map whose tasklet adds its output `o` to an element.
#[track_caller]
pub(super) fn sum(
    b: &mut SdfgBuilder,
    label: &str,
    ranges: Pairs<'_>,
    inputs: Pairs<'_>,
    code: &str,
    output: &str,
) {
    combine(b, ConflictResolution::Sum, label, ranges, inputs, code, output);
}

/// Adds a state with a map whose tasklet combines its output `o` with an element.
#[track_caller]
pub(super) fn combine(
    b: &mut SdfgBuilder,
    how: ConflictResolution,
    label: &str,
    ranges: Pairs<'_>,
    inputs: Pairs<'_>,
    code: &str,
    output: &str,
) {
    b.state(label, |s| {
        s.map(label, ranges.iter().copied(), |s| {
            let begun = s.tasklet(&format!("{label}_body"));
            let read =
                inputs.iter().fold(begun, |tasklet, (connector, access)| tasklet.input(connector, *access));
            read.output("o", output).resolve(how).code(code);
        });
    });
}
