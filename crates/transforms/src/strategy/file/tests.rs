//! Tests of problem files: written files read back equal, and errors in broken files name their position.

use super::*;

fn small() -> Tabulated {
    let operation = |name: &str, costs: &[f64]| Operation {
        name: name.to_owned(),
        kind: "Test".to_owned(),
        domain: vec![8, 3],
        configurations: vec![vec![1, 1], vec![2, 1]],
        costs: costs.to_vec(),
    };
    let operations = vec![operation("a", &[0.1, 2.0 / 3.0]), operation("b", &[1e-300, 12345678.9])];
    let costs = Costs::from_rows(&[vec![0.3, 0.7], vec![1.0 / 7.0, 5e15]]);
    let mut problem = Tabulated::new(4, operations, vec![(Edge { source: 1, target: 0 }, costs)]).unwrap();
    problem.model = "small".to_owned();
    problem.batch = Some(128);
    problem
}

#[test]
fn what_is_written_is_read_again_plain_and_compressed() {
    let problem = small();
    let (mut plain, mut compressed) = (Vec::new(), Vec::new());
    problem.write(&mut plain).unwrap();
    problem.write_gzip(&mut compressed).unwrap();
    assert_eq!(Tabulated::read(plain.as_slice()).unwrap(), problem);
    assert_eq!(Tabulated::read(compressed.as_slice()).unwrap(), problem);
}

#[track_caller]
fn refused(text: &str, parts: &[&str]) {
    let message = Tabulated::read(text.as_bytes()).expect_err("a broken file").to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

#[test]
fn broken_files_say_what_is_wrong() {
    refused("", &["no JSON of this format", "line 1"]);
    refused("{\"procs\": 8, \"edges\": []}", &["missing field `vertices`"]);
    refused("{\"procs\": 8,\n \"vertices\": [], \"edges\": [{\"source\": -1}]}", &["line 2", "-1"]);
    refused(r#"{"procs": 0, "vertices": [], "edges": []}"#, &["processors is 0"]);
    let edge = |rows: &str| {
        format!(
            r#"{{"procs": 8, "vertices": [{{"name": "a", "domain": [8], "configs": [[1], [2]], "costs": [1, 2]}}],
                "edges": [{{"source": 0, "target": 0, "costs": {rows}}}]}}"#
        )
    };
    assert!(Tabulated::read(edge("[[1, 2], [3, 4]]").as_bytes()).is_ok());
    refused(&edge("[[1, 2], [3]]"), &["row 1", "1 columns", "2 configurations"]);
    refused(&edge("[[1, 2], [3, NaN]]"), &["line 2", "no NaN and no Infinity"]);
    refused(&edge("[[1, 2], [3, null]]"), &["null", "line 2"]);
    refused(&edge("[1, 2]"), &["a row of costs", "line 2"]);
    let mut compressed = Vec::new();
    small().write_gzip(&mut compressed).unwrap();
    compressed.truncate(compressed.len() / 2);
    assert!(matches!(Tabulated::read(compressed.as_slice()), Err(ReadError::Io(_))));
}
