//! Tests of library nodes that move elements, against references that use neither maps nor graphs.

use proptest::prelude::*;
use sdfg::dtype::ScalarType;
use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg_library::BuiltIn;

use crate::bench::{self, Bench, Operand};

const RESOLUTIONS: [&str; 2] = ["", " wcr(sum)"];

/// The indices of each element of an array of this shape.
fn indices(shape: &[i64]) -> Vec<Vec<i64>> {
    shape.iter().fold(vec![Vec::new()], |known, extent| {
        let next = |indices: &Vec<i64>| -> Vec<Vec<i64>> {
            (0..*extent).map(|index| [indices.as_slice(), &[index]].concat()).collect()
        };
        known.iter().flat_map(next).collect()
    })
}

/// The element of an array that is repeated to the shape of the result.
fn broadcast(elements: &[[i64; 2]], shape: &[i64], at: &[i64]) -> [i64; 2] {
    let at = &at[at.len() - shape.len()..];
    let place = shape.iter().zip(at).fold(0, |place, (extent, index)| place * extent + index % extent);
    elements[place as usize]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn circular_shifts(
        shape in proptest::collection::vec(0..5i64, 1..=3),
        dimension in 0..3usize,
        shift in -9..9i64,
        is_numpy in any::<bool>(),
        element in 0..bench::ELEMENTS.len(),
        resolution in 0..2usize,
        steps in proptest::array::uniform2(1..3i64),
        symbolic in any::<bool>(),
    ) {
        let dimension = dimension % shape.len();
        let mut bench = Bench::new(bench::ELEMENTS[element], symbolic);
        bench.input(Operand::new("_x", &shape, steps[0]));
        bench.output(Operand::new("_out", &shape, steps[1]));
        bench.resolution(RESOLUTIONS[resolution]);
        let elements = bench.elements("_x");
        let from = |mut at: Vec<i64>| {
            let to = at[dimension] + if is_numpy { -shift } else { shift };
            at[dimension] = to.rem_euclid(shape[dimension]);
            broadcast(&elements, &shape, &at)
        };
        let expected: Vec<[i64; 2]> = indices(&shape).into_iter().map(from).collect();
        let mut properties = vec![format!("dim = {}", dimension + 1), format!("shift = {shift}")];
        if is_numpy {
            properties.push("direction = NUMPY".to_owned());
        }
        bench.check("CShift", &properties, &expected);
    }

    #[test]
    fn quantifiers(
        shape in proptest::collection::vec(0..4i64, 1..=3),
        dimension in 0..4usize,
        seed in 0..64i64,
        is_all in any::<bool>(),
        mask in 0..3usize,
        resolution in 0..2usize,
        symbolic in any::<bool>(),
    ) {
        let mask = [ScalarType::Bool, ScalarType::I32, ScalarType::F64][mask];
        let count: i64 = shape.iter().product();
        // Mostly ones for `All` and mostly zeros for `Any`, so that both answers occur.
        let bits: Vec<i64> = (0..count)
            .map(|at| i64::from((at * 7 + seed) % 5 == 0) ^ i64::from(is_all))
            .collect();
        let mut bench = Bench::new(ScalarType::I32, symbolic);
        bench.input(Operand::new("_mask", &shape, 1).typed(mask).holding(&bits));
        let reduced = (dimension < shape.len()).then_some(dimension);
        let mut result = shape.clone();
        match reduced {
            Some(dimension) => drop(result.remove(dimension)),
            None => result = vec![1],
        }
        if result.is_empty() {
            result = vec![1];
        }
        bench.output(Operand::new("_out", &result, 1));
        bench.resolution(RESOLUTIONS[resolution]);
        let all = indices(&shape);
        let answer = |at: Vec<i64>| {
            let belongs = |indices: &&Vec<i64>| match reduced {
                Some(_) if shape.len() == 1 => true,
                Some(dimension) => [&indices[..dimension], &indices[dimension + 1..]].concat() == at,
                None => true,
            };
            let mut chosen = all.iter().zip(&bits).filter(|(indices, _)| belongs(indices));
            let found = if is_all { chosen.all(|(_, bit)| *bit != 0) } else { chosen.any(|(_, bit)| *bit != 0) };
            [i64::from(found), 0]
        };
        let expected: Vec<[i64; 2]> = indices(&result).into_iter().map(answer).collect();
        let properties: Vec<String> = vec![format!("dim = {}", reduced.map_or(-1, |at| at as i64 + 1))];
        bench.check(if is_all { "All" } else { "Any" }, &properties, &expected);
    }

    #[test]
    fn merges(
        shape in proptest::collection::vec(1..4i64, 0..=3),
        left_out in proptest::array::uniform3(0..4usize),
        repeated in proptest::array::uniform3(proptest::collection::vec(any::<bool>(), 3)),
        element in 0..bench::ELEMENTS.len(),
        mask in 0..3usize,
        resolution in 0..2usize,
        symbolic in any::<bool>(),
    ) {
        let mask = [ScalarType::Bool, ScalarType::I32, ScalarType::F64][mask];
        let mut bench = Bench::new(bench::ELEMENTS[element], symbolic);
        let mut shapes = Vec::new();
        for (name, (left_out, repeated)) in
            ["_mrg_t", "_mrg_f", "_mrg_mask"].into_iter().zip(left_out.iter().zip(&repeated))
        {
            let kept = shape.iter().skip((*left_out).min(shape.len()));
            let own: Vec<i64> =
                kept.zip(repeated).map(|(extent, repeated)| if *repeated { 1 } else { *extent }).collect();
            let operand = Operand::new(name, &own, 1);
            if name == "_mrg_mask" {
                let bits: Vec<i64> = (0..own.iter().product()).map(|at: i64| at * at % 3 % 2).collect();
                bench.input(operand.typed(mask).holding(&bits));
            } else {
                bench.input(operand);
            }
            shapes.push((bench.elements(name), own));
        }
        bench.output(Operand::new("_mrg_out", &shape, 2));
        bench.resolution(RESOLUTIONS[resolution]);
        let pick = |at: Vec<i64>| {
            let of = |which: usize| broadcast(&shapes[which].0, &shapes[which].1, &at);
            if of(2)[0] == 0 { of(1) } else { of(0) }
        };
        let expected: Vec<[i64; 2]> = indices(&shape).into_iter().map(pick).collect();
        bench.check("Merge", &[], &expected);
    }

    #[test]
    fn sums(
        shape in proptest::collection::vec(1..4i64, 0..=3),
        terms in proptest::collection::vec((0..4usize, proptest::collection::vec(any::<bool>(), 3)), 1..4),
        element in 0..bench::ELEMENTS.len(),
        resolution in 0..2usize,
        symbolic in any::<bool>(),
    ) {
        let mut bench = Bench::new(bench::ELEMENTS[element], symbolic);
        let mut shapes = Vec::new();
        for (position, (left_out, repeated)) in terms.iter().enumerate() {
            let kept = shape.iter().skip((*left_out).min(shape.len()));
            let own: Vec<i64> =
                kept.zip(repeated).map(|(extent, repeated)| if *repeated { 1 } else { *extent }).collect();
            let name = format!("data_0__{position}");
            bench.input(Operand::new(&name, &own, 1));
            shapes.push((bench.elements(&name), own));
        }
        bench.output(Operand::new("sum", &shape, 2));
        bench.resolution(RESOLUTIONS[resolution]);
        let sum = |at: Vec<i64>| {
            let terms = shapes.iter().map(|(elements, own)| broadcast(elements, own, &at));
            terms.fold([0, 0], |sum, term| [sum[0] + term[0], sum[1] + term[1]])
        };
        let expected: Vec<[i64; 2]> = indices(&shape).into_iter().map(sum).collect();
        bench.check("Sum", &[], &expected);
    }
}

#[test]
fn broadcasts() {
    for symbolic in [false, true] {
        for (from, to, dimension) in [
            (&[3][..], &[2, 3][..], None),
            (&[3, 1], &[2, 3, 4], None),
            (&[1, 1], &[3], None),
            (&[], &[2, 2], None),
            (&[1], &[2, 3], Some(1)),
            (&[3], &[2, 3], Some(1)),
            (&[2], &[2, 3], Some(2)),
            (&[2, 4], &[2, 3, 4], Some(2)),
            (&[0, 4], &[0, 3, 4], Some(2)),
        ] {
            let mut bench = Bench::new(ScalarType::F64, symbolic);
            bench.input(Operand::new("_src", from, 2).typed(ScalarType::F32));
            bench.output(Operand::new("_dst", to, 1));
            let elements = bench.elements("_src");
            let taken = |at: Vec<i64>| {
                let kept = |position: usize| dimension.is_none_or(|new| position + 1 != new);
                let at: Vec<i64> = (0..at.len()).filter(|k| kept(*k)).map(|k| at[k]).collect();
                broadcast(&elements, &from[from.len().saturating_sub(at.len())..], &at)
            };
            let expected: Vec<[i64; 2]> = indices(to).into_iter().map(taken).collect();
            let property: Vec<String> = dimension.iter().map(|new| format!("dim = {new}")).collect();
            bench.check("Broadcast", &property, &expected);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |node: &str, edges: &[String]| {
        let text = format!(
            "sdfg p {{
               array A: f64[4, 3]
               array B: f64[4, 2]
               array C: complex128[3]
               array R: f64[4, 3]
               state s {{
                 access A
                 access B
                 access C
                 access R
                 library node: {node}
                 {}
               }}
             }}",
            edges.join("\n")
        );
        let parsed = sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"));
        sdfg_library::expand(&parsed, &BuiltIn).unwrap_err().to_string()
    };
    let shift = |properties: &str, from: &str| {
        let node = format!("CShift (_x) -> (_out) {{ {properties} }}");
        refused(&node, &[format!("{from} -> node._x"), "node._out -> R".to_owned()])
    };
    assert!(shift("dim = 3; shift = 1", "A").contains("one of the dimensions 1 to 2"));
    assert!(shift("dim = 1", "A").contains("`shift` is missing"));
    assert!(shift("dim = 1; shift = 1; direction = LEFT", "A").contains("must be `FORTRAN` or `NUMPY`"));
    assert!(shift("shift = 1", "B").contains("what is shifted is as large as the result"));
    let broadcast = |dim: &str, from: &str| {
        let edges = [format!("{from} -> node._src"), "node._dst -> R".to_owned()];
        refused(&format!("Broadcast (_src) -> (_dst) {{ {dim} }}"), &edges)
    };
    assert!(broadcast("dim = 1", "A").contains("`_src` cannot be broadcast"));
    assert!(broadcast("", "B").contains("`_src` cannot be broadcast"));
    assert!(broadcast("dim = 0", "C").contains("one of the dimensions 1 to 2"));
    let merge = |taken: &str, mask: &str| {
        let edges = [(taken, "_mrg_t"), ("A", "_mrg_f"), (mask, "_mrg_mask")];
        let edges = edges.map(|(from, to)| format!("{from} -> node.{to}"));
        let edges = [edges.as_slice(), &["node._mrg_out -> R".to_owned()]].concat();
        refused("Merge (_mrg_t, _mrg_f, _mrg_mask) -> (_mrg_out)", &edges)
    };
    assert!(merge("B", "A").contains("`_mrg_t` cannot be broadcast"));
    assert!(merge("A", "C").contains("neither true nor false"));
}

#[test]
fn properties_use_any_symbol_that_is_there() {
    let text = "sdfg p {
      symbol n: i32
      symbol N: i64
      symbol _fill_out: i64
      array A: f64[4]
      array B: i64[4]
      state begin {}
      -> l with (m = 10, __i0 = 5, __n0 = 4)
      for l: k = 0:4 {
        state s {
          access A
          library node: Fill () -> (_fill_out) { value = k * m + n + __i0 - __n0 + _fill_out }
          node._fill_out -> A: A[k:k + N]
        }
      }
      state t {
        access B
        map each [k = 0:4] {
          library node: Fill () -> (_fill_out) { value = k + m }
          node._fill_out -> each.B: B[k:k + 1]
        }
        each.B -> B
      }
    }";
    let parsed = sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let expanded = sdfg_library::expand(&parsed, &BuiltIn).unwrap_or_else(|error| panic!("{error}"));
    for sdfg in [parsed, expanded] {
        let program = validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}"));
        let mut arguments = Arguments::new()
            .with("A", Tensor::new(&[4], &[0.0_f64; 4]).unwrap())
            .with("B", Tensor::new(&[4], &[0_i64; 4]).unwrap());
        for (name, value) in [("n", 7), ("N", 1), ("_fill_out", 1)] {
            arguments.set_symbol(name, value);
        }
        let options = Options { libraries: Some(&BuiltIn), ..Options::default() };
        Interpreter::new(&program).unwrap().run(&mut arguments, &options).unwrap();
        assert_eq!(arguments.get("A").unwrap().to_vec::<f64>().unwrap(), [9.0, 19.0, 29.0, 39.0]);
        assert_eq!(arguments.get("B").unwrap().to_vec::<i64>().unwrap(), [10, 11, 12, 13]);
    }
}

#[test]
fn an_operand_of_one_element_is_repeated_also_where_its_extent_is_a_symbol() {
    let text = "sdfg p {
      symbol N: i64
      array A: f64[N]
      array R: f64[3]
      state s {
        access A
        access R
        library node: Broadcast (_src) -> (_dst)
        A -> node._src
        node._dst -> R
      }
    }";
    let parsed = sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let expanded = sdfg_library::expand(&parsed, &BuiltIn).unwrap_or_else(|error| panic!("{error}"));
    for sdfg in [parsed, expanded] {
        let program = validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}"));
        for (given, expected) in [(&[5.0][..], [5.0; 3]), (&[5.0, 6.0, 7.0], [5.0, 6.0, 7.0])] {
            let mut arguments = Arguments::new()
                .with("A", Tensor::new(&[given.len() as i64], given).unwrap())
                .with("R", Tensor::new(&[3], &[0.0_f64; 3]).unwrap());
            let options = Options { libraries: Some(&BuiltIn), ..Options::default() };
            Interpreter::new(&program).unwrap().run(&mut arguments, &options).unwrap();
            assert_eq!(arguments.get("R").unwrap().to_vec::<f64>().unwrap(), expected);
        }
    }
}
