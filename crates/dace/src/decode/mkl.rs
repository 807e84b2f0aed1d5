//! MKL calls in C++ tasklets, decoded as the library nodes that they implement: batched products and sparse
//! products.
//!
//! Each tasklet has several statements around one call. Its declarations determine the meaning of the call.

use indexmap::IndexMap;

use super::blas::number;
use crate::model::IN_MEMORY;
use crate::text::call_arguments;
use crate::wire::Json;

/// The class and properties of the library node that a piece of C++ code is the expansion of.
pub(super) fn library_node(code: &str) -> Option<(String, IndexMap<String, Json>)> {
    // Spaces and line ends differ between versions.
    let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
    batch(&code).or_else(|| sparse(&code))
}

/// `sgemm_batch` on one group, column by column: operands are exchanged, and `_a` is the second one.
fn batch(code: &str) -> Option<(String, IndexMap<String, Json>)> {
    let call = "gemm_batch(transa, transb, m_array, n_array, k_array, alpha_array, A, lda_array, B, ldb_array, \
                beta_array, C, ldc_array, &group_count, group_sizes);";
    let declarations = code.strip_suffix(call)?;
    let value = |name: &str| {
        let (_, rest) = declarations.split_once(&format!(" {name}[group_count] = {{ "))?;
        Some(rest.split_once(" };")?.0)
    };
    let operand = |name: &str| {
        let (_, rest) = declarations.split_once(&format!(" {name}[__ib] = (("))?;
        rest.split_once("*)")?.1.split(')').next()
    };
    if (operand("A")?, operand("B")?, operand("C")?) != ("_b", "_a", "_c") {
        return None;
    }
    let is_transposed = |name: &str| match value(name)? {
        "'T'" => Some(Json::Bool(true)),
        "'N'" => Some(Json::Bool(false)),
        _ => None,
    };
    let beta = number(value("beta_array")?)?;
    let properties = [
        (IN_MEMORY, Json::Bool(true)),
        ("transA", is_transposed("transb")?),
        ("transB", is_transposed("transa")?),
        ("alpha", number(value("alpha_array")?)?),
        ("beta", beta.clone()),
    ];
    (beta == Json::Float(0.0)).then(|| node("BatchedMatMul", properties))
}

/// `mkl_sparse_d_mm` and `mkl_sparse_d_mv` on a matrix that was made of its rows before.
fn sparse(code: &str) -> Option<(String, IndexMap<String, Json>)> {
    let (declarations, call) = code.rsplit_once("mkl_sparse_")?;
    let (_, create) = declarations.split_once("_create_csr(")?;
    let is_plain = create.contains(", _a_rows, _a_rows + 1, _a_cols, _a_vals);")
        && declarations.contains("__descrA.type = SPARSE_MATRIX_TYPE_GENERAL;");
    let (function, rest) = call.split_once('(')?;
    let arguments = call_arguments(rest.strip_suffix(");")?)?;
    let (class, alpha, beta) = match (function.get(1..)?, arguments.as_slice()) {
        (
            "_mm",
            [
                "SPARSE_OPERATION_NON_TRANSPOSE",
                alpha,
                "__csrA",
                "__descrA",
                "SPARSE_LAYOUT_ROW_MAJOR",
                "_b",
                _,
                _,
                beta,
                "_c",
                _,
            ],
        ) => ("CSRMM", alpha, beta),
        ("_mv", ["SPARSE_OPERATION_NON_TRANSPOSE", alpha, "__csrA", "__descrA", "_b", beta, "_c"]) => {
            ("CSRMV", alpha, beta)
        }
        _ => return None,
    };
    let properties = [("alpha", number(alpha)?), ("beta", number(beta)?)];
    is_plain.then(|| node(class, properties))
}

fn node<const N: usize>(class: &str, properties: [(&str, Json); N]) -> (String, IndexMap<String, Json>) {
    let properties = properties.into_iter().map(|(name, value)| (name.to_owned(), value));
    (class.to_owned(), properties.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: &str = "
        const MKL_INT group_count = 1;
        MKL_INT group_sizes[group_count] = { b };
        char transa[group_count] = { 'N' };
        char transb[group_count] = { 'T' };
        double alpha_array[group_count] = { 1.0 };
        double beta_array[group_count] = { 0.0 };
        for (int __ib = 0; __ib < b; __ib++) {
            A[__ib] = ((double*)_b) + __ib*(k * n);
            B[__ib] = ((double*)_a) + __ib*(k * m);
            C[__ib] = ((double*)_c) + __ib*(m * n);
        }

        dgemm_batch(transa, transb, m_array, n_array, k_array, alpha_array, A, lda_array, B, ldb_array,
            beta_array, C, ldc_array, &group_count, group_sizes);";

    const SPARSE: &str = "sparse_matrix_t __csrA;
        mkl_sparse_d_create_csr(&__csrA, SPARSE_INDEX_BASE_ZERO, N, M, _a_rows, _a_rows + 1, _a_cols, _a_vals);
        struct matrix_descr __descrA;
        __descrA.type = SPARSE_MATRIX_TYPE_GENERAL;
        mkl_sparse_d_mm(SPARSE_OPERATION_NON_TRANSPOSE, double(2.0), __csrA, __descrA, SPARSE_LAYOUT_ROW_MAJOR,
            _b, K, K, double(1.0), _c, K);";

    #[test]
    fn calls_are_recognised() {
        let (class, properties) = library_node(BATCH).unwrap();
        assert_eq!(class, "BatchedMatMul");
        assert_eq!([&properties["transA"], &properties["transB"]], [&Json::Bool(true), &Json::Bool(false)]);
        let (class, properties) = library_node(SPARSE).unwrap();
        assert_eq!(class, "CSRMM");
        assert_eq!([&properties["alpha"], &properties["beta"]], [&Json::Float(2.0), &Json::Float(1.0)]);
        for other in [
            BATCH.replace("((double*)_b)", "((double*)_a)"),
            BATCH.replace("{ 0.0 }", "{ 1.0 }"),
            SPARSE.replace("NON_TRANSPOSE", "TRANSPOSE"),
            SPARSE.replace("_a_rows + 1", "_a_rows + 2"),
            SPARSE.replace("_b, K", "_b, K, K"),
        ] {
            assert_eq!(library_node(&other), None, "{other}");
        }
    }
}
