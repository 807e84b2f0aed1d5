//! Names and layouts that mean something else where a rewrite brings them: sizes with the name of a parameter, strides of aliases
//! and of arguments, and references that the state sets.

use sdfg_transforms::rewrites::{
    MapReduceFusion, RedundantArray, RedundantReadSlice, RedundantWriteSlice, SymbolPropagation,
};
use sdfg_transforms::{Registry, Transformation, apply, places, simplify};

use super::support::{applies, difference, parsed};

/// Parameters of scopes in a called SDFG are renamed when it is inlined, sizes are not; views count with the strides of what they
/// are bound to, unless they have the extents of that part; a view of a reference keeps what the reference named before.
#[test]
fn simplification_keeps_the_meaning_of_names_and_strides() {
    for text in [
        include_str!("hidden/inlined_size.sdft"),
        include_str!("hidden/inlined_strides.sdft"),
        include_str!("hidden/view_of_alias.sdft"),
        include_str!("hidden/view_of_argument.sdft"),
        include_str!("hidden/writes_of_alias.sdft"),
        include_str!("hidden/writes_of_one_element.sdft"),
        include_str!("hidden/reads_of_one_element.sdft"),
        include_str!("hidden/reads_of_one_row.sdft"),
        include_str!("hidden/writes_of_reference.sdft"),
        include_str!("hidden/reads_of_reference.sdft"),
    ] {
        let before = parsed(text);
        let mut after = before.clone();
        simplify(&mut after, &Registry::standard(), None);
        assert_eq!(difference(&before, &after), None, "{text}\n{}", sdfg::text::print(&after));
    }
}

/// The scope would use a container whose size has a symbol with the name of its parameter: validation refuses that (V103).
#[test]
fn sizes_are_not_brought_below_parameters_of_their_names() {
    let refused = |text: &str, transformation: &dyn Transformation, reason: &str| {
        let program = parsed(text);
        let all = places(&program, transformation);
        let all = all.iter().map(|found| apply(&mut program.clone(), transformation, found));
        let refusals: Vec<String> = all.filter_map(|done| Some(done.err()?.to_string())).collect();
        assert!(refusals.iter().any(|refusal| refusal.contains(reason)), "{refusals:?}");
    };
    let of_part = "is in a map with a parameter of the name of a symbol of the part";
    refused(include_str!("hidden/size_of_read_part.sdft"), &RedundantReadSlice::default(), of_part);
    refused(include_str!("hidden/size_of_written_part.sdft"), &RedundantWriteSlice::default(), of_part);
    let of_array = "a parameter of the name of a symbol in the size of the array";
    refused(include_str!("hidden/size_of_array.sdft"), &RedundantArray::default(), of_array);
    let of_result = "a parameter of the name of a symbol in the size of the result";
    refused(include_str!("hidden/size_of_result.sdft"), &MapReduceFusion::default(), of_result);
    let of_symbol = "no scope binds `K`, which would size a container";
    refused(include_str!("hidden/size_by_symbol.sdft"), &SymbolPropagation::default(), of_symbol);
}

/// A view that is used at one node is written straight also in a scope.
#[test]
fn views_in_scopes_are_written_straight() {
    let text = applies(include_str!("hidden/view_in_scope.sdft"), &RedundantWriteSlice::default());
    assert!(!text.contains("access V"), "{text}");
}
