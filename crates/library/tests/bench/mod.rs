//! A program around one library node, run in every available way.

use sdfg::dtype::ScalarType;
use sdfg::interpret::{Arguments, Interpreter, Libraries, Options, Order};
use sdfg::ir::Sdfg;
use sdfg::tasklet::arith::cast;
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg::value::{Complex, Value};
use sdfg_library::{BuiltIn, expand};

/// Element types that operations are tried with: numbers that are small are exact in all of them.
pub(crate) const ELEMENTS: [ScalarType; 6] = [
    ScalarType::F64,
    ScalarType::F32,
    ScalarType::I32,
    ScalarType::I64,
    ScalarType::Complex128,
    ScalarType::Complex64,
];

/// A part of an array: each dimension has the step, and begins behind the first element.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    name: String,
    shape: Vec<i64>,
    step: i64,
    element: Option<ScalarType>,
    data: Option<Vec<[i64; 2]>>,
}

impl Operand {
    pub(crate) fn new(name: &str, shape: &[i64], step: i64) -> Self {
        Operand { name: name.to_owned(), shape: shape.to_vec(), step, element: None, data: None }
    }

    /// With elements of another type than the others.
    pub(crate) fn typed(mut self, element: ScalarType) -> Self {
        self.element = Some(element);
        self
    }

    /// With these elements.
    pub(crate) fn holding(mut self, data: &[i64]) -> Self {
        self.data = Some(data.iter().map(|re| [*re, 0]).collect());
        self
    }
}

/// A program with one library node.
#[derive(Debug)]
pub(crate) struct Bench {
    element: ScalarType,
    symbolic: bool,
    inputs: Vec<Operand>,
    output: Option<Operand>,
    resolution: &'static str,
    reads_output: bool,
}

impl Bench {
    /// No operands yet. Extents are symbols if they shall be.
    pub(crate) fn new(element: ScalarType, symbolic: bool) -> Self {
        Bench { element, symbolic, inputs: Vec::new(), output: None, resolution: "", reads_output: false }
    }

    /// The connector of the output is one of an input, too.
    pub(crate) fn read_output(&mut self) {
        self.reads_output = true;
    }

    pub(crate) fn input(&mut self, operand: Operand) {
        self.inputs.push(operand);
    }

    pub(crate) fn output(&mut self, operand: Operand) {
        self.output = Some(operand);
    }

    pub(crate) fn resolution(&mut self, resolution: &'static str) {
        self.resolution = resolution;
    }

    pub(crate) fn is_complex(&self) -> bool {
        self.element.is_complex()
    }

    fn operands(&self) -> impl Iterator<Item = &Operand> {
        self.inputs.iter().chain(&self.output)
    }

    /// The elements of the part of an operand.
    pub(crate) fn elements(&self, name: &str) -> Vec<[i64; 2]> {
        let operand = self.operands().find(|operand| operand.name == name).expect("an operand");
        let count = operand.shape.iter().product::<i64>();
        if let Some(data) = &operand.data {
            return data.clone();
        }
        let seed = name.bytes().map(i64::from).sum::<i64>();
        let imaginary = i64::from(self.is_complex());
        (0..count).map(|k| [(k * 7 + seed) % 5 - 2, imaginary * ((k * 3 + seed) % 4 - 1)]).collect()
    }

    /// The symbol or number for an extent.
    fn extent(&self, extent: i64) -> String {
        // One element is known to be one: dimensions of symbolic extents pair as those of many.
        if self.symbolic && extent != 1 { format!("N{extent}") } else { extent.to_string() }
    }

    fn program(&self, operation: &str, properties: &[String]) -> String {
        let mut text = String::from("sdfg p {\n");
        let mut extents: Vec<i64> = self.operands().flat_map(|operand| operand.shape.clone()).collect();
        extents.sort_unstable();
        extents.dedup();
        for extent in extents.iter().filter(|_| self.symbolic) {
            text.push_str(&format!("symbol N{extent}: i64\n"));
        }
        for operand in self.operands() {
            let whole: Vec<String> = self.whole(operand).iter().map(i64::to_string).collect();
            let element = operand.element.unwrap_or(self.element);
            match whole.as_slice() {
                [] => text.push_str(&format!("scalar {}: {element}\n", operand.name)),
                whole => text.push_str(&format!("array {}: {element}[{}]\n", operand.name, whole.join(", "))),
            }
        }
        let output = self.output.as_ref().expect("an output");
        let both = self.output.iter().filter(|_| self.reads_output);
        let names: Vec<&str> = self.inputs.iter().chain(both).map(|operand| operand.name.as_str()).collect();
        text.push_str("state main {\n");
        for operand in self.operands() {
            text.push_str(&format!("access {}\n", operand.name));
        }
        text.push_str(&format!(
            "library node: {operation} ({}) -> ({}) {{ {} }}\n",
            names.join(", "),
            output.name,
            properties.join("; ")
        ));
        for operand in &self.inputs {
            text.push_str(&format!("{0} -> node.{0}: {1}\n", operand.name, self.memlet(operand)));
        }
        if self.reads_output {
            let memlet = self.memlet(output);
            text.push_str(&format!("access before = {0}\nbefore -> node.{0}: {memlet}\n", output.name));
        }
        text.push_str(&format!(
            "node.{0} -> {0}: {1}{2}\n}}\n}}\n",
            output.name,
            self.memlet(output),
            self.resolution
        ));
        text
    }

    fn memlet(&self, operand: &Operand) -> String {
        if operand.shape.is_empty() {
            return operand.name.clone();
        }
        let step = operand.step;
        let range = |extent: i64| format!("1:1 + {step} * {}:{step}", self.extent(extent));
        let ranges: Vec<String> = operand.shape.iter().map(|extent| range(*extent)).collect();
        format!("{}[{}]", operand.name, ranges.join(", "))
    }

    /// The shape of the array of which the operand is a part.
    fn whole(&self, operand: &Operand) -> Vec<i64> {
        operand.shape.iter().map(|extent| extent * operand.step + 2).collect()
    }

    /// Positions in the array of the elements of the part.
    fn positions(&self, operand: &Operand) -> Vec<usize> {
        let whole = self.whole(operand);
        let mut positions = vec![0];
        for (extent, size) in operand.shape.iter().zip(whole) {
            positions = positions
                .into_iter()
                .flat_map(|at| (0..*extent).map(move |k| at * size + 1 + k * operand.step))
                .collect();
        }
        positions.into_iter().map(|position| position as usize).collect()
    }

    fn tensor(&self, operand: &Operand, elements: &[[i64; 2]]) -> Tensor {
        let shape = self.whole(operand);
        let element = operand.element.unwrap_or(self.element);
        let size = element.size();
        let count = shape.iter().product::<i64>() as usize;
        let mut data = vec![0u8; count * size];
        for (position, [re, im]) in self.positions(operand).into_iter().zip(elements) {
            let value = Value::Complex128(Complex::new(*re as f64, *im as f64));
            assert!(cast(value, element).write(&mut data[position * size..]));
        }
        Tensor::from_bytes(element.into(), shape, data).expect("as many bytes as elements")
    }

    fn arguments(&self) -> Arguments {
        let mut arguments = Arguments::new();
        for operand in self.operands() {
            arguments.set(&operand.name, self.tensor(operand, &self.elements(&operand.name)));
            for extent in operand.shape.iter().filter(|_| self.symbolic) {
                arguments.set_symbol(format!("N{extent}"), *extent);
            }
        }
        arguments
    }

    /// Holds the output against what is expected, which the resolution combines with what was there.
    pub(crate) fn check(&self, operation: &str, properties: &[String], expected: &[[i64; 2]]) {
        let text = self.program(operation, properties);
        let output = self.output.as_ref().expect("an output");
        let before = self.elements(&output.name);
        let combined: Vec<[i64; 2]> = before
            .iter()
            .zip(expected)
            .map(|(before, new)| match self.resolution {
                "" => *new,
                " wcr(sum)" => [before[0] + new[0], before[1] + new[1]],
                " wcr(max)" => [before[0].max(new[0]), 0],
                other => panic!("{other}"),
            })
            .collect();
        let combined = if output.shape.is_empty() && expected.is_empty() { before } else { combined };
        let expected = self.tensor(output, &combined);
        let parsed = sdfg::text::parse("p.sdft", &text).unwrap_or_else(|e| panic!("{e:?} in\n{text}"));
        let found = self.run(&parsed, [Order::Fixed]);
        // Zeros are equal whatever their signs, which depend on the order of the sums.
        let same = found.iter().all(|found| found.values().eq(expected.values()));
        assert!(same, "the meaning of\n{text}\n{found:?}\n{expected:?}");
        let expanded = expand(&parsed, &BuiltIn).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        for found in self.run(&expanded, [Order::Fixed, Order::Random(7)]) {
            let same = found.values().eq(expected.values());
            assert!(
                same,
                "the expansion of\n{text}\n{}\n{found:?}\n{expected:?}",
                sdfg::text::print(&expanded)
            );
        }
    }

    /// The output of a program after a run in each of these orders.
    fn run<const N: usize>(&self, sdfg: &Sdfg, orders: [Order; N]) -> [Tensor; N] {
        let printed = || sdfg::text::print(sdfg);
        let validated =
            validate(sdfg.clone()).unwrap_or_else(|rejected| panic!("{rejected} in\n{}", printed()));
        orders.map(|order| {
            let mut results = self.arguments();
            let mut interpreter = Interpreter::new(&validated).expect("the interpreter runs it");
            let libraries: &dyn Libraries = &BuiltIn;
            let options = Options { order, libraries: Some(libraries), ..Options::default() };
            if let Err(error) = interpreter.run(&mut results, &options) {
                panic!("{error} in\n{}", printed());
            }
            let output = self.output.as_ref().expect("an output");
            results.get(&output.name).expect("the output").clone()
        })
    }
}
