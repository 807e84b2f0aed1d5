//! Tests of recipes and of the arguments that they give.

use super::*;

static ANY: Assumed = Assumed::none();

fn parsed(text: &str) -> Sdfg {
    sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// A program with these declarations.
fn declaring(declarations: &str) -> Sdfg {
    parsed(&format!("sdfg p {{\n{declarations}\n  state s {{}}\n}}\n"))
}

const ALL: &str = "  symbol N: i64\n  symbol k: i64\n  array A: f64[N]\n  array I: i64[N]\n  scalar n: i64";

/// Each list of choices counts where an argument takes them, and only there.
#[test]
fn recipes_vary_in_what_arguments_take() {
    let count = |declarations: &str, fixed: &[&str]| {
        let fixed = fixed.iter().map(|name| (Symbol::of(name), 5)).collect();
        Signature::of(&declaring(declarations), &fixed, &ANY).recipes().len()
    };
    let (sizes, indices, numbers, fills) = (SIZES.len(), INDICES.len(), NUMBERS.len(), FILLS.len());
    assert_eq!(count("", &[]), 1);
    assert_eq!(count("  array A: f64[4]", &[]), fills);
    assert_eq!(count("  scalar b: bool", &[]), fills);
    assert_eq!(count("  scalar n: i64", &[]), sizes * numbers);
    assert_eq!(count("  array I: i64[4]", &[]), sizes * indices);
    assert_eq!(count("  symbol k: i64", &[]), sizes * numbers);
    assert_eq!(count("  symbol N: i64\n  array A: f64[N]", &[]), sizes * fills);
    let two = "  symbol N: i64\n  symbol M: i64\n  array A: f64[N, M]";
    assert_eq!(count(two, &[]), (sizes + 2 * SMALL.len()) * fills);
    assert_eq!(count(two, &["N"]), sizes * fills);
    assert_eq!(count(ALL, &[]), sizes * indices * numbers * numbers * fills);
}

/// The first recipe has the first choice everywhere, and one that differs less comes sooner; another element of arrays of
/// numbers counts twice.
#[test]
fn simple_recipes_come_first() {
    let (program, fixed) = (declaring(ALL), BTreeMap::new());
    let recipes = Signature::of(&program, &fixed, &ANY).recipes();
    let at = |found: Option<usize>| found.expect("a choice");
    let distance = |recipe: &Recipe| {
        at(SIZES.iter().position(|own| *own == recipe.sizes))
            + at(INDICES.iter().position(|own| *own == recipe.indices))
            + at(NUMBERS.iter().position(|own| *own == recipe.symbols))
            + at(NUMBERS.iter().position(|own| *own == recipe.scalars))
            + 2 * at(FILLS.iter().position(|own| *own == recipe.fill))
    };
    assert_eq!(distance(&recipes[0]), 0);
    assert!(recipes.is_sorted_by_key(distance));
    assert!(recipes.iter().enumerate().all(|(at, recipe)| !recipes[..at].contains(recipe)));
}

#[test]
fn sizes_are_those_of_the_recipe() {
    let (program, fixed) = (
        declaring("  symbol N: i64\n  symbol M: i64\n  symbol K: i64\n  array A: f64[N, M, K]"),
        BTreeMap::new(),
    );
    let signature = Signature::of(&program, &fixed, &ANY);
    let first = signature.recipes()[0];
    let values = |sizes| {
        let found =
            signature.arguments(&Draft::new(Recipe { sizes, ..first }, BTreeMap::new())).expect("arguments");
        let shape = found.get("A").expect("A").shape().to_vec();
        let value = |name| found.symbols().find(|(own, _)| *own == name).map(|(_, value)| value);
        assert_eq!(["N", "M", "K"].map(value), [Some(shape[0]), Some(shape[1]), Some(shape[2])]);
        shape
    };
    assert_eq!(values(Sizes::Same(5)), [5, 5, 5]);
    assert_eq!(values(Sizes::Ascending(6)), [6, 7, 8]);
    assert_eq!(values(Sizes::OneSmall { at: 1, small: 2, others: 8 }), [8, 2, 8]);
}

#[test]
fn indices_are_in_their_ranges() {
    let mut rng = Random::new(3);
    let mut values =
        |indices| (0..200).map(|position| index(indices, position, 5, &mut rng)).collect::<BTreeSet<i64>>();
    assert_eq!(values(Indices::Below), (0..5).collect());
    assert_eq!(values(Indices::FromOne), (1..=5).collect());
    assert_eq!(values(Indices::Position), (0..=5).collect());
    assert_eq!(values(Indices::Same(2)), [2].into());
}

/// Elements are above zero, and no two neighbours are the same.
#[test]
fn elements_differ_by_part_and_by_position() {
    let number = |n, position, fill| match element(n, position, ScalarType::F64, fill) {
        Value::F64(number) => number,
        other => panic!("{other:?}"),
    };
    assert_eq!((number(0, 0, None), number(2048, 0, None), number(4096, 0, None)), (0.25, 1.0, 0.25));
    assert_eq!(number(-1, 0, None), number(4095, 0, None));
    assert!(number(0, 4096, None) > number(0, 0, None) && number(0, 8191, None) == number(0, 4096, None));
    assert_eq!(number(7, 5, Some(40.0)), 40.0);
    let is_set = |n| element(n, 0, ScalarType::Bool, None) == Value::Bool(true);
    assert!(is_set(2048) && !is_set(1024));
}

/// Sizes grow to the index, at least to twice and at most to four times what they were.
#[test]
fn sizes_grow_in_bounds() {
    let (program, fixed) = (
        declaring("  symbol N: i64\n  symbol M: i64\n  array A: f64[N, M]\n  array B: f64[8]"),
        BTreeMap::new(),
    );
    let signature = Signature::of(&program, &fixed, &ANY);
    let recipe = Recipe { sizes: Sizes::Same(8), ..signature.recipes()[0] };
    let grow = |container: &str, index: &[i64], shape: &[i64]| {
        let mut draft = Draft::new(recipe, BTreeMap::new());
        let (index, shape) = (index.to_vec(), shape.to_vec());
        let kind = TrapKind::OutOfBounds { container: container.to_owned(), index, shape };
        let has_grown = signature.grow(&kind, &mut draft);
        (has_grown, draft.grown.into_iter().map(|(name, size)| (name.to_string(), size)).collect::<Vec<_>>())
    };
    let of = |name: &str, size| (true, vec![(name.to_owned(), size)]);
    assert_eq!(grow("A", &[8, 0], &[8, 8]), of("N", 16));
    assert_eq!(grow("A", &[20, 0], &[8, 8]), of("N", 21));
    assert_eq!(grow("A", &[0, 100], &[8, 8]), of("M", 32));
    // Indices before the begin, and constant extents, have no larger sizes.
    assert_eq!(grow("A", &[-1, 0], &[8, 8]), (false, Vec::new()));
    assert_eq!(grow("B", &[8], &[8]), (false, Vec::new()));
    // A container of a nested SDFG is not known here: every size grows.
    let all = vec![("M".to_owned(), 16), ("N".to_owned(), 16)];
    assert_eq!(grow("inner", &[8], &[8]), (true, all));
}

#[test]
fn elements_overlap_where_two_have_one_place() {
    for (shape, strides, expected) in [
        (&[4, 4][..], &[4, 1][..], false),
        (&[4, 4], &[3, 1], true),
        (&[4, 4], &[1, 4], false),
        (&[2, 3], &[1, 2], false),
        (&[2, 3], &[1, 1], true),
        (&[3], &[0], true),
        (&[1, 3], &[0, 1], false),
        (&[2, 2], &[1, -1], true),
        (&[0, 3], &[0, 0], false),
        (&[], &[], false),
    ] {
        assert_eq!(overlaps(shape, strides), expected, "{shape:?} {strides:?}");
    }
}

/// A recipe that takes too many steps excludes those with the same numbers and no smaller sizes.
#[test]
fn recipes_with_larger_sizes_take_as_long() {
    let (program, fixed) = (declaring(ALL), BTreeMap::new());
    let first = Signature::of(&program, &fixed, &ANY).recipes()[0];
    let of = |sizes| Recipe { sizes, ..first };
    let (eight, four) = (of(Sizes::Same(8)), of(Sizes::Same(4)));
    assert!(eight.is_as_long_as(four, true) && eight.is_as_long_as(eight, true));
    assert!(!four.is_as_long_as(eight, true) && four.is_as_long_as(eight, false));
    let ascending = of(Sizes::Ascending(20));
    assert!(!ascending.is_as_long_as(four, true) && ascending.is_as_long_as(four, false));
    assert!(ascending.is_as_long_as(of(Sizes::Ascending(6)), true));
    let other = Recipe { symbols: Some(100), ..eight };
    assert!(!other.is_as_long_as(four, true) && !other.is_as_long_as(four, false));
    // The smallest size is a number, too.
    let named = |recipe: Recipe| Recipe { symbols: None, scalars: None, ..recipe };
    assert!(!named(eight).is_as_long_as(named(four), true));
    let one_small = of(Sizes::OneSmall { at: 0, small: 2, others: 8 });
    assert_eq!([eight, ascending, one_small].map(Recipe::smallest), [8, 20, 2]);
    assert_eq!(named(one_small).numbers(), (2, 2));
}

/// Arguments of a draft: given values come first, then grown sizes, values of the draft, and those of the recipe.
#[test]
fn arguments_have_the_values_of_the_draft() {
    let declared = "  symbol N: i64\n  symbol M: i64\n  symbol K: i64\n  symbol k: i64\n  symbol sym_n: i64\n  \
                    array A: f64[N, M, K]\n  array I: i64[3]\n  array J: i64[3]\n  scalar n: i64\n  \
                    scalar m: i64\n  scalar o: i64\n  scalar b: bool";
    let (program, fixed) = (declaring(declared), BTreeMap::from([(Symbol::of("N"), 5)]));
    let signature = Signature::of(&program, &fixed, &ANY);
    let recipe = Recipe {
        sizes: Sizes::Same(8),
        indices: Indices::Same(2),
        symbols: Some(3),
        scalars: Some(100),
        fill: Some(40.0),
    };
    let mut draft = Draft::new(recipe, BTreeMap::from([(Symbol::of("M"), 7), (Symbol::of("N"), 9)]));
    draft.numbers = BTreeMap::from([("m".to_owned(), -12), ("k".to_owned(), 11), ("M".to_owned(), 1)]);
    draft.indices.insert("J".to_owned(), Indices::Same(6));
    let found = signature.arguments(&draft).expect("arguments");
    let symbols: BTreeMap<&str, i64> = found.symbols().collect();
    assert_eq!(["N", "M", "K", "k", "sym_n"].map(|name| symbols[name]), [5, 7, 8, 11, 3]);
    let values = |name: &str| found.get(name).expect("an argument").values().collect::<Vec<_>>();
    let numbers = |name: &str| {
        let number = |value| match value {
            Value::I64(number) => number,
            other => panic!("{other:?}"),
        };
        values(name).into_iter().map(number).collect::<Vec<_>>()
    };
    assert_eq!((numbers("I"), numbers("J")), (vec![2; 3], vec![6; 3]));
    assert_eq!(["n", "m", "o"].map(numbers), [vec![3], vec![-12], vec![100]]);
    assert_eq!(values("b"), [Value::Bool(true)]);
    assert_eq!(values("A"), vec![Value::F64(40.0); 5 * 7 * 8]);
}

#[test]
fn extents_are_not_negative_and_arguments_not_too_large() {
    let fixed = BTreeMap::new();
    assert!(is_possible(&[]) && is_possible(&[0, 3]) && is_possible(&[MOST_ELEMENTS, 1]));
    assert!(!is_possible(&[MOST_ELEMENTS + 1]) && !is_possible(&[-1, -1]) && !is_possible(&[1 << 32; 2]));
    let has_arguments = |shape: &str, size: i64| {
        let program = declaring(&format!("  symbol N: i64\n  array A: f32[{shape}]"));
        let signature = Signature::of(&program, &fixed, &ANY);
        let recipe = Recipe { sizes: Sizes::Same(size), ..signature.recipes()[0] };
        signature.arguments(&Draft::new(recipe, BTreeMap::new())).is_some()
    };
    assert!(has_arguments("N - 8", 8) && !has_arguments("N - 9", 8));
    assert!(!has_arguments("N - 9, N - 9", 8) && !has_arguments("N, N, N, N", 1 << 16));
}

/// Elements of one array differ, and so do those of two arrays.
#[test]
fn arrays_have_elements_of_their_own() {
    let (program, fixed) = (declaring("  array A: f64[100]\n  array B: f64[100]"), BTreeMap::new());
    let signature = Signature::of(&program, &fixed, &ANY);
    let found = signature.arguments(&Draft::new(signature.recipes()[0], BTreeMap::new())).expect("arguments");
    let bytes = |name: &str| found.get(name).expect("an argument").bytes().to_vec();
    let distinct: BTreeSet<Vec<u8>> = bytes("A").chunks(8).map(<[u8]>::to_vec).collect();
    assert_eq!(distinct.len(), 100);
    assert!(bytes("A") != bytes("B"));
}

/// Strides that are symbols get the values of a packed layout, unless they are given or extents.
#[test]
fn symbols_of_strides_are_packed() {
    let strides = |declared: &str, given: &[(&str, i64)]| {
        let program = declaring(&format!(
            "  symbol I: i64\n  symbol J: i64\n  symbol s: i64\n  symbol t: i64\n{declared}"
        ));
        let fixed = given.iter().map(|(name, value)| (Symbol::of(name), *value)).collect();
        let signature = Signature::of(&program, &fixed, &ANY);
        let mut values: BTreeMap<Symbol, i64> =
            program.symbols().map(|(symbol, _)| (symbol.clone(), 9)).collect();
        values.insert(Symbol::of("I"), 3);
        values.insert(Symbol::of("J"), 5);
        values.extend(fixed.clone());
        signature.pack(&mut values);
        ["I", "J", "s", "t"].map(|name| values[&Symbol::of(name)])
    };
    assert_eq!(strides("  array A: f64[I, J] strides(s, t)", &[]), [3, 5, 5, 1]);
    assert_eq!(strides("  array A: f64[I, J] strides(s, t)", &[("s", 8)]), [3, 5, 8, 1]);
    assert_eq!(strides("  array A: f64[I, J] strides(s, 1)", &[]), [3, 5, 5, 9]);
    assert_eq!(strides("  array A: f64[I, J, I] strides(s, t, 1)", &[]), [3, 5, 15, 3]);
    assert_eq!(strides("  array A: f64[I, s] strides(s, 1)", &[]), [3, 5, 9, 9]);
    // The first array that a symbol is a stride of decides.
    let two = "  array A: f64[I, J] strides(s, 1)\n  array B: f64[J, I] strides(s, 1)";
    assert_eq!(strides(two, &[]), [3, 5, 5, 9]);
}

#[test]
fn sizes_that_are_given_or_the_largest_do_not_grow() {
    let program = declaring("  symbol N: i64\n  symbol M: i64\n  array A: f64[N, M, N + M]");
    let fixed = BTreeMap::from([(Symbol::of("N"), 5)]);
    let signature = Signature::of(&program, &fixed, &ANY);
    let recipe = Recipe { sizes: Sizes::Same(8), ..signature.recipes()[0] };
    let grow = |index: [i64; 3], shape: [i64; 3], before: i64| {
        let mut draft = Draft::new(recipe, BTreeMap::from([(Symbol::of("M"), before)]));
        let (index, shape) = (index.to_vec(), shape.to_vec());
        let kind = TrapKind::OutOfBounds { container: "A".to_owned(), index, shape };
        (signature.grow(&kind, &mut draft), draft.grown[&Symbol::of("M")])
    };
    assert_eq!(grow([5, 0, 0], [5, 8, 13], 8), (false, 8));
    assert_eq!(grow([0, 0, 13], [5, 8, 13], 8), (true, 16));
    assert_eq!(grow([0, 299, 0], [5, 299, 304], 299), (true, 598));
    assert_eq!(grow([0, 300, 0], [5, 300, 305], 300), (true, 600));
    assert_eq!(grow([0, 301, 0], [5, 301, 306], 301), (false, 600));
    let mut draft = Draft::new(recipe, BTreeMap::new());
    assert!(
        !signature.grow(
            &TrapKind::NegativeExtent { container: "A".to_owned(), dimension: 0, extent: -1 },
            &mut draft
        )
    );
}
