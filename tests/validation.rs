//! No false alarm: everything that the random generator writes is valid by construction, and validation agrees.

use sdfg_programs::random::generate;

#[test]
fn random_programs_are_accepted_without_a_word() {
    for seed in 0..500 {
        let source = generate(seed);
        let sdfg =
            sdfg::text::parse("random.sdft", &source).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
        match sdfg::validate::validate(sdfg) {
            Ok(program) if program.warnings().is_empty() => {}
            Ok(program) => panic!("seed {seed}: {:#?}\n{source}", program.warnings()),
            Err(rejected) => panic!("seed {seed}: {rejected}\n{source}"),
        }
    }
}
