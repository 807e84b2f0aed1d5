//! Tests of element paths: the printed path of any element parses and resolves to that element.

use sdfg::ir::Sdfg;
use sdfg::path::{ElementPath, Paths};
use sdfg::text;
use sdfg_programs::programs::ALL;
use sdfg_programs::random::generate;

/// Random programs that are tried.
const PROGRAMS: u64 = 60;

/// Holds whole paths and shortened ones of every element against the element; says how many elements there are.
fn check(sdfg: &Sdfg) -> usize {
    let paths = Paths::of(sdfg);
    let read = |path: &ElementPath| path.to_string().parse::<ElementPath>().unwrap_or_else(|e| panic!("{e}"));
    for (place, path) in paths.iter() {
        assert_eq!(place.path(sdfg).as_ref(), Some(path));
        assert_eq!(&read(path), path);
        assert_eq!(paths.resolve(&read(path)).as_ref(), Ok(place), "{path}");
        let anchor = paths.anchor(place).unwrap();
        assert!(anchor.labels().len() <= path.labels().len());
        assert_eq!(paths.resolve(&read(&anchor)).as_ref(), Ok(place), "{anchor}");
    }
    paths.iter().count()
}

#[test]
fn every_element_of_the_examples_has_a_path_of_its_own() {
    let counts: Vec<usize> = ALL.iter().map(|(_, build)| check(build().unwrap().0.sdfg())).collect();
    assert!(counts.iter().all(|count| *count > 10), "{counts:?}");
}

#[test]
fn every_element_of_random_programs_has_a_path_of_its_own() {
    let elements: usize =
        (0..PROGRAMS).map(|seed| check(&text::parse("random.sdft", &generate(seed)).unwrap())).sum();
    assert!(elements > 1000, "{elements}");
}
