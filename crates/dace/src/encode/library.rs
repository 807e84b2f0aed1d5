//! Module paths of DaCe 1.0.2's library node classes.

/// The Python module of a class of library nodes; `None` for operations that DaCe 1.0.2 has not.
pub(crate) fn library_module(class: &str) -> Option<&'static str> {
    Some(match class {
        "MatMul" => "dace.libraries.blas.nodes.matmul",
        "Gemm" => "dace.libraries.blas.nodes.gemm",
        "BatchedMatMul" => "dace.libraries.blas.nodes.batched_matmul",
        "Gemv" => "dace.libraries.blas.nodes.gemv",
        "Ger" => "dace.libraries.blas.nodes.ger",
        "Dot" => "dace.libraries.blas.nodes.dot",
        "Axpy" => "dace.libraries.blas.nodes.axpy",
        "Einsum" => "dace.libraries.blas.nodes.einsum",
        "TensorDot" => "dace.libraries.linalg.nodes.tensordot",
        "Cholesky" => "dace.libraries.linalg.nodes.cholesky",
        "Solve" => "dace.libraries.linalg.nodes.solve",
        "Inv" => "dace.libraries.linalg.nodes.inv",
        "Getrf" => "dace.libraries.lapack.nodes.getrf",
        "Getrs" => "dace.libraries.lapack.nodes.getrs",
        "Getri" => "dace.libraries.lapack.nodes.getri",
        "Potrf" => "dace.libraries.lapack.nodes.potrf",
        "Reduce" => "dace.libraries.standard.nodes.reduce",
        "Transpose" => "dace.libraries.standard.nodes.transpose",
        "TensorTranspose" => "dace.libraries.standard.nodes.ttranspose",
        "CSRMV" => "dace.libraries.sparse.nodes.csrmv",
        "CSRMM" => "dace.libraries.sparse.nodes.csrmm",
        "Stencil" => "dace.libraries.stencil.stencil",
        "FFT" | "IFFT" => "dace.libraries.fft.nodes.fft",
        _ => return None,
    })
}
