//! Writes the seed inputs of a target: `seeds TARGET FOLDER`.

use std::path::PathBuf;

use sdfg_fuzz::programs;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, folder] = arguments.as_slice() else { panic!("usage: seeds TARGET FOLDER") };
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder).expect("the folder of seeds can be made");
    if target == "dace" {
        for (number, document) in programs::dace().iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number}")), document.to_string())
                .expect("a seed can be written");
        }
        return;
    }
    for (number, (path, text)) in programs::texts().iter().enumerate() {
        let content = match target.as_str() {
            "text" => Some(text.clone().into_bytes()),
            "json" => {
                sdfg::text::parse("seed", text).ok().map(|sdfg| sdfg::json::to_string(&sdfg).into_bytes())
            }
            // One byte sequence for each program: without changes, and with one change of each kind.
            _ => Some(vec![(number % 256) as u8, (number / 256) as u8, (number % 8) as u8, 0, 0, 0]),
        };
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        if let Some(content) = content {
            std::fs::write(folder.join(format!("seed-{number}-{name}")), content)
                .expect("a seed can be written");
        }
    }
}
