//! The program before and after on the page of each transformation: the transformation makes one of the other.

use sdfg::ir::Sdfg;
use sdfg_library::transformations;
use sdfg_transforms::{Match, apply, places};

/// The programs on a page.
fn programs(page: &str) -> Vec<String> {
    let blocks = page.split("```sdft\n").skip(1).filter_map(|rest| rest.split_once("```"));
    blocks.map(|(program, _)| program.to_owned()).collect()
}

fn parsed(name: &str, text: &str) -> Sdfg {
    sdfg::text::parse("page.sdft", text).unwrap_or_else(|errors| panic!("{name}: {errors:?}\n{text}"))
}

/// Transformations whose pages tell without programs yet.
const WITHOUT_PROGRAMS: [&str; 33] = [
    "AccumulateTransient",
    "DeadDataflowElimination",
    "DeadStateElimination",
    "DiamondTiling",
    "InlineSDFG",
    "LocalStorage",
    "LoopPeeling",
    "LoopToMap",
    "LoopUnroll",
    "LowerLoops",
    "MapCollapse",
    "MapDimShuffle",
    "MapExpansion",
    "MapFission",
    "MapFusion",
    "MapInterchange",
    "MapSchedule",
    "MapSplit",
    "MapTiling",
    "MapToForLoop",
    "MapUnroll",
    "MoveLoopIntoMap",
    "NestSDFG",
    "RaiseLoops",
    "RedundantArray",
    "RedundantSecondArray",
    "ScalarToSymbol",
    "StateElimination",
    "StateFusion",
    "StripMining",
    "SymbolPropagation",
    "TrivialMapElimination",
    "Vectorization",
];

#[test]
fn pages_show_what_transformations_do() {
    let mut wrong = Vec::new();
    for transformation in transformations().defaults() {
        let metadata = transformation.metadata();
        // This page shows the program with another parameter than the default one.
        let transformation = match metadata.name {
            "Skewing" => {
                transformations().make("Skewing", &serde_json::json!({"factor": 2})).unwrap_or(transformation)
            }
            _ => transformation,
        };
        let programs = programs(&metadata.page());
        if programs.is_empty() && WITHOUT_PROGRAMS.contains(&metadata.name) {
            continue;
        }
        let [before, after] = &programs[..] else {
            wrong.push(format!("{}: {} programs on its page", metadata.name, programs.len()));
            continue;
        };
        let expected = sdfg::text::print(&parsed(metadata.name, after));
        let before = parsed(metadata.name, before);
        let results = |found: &Match| {
            let mut program = before.clone();
            apply(&mut program, transformation.as_ref(), found).map(|_| sdfg::text::print(&program))
        };
        let all: Vec<_> = places(&before, transformation.as_ref()).iter().map(results).collect();
        if !all.iter().flatten().any(|found| *found == expected) {
            wrong.push(format!("{}: {all:?}\nexpected\n{expected}", metadata.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
