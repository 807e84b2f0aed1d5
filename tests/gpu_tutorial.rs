//! `docs/gpu-tutorial.md`: each of its steps gives the results of the program before, on virtual memories in the interpreter and on a
//! device of OpenCL, and moves the bytes that the page shows. `BLESS=1` writes the kernels and the numbers of the page.

#![expect(clippy::print_stdout, reason = "a skipped test says so")]

use std::fmt::Write;
use std::path::Path;

use sdfg::analysis::cost::{Quantity, Traffic};
use sdfg::edit::Editor;
use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::ir::Sdfg;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tensor::Tensor;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::lower::{LowerOptions, lower};
use sdfg_codegen::source::{SourceOptions, cuda_source};
use sdfg_programs::random::Device;
use sdfg_programs::trusted;
use sdfg_transforms::{Chain, Registry};

const PROGRAM: &str = include_str!("../examples/chains/plate.sdft");
const CHAIN: &str = include_str!("../examples/chains/plate.chain.json");

/// For each step of the page, the number of steps of the chain up to it.
const ENDS: [usize; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 11];

/// The first step with kernels.
const FIRST_WITH_KERNELS: usize = 2;

/// Sizes for which the page shows bytes.
const SIZES: [(&str, i64); 2] = [("N", 4098), ("T", 100)];

/// Kernels that run once, or that no step changes, and that the page therefore leaves out.
const LEFT_OUT: [&str; 3] = ["plate_fill", "plate_lose", "plate_above"];

fn chain() -> Chain {
    Chain::from_json(CHAIN).unwrap_or_else(|error| panic!("{error}"))
}

/// The program after a step of the page; that of step 0 has no step.
fn after(step: usize) -> Validated {
    let program = sdfg::text::parse("plate.sdft", PROGRAM).unwrap_or_else(|errors| panic!("{errors:?}"));
    let count = if step == 0 { 0 } else { ENDS[step - 1] };
    let replayed = chain().cut(count).replay(program, &Registry::standard());
    let pipeline = replayed.unwrap_or_else(|error| panic!("step {step}: {error}"));
    validate(pipeline.program().clone()).unwrap_or_else(|rejected| panic!("{rejected}"))
}

fn arguments(n: i64) -> Arguments {
    let mut arguments = Arguments::new().with_symbol("N", n).with_symbol("T", 3);
    let cells = |seed: i64| (0..n * n).map(move |at| ((at * 7 + at / n * 3 + seed) % 13) as f64);
    let start: Vec<f64> = cells(1).collect();
    let conduct: Vec<f64> = cells(5).map(|value| value / 64.0).collect();
    arguments.set("start", Tensor::new(&[n, n], &start).expect("a tensor"));
    arguments.set("conduct", Tensor::new(&[n, n], &conduct).expect("a tensor"));
    arguments.set("left", Tensor::new(&[1], &[0.0]).expect("a tensor"));
    arguments
}

/// The result, which depends on each element; sums have another order on the device.
fn left(arguments: &Arguments) -> f64 {
    arguments.get("left").expect("a result").to_vec::<f64>().expect("numbers")[0]
}

/// The result by a formula in Rust.
fn expected(n: i64) -> f64 {
    let given = arguments(n);
    let values = |name: &str| given.get(name).expect("a tensor").to_vec::<f64>().expect("numbers");
    let conduct = values("conduct");
    let mut cells: Vec<f64> = values("start").into_iter().map(|celsius| celsius + 273.15).collect();
    let n = usize::try_from(n).expect("a size");
    for _ in 0..3 {
        let old = cells.clone();
        for at in (1..n - 1).flat_map(|i| (1..n - 1).map(move |j| i * n + j)) {
            let flow = old[at - 1] + old[at + 1] + old[at + n] + old[at - n] - 4.0 * old[at];
            let next = old[at] + conduct[at] * flow;
            cells[at] = next - 0.01 * (next - 293.15);
        }
    }
    cells.into_iter().map(|kelvin| kelvin - 273.15).sum()
}

fn assert_close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-11 * expected.abs(), "{what}: {found} and not {expected}");
}

/// Tiles are cut off at the end, and there are several of them.
#[test]
fn each_step_keeps_the_results_in_the_interpreter() {
    for step in 0..=ENDS.len() {
        let program = after(step);
        for (n, order) in [(2, Order::Fixed), (37, Order::Random(step as u64))] {
            let mut arguments = arguments(n);
            let mut interpreter = Interpreter::new(&program).unwrap_or_else(|error| panic!("{error}"));
            let options = Options { order, ..Options::default() };
            interpreter.run(&mut arguments, &options).unwrap_or_else(|error| panic!("step {step}: {error}"));
            assert_close(left(&arguments), expected(n), &format!("step {step}, N = {n}"));
        }
    }
}

fn on_opencl(steps: std::ops::RangeInclusive<usize>) {
    for step in steps {
        let options = LowerOptions { serial_components: true, ..LowerOptions::default() };
        let plan = lower(&after(step), &Device::OpenCl.target(), &options);
        let plan = plan.unwrap_or_else(|error| panic!("step {step}: {error}"));
        let library = Device::OpenCl.load(&plan).unwrap_or_else(|error| panic!("step {step}: {error}"));
        for n in [2, 75] {
            let mut arguments = arguments(n);
            match trusted::run(&library, &mut arguments, None) {
                Ok(()) => {}
                Err(error) if error.to_string().contains("no driver of OpenCL") => {
                    println!("skipped: {error}");
                    return;
                }
                Err(error) => panic!("step {step}: {error}"),
            }
            assert_close(left(&arguments), expected(n), &format!("step {step}, N = {n}"));
        }
    }
}

#[test]
fn the_steps_to_data_on_the_device_run_by_opencl() {
    on_opencl(FIRST_WITH_KERNELS..=5);
}

#[test]
fn the_steps_to_few_accesses_run_by_opencl() {
    on_opencl(6..=ENDS.len());
}

/// Bytes that one run moves.
fn traffic(program: &Validated) -> [i64; 5] {
    let values = SIZES.map(|(symbol, value)| (Symbol::of(symbol), Expr::int(value)));
    let mut sized: Sdfg = program.sdfg().clone();
    let mut editor = Editor::new(&mut sized);
    editor.substitute(&values.into_iter().collect()).unwrap_or_else(|error| panic!("{error}"));
    editor.commit().unwrap_or_else(|error| panic!("{error}"));
    let traffic = Traffic::of(&sized);
    let bytes = |part: &Quantity| part.eval(&|_: &Symbol| None).unwrap_or_else(|error| panic!("{error}"));
    [&traffic.to_device, &traffic.from_device, &traffic.within_device, &traffic.read, &traffic.written]
        .map(bytes)
}

/// Whether a kernel is the version with indices of 64 bits, which the page leaves out.
fn is_wide(name: &str) -> bool {
    name.ends_with("_wide")
}

/// The kernels of CUDA source that the page shows, with their names, without comments.
fn kernels(source: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in source.split("static __global__ void ").skip(1) {
        let end = part.find("\n}\n").expect("the end of a kernel");
        let head = part[..part.find('{').expect("a body")].split('(').rev().nth(1).expect("a name");
        let name = head.rsplit([' ', ')']).next().expect("a name").to_owned();
        if LEFT_OUT.contains(&name.as_str()) || is_wide(&name) {
            continue;
        }
        let text = format!("static __global__ void {}\n}}\n", &part[..end]);
        let code = text.lines().filter(|line| !line.trim_start().starts_with("/*"));
        found.push((name, code.collect::<Vec<_>>().join("\n")));
    }
    found
}

/// Copies and launches of the host's code in its time loop.
fn time_step(source: &str) -> Vec<String> {
    let (begin, end) = (
        source.find("/* loop steps */").expect("the loop"),
        source.find("/* state end */").expect("the end"),
    );
    let mut found = Vec::new();
    for line in source[begin..end].lines() {
        if let Some((_, ends)) = line.split_once("sdfg_device_copy(") {
            let mut arrays = ends.split('&').skip(1).filter_map(|text| text.split('[').next());
            let (to, from) = (arrays.next().expect("a target"), arrays.next().expect("a source"));
            found.push(format!("copy {from} to {to}"));
        } else if let Some((_, launched)) = line.split_once("SDFG_LAUNCH(") {
            let name = launched.split(',').next().expect("a kernel");
            if !is_wide(name) {
                found.push(format!("launch {name}"));
            }
        }
    }
    found
}

fn source_of(step: usize) -> String {
    let plan = lower(&after(step), &Device::Cuda.target(), &LowerOptions::default());
    let plan = plan.unwrap_or_else(|error| panic!("step {step}: {error}"));
    cuda_source(&plan, &SourceOptions::default()).unwrap_or_else(|error| panic!("step {step}: {error}"))
}

/// Bytes in the largest unit of which there is at least a hundredth.
fn shown(bytes: i64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// The generated blocks of the page: one for each step, then the table.
fn blocks() -> Vec<(String, String)> {
    let lines = chain().lines();
    let mut blocks = Vec::new();
    let mut table = "| after step | to the device | to the host | copies on the device | kernels read | kernels write |\n\
                     |---|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let (mut known, mut known_step) = (Vec::new(), Vec::new());
    for step in 1..=ENDS.len() {
        let first = if step == 1 { 0 } else { ENDS[step - 2] };
        let mut block = "```text\n".to_owned();
        for line in &lines[first..ENDS[step - 1]] {
            let _ = writeln!(block, "{line}");
        }
        block.push_str("```\n");
        if step >= FIRST_WITH_KERNELS {
            let row = traffic(&after(step)).map(shown).join(" | ");
            let _ = writeln!(table, "| {step}. `{}` | {row} |", name_of(&lines[ENDS[step - 1] - 1]));
            let source = source_of(step);
            let (now, of_step) = (kernels(&source), time_step(&source));
            if of_step != known_step {
                let _ = write!(
                    block,
                    "\nThe host does this in each time step:\n\n```text\n{}\n```\n",
                    of_step.join("\n")
                );
            }
            for (name, text) in &now {
                if !known.contains(&(name.clone(), text.clone())) {
                    let _ = write!(block, "\n```c\n{text}\n```\n");
                }
            }
            (known, known_step) = (now, of_step);
        }
        blocks.push((format!("step {step}"), block));
    }
    blocks.push(("table".to_owned(), table));
    blocks
}

/// The transformation of a line of a chain.
fn name_of(line: &str) -> &str {
    line.split_whitespace().find(|word| word.starts_with(char::is_uppercase)).unwrap_or(line)
}

#[test]
fn the_page_has_the_kernels_and_bytes_of_each_step() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/gpu-tutorial.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let mut wanted = page.clone();
    for (name, block) in blocks() {
        let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let begin = wanted.find(&open).unwrap_or_else(|| panic!("no {open}")) + open.len();
        let end = begin + wanted[begin..].find(&close).unwrap_or_else(|| panic!("no {close}"));
        wanted.replace_range(begin..end, &block);
    }
    if sdfg_filetest::blesses() {
        std::fs::write(&path, wanted).expect("the page is written");
        return;
    }
    let advice =
        "BLESS=1 cargo nextest run -p sdfg-programs --test gpu_tutorial updates docs/gpu-tutorial.md";
    let differs = wanted.lines().zip(page.lines()).find(|(wanted, found)| wanted != found);
    assert!(wanted == page, "{advice}; first difference: {differs:?}");
}

/// The page tells what each step gains. Only steps 1, 3 and 9 gain no byte.
#[test]
fn steps_gain_bytes_where_the_page_says_so() {
    let bytes: Vec<[i64; 5]> = (FIRST_WITH_KERNELS..=ENDS.len()).map(|step| traffic(&after(step))).collect();
    let at = |step: usize| bytes[step - FIRST_WITH_KERNELS];
    let cells = 8 * 4098 * 4098;
    // The state, not the conductivities, stays on the device. Then these go there once, and only the sum comes back.
    assert!(at(3)[0] < at(2)[0] / 4 && at(3)[1] == 8);
    assert!(at(4)[2] < at(3)[2] && at(5)[2] == 0);
    assert!(at(6)[0] <= 2 * cells + 8, "{:?}", at(6));
    assert!(at(7)[3] < at(6)[3] && at(7)[4] < at(6)[4]);
    assert!(at(8)[3] < at(7)[3] && at(9)[3] == at(8)[3]);
    // Of nine accesses to a cell in a time step, seven read `a` or the flow in the program, and 1.2 read `a` at the end.
    assert!(at(10)[3] * 2 < at(9)[3], "{:?}", at(10));
}
