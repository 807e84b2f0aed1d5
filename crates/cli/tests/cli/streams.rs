//! Streams as arguments: a file for each queue.

use crate::Bench;
use crate::data::{doubles, npy};

/// Moves the oldest element of each queue of a row to `First`, and sums what is in `Rest`.
const QUEUES: &str = "sdfg queues {
  symbol N: i64
  array First: f64[N]
  stream Row: f64[N, 2]
  stream Rest: f64
  state s {
    access Row
    access First
    access Rest
    access more = Rest
    map m [i = 0:N] schedule(sequential) {
      tasklet t (x, r) -> (y, z) {
        y = x
        z = 2.0 * x + r
      }
      m.Row -> t.x: Row[i, 1]
      m.Rest -> t.r: Rest
      t.y -> m.First: First[i]
      t.z -> m.Rest: Rest
    }
    Row -> m.Row
    Rest -> m.Rest
    m.First -> First
    m.Rest -> more
  }
}
";

#[test]
fn queues_of_arguments_have_files_of_their_own() {
    let bench = Bench::new();
    bench.file("queues.sdft", QUEUES);
    bench.file("a.npy", npy(&[1.0, 2.0], "(2,)"));
    bench.file("b.npy", npy(&[10.0], "(1,)"));
    bench.file("rest.npy", npy(&[0.5], "(1,)"));
    bench.run(&["check", "queues.sdft"]).prints(&["queues.sdft: ok"]);
    let given = ["--set", "N=2", "-i", "Row[0,1]=a.npy", "-i", "Row[ 1, 1 ]=b.npy", "-i", "Rest=rest.npy"];
    for command in ["interpret", "run"] {
        let all = bench.run(&[&[command, "queues.sdft"], &given[..]].concat());
        all.prints(&["First: f64[2]", "Row[0, 1]: f64[1]", "Row[1, 1]: f64[0]", "Rest: f64[1]", "22.5"]);
        for name in ["Row[0, 0]", "Row[1, 0]"] {
            assert!(all.stderr.contains(&format!("`{name}` begins empty")), "{all:?}");
        }
        let written = ["-o", "Row[0, 1]=left.npy", "-o", "Rest=out.npy"];
        bench.run(&[&[command, "queues.sdft"], &given[..], &written[..]].concat()).prints(&[]);
        let read = |name: &str| doubles(&std::fs::read(bench.path(name)).expect("a file"));
        assert_eq!((read("left.npy"), read("out.npy")), (vec![2.0], vec![22.5]));
    }
}

#[test]
fn queues_that_are_not_there() {
    let bench = Bench::new();
    bench.file("queues.sdft", QUEUES);
    bench.file("a.npy", npy(&[1.0, 2.0], "(2,)"));
    bench.file("flat.npy", npy(&[1.0, 2.0], "(2, 1)"));
    for command in ["interpret", "run"] {
        let refused = |options: &[&str], texts: &[&str]| {
            bench.run(&[&[command, "queues.sdft", "--set", "N=2"], options].concat()).fails(2, texts);
        };
        let array = "`Row` is an array of streams with the extents [2, 2]";
        refused(&["-i", "Row=a.npy"], &[array, "--input Row=", "such as `Row[0, 0]`"]);
        refused(&["-i", "Row[2,0]=a.npy"], &[array, "--input Row[2, 0]="]);
        refused(&["-o", "Row=a.npy"], &[array, "--output Row="]);
        refused(&["-i", "Rest[0]=a.npy"], &["`Rest` is one stream", "such as `Rest`"]);
        refused(&["-i", "First[0]=a.npy"], &["`First` is no stream"]);
        refused(&["-i", "Roww[0]=a.npy"], &["no argument `Roww`"]);
        refused(&["-i", "Row[0,0]=flat.npy"], &["`Row` is a stream", "[2, 1]"]);
        refused(&["-i", "Row[0,0]=zeros"], &["`Row` is a stream", "patterns have no number"]);
        refused(&["-i", "Row[0,0]=a.npy", "-i", "Row[0, 0]=a.npy"], &["names `Row[0, 0]` twice"]);
    }
}
