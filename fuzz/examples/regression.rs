//! Turns a finding of a fuzz target into a file test: `regression TARGET INPUT FOLDER`.
//!
//! A mutated graph becomes a JSON document, because the text form cannot express most mutated graphs.

use std::path::PathBuf;

use sdfg_fuzz::{mutate, programs};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, input, folder] = arguments.as_slice() else {
        panic!("usage: regression TARGET INPUT FOLDER")
    };
    let data = std::fs::read(input).expect("the input can be read");
    if target == "dace" {
        let path =
            PathBuf::from(folder).join("../../../dace/tests/broken").join(format!("found_{}", data.len()));
        std::fs::write(&path, &data).expect("the input can be kept");
        eprintln!("{} holds it: make a test of crates/dace/tests/broken of it", path.display());
        return;
    }
    let (extension, content) = match target.as_str() {
        "text" => ("sdft", format!("#! test survive\n{}", String::from_utf8_lossy(&data))),
        "json" => ("json", String::from_utf8_lossy(&data).into_owned()),
        _ => {
            let texts = programs::texts();
            let graphs = texts.iter().filter_map(|(_, text)| sdfg::text::parse("seed", text).ok());
            let sdfg = mutate::mutated(&graphs.collect::<Vec<_>>(), &data);
            ("json", sdfg::json::to_string(&sdfg))
        }
    };
    let folder = PathBuf::from(folder);
    let taken = |number: &usize| folder.join(format!("{target}_{number}.{extension}")).exists();
    let number = (1..).find(|number| !taken(number)).unwrap_or(0);
    let path = folder.join(format!("{target}_{number}.{extension}"));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    std::fs::write(&path, content).expect("the test can be written");
    eprintln!(
        "{} holds it; BLESS=1 cargo nextest run -p sdfg-filetest fuzz/ once it is mended",
        path.display()
    );
}
