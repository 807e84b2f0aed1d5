//! Tests of references that iterations set: refused if the next user cannot know the target.

use super::findings;

/// The findings of a program in which a map sets a reference, which a state after it reads if `outlives`.
fn found(range: &str, bound: &str, schedule: &str, outlives: bool) -> Vec<String> {
    let after = if outlives { "state t { access R; access C; R -> C: R[0] -> C[0] }" } else { "" };
    let source = format!(
        "sdfg p {{
           symbol N: i64
           array A: f64[8]
           array C: f64[8]
           reference R: f64[1]
           state s {{
             access A
             access C
             map m [i = {range}] {schedule} {{
               access R
               bind m.A -> R: A[{bound}]
               tasklet t (x) -> (o) {{ o = x[0] }}
               R -> t.x: R[0:1]
               t.o -> m.C: C[i]
             }}
             A -> m.A
             m.C -> C
           }}
           {after}
         }}"
    );
    let about = findings(&source).into_iter().filter(|found| found.to_string().contains("reference `R`"));
    about
        .map(|found| format!("{} {}", found.code, if found.is_error() { "error" } else { "warning" }))
        .collect()
}

#[test]
fn iterations_may_not_set_what_outlives_them() {
    assert_eq!(found("0:8", "i:i + 1", "", true), ["V701 error"]);
    assert_eq!(found("0:8:4", "i // 4:i // 4 + 1", "", true), ["V701 error"]);
    assert_eq!(found("0:8", "i // 8:i // 8 + 1", "", true), ["V705 warning"]);
    assert_eq!(found("0:N", "i:i + 1", "", true), ["V705 warning"]);
}

#[test]
fn what_is_the_same_or_of_one_iteration_is_fine() {
    assert!(found("0:8", "i:i + 1", "", false).is_empty());
    assert!(found("0:8", "2:3", "", true).is_empty());
    assert!(found("3:4", "i:i + 1", "", true).is_empty());
}
