//! Bytes that ranks receive: the prediction of the cost model against the count of the interpreter.

use sdfg_programs::distributed::compute_bound;
use sdfg_programs::subjects::Subjects;

/// Programs whose distributed form moves exactly what the model predicts, on 3 ranks. `docs/ranks.md` tells why others move more.
const EXACT: [(Subjects, &str); 3] =
    [(Subjects::Programs, "laplace"), (Subjects::Programs, "matmul"), (Subjects::Polybench, "jacobi_1d")];

#[test]
fn the_model_predicts_the_bytes_that_ranks_receive() {
    let machine = compute_bound(3);
    let mut moved = 0;
    for (subjects, name) in EXACT {
        let number = (0..subjects.count()).find(|number| subjects.program(*number).0 == name);
        let case = subjects.case(number.expect("a program"), 1).expect("a case");
        let (predicted, counted) = case.predicted_bytes(&machine).expect("it is distributed");
        assert_eq!(predicted, counted, "{name}");
        moved += counted.iter().sum::<u64>();
    }
    assert!(moved > 0);
}
