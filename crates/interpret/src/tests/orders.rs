//! Tests of random orders and their seeds.

use std::collections::BTreeSet;

use super::{Options, Order, run_with};
use crate::Arguments;
use crate::tensor::Tensor;

/// The pushes of unordered iterations and nodes in the order in which they happened.
fn pushes(order: Order) -> Vec<i64> {
    let source = "sdfg p {
  stream S: i64
  state s {
    access S
    map m [i = 0:6] {
      tasklet t () -> (y) { y = i }
      t.y -> m.S: S
    }
    m.S -> S
    access other = S
    tasklet u () -> (y) { y = 100 }
    u.y -> other: S
  }
}";
    let mut arguments = Arguments::new().with("S", Tensor::vector(&[] as &[i64]));
    let options = Options { order, ..Options::default() };
    run_with(source, &mut arguments, &options).unwrap_or_else(|error| panic!("{error}"));
    arguments.get("S").unwrap().to_vec::<i64>().unwrap()
}

#[test]
fn a_seed_decides_an_order() {
    assert_eq!(pushes(Order::Fixed), [0, 1, 2, 3, 4, 5, 100]);
    let orders: BTreeSet<Vec<i64>> = (0..20).map(|seed| pushes(Order::Random(seed))).collect();
    // Of 1440 possible orders or more, a few may come twice.
    assert!(orders.len() > 15, "{orders:?}");
    assert!(orders.iter().any(|order| order[0] == 100), "nodes that nothing orders keep theirs");
    for order in &orders {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4, 5, 100]);
    }
    assert_eq!(pushes(Order::Random(7)), pushes(Order::Random(7)));
}
