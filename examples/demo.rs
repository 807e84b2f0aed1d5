//! Demo on a real picture: `cargo xtask demo [PICTURE.png] [--out DIR]`.
//!
//! The demo builds a stencil pipeline, checks it, and interprets it on the middle of the picture. Then it
//! compiles it to a native library, runs the library on the whole picture, and compares both results. It leaves
//! the picture, the library and its header in a folder.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a command")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::tensor::Tensor;
use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::load::Library;
use sdfg_programs::demo::{Picture, pipeline};

type Error = Box<dyn std::error::Error>;

/// Strength of the sharpening and of the outlines.
const AMOUNT: f32 = 1.5;
const INK: f32 = 0.6;
/// Width and height of the part that is interpreted.
const CROP: usize = 96;

fn main() -> ExitCode {
    match arguments().and_then(|(picture, folder)| demo(picture.as_deref(), &folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Result<(Option<PathBuf>, PathBuf), Error> {
    let (mut picture, mut folder) = (None, PathBuf::from("target/demo"));
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--out" {
            folder = arguments.next().ok_or("--out needs a folder")?.into();
        } else if argument.to_string_lossy().starts_with('-') || picture.is_some() {
            return Err(format!(
                "unexpected {argument:?}; usage: cargo xtask demo [PICTURE.png] [--out DIR]"
            )
            .into());
        } else {
            picture = Some(PathBuf::from(argument));
        }
    }
    Ok((picture, folder))
}

fn demo(path: Option<&Path>, folder: &Path) -> Result<(), Error> {
    let picture = match path {
        Some(path) => timed("read the picture", || Picture::read(path))?,
        None => timed("draw a picture (name a PNG file to use your own)", || {
            Ok::<_, Error>(Picture::drawn(1536, 1024))
        })?,
    };
    println!("{:>12}  {} x {} pixels", "", picture.width, picture.height);
    if picture.width < 5 || picture.height < 5 {
        return Err("the picture is too small: the filters need at least 5 x 5 pixels".into());
    }
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;

    let (program, warnings) = timed("build and check the program", pipeline)?;
    eprint!("{warnings}");
    let crop = picture.middle(CROP);
    let expected = timed("interpret it on the middle of the picture", || interpret(&program, &crop))?;
    let object =
        timed("compile it to native code", || sdfg_codegen::compile(&program, &CompileOptions::default()))?;
    let library = timed("load the code", || Library::load(&object))?;
    let actual = timed("run it on the middle of the picture", || run(&library, &crop))?;
    let differences = expected.iter().zip(&actual.values).map(|(a, b)| a.abs_diff(*b));
    let largest = differences.max().unwrap_or(0);
    println!("{:>12}  largest difference from the interpreter: {largest} of 255", "");
    if largest > 1 {
        return Err("native code and interpreter disagree by more than rounding".into());
    }
    let result = timed("run it on the whole picture", || run(&library, &picture))?;
    let again = timed("run it again, with memory in place", || run(&library, &picture))?;
    if again != result {
        return Err("two runs gave different pictures".into());
    }

    let files = ["result.png", "libsharpen.so", "sharpen.h"].map(|name| folder.join(name));
    timed("write the picture", || result.write(&files[0]))?;
    timed("link the library", || sdfg_codegen::link::shared_library(&object, &files[1]))?;
    std::fs::write(&files[2], sdfg_codegen::header::c_header(object.interface()))?;
    println!("\nwritten:");
    for file in files {
        println!("  {}", file.display());
    }
    Ok(())
}

/// Does something and prints how long it took.
fn timed<T, E>(what: &str, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let start = Instant::now();
    let result = work();
    println!("{:>9.2} ms  {what}", start.elapsed().as_secs_f64() * 1e3);
    result
}

fn interpret(program: &sdfg::validate::Validated, picture: &Picture) -> Result<Vec<u8>, Error> {
    let shape = [i64::try_from(picture.height)?, i64::try_from(picture.width)?, 3];
    let mut arguments = Arguments::new()
        .with("picture", Tensor::new(&shape, &picture.values)?)
        .with("result", Tensor::new(&shape, &vec![0u8; picture.values.len()])?)
        .with("amount", Tensor::scalar(AMOUNT))
        .with("ink", Tensor::scalar(INK));
    Interpreter::new(program)?.run(&mut arguments, &Options::default())?;
    Ok(arguments.take("result").ok_or("the interpreter lost the result")?.to_vec()?)
}

fn run(library: &Library, picture: &Picture) -> Result<Picture, Error> {
    let shape = [picture.height, picture.width, 3];
    let mut values = vec![0u8; picture.values.len()];
    let call = library
        .call()
        .array("picture", &picture.values, &shape)
        .array_mut("result", &mut values, &shape)
        .scalar("amount", AMOUNT)
        .scalar("ink", INK);
    // SAFETY: the interpreter, which checks each access, has run the pipeline, whose indices depend on the shape alone.
    unsafe { call.run()? };
    Ok(Picture { width: picture.width, height: picture.height, values })
}
