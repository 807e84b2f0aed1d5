//! Tests of every conflict resolution.

use super::run;
use crate::Arguments;
use crate::tensor::Tensor;

#[test]
fn every_resolution() {
    let resolve = |resolution: &str, values: &[i32], init: i32| {
        let source = format!(
            "sdfg w {{
  symbol N: i64
  array v: i32[N]
  scalar o: i32
  state main {{
    access v
    access o
    map m [i = 0:N] {{
      tasklet t (x) -> (y) {{ y = x }}
      m.v -> t.x: v[i]
      t.y -> m.o: o wcr({resolution})
    }}
    v -> m.v
    m.o -> o
  }}
}}"
        );
        let arguments = Arguments::new().with("v", Tensor::vector(values)).with("o", Tensor::scalar(init));
        run(&source, arguments).get("o").unwrap().to_vec::<i32>().unwrap()[0]
    };
    assert_eq!(resolve("sum", &[1, 2, 3], 10), 16);
    assert_eq!(resolve("product", &[2, 3, 5], -1), -30);
    assert_eq!(resolve("min", &[4, 2, 7], 3), 2);
    assert_eq!(resolve("max", &[4, 2, 7], 3), 7);
    assert_eq!(resolve("and", &[4, 2], 1), 1);
    assert_eq!(resolve("and", &[4, 0], 1), 0);
    assert_eq!(resolve("or", &[0, 0], 0), 0);
    assert_eq!(resolve("xor", &[5, 6], 1), 1);
    assert_eq!(resolve("bitand", &[6, 7], 12), 4);
    assert_eq!(resolve("bitor", &[6, 1], 8), 15);
    assert_eq!(resolve("bitxor", &[6, 1], 1), 6);
    assert_eq!(resolve("replace", &[9, 9], 1), 9);
    assert_eq!(resolve("lambda a, b: a + 2 * b", &[1, 2], 0), 6);
}

#[test]
fn locations_of_extremes() {
    let source = "sdfg w {
  symbol N: i64
  array v: f32x2[N]
  array o: f32x2[2]
  state main {
    access v
    access o
    map m [i = 0:N] {
      tasklet t (x) -> (y, z) { y = x
z = x }
      m.v -> t.x: v[i]
      t.y -> m.o: o[0] wcr(min_location)
      t.z -> m.p: o[1] wcr(max_location)
    }
    v -> m.v
    m.o -> o
    m.p -> o
  }
}";
    let pair = sdfg_language::dtype::ElementType::vector(sdfg_language::dtype::ScalarType::F32, 2).unwrap();
    let vectors = |lanes: &[f32]| {
        let bytes = lanes.iter().flat_map(|lane| lane.to_ne_bytes()).collect();
        Tensor::from_bytes(pair, vec![lanes.len() as i64 / 2], bytes).unwrap()
    };
    let arguments = Arguments::new()
        .with("v", vectors(&[3.0, 0.0, 1.0, 1.0, 5.0, 2.0, 1.0, 3.0, 5.0, 4.0]))
        .with("o", vectors(&[9.0, 9.0, 0.0, 9.0]));
    let found = run(source, arguments);
    assert_eq!(found.get("o"), Some(&vectors(&[1.0, 1.0, 5.0, 2.0])));
}
