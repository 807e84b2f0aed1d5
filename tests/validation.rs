//! Tests for false alarms: the random generator writes only valid programs, and validation accepts them all.

use sdfg::diagnostic::Code;
use sdfg_programs::random::generate;

/// Whether validation may fail to prove that iterations access different elements. Only a run determines the memory of
/// references, and tiles that the end of an array cuts off are not proved disjoint.
fn may_be_doubted(source: &str) -> bool {
    source.contains("  reference ") || source.contains("map tiles_")
}

#[test]
fn random_programs_are_accepted_without_a_word() {
    let mut doubted = 0;
    for seed in 0..500 {
        let source = generate(seed);
        let sdfg =
            sdfg::text::parse("random.sdft", &source).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
        match sdfg::validate::validate(sdfg) {
            Ok(program) if program.warnings().is_empty() => {}
            Ok(program)
                if may_be_doubted(&source)
                    && program.warnings().iter().all(|warning| warning.code == Code::PossibleConflict) =>
            {
                doubted += 1;
            }
            Ok(program) => panic!("seed {seed}: {:#?}\n{source}", program.warnings()),
            Err(rejected) => panic!("seed {seed}: {rejected}\n{source}"),
        }
    }
    assert!(doubted < 100, "{doubted} of 500 programs are doubted");
}
