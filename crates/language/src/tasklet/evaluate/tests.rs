//! Tests of evaluation against a plain walk over the typed tree.

use proptest::prelude::*;

use super::*;
use crate::dtype::{ElementType, ScalarType};
use crate::tasklet::environment::{Connector, ConnectorKind, Direction, Environment};
use crate::tasklet::typed::{TypedCode, TypedExpression, TypedExpressionKind, TypedStatement};
use crate::tasklet::{Code, Dialect, arith, typecheck, typecheck_expression};

/// One array of 4 `f64` behind every pointer, and everything that was pushed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Memory {
    array: [f64; 4],
    pushed: Vec<Value>,
}

impl Access for Memory {
    type Error = String;

    fn load(&mut self, _: ConnectorId, indices: &[i64], lanes: &mut [Value]) -> Result<(), String> {
        let index = usize::try_from(indices[0]).ok().filter(|i| *i < 4).ok_or("out of bounds")?;
        lanes[0] = Value::F64(self.array[index]);
        Ok(())
    }

    fn store(&mut self, _: ConnectorId, indices: &[i64], lanes: &[Value]) -> Result<(), String> {
        let index = usize::try_from(indices[0]).ok().filter(|i| *i < 4).ok_or("out of bounds")?;
        if let Value::F64(value) = lanes[0] {
            self.array[index] = value;
        }
        Ok(())
    }

    fn push(&mut self, _: ConnectorId, lanes: &[Value]) -> Result<(), String> {
        self.pushed.extend(lanes);
        Ok(())
    }
}

fn environment() -> Environment {
    let mut environment = Environment::new();
    environment.input("a", ScalarType::F64);
    environment.input("n", ScalarType::I32);
    environment.output("o", ScalarType::F64);
    environment.output("p", ScalarType::I64);
    let pointer = |direction| Connector {
        element: ScalarType::F64.into(),
        kind: ConnectorKind::Pointer { rank: 1 },
        direction,
    };
    environment.add_connector("A", pointer(Direction::In));
    environment.add_connector("B", pointer(Direction::Out));
    environment.add_connector("s", Connector { kind: ConnectorKind::Stream, ..pointer(Direction::Out) });
    environment.add_symbol("N", ScalarType::I64);
    environment
}

/// Outputs of a run: `o`, `p`, and the memory; or why it trapped.
type Outcome = Result<(Option<Value>, Option<Value>, Memory), Trap<String>>;

const STEPS: u64 = 50;

fn run(typed: &TypedCode, a: f64, n: i32, size: i64) -> Outcome {
    let code = CompiledCode::new(typed);
    let mut frame = code.frame();
    let id = |name: &str| typed.environment.connector(name).unwrap().0;
    frame.set_input(id("a"), &[Value::F64(a)]);
    frame.set_input(id("n"), &[Value::I32(n)]);
    frame.set_symbol(typed.environment.symbol("N").unwrap().0, Value::I64(size));
    let mut memory = Memory { array: [1.0, 2.0, 3.0, 4.0], pushed: Vec::new() };
    code.run(&mut frame, &mut memory, STEPS)?;
    let output = |name| frame.output(id(name)).map(|lanes| lanes[0]);
    Ok((output("o"), output("p"), memory))
}

fn run_source(source: &str, a: f64, n: i32, size: i64) -> Outcome {
    run(&typecheck(&Code::parse(source, Dialect::Python).unwrap(), &environment()).unwrap(), a, n, size)
}

#[test]
fn statements() {
    let (o, p, memory) = run_source(
        "\
t = 0
for k in range(n):
    t += A[k % 4] * a
B[1] = t
for k in range(3, -1, -2): s = k
while t > 1: t /= 2
if t < 0.5: p = 1
elif n == 2: p = 2
else: p = 3
o = t if n > 1 and A[0] == 1 else A[99]",
        2.0,
        2,
        0,
    )
    .unwrap();
    assert_eq!((o, p), (Some(Value::F64(0.75)), Some(Value::I64(2))));
    assert_eq!(memory.array, [1.0, 6.0, 3.0, 4.0]);
    assert_eq!(memory.pushed, [Value::F64(3.0), Value::F64(1.0)]);
    assert_eq!(run_source("if n > 0: o = 1", 0.0, 0, 0).unwrap().0, None);
    assert_eq!(run_source("o = A[n]", 0.0, 4, 0), Err(Trap::Access("out of bounds".to_owned())));
    assert_eq!(run_source("while True: pass", 0.0, 4, 0), Err(Trap::StepLimit));
    assert_eq!(run_source("for k in range(50): o = k", 0.0, 4, 0).unwrap().0, Some(Value::F64(49.0)));
    let edge =
        "for k in range(N, N - 1 - N + N, -1): o = 1\np = 0\nfor k in range(9223372036854775806, N): p = k";
    assert_eq!(run_source(edge, 0.0, 0, i64::MAX).unwrap().1, Some(Value::I64(i64::MAX - 1)));
    assert_eq!(run_source("for k in range(0, N, 0): o = 1", 0.0, 0, 9).unwrap().0, None);
}

#[test]
fn frames_are_reused() {
    let code = Code::parse("t = a\nif n > 0: o = t * 2", Dialect::Python).unwrap();
    let typed = typecheck(&code, &environment()).unwrap();
    let code = CompiledCode::new(&typed);
    let mut frame = code.frame();
    let id = |name: &str| typed.environment.connector(name).unwrap().0;
    for i in 0..3 {
        frame.set_input(id("a"), &[Value::F64(f64::from(i))]);
        frame.set_input(id("n"), &[Value::I32(i % 2)]);
        code.run(&mut frame, &mut NoAccess, 0).unwrap();
        let expected = (i % 2 > 0).then(|| Value::F64(2.0 * f64::from(i)));
        assert_eq!(frame.output(id("o")).map(|lanes| lanes[0]), expected);
    }
}

#[test]
fn vectors() {
    let mut environment = Environment::new();
    let four = ElementType::vector(ScalarType::F32, 4).unwrap();
    let v = environment.input("v", four);
    let o = environment.output("o", four);
    let code = Code::parse("t = v * 2 + 1\no = t if t > 3 else -hypot(t, 0)", Dialect::Python).unwrap();
    let code = CompiledCode::new(&typecheck(&code, &environment).unwrap());
    let mut frame = code.frame();
    frame.set_input(v, &[0.0_f32, 1.0, 2.0, 3.0].map(Value::F32));
    code.run(&mut frame, &mut NoAccess, 0).unwrap();
    assert_eq!(frame.output(o).unwrap(), [-1.0_f32, -3.0, 5.0, 7.0].map(Value::F32));
}

#[test]
fn expressions() {
    let environment = environment();
    let expression = crate::syntax::parse_expression("N // 2 + n").unwrap();
    let typed = typecheck_expression(&expression, Dialect::Python, &environment).unwrap();
    let code = CompiledCode::of_expression(&typed);
    let mut frame = code.frame();
    frame.set_symbol(environment.symbol("N").unwrap().0, Value::I64(-7));
    frame.set_input(environment.connector("n").unwrap().0, &[Value::I32(1)]);
    code.run(&mut frame, &mut NoAccess, 0).unwrap();
    assert_eq!(frame.result(), [Value::I64(-3)]);
}

#[test]
fn lanes_are_put_together_and_taken_apart() {
    let pair = ElementType::vector(ScalarType::F64, 2).unwrap();
    let mut environment = Environment::new();
    let v = environment.input("v", pair);
    let o = environment.output("o", pair);
    let run = |source: &str| {
        let code = Code::parse(source, Dialect::Python).unwrap();
        let code = CompiledCode::new(&typecheck(&code, &environment).unwrap());
        let mut frame = code.frame();
        frame.set_input(v, &[Value::F64(3.0), Value::F64(5.0)]);
        code.run(&mut frame, &mut NoAccess, 100).unwrap();
        frame.output(o).unwrap().to_vec()
    };
    let pair = |a, b| [Value::F64(a), Value::F64(b)];
    assert_eq!(run("o = lanes(lane(v, 1), 7)"), pair(5.0, 7.0));
    assert_eq!(run("o = lane(v * 2 + 1, 1)"), pair(11.0, 11.0));
    // A new lane is read from the old vector, also where one replaces the other.
    assert_eq!(run("t = v\nt = lanes(lane(t, 1), lane(t, 0))\no = t"), pair(5.0, 3.0));
    assert_eq!(run("t = v\nfor i in range(3): t = lanes(lane(t, 1), i)\no = t"), pair(1.0, 2.0));
    assert_eq!(run("o = lanes(1, 2) if lane(v, 0) > 4 else lanes(lane(v, 0), 2)"), pair(3.0, 2.0));
}

/// A plain walk over the tree, for scalars.
struct Walk<'c> {
    code: &'c TypedCode,
    locals: Vec<Option<Value>>,
    inputs: [Value; 2],
    size: i64,
    outputs: [Option<Value>; 2],
    memory: Memory,
    steps: u64,
}

impl Walk<'_> {
    fn value(&mut self, e: &TypedExpression) -> Result<Value, Trap<String>> {
        Ok(match &e.kind {
            TypedExpressionKind::Constant(value) => *value,
            TypedExpressionKind::Local(local) => {
                self.locals[local.index()].expect("assigned before it is read")
            }
            TypedExpressionKind::Symbol(_) => Value::I64(self.size),
            TypedExpressionKind::Input(id) => self.inputs[id.index()],
            TypedExpressionKind::Output(id) => {
                self.outputs[id.index() - 2].expect("assigned before it is read")
            }
            TypedExpressionKind::Load { connector, indices } => {
                let index = self.value(&indices[0])?.to_i64().unwrap();
                let mut lanes = [Value::F64(0.0)];
                self.memory.load(*connector, &[index], &mut lanes).map_err(Trap::Access)?;
                lanes[0]
            }
            TypedExpressionKind::Length { .. } => unreachable!("tasklets have no queues"),
            TypedExpressionKind::Cast(x) => arith::cast(self.value(x)?, e.ty.lane()),
            TypedExpressionKind::Splat(_) | TypedExpressionKind::Lanes(_) => {
                unreachable!("vectors are taken apart where they are made")
            }
            TypedExpressionKind::Lane { operand, lane } => {
                let TypedExpressionKind::Lanes(parts) = &operand.kind else {
                    unreachable!("there are no other vectors");
                };
                let parts = parts.iter().map(|x| self.value(x)).collect::<Result<Vec<_>, _>>()?;
                parts[usize::from(*lane)]
            }
            TypedExpressionKind::Unary { op, operand } => arith::unary(*op, self.value(operand)?),
            TypedExpressionKind::Binary { op, left, right } => {
                let left = self.value(left)?;
                arith::binary(*op, left, self.value(right)?)
            }
            TypedExpressionKind::Power { base, exponent } => arith::power(self.value(base)?, *exponent),
            TypedExpressionKind::Compare { op, left, right } => {
                let left = self.value(left)?;
                Value::Bool(arith::compare(*op, left, self.value(right)?))
            }
            TypedExpressionKind::And(left, right) => {
                let left = self.value(left)?;
                if arith::is_true(left) { self.value(right)? } else { left }
            }
            TypedExpressionKind::Or(left, right) => {
                let left = self.value(left)?;
                if arith::is_true(left) { left } else { self.value(right)? }
            }
            TypedExpressionKind::Select { condition, then, otherwise } => {
                let chosen = if arith::is_true(self.value(condition)?) { then } else { otherwise };
                self.value(chosen)?
            }
            TypedExpressionKind::Call { function, arguments } => {
                let arguments = arguments.iter().map(|x| self.value(x)).collect::<Result<Vec<_>, _>>()?;
                arith::call(*function, &arguments)
            }
        })
    }

    fn block(&mut self, block: &[TypedStatement]) -> Result<(), Trap<String>> {
        for statement in block {
            match statement {
                TypedStatement::Local { local, value } => {
                    self.locals[local.index()] = Some(self.value(value)?)
                }
                TypedStatement::Output { connector, value } => {
                    self.outputs[connector.index() - 2] = Some(self.value(value)?);
                }
                TypedStatement::Store { connector, indices, value } => {
                    let index = self.value(&indices[0])?.to_i64().unwrap();
                    let value = self.value(value)?;
                    self.memory.store(*connector, &[index], &[value]).map_err(Trap::Access)?;
                }
                TypedStatement::Push { value, .. } => {
                    let value = self.value(value)?;
                    self.memory.pushed.push(value);
                }
                TypedStatement::If { condition, then, otherwise } => {
                    let holds = arith::is_true(self.value(condition)?);
                    self.block(if holds { then } else { otherwise })?;
                }
                TypedStatement::For { local, begin, end, step, body } => {
                    let [begin, end, step] = [begin, end, step].map(|e| self.value(e));
                    let (mut at, end, step) =
                        (begin?.to_i64().unwrap(), end?.to_i64().unwrap(), step?.to_i64().unwrap());
                    while (step > 0 && at < end) || (step < 0 && at > end) {
                        self.locals[local.index()] = Some(Value::I64(at));
                        self.block(body)?;
                        self.step()?;
                        let Some(next) = at.checked_add(step) else { break };
                        at = next;
                    }
                }
                TypedStatement::While { condition, body } => {
                    while arith::is_true(self.value(condition)?) {
                        self.block(body)?;
                        self.step()?;
                    }
                }
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Trap<String>> {
        self.steps = self.steps.checked_sub(1).ok_or(Trap::StepLimit)?;
        Ok(())
    }
}

fn walk(code: &TypedCode, a: f64, n: i32, size: i64) -> Outcome {
    let mut walk = Walk {
        code,
        locals: vec![None; code.locals.len()],
        inputs: [Value::F64(a), Value::I32(n)],
        size,
        outputs: [None; 2],
        memory: Memory { array: [1.0, 2.0, 3.0, 4.0], pushed: Vec::new() },
        steps: STEPS,
    };
    walk.block(&walk.code.body)?;
    Ok((walk.outputs[0], walk.outputs[1], walk.memory))
}

/// Texts of expressions that are well typed where `t` and `u` are assigned.
fn expression() -> BoxedStrategy<String> {
    let leaves = vec!["a", "n", "N", "t", "u", "1", "2.5", "-3", "True", "A[1]"];
    let leaf = prop::sample::select(leaves).prop_map(str::to_owned);
    leaf.prop_recursive(3, 12, 3, |inner| {
        let operators = vec!["+", "-", "*", "/", "//", "%", "<", "==", ">=", "and", "or"];
        let two = (inner.clone(), prop::sample::select(operators), inner.clone());
        prop_oneof![
            4 => two.prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            1 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, c, b)| format!("({a} if {c} else {b})")),
            1 => (prop::sample::select(vec!["min", "max", "hypot"]), inner.clone(), inner.clone())
                .prop_map(|(f, a, b)| format!("{f}({a}, {b})")),
            1 => (prop::sample::select(vec!["not ", "-", "abs", "floor", "i32", "sqrt"]), inner.clone())
                .prop_map(|(f, a)| format!("({f}({a}))")),
            1 => inner.clone().prop_map(|a| format!("A[i64({a})]")),
            1 => (inner.clone(), inner.clone(), 0..2)
                .prop_map(|(a, b, lane)| format!("lane(lanes({a}, {b}), {lane})")),
            1 => (inner.clone(), inner).prop_map(|(a, b)| format!("({a} < {b} <= {a})")),
        ]
    })
    .boxed()
}

fn indented(block: &str) -> String {
    block.lines().map(|line| format!("    {line}\n")).collect()
}

/// Texts of statements, each ending its line.
fn random_statements() -> BoxedStrategy<String> {
    let target = prop::sample::select(vec!["t", "u", "o", "p", "s", "B[2]", "B[n]"]);
    let simple = (target, expression()).prop_map(|(target, value)| format!("{target} = {value}\n"));
    let augmented = (prop::sample::select(vec!["t", "u"]), expression())
        .prop_map(|(target, value)| format!("{target} += {value}\n"));
    let statement = prop_oneof![3 => simple, 1 => augmented].prop_recursive(3, 10, 3, |inner| {
        let body = || proptest::collection::vec(inner.clone(), 1..3).prop_map(|b| indented(&b.concat()));
        prop_oneof![
            (expression(), body(), body()).prop_map(|(c, t, e)| format!("if {c}:\n{t}else:\n{e}")),
            (expression(), body()).prop_map(|(c, b)| format!("while {c}:\n{b}")),
            (-3_i64..4, -5_i64..6, -2_i64..3, body())
                .prop_map(|(b, e, s, body)| format!(
                    "for k{b} in range({b}, {e}, {s}):\n{}{body}",
                    indented(&format!("t = k{b}"))
                ))
                .prop_map(|text| text.replace("k-", "km")),
        ]
    });
    proptest::collection::vec(statement, 1..5).prop_map(|s| s.concat()).boxed()
}

proptest! {
    #[test]
    fn compiled_code_agrees_with_a_walk(body in random_statements(), a in -4_i32..5, n in -2_i32..6, size in -3_i64..9) {
        let source = format!("t = a\nu = N\n{body}");
        let code = Code::parse(&source, Dialect::Python).map_err(|e| TestCaseError::fail(format!("{e:?}\n{source}")))?;
        let Ok(typed) = typecheck(&code, &environment()) else {
            // Loops within loops over the same variable.
            return Ok(());
        };
        let a = f64::from(a) / 2.0;
        let (compiled, walked) = (run(&typed, a, n, size), walk(&typed, a, n, size));
        // NaN differs from itself, but not its text.
        prop_assert_eq!(format!("{compiled:?}"), format!("{walked:?}"), "{}", source);
    }
}
