//! The chains of transformations in `examples/chains`, with the programs that they are for.

use std::collections::BTreeMap;

use sdfg::edit::{EditError, Editor};
use sdfg::ir::Sdfg;
use sdfg::symbolic::{Expr, Symbol};
use sdfg_transforms::{Chain, ChainError};

use crate::programs::matmul;

/// A chain with the program that it begins with.
#[derive(Debug)]
pub struct Recorded {
    /// Name of the file, without its extension.
    pub name: &'static str,
    /// The program.
    pub program: Sdfg,
    /// The chain.
    pub chain: Chain,
}

/// Why a chain could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// The file.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The text of the program.
    #[error("the text of the program is wrong: {0:?}")]
    Text(Vec<sdfg::text::ParseError>),
    /// The program.
    #[error(transparent)]
    Program(#[from] sdfg::validate::Rejected),
    /// The values of its symbols.
    #[error(transparent)]
    Size(#[from] EditError),
}

/// The matrix product of the paper (section 6.2, Fig. 9b and 15): for any sizes, and for 512 by 512 matrices, where tiles
/// divide all ranges and registers hold a tile of the result.
///
/// # Errors
/// Never, unless a file or the builder is wrong.
pub fn matrix_products() -> Result<[Recorded; 2], RecordedError> {
    let (program, _) = matmul()?;
    let mut fixed = program.sdfg().clone();
    let values: BTreeMap<Symbol, Expr> =
        ["M", "N", "K"].map(|symbol| (Symbol::of(symbol), Expr::int(512))).into_iter().collect();
    let mut editor = Editor::new(&mut fixed);
    editor.substitute(&values)?;
    editor.commit()?;
    let any = include_str!("../examples/chains/matmul.chain.json");
    let even = include_str!("../examples/chains/matmul-512.chain.json");
    Ok([
        Recorded { name: "matmul", program: program.sdfg().clone(), chain: Chain::from_json(any)? },
        Recorded { name: "matmul-512", program: fixed, chain: Chain::from_json(even)? },
    ])
}

/// The matrix product of the paper for matrices with 2048 rows and columns, in `f64` and in `f32`: panels of `B` fit into
/// second-level caches, rows of `A` into first-level caches, and tiles of `C` into registers of 64 bytes.
///
/// # Errors
/// Never, unless a file is wrong.
pub fn large_matrix_products() -> Result<[Recorded; 2], RecordedError> {
    let of = |name, element, chain| -> Result<Recorded, RecordedError> {
        let text = include_str!("../programs/matmul.sdft").replace("f64", element);
        let mut program = sdfg::text::parse("matmul.sdft", &text).map_err(RecordedError::Text)?;
        let values: BTreeMap<Symbol, Expr> =
            ["M", "N", "K"].map(|symbol| (Symbol::of(symbol), Expr::int(2048))).into_iter().collect();
        let mut editor = Editor::new(&mut program);
        editor.substitute(&values)?;
        editor.commit()?;
        Ok(Recorded { name, program, chain: Chain::from_json(chain)? })
    };
    Ok([
        of("matmul-2048", "f64", include_str!("../examples/chains/matmul-2048.chain.json"))?,
        of("matmul-2048-f32", "f32", include_str!("../examples/chains/matmul-2048-f32.chain.json"))?,
    ])
}

/// Name, text and chain of a program of `programs`, whose chain in `examples/chains` has the same name.
macro_rules! of_any_size {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../programs/", $name, ".sdft")),
            include_str!(concat!("../examples/chains/", $name, ".chain.json")),
        )
    };
}

/// The paper's other kernels (section 6.1) for any size: the stencil in tiles of several time steps, and the product with a
/// sparse matrix by vectors of its elements.
///
/// # Errors
/// Never, unless a file is wrong.
pub fn kernels() -> Result<Vec<Recorded>, RecordedError> {
    [of_any_size!("jacobi2d"), of_any_size!("spmv")]
        .into_iter()
        .map(|(name, text, chain)| {
            let program = sdfg::text::parse(&format!("{name}.sdft"), text).map_err(RecordedError::Text)?;
            Ok(Recorded { name, program, chain: Chain::from_json(chain)? })
        })
        .collect()
}
