//! Executes instructions.

use super::super::arith;
use super::instruction::{Instruction, Register};
use super::{Access, CodeFrame, CompiledCode, Trap};
use crate::value::Value;

impl CompiledCode {
    /// Runs the code once. Inputs and symbols are those set on the frame, which was made by this code.
    ///
    /// # Errors
    /// [`Trap::Access`] from `access`; [`Trap::StepLimit`] when loops run more than `steps` iterations in all.
    pub fn run<A: Access + ?Sized>(
        &self,
        frame: &mut CodeFrame,
        access: &mut A,
        steps: u64,
    ) -> Result<(), Trap<A::Error>> {
        frame.assigned.fill(false);
        let mut steps = steps;
        let mut position = 0_usize;
        while let Some(instruction) = self.instructions.get(position) {
            position += 1;
            let registers = frame.registers.as_mut_slice();
            match *instruction {
                Instruction::Binary { op, dst, a, b, lanes } => {
                    for lane in 0..Register::from(lanes) {
                        let (x, y) = (registers[at(a, lane)], registers[at(b, lane)]);
                        registers[at(dst, lane)] = arith::binary(op, x, y);
                    }
                }
                Instruction::Compare { op, dst, a, b, lanes } => {
                    for lane in 0..Register::from(lanes) {
                        let (x, y) = (registers[at(a, lane)], registers[at(b, lane)]);
                        registers[at(dst, lane)] = Value::Bool(arith::compare(op, x, y));
                    }
                }
                Instruction::Unary { op, dst, src, lanes } => {
                    map(registers, dst, src, lanes, |v| arith::unary(op, v));
                }
                Instruction::Power { dst, base, exponent, lanes } => {
                    map(registers, dst, base, lanes, |v| arith::power(v, exponent));
                }
                Instruction::Cast { to, dst, src, lanes } => {
                    map(registers, dst, src, lanes, |v| arith::cast(v, to));
                }
                Instruction::Copy { dst, src, lanes } => map(registers, dst, src, lanes, |v| v),
                Instruction::Splat { dst, src, lanes } => {
                    let value = registers[src as usize];
                    registers[dst as usize..][..usize::from(lanes)].fill(value);
                }
                Instruction::Select { dst, condition, then, otherwise, lanes } => {
                    for lane in 0..Register::from(lanes) {
                        let chosen =
                            if arith::is_true(registers[at(condition, lane)]) { then } else { otherwise };
                        registers[at(dst, lane)] = registers[at(chosen, lane)];
                    }
                }
                Instruction::Call { function, dst, arguments, lanes } => {
                    for lane in 0..Register::from(lanes) {
                        let argument =
                            |i: usize| registers[at(arguments, lane + i as Register * Register::from(lanes))];
                        let value = match function.arity() {
                            1 => arith::call(function, &[argument(0)]),
                            2 => arith::call(function, &[argument(0), argument(1)]),
                            _ => arith::call(function, &[argument(0), argument(1), argument(2)]),
                        };
                        registers[at(dst, lane)] = value;
                    }
                }
                Instruction::Load { connector, dst, indices, rank, lanes } => {
                    gather(&mut frame.indices, registers, indices, rank);
                    let lanes = &mut registers[dst as usize..][..usize::from(lanes)];
                    access.load(connector, &frame.indices, lanes).map_err(Trap::Access)?;
                }
                Instruction::Store { connector, src, indices, rank, lanes } => {
                    gather(&mut frame.indices, registers, indices, rank);
                    let lanes = &registers[src as usize..][..usize::from(lanes)];
                    access.store(connector, &frame.indices, lanes).map_err(Trap::Access)?;
                }
                Instruction::Push { connector, src, lanes } => {
                    let lanes = &registers[src as usize..][..usize::from(lanes)];
                    access.push(connector, lanes).map_err(Trap::Access)?;
                }
                Instruction::MarkAssigned { connector } => frame.assigned[connector.index()] = true,
                Instruction::Jump { target } => position = target as usize,
                Instruction::JumpIf { condition, target } => {
                    if arith::is_true(registers[condition as usize]) {
                        position = target as usize;
                    }
                }
                Instruction::JumpUnless { condition, target } => {
                    if !arith::is_true(registers[condition as usize]) {
                        position = target as usize;
                    }
                }
                Instruction::Repeat { target } => {
                    steps = steps.checked_sub(1).ok_or(Trap::StepLimit)?;
                    position = target as usize;
                }
                Instruction::StartCount { state } => {
                    let [begin, end, step] = [0, 1, 2].map(|i| integer(registers[at(state, i)]));
                    registers[at(state, 1)] = Value::U64(iterations(begin, end, step));
                }
                Instruction::Count { state, variable, exit } => {
                    let Value::U64(left @ 1..) = registers[at(state, 1)] else {
                        position = exit as usize;
                        continue;
                    };
                    let value = integer(registers[at(state, 0)]);
                    let step = integer(registers[at(state, 2)]);
                    registers[variable as usize] = Value::I64(value);
                    registers[at(state, 0)] = Value::I64(value.wrapping_add(step));
                    registers[at(state, 1)] = Value::U64(left - 1);
                }
            }
        }
        Ok(())
    }
}

/// The position of a lane.
fn at(register: Register, lane: Register) -> usize {
    register as usize + lane as usize
}

fn integer(value: Value) -> i64 {
    value.to_i64().unwrap_or(0)
}

/// Applies a function lane by lane.
fn map(registers: &mut [Value], dst: Register, src: Register, lanes: u16, f: impl Fn(Value) -> Value) {
    for lane in 0..Register::from(lanes) {
        registers[at(dst, lane)] = f(registers[at(src, lane)]);
    }
}

/// Collects the indices of an access.
fn gather(indices: &mut Vec<i64>, registers: &[Value], first: Register, rank: u16) {
    indices.clear();
    indices.extend(registers[first as usize..][..usize::from(rank)].iter().map(|v| integer(*v)));
}

/// Trip count of a loop from `begin` to before `end` by `step`.
fn iterations(begin: i64, end: i64, step: i64) -> u64 {
    let distance = i128::from(end) - i128::from(begin);
    let step = i128::from(step);
    if step == 0 || (distance > 0) != (step > 0) || distance == 0 {
        return 0;
    }
    // At most 2^64 - 1, for a distance of that and a step of 1.
    ((distance.abs() + step.abs() - 1) / step.abs()) as u64
}
