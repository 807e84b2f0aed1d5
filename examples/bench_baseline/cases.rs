//! Benchmark cases: names, sizes, inputs and goals.

/// The contents of an argument.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fill {
    /// A number by value.
    Int(i64),
    /// A number by value or by pointer.
    Scalar(Type, f64),
    /// So many zeros; results.
    Zeros(Type, usize),
    /// So many numbers from 0 to below 1, which look random.
    Random(Type, usize),
    /// A square picture of so many rows with values from 0 to below 1: neighbours are alike, as in photographs.
    Picture(usize),
    /// The starts of so many rows of equal length, and one more.
    Rows(usize, usize),
    /// So many indices below a number, which look random.
    Indices(usize, usize),
    /// A square matrix of so many rows with a dominant diagonal.
    Dominant(usize),
}

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    F32,
    F64,
    I64,
}

impl Type {
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Type::F32 => 4,
            Type::F64 | Type::I64 => 8,
        }
    }
}

/// A benchmark.
pub(crate) struct Case {
    /// The name of the case in tables.
    pub(crate) name: &'static str,
    /// The name of the program.
    pub(crate) program: &'static str,
    /// Its arguments, in the order of the signature.
    pub(crate) arguments: &'static [Fill],
    /// Positions of the arguments that are results.
    pub(crate) results: &'static [usize],
    /// Bytes that have to move between memory and processor, lines that are read before they are written included; 0 where
    /// memory is not the limit.
    pub(crate) bytes: f64,
    /// The goals with one and with two threads: the time of C divided by that of the program.
    goals: [f64; 2],
    /// The name of the C source to compare with.
    pub(crate) baseline: &'static str,
    /// Whether the program is one of `programs` after its chain of transformations.
    pub(crate) is_chained: bool,
}

const fn case(name: &'static str, arguments: &'static [Fill], results: &'static [usize], bytes: f64) -> Case {
    Case {
        name,
        program: name,
        arguments,
        results,
        bytes,
        goals: [0.95, 0.95],
        baseline: name,
        is_chained: false,
    }
}

const fn beside(baseline: &'static str, goals: [f64; 2], case: Case) -> Case {
    Case { goals, baseline, ..case }
}

impl Case {
    pub(crate) fn goal(&self, threads: u32) -> f64 {
        self.goals[usize::from(threads > 1)]
    }

    /// Whether two sums of all results are the same but for rounding.
    pub(crate) fn agrees(&self, a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-4 * a.abs().max(b.abs()).max(1.0)
    }
}

const MB: f64 = 1048576.0;
const N: usize = 4096;
const LARGE: usize = 8192;
const VECTOR: usize = 1 << 26;
const NONZEROS: usize = 1 << 25;
const CUBE: usize = 320;

use Fill::{Dominant, Indices, Int, Picture, Random, Rows, Scalar, Zeros};
use Type::{F32, F64, I64};

/// A triad, by which the bandwidth is measured.
pub(crate) const BANDWIDTH: Case = case(
    "bandwidth",
    &[Zeros(F64, VECTOR), Random(F64, VECTOR), Random(F64, VECTOR), Int(VECTOR as i64)],
    &[0],
    32.0 * VECTOR as f64,
);

/// All benchmarks.
pub(crate) const CASES: [Case; 16] = [
    case(
        "axpy",
        &[Random(F64, VECTOR), Random(F64, VECTOR), Scalar(F64, 0.5), Int(VECTOR as i64)],
        &[1],
        24.0 * VECTOR as f64,
    ),
    // Each step reads a layer and writes the other one, whose lines are read first.
    case("laplace", &[Random(F64, 2 * N * N), Int(N as i64), Int(64)], &[0], 64.0 * 3.0 * 128.0 * MB),
    case(
        "jacobi",
        &[Random(F64, N * N), Zeros(F64, N * N), Int(N as i64), Int(32)],
        &[0, 1],
        64.0 * 3.0 * 128.0 * MB,
    ),
    // The bytes are those of sweeps without tiles of time.
    Case {
        program: "jacobi2d",
        is_chained: true,
        ..beside(
            "jacobi",
            [1.5, 1.5],
            case(
                "jacobi_tiled",
                &[Random(F64, N * N), Zeros(F64, N * N), Int(N as i64), Int(32)],
                &[0, 1],
                64.0 * 3.0 * 128.0 * MB,
            ),
        )
    },
    case(
        "heat",
        &[Random(F64, CUBE * CUBE * CUBE), Zeros(F64, CUBE * CUBE * CUBE), Int(CUBE as i64), Int(8)],
        &[0, 1],
        16.0 * 24.0 * (CUBE * CUBE * CUBE) as f64,
    ),
    beside(
        "histogram_serial",
        [1.5, 2.5],
        case(
            "histogram",
            &[Random(F32, LARGE * LARGE), Zeros(I64, 256), Int(LARGE as i64)],
            &[1],
            4.0 * 64.0 * MB,
        ),
    ),
    Case {
        program: "histogram",
        ..beside(
            "histogram_serial",
            [1.5, 2.5],
            case(
                "histogram_of_picture",
                &[Picture(LARGE), Zeros(I64, 256), Int(LARGE as i64)],
                &[1],
                4.0 * 64.0 * MB,
            ),
        )
    },
    beside(
        "query_serial",
        [2.0, 2.0],
        case(
            "query",
            &[
                Random(F32, VECTOR),
                Zeros(F32, VECTOR),
                Scalar(F32, 0.5),
                Scalar(I64, 0.0),
                Int(VECTOR as i64),
            ],
            &[1, 3],
            8.0 * VECTOR as f64,
        ),
    ),
    case(
        "spmv",
        &[
            Rows(LARGE, NONZEROS / LARGE),
            Indices(NONZEROS, LARGE),
            Random(F64, NONZEROS),
            Random(F64, LARGE),
            Zeros(F64, LARGE),
            Int(LARGE as i64),
            Int(LARGE as i64),
            Int(NONZEROS as i64),
        ],
        &[4],
        12.0 * NONZEROS as f64,
    ),
    Case {
        is_chained: true,
        program: "spmv",
        ..beside(
            "spmv",
            [0.95, 0.95],
            case(
                "spmv_vectors",
                &[
                    Rows(LARGE, NONZEROS / LARGE),
                    Indices(NONZEROS, LARGE),
                    Random(F64, NONZEROS),
                    Random(F64, LARGE),
                    Zeros(F64, LARGE),
                    Int(LARGE as i64),
                    Int(LARGE as i64),
                    Int(NONZEROS as i64),
                ],
                &[4],
                12.0 * NONZEROS as f64,
            ),
        )
    },
    case("mandelbrot", &[Zeros(I64, 2048 * 2048), Int(2048), Int(2048), Int(100)], &[0], 0.0),
    case("solve", &[Dominant(N), Random(F64, N), Zeros(F64, N), Int(N as i64)], &[2], 64.0 * MB),
    case(
        "sum_of_rows",
        &[Random(F64, LARGE * LARGE), Zeros(F64, LARGE), Int(LARGE as i64)],
        &[1],
        512.0 * MB,
    ),
    case(
        "sum_of_columns",
        &[Random(F64, LARGE * LARGE), Zeros(F64, LARGE), Int(LARGE as i64)],
        &[1],
        512.0 * MB,
    ),
    // As many processing elements as there may be threads.
    case("fibonacci", &[Scalar(I64, 27.0), Scalar(I64, 0.0), Int(2)], &[1], 0.0),
    case("softmax", &[Random(F32, N * N), Zeros(F32, N * N), Int(N as i64)], &[1], 0.0),
];
