//! Tests of stencils: native code from the expansion, the interpreter and formulas agree.
//!
//! Random stencils have any boundary conditions, offsets, ranks and extents, including extents smaller than
//! the offsets. Their numbers are small, so nothing is rounded.

use std::num::NonZeroU32;

use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::ir::Sdfg;
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg_codegen::llvm::{self, CompileOptions};
use sdfg_codegen::load::Library;
use sdfg_codegen::lower::lower;
use sdfg_library::{BuiltIn, expand};
use sdfg_programs::trusted;

/// Small numbers in a fixed order.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }
}

fn parsed(text: &str) -> Sdfg {
    sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?} in\n{text}"))
}

fn compiled(sdfg: &Sdfg) -> Library {
    let expanded = expand(sdfg, &BuiltIn).unwrap_or_else(|error| panic!("{error}"));
    let expanded = validate(expanded).unwrap_or_else(|rejected| panic!("{rejected}"));
    let options = CompileOptions { parallel_threshold: 0, ..CompileOptions::default() };
    let plan =
        lower(&expanded, &options.target(), &options.lowering()).unwrap_or_else(|error| panic!("{error}"));
    let object = llvm::compile(&plan, &options).unwrap_or_else(|error| panic!("{error}"));
    Library::load(&object).unwrap_or_else(|error| panic!("{error}"))
}

fn interpret(sdfg: &Sdfg, arguments: &mut Arguments) {
    let program = validate(sdfg.clone()).unwrap_or_else(|rejected| panic!("{rejected}"));
    let options = Options { libraries: Some(&BuiltIn), ..Options::default() };
    let mut interpreter = Interpreter::new(&program).expect("the interpreter runs it");
    interpreter.run(arguments, &options).unwrap_or_else(|error| panic!("{error}"));
}

/// A field of a random stencil, whose dimensions follow some of the iterators.
struct Field {
    name: String,
    iterators: Vec<usize>,
    element: &'static str,
}

struct Random {
    rank: usize,
    fields: Vec<Field>,
    outputs: Vec<Field>,
    text: String,
}

const EXTENTS: [&str; 3] = ["L", "M", "N"];

impl Random {
    fn of(numbers: &mut Numbers) -> Self {
        let rank = 1 + numbers.below(3) as usize;
        let element = |numbers: &mut Numbers| ["f64", "f32", "i64", "i32"][numbers.below(4) as usize];
        let all: Vec<usize> = (0..rank).collect();
        let mut fields = Vec::new();
        for at in 0..1 + numbers.below(3) {
            let chosen: Vec<usize> = all.iter().copied().filter(|_| numbers.below(3) > 0).collect();
            let iterators = if at == 0 { all.clone() } else { chosen };
            fields.push(Field { name: format!("a{at}"), iterators, element: element(numbers) });
        }
        let output = |at: u64, numbers: &mut Numbers| Field {
            name: format!("b{at}"),
            iterators: all.clone(),
            element: element(numbers),
        };
        let mut outputs: Vec<Field> = (0..1 + numbers.below(2)).map(|at| output(at, numbers)).collect();
        let mut properties = Vec::new();
        for field in &fields {
            if !field.iterators.is_empty() && field.iterators.len() < rank {
                for iterator in &all {
                    let follows = if field.iterators.contains(iterator) { "True" } else { "False" };
                    properties.push(format!("iterator_mapping_{}_{iterator} = {follows}", field.name));
                }
            }
            match numbers.below(4) {
                0 => properties.push(format!("boundary_conditions_{} = copy", field.name)),
                1 => properties.push(format!("boundary_conditions_{} = 2 - 5", field.name)),
                2 => properties.push(format!("boundary_conditions_{} = K", field.name)),
                _ => {}
            }
        }
        let mut known = Vec::new();
        let locals = (0..numbers.below(2)).map(|at| format!("t{at}"));
        let names: Vec<String> = locals.chain(outputs.iter().map(|output| output.name.clone())).collect();
        for name in names {
            properties.push(format!("code_{name} = {}", Self::code(&fields, &known, numbers)));
            known.push(name);
        }
        // Some stencils work in place: the last output is the memory of the first field.
        let mut memory = outputs.last().map(|output| output.name.clone()).unwrap_or_default();
        if let Some(last) = outputs.last_mut().filter(|_| numbers.flag()) {
            (memory, last.element) = ("a0".to_owned(), fields[0].element);
        }
        let resolution = if numbers.below(3) == 0 { " wcr(sum)" } else { "" };
        let mut random = Random { rank, fields, outputs, text: String::new() };
        random.text = random.program(&properties.join("; "), &memory, resolution);
        random
    }

    /// A sum of some elements, values and symbols.
    fn code(fields: &[Field], known: &[String], numbers: &mut Numbers) -> String {
        let mut terms = Vec::new();
        for _ in 0..1 + numbers.below(4) {
            let factor = numbers.below(4) as i64 - 1;
            let field = &fields[numbers.below(fields.len() as u64) as usize];
            let offsets: Vec<String> =
                field.iterators.iter().map(|_| (numbers.below(5) as i64 - 2).to_string()).collect();
            let element =
                if offsets.is_empty() { String::new() } else { format!("[{}]", offsets.join(", ")) };
            terms.push(format!("({factor}) * {}{element}", field.name));
        }
        if numbers.flag() {
            terms.push("K".to_owned());
        }
        if let Some(name) = known.last().filter(|_| numbers.flag()) {
            terms.push(format!("({name} if {name} > 3 else 1)"));
        }
        terms.join(" + ")
    }

    fn program(&self, properties: &str, last: &str, resolution: &str) -> String {
        let mut header = "sdfg p {\nsymbol K: i64\n".to_owned();
        EXTENTS[..self.rank].iter().for_each(|name| header.push_str(&format!("symbol {name}: i64\n")));
        let mut state = String::new();
        let names = |fields: &[Field]| fields.iter().map(|f| f.name.clone()).collect::<Vec<_>>().join(", ");
        for field in self.fields.iter().chain(&self.outputs) {
            let extents: Vec<&str> = field.iterators.iter().map(|iterator| EXTENTS[*iterator]).collect();
            header.push_str(&if extents.is_empty() {
                format!("scalar {}: {}\n", field.name, field.element)
            } else {
                format!("array {}: {}[{}]\n", field.name, field.element, extents.join(", "))
            });
        }
        state.push_str(&format!(
            "library node: Stencil ({}) -> ({}) {{ {properties} }}\n",
            names(&self.fields),
            names(&self.outputs)
        ));
        for field in &self.fields {
            state.push_str(&format!("access {0}\n{0} -> node.{0}\n", field.name));
        }
        let whole = vec![":"; self.rank].join(", ");
        for (at, output) in self.outputs.iter().enumerate() {
            let memory = if at + 1 == self.outputs.len() { last } else { output.name.as_str() };
            let name = &output.name;
            state.push_str(&format!(
                "access to_{name} = {memory}\nnode.{name} -> to_{name}: {memory}[{whole}]{resolution}\n"
            ));
        }
        format!("{header}state main {{\n{state}}}\n}}\n")
    }

    fn arguments(&self, extents: &[i64]) -> Arguments {
        let mut arguments = Arguments::new();
        arguments.set_symbol("K", 7);
        for (name, extent) in EXTENTS.iter().zip(extents).take(self.rank) {
            arguments.set_symbol(*name, *extent);
        }
        for field in self.fields.iter().chain(&self.outputs) {
            let shape: Vec<i64> = field.iterators.iter().map(|iterator| extents[*iterator]).collect();
            let count = shape.iter().product::<i64>();
            let seed = field.name.bytes().map(i64::from).sum::<i64>();
            let numbers = (0..count).map(|k| (k * 7 + k / 3 + seed) % 9 - 4);
            let tensor = match field.element {
                "f64" => Tensor::new(&shape, &numbers.map(|n| n as f64).collect::<Vec<_>>()),
                "f32" => Tensor::new(&shape, &numbers.map(|n| n as f32).collect::<Vec<_>>()),
                "i64" => Tensor::new(&shape, &numbers.collect::<Vec<_>>()),
                _ => Tensor::new(&shape, &numbers.map(|n| n as i32).collect::<Vec<_>>()),
            };
            arguments.set(field.name.as_str(), tensor.expect("as many numbers as elements"));
        }
        arguments
    }
}

#[test]
fn native_code_gives_what_the_interpreter_computes() {
    let mut numbers = Numbers(20_191_117);
    for _ in 0..24 {
        let random = Random::of(&mut numbers);
        let sdfg = parsed(&random.text);
        let again = parsed(&sdfg::text::print(&sdfg));
        assert_eq!(sdfg::text::print(&again), sdfg::text::print(&sdfg), "{}", random.text);
        let library = compiled(&sdfg);
        for extents in [[0, 3, 2], [1, 1, 1], [2, 3, 1], [3, 2, 4], [6, 5, 7], [9, 4, 6]] {
            let (mut expected, mut found) = (random.arguments(&extents), random.arguments(&extents));
            interpret(&sdfg, &mut expected);
            trusted::run(&library, &mut found, NonZeroU32::new(2)).unwrap_or_else(|error| panic!("{error}"));
            for field in random.fields.iter().chain(&random.outputs) {
                let name = field.name.as_str();
                assert_eq!(found.get(name), expected.get(name), "{name} of {extents:?} in\n{}", random.text);
            }
        }
    }
}

/// A stencil with one boundary condition.
fn diffusion(condition: &str) -> Sdfg {
    parsed(&format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N, N]
  array v: f64[N]
  array B: f64[N, N]
  state s {{
    access A
    access v
    access B
    library node: Stencil (a, v) -> (b) {{ {condition} iterator_mapping_v_0 = False; iterator_mapping_v_1 = True; code_t = a[-1, 0] + a[2, -1]; code_b = 0.5 * t + v[0] }}
    A -> node.a
    v -> node.v
    node.b -> B
  }}
}}"
    ))
}

#[test]
fn boundary_conditions_mean_what_they_say() {
    let n = 5_i64;
    let a = |i: i64, j: i64| (i * 10 + j) as f64;
    let is_in = |i: i64, j: i64| (0..n).contains(&i) && (0..n).contains(&j);
    let at = |i: i64, j: i64, other: f64| if is_in(i, j) { a(i, j) } else { other };
    for (condition, other) in [
        ("", None),
        ("boundary_conditions_a = shrink;", None),
        ("boundary_conditions_a = copy;", Some((true, 0.0))),
        ("boundary_conditions_a = 4.5;", Some((false, 4.5))),
    ] {
        let sdfg = diffusion(condition);
        let mut arguments = Arguments::new().with_symbol("N", n);
        let all = || (0..n * n).map(|k| (k / n, k % n));
        let field: Vec<f64> = all().map(|(i, j)| a(i, j)).collect();
        arguments.set("A", Tensor::new(&[n, n], &field).expect("a field"));
        arguments.set("v", Tensor::vector(&(0..n).map(|j| 1000.0 * j as f64).collect::<Vec<f64>>()));
        arguments.set("B", Tensor::new(&[n, n], &vec![-1.0; (n * n) as usize]).expect("a field"));
        interpret(&sdfg, &mut arguments);
        let expected: Vec<f64> = all()
            .map(|(i, j)| {
                let value =
                    |other: f64| 0.5 * (at(i - 1, j, other) + at(i + 2, j - 1, other)) + 1000.0 * j as f64;
                match other {
                    None if is_in(i - 1, j) && is_in(i + 2, j - 1) => value(0.0),
                    None => -1.0,
                    Some((true, _)) => value(a(i, j)),
                    Some((false, constant)) => value(constant),
                }
            })
            .collect();
        let found: Vec<f64> = arguments.get("B").expect("the output").to_vec().expect("numbers");
        assert_eq!(found, expected, "{condition}");
    }
}

#[test]
fn what_is_wrong_with_a_stencil_is_told() {
    for (properties, expected) in [
        ("code_b = a[N, 0]", "must have numbers as the offsets of `a`"),
        ("code_t = a[0, 0]", "`code_b` is missing; it must tell what the output gets"),
        (
            "code_b = a[0]",
            "must tell, one flag for each of 2 iterators, which ones the 1 offsets of `a` are along",
        ),
        (
            "code_b = a[0, 0]; boundary_conditions_c = copy",
            "`boundary_conditions_c` is none of the operation's",
        ),
        ("code_t = a[0, 0]; code_b = t[1, 0]", "may use `t`, which is computed here, without offsets only"),
    ] {
        let text = format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N, N]
  array C: f64[N]
  array B: f64[N, N]
  state s {{
    access A
    access C
    access B
    library node: Stencil (a, v) -> (b) {{ code_u = v[0] + a[0, 0]; iterator_mapping_v_0 = True; iterator_mapping_v_1 = False; {properties} }}
    A -> node.a
    C -> node.v
    node.b -> B
  }}
}}"
        );
        let text = if properties.ends_with("a[0]") { text.replace("+ a[0, 0]", "") } else { text };
        let error = expand(&parsed(&text), &BuiltIn).expect_err(properties).to_string();
        assert!(error.contains(expected), "{error} instead of {expected}");
    }
}
