//! Tests of shared loops: each iteration runs exactly once; accumulators and atomic writes are correct.

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::{ConflictResolution, OpenMpSchedule};
use sdfg::symbolic::Expr;

use super::plans::{
    all_of, array, at, empty, library, load, local, parallel, range, shared, size_symbol, store, symbol,
    tasklet, threads,
};
use super::trusted;
use crate::llvm::CompileOptions;
use crate::lower::Target;
use crate::plan::{
    Allocation, Binding, LoopDimension, Plan, PrivateAccumulator, Realisation, Resolved, Statement, Stride,
    Strided, Team,
};

fn atomic(resolution: ConflictResolution, element: ElementType) -> Resolved {
    let realisation = Target::cpu().realisation(&resolution, element);
    Resolved::Combine { resolution, custom: None, realisation }
}

#[test]
fn every_iteration_runs_once() {
    for sharing in OpenMpSchedule::ALL {
        for chunk in [None, Some(1), Some(3)] {
            let mut plan = empty("count");
            let (n, m) = (size_symbol(&mut plan, "N"), size_symbol(&mut plan, "M"));
            let counts = array(&mut plan, "counts", ScalarType::I32, &(&n * &m));
            for name in ["i", "j"] {
                plan.variables.insert(symbol(name), ScalarType::I64);
            }
            // j counts down by two from 2 M - 2 to 0.
            let j = LoopDimension {
                variable: symbol("j"),
                begin: &m * &Expr::int(2) - Expr::int(2),
                end: Expr::int(-1),
                step: Expr::int(-2),
            };
            let offset = Expr::sym("i") * &m + Expr::sym("j") * Expr::rational(1, 2).unwrap();
            let bindings = vec![("old", load(counts, offset.clone())), ("new", store(counts, offset))];
            let body = tasklet(&plan, "new = old + 1", bindings, &[]);
            let team = Team { sharing, chunk: chunk.map(Expr::int), ..Team::default() };
            let loops = shared(vec![range("i", Expr::zero(), n), j], team, vec![body]);
            plan.body.push(Statement::Loop(loops));
            let library = library(&plan);
            for (rows, columns) in [(0, 5), (7, 1), (13, 5)] {
                for team in [1, 3] {
                    let mut counts = vec![0_i32; rows * columns];
                    let call = library.call().array_mut("counts", &mut counts, &[rows * columns]);
                    let call = call.symbol("N", rows as i64).symbol("M", columns as i64);
                    trusted(call.threads(threads(team))).unwrap();
                    assert!(
                        counts.iter().all(|count| *count == 1),
                        "{sharing:?} {chunk:?} {team} {counts:?}"
                    );
                }
            }
        }
    }
}

/// `out[x[i] % 4] (resolution)= x[i]` by atomic steps.
fn scatter(ty: ElementType, resolution: ConflictResolution) -> Plan {
    let mut plan = empty("scatter");
    let n = size_symbol(&mut plan, "N");
    let out = array(&mut plan, "out", ty, &Expr::one());
    let x = array(&mut plan, "x", ty, &n);
    plan.variables.insert(symbol("i"), ScalarType::I64);
    let write = atomic(resolution, ty);
    let bindings =
        vec![("x", load(x, Expr::sym("i"))), ("o", Binding::Store { to: at(out, Expr::zero()), write })];
    let body = tasklet(&plan, "o = x", bindings, &[]);
    let mut scattered = parallel(vec![range("i", Expr::zero(), n)], vec![body]);
    scattered.independent = false;
    plan.body.push(Statement::Loop(scattered));
    plan
}

#[test]
fn atomic_combinations_lose_nothing() {
    use ConflictResolution as R;
    let data: Vec<i64> = (0..500).map(|i| (i * 37) % 101 - 50).collect();
    let expected = |resolution: &R| match resolution {
        R::Sum => data.iter().sum::<i64>() + 3,
        R::Min => -50,
        R::Max => 50,
        R::And => 0,
        R::BitXor => data.iter().fold(3, |a, b| a ^ b),
        _ => unreachable!(),
    };
    for resolution in [R::Sum, R::Min, R::Max, R::And, R::BitXor] {
        let plan = scatter(ScalarType::I64.into(), resolution.clone());
        let mut out = [3_i64];
        let library = library(&plan);
        let call = library.call().array("x", &data, &[500]).array_mut("out", &mut out, &[1]);
        // The plan says that x may be written.
        assert!(trusted(call.threads(threads(2))).is_err());
        let mut x = data.clone();
        let call = library.call().array_mut("x", &mut x, &[500]).array_mut("out", &mut out, &[1]);
        trusted(call.threads(threads(2))).unwrap();
        assert_eq!(out[0], expected(&resolution), "{resolution:?}");
        if resolution == R::BitXor {
            continue;
        }
        let plan = scatter(ScalarType::F32.into(), resolution.clone());
        let (mut x, mut out): (Vec<f32>, _) = (data.iter().map(|v| *v as f32).collect(), [3_f32]);
        let library = super::plans::library(&plan);
        let call = library.call().array_mut("x", &mut x, &[500]).array_mut("out", &mut out, &[1]);
        trusted(call.threads(threads(2))).unwrap();
        assert_eq!(out[0], expected(&resolution) as f32, "{resolution:?}");
    }
}

#[test]
fn what_threads_contend_for_is_not_noalias() {
    let plan = scatter(ScalarType::Complex128.into(), ConflictResolution::Product);
    let text =
        crate::llvm::llvm_ir(&super::plans::captured(plan), &CompileOptions::default(), false).unwrap();
    let team =
        text.lines().find(|line| line.starts_with("define") && line.contains("@scatter.parallel0(")).unwrap();
    let parameters: Vec<&str> = team.split(", ").filter(|p| p.contains("%out") || p.contains("%x")).collect();
    assert!(
        matches!(parameters.as_slice(), [out, x] if !out.contains("noalias") && x.contains("noalias")),
        "{team}"
    );
}

#[test]
fn atomic_combinations_of_wide_elements() {
    use num_complex::Complex;
    let values: Vec<Complex<f64>> =
        (0..200).map(|i| Complex::new(f64::from(i % 7), f64::from(i % 3))).collect();
    let library_of = |ty: ElementType, r| library(&scatter(ty, r));
    let mut out = [Complex::new(1.0, 2.0)];
    let mut x = values.clone();
    let library = library_of(ScalarType::Complex128.into(), ConflictResolution::Sum);
    let call = library.call().array_mut("x", &mut x, &[200]).array_mut("out", &mut out, &[1]);
    trusted(call.threads(threads(2))).unwrap();
    assert_eq!(out[0], values.iter().sum::<Complex<f64>>() + Complex::new(1.0, 2.0));

    let pair = ElementType::vector(ScalarType::F64, 2).unwrap();
    let library = library_of(pair, ConflictResolution::MinLocation);
    let mut x: Vec<f64> = (0..200).flat_map(|i| [f64::from((i * 7) % 50), f64::from(i)]).collect();
    let mut out = [1e9, 0.0];
    let call = library.call().array_mut("x", &mut x, &[200]).array_mut("out", &mut out, &[1]);
    trusted(call.threads(threads(2))).unwrap();
    assert_eq!(out, [0.0, 0.0]);
}

#[test]
fn accumulators_of_threads_are_merged() {
    for allocation in [Allocation::Stack, Allocation::Thread] {
        let mut plan = empty("histogram");
        let n = size_symbol(&mut plan, "N");
        let bins = Expr::int(16);
        let out = array(&mut plan, "out", ScalarType::I32, &bins);
        let x = array(&mut plan, "x", ScalarType::U8, &n);
        let own = local(&mut plan, "own", ScalarType::I32, &bins, allocation.clone());
        plan.variables.insert(symbol("i"), ScalarType::I64);
        let write = Resolved::Combine {
            resolution: ConflictResolution::Sum,
            custom: None,
            realisation: Realisation::Plain,
        };
        let bindings = vec![
            ("x", load(x, Expr::sym("i"))),
            ("bins", Binding::ViewMut { to: all_of(own, &bins), write }),
        ];
        let body = tasklet(&plan, "bins[i64(x) % 16] = 1", bindings, &[]);
        let mut team = Team::default();
        if allocation == Allocation::Thread {
            team.locals.push(own);
        }
        let target = Strided {
            origin: at(out, Expr::zero()),
            extents: vec![Expr::int(4), Expr::int(4)],
            strides: [4, 1].map(|stride| Stride::Even(Expr::int(stride))).to_vec(),
        };
        team.privates.push(PrivateAccumulator {
            buffer: own,
            copies: None,
            target,
            resolution: ConflictResolution::Sum,
        });
        let mut counted = shared(vec![range("i", Expr::zero(), n)], team, vec![body]);
        counted.independent = false;
        plan.body.push(Statement::Loop(counted));
        let library = library(&plan);
        let mut data: Vec<u8> = (0..1000_u32).map(|i| (i * 31 % 251) as u8).collect();
        let mut expected = [5_i32; 16];
        data.iter().for_each(|v| expected[usize::from(*v) % 16] += 1);
        for team in [1, 3] {
            let mut out = [5_i32; 16];
            let call = library.call().array_mut("x", &mut data, &[1000]).array_mut("out", &mut out, &[16]);
            trusted(call.threads(threads(team))).unwrap();
            assert_eq!(out, expected);
        }
    }
}

#[test]
fn memory_that_does_not_exist_is_a_status() {
    let mut plan = empty("greedy");
    let n = size_symbol(&mut plan, "N");
    let out = array(&mut plan, "out", ScalarType::F64, &Expr::one());
    let scratch = local(&mut plan, "scratch", ScalarType::F64, &n, Allocation::Thread);
    plan.variables.insert(symbol("i"), ScalarType::I64);
    let body = tasklet(
        &plan,
        "o = s",
        vec![("s", load(scratch, Expr::zero())), ("o", store(out, Expr::zero()))],
        &[],
    );
    let team = Team { locals: vec![scratch], ..Team::default() };
    let once = shared(vec![range("i", Expr::zero(), Expr::int(1))], team, vec![body]);
    plan.body.push(Statement::Loop(once));
    let library = library(&plan);
    let mut out = [0.0];
    let call = library.call().symbol("N", 1 << 60).array_mut("out", &mut out, &[1]);
    let error = trusted(call.threads(threads(2))).unwrap_err();
    assert_eq!(error.to_string(), "`greedy` failed: no memory for `scratch`");
}
