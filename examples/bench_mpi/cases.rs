//! The cases: programs, sizes, and what was written by hand for them.

use sdfg::dtype::ElementType;
use sdfg::interpret::Arguments;
use sdfg::tensor::Tensor;

use crate::Error;
use crate::distributed::Strategy;

/// Names of the cases on the command line.
pub(crate) const NAMES: [&str; 5] =
    ["jacobi", "jacobi_small", "conjugate_gradient", "conjugate_gradient_small", "product"];

/// The contents of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Zeros.
    Zeros,
    /// Numbers from 0 to below 1, which look random.
    Random,
}

/// An argument: its name, its extents in terms of the size, and its contents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    /// A square array; otherwise, it has one element.
    pub(crate) is_square: bool,
    pub(crate) fill: Fill,
}

/// A program that was written by hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// Its name in tables: who wrote it, and how it cuts arrays.
    pub(crate) name: &'static str,
    /// The file in `benches/mpi`, without its extension.
    pub(crate) source: &'static str,
    /// The way in which it cuts arrays.
    pub(crate) variant: i64,
}

/// What limits a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// Bytes between memory and processor, of all ranks, lines that are read before they are written included.
    Bytes(f64),
    /// Arithmetic operations, of all ranks.
    Operations(f64),
}

/// A case.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) text: String,
    pub(crate) size: i64,
    pub(crate) steps: i64,
    pub(crate) arguments: Vec<Argument>,
    /// Arguments that peers take.
    pub(crate) given: &'static [&'static str],
    /// Arguments that are compared.
    pub(crate) results: &'static [&'static str],
    pub(crate) peers: Vec<Peer>,
    pub(crate) bound: Bound,
}

/// All cases for so many ranks.
pub(crate) fn all(is_quick: bool, ranks: usize) -> Vec<Case> {
    let size = |usual, quick| if is_quick { quick } else { usual };
    let steps = |usual| if is_quick { 2 } else { usual };
    vec![
        jacobi("jacobi", size(4096, 128), steps(5)),
        jacobi("jacobi_small", size(512, 64), steps(400)),
        gradient("conjugate_gradient", size(4096, 128), steps(4)),
        gradient("conjugate_gradient_small", size(512, 64), steps(200)),
        product(size(2048, 128), ranks),
    ]
}

const fn square(name: &'static str, fill: Fill) -> Argument {
    Argument { name, is_square: true, fill }
}

const fn peer(name: &'static str, source: &'static str, variant: i64) -> Peer {
    Peer { name, source, variant }
}

fn jacobi(name: &'static str, size: i64, steps: i64) -> Case {
    let cells = (size * size) as f64;
    Case {
        name,
        text: include_str!("../../programs/jacobi2d.sdft").to_owned(),
        size,
        steps,
        arguments: vec![square("A", Fill::Random), square("B", Fill::Random)],
        given: &["A", "B"],
        results: &["A", "B"],
        peers: vec![peer("C, rows", "jacobi", 0), peer("C, grid", "jacobi", 1)],
        bound: Bound::Bytes(2.0 * steps as f64 * 24.0 * cells),
    }
}

fn gradient(name: &'static str, size: i64, steps: i64) -> Case {
    let cells = (size * size) as f64;
    Case {
        name,
        text: include_str!("../../benches/mpi/conjugate_gradient.sdft").to_owned(),
        size,
        steps,
        arguments: vec![
            square("b", Fill::Random),
            square("x", Fill::Zeros),
            square("r", Fill::Zeros),
            square("p", Fill::Zeros),
            square("q", Fill::Zeros),
            Argument { name: "residual", is_square: false, fill: Fill::Zeros },
        ],
        given: &["b"],
        results: &["x", "residual"],
        peers: vec![peer("C, rows", "conjugate_gradient", 0), peer("C, grid", "conjugate_gradient", 1)],
        // The first loop reads one array and sets three. In a step, one is read and one set, then two read and two changed, then one
        // read and one changed.
        bound: Bound::Bytes((56.0 + 96.0 * steps as f64) * cells),
    }
}

fn product(size: i64, ranks: usize) -> Case {
    let text = include_str!("../../benches/mpi/product.sdft");
    // One rank has all.
    let text = match ranks {
        1 => text.replace(" distribution(grid(RANKS)[balanced(0), whole])", ""),
        _ => text.replace("RANKS", &ranks.to_string()),
    };
    Case {
        name: "product",
        text,
        size,
        steps: 1,
        arguments: vec![square("A", Fill::Random), square("B", Fill::Random), square("C", Fill::Zeros)],
        given: &["A", "B"],
        results: &["C"],
        peers: vec![
            peer("C, SUMMA, rows", "summa", 0),
            peer("C, SUMMA, grid", "summa", 1),
            peer("pdgemm, 128", "pdgemm", 128),
            peer("pdgemm, 256", "pdgemm", 256),
        ],
        bound: Bound::Operations(2.0 * (size * size * size) as f64),
    }
}

impl Case {
    /// The strategies to distribute the program by.
    pub(crate) fn strategies(&self) -> [Strategy; 2] {
        [Strategy::Optimal, Strategy::DataParallel]
    }

    /// Symbols with their values.
    pub(crate) fn symbols(&self) -> Vec<(&'static str, i64)> {
        match self.name {
            "product" => vec![("N", self.size)],
            _ => vec![("N", self.size), ("T", self.steps)],
        }
    }

    /// The whole arguments.
    pub(crate) fn arguments(&self) -> Result<Arguments, Error> {
        let mut arguments = Arguments::new();
        for (name, value) in self.symbols() {
            arguments.set_symbol(name, value);
        }
        for (seed, argument) in (0..).zip(&self.arguments) {
            let shape = if argument.is_square { vec![self.size; 2] } else { vec![1] };
            arguments.set(argument.name, filled(argument.fill, seed, shape)?);
        }
        Ok(arguments)
    }
}

/// A tensor with such contents.
pub(crate) fn filled(fill: Fill, seed: u64, shape: Vec<i64>) -> Result<Tensor, Error> {
    let element = ElementType::scalar(sdfg::dtype::ScalarType::F64);
    if fill == Fill::Zeros {
        return Ok(Tensor::zeros(element, shape)?);
    }
    let count = shape.iter().product::<i64>() as u64;
    let numbers: Vec<f64> = (0..count).map(|at| number(seed << 40 | at)).collect();
    Ok(Tensor::new(&shape, &numbers)?)
}

/// A number from 0 to below 1 that looks random (splitmix64).
pub(crate) fn number(at: u64) -> f64 {
    let mut z = at.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / 9007199254740992.0
}
