//! Tests that convert the control flow of random programs to a state machine and back.

use std::collections::BTreeSet;

use sdfg::control::{lower, raise};
use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::ir::{BlockKind, NodeKind, RegionId, Sdfg};
use sdfg::text;
use sdfg::validate::validate;
use sdfg_programs::random::{Operations, Rng, Sizes, generate, inputs};
use sdfg_transforms::verify::same;

const PROGRAMS: u64 = 70;

fn run(sdfg: &Sdfg, mut arguments: Arguments) -> Result<Arguments, String> {
    let program = validate(sdfg.clone()).map_err(|rejected| rejected.to_string())?;
    let mut interpreter = Interpreter::new(&program).map_err(|error| error.to_string())?;
    let options = Options {
        order: Order::Fixed,
        step_limit: Some(2_000_000),
        libraries: Some(&Operations),
        ..Options::default()
    };
    interpreter.run(&mut arguments, &options).map_err(|error| error.to_string())?;
    Ok(arguments)
}

fn assert_same(seed: u64, expected: &Arguments, sdfg: &Sdfg, arguments: &Arguments) {
    let printed = text::print(sdfg);
    let actual = run(sdfg, arguments.clone()).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{printed}"));
    for (name, tensor) in expected.tensors() {
        let other = actual.get(name).unwrap();
        assert!(same(tensor, other), "seed {seed}: `{name}` is {other:?}, not {tensor:?}\n{printed}");
    }
}

/// Whether control leaves a region by a jump. Blocks after a conditional jump may also stand in the other arm of
/// the condition.
fn jumps(sdfg: &Sdfg, region: RegionId) -> bool {
    sdfg.region(region).blocks.iter().any(|block| match &sdfg.block(*block).kind {
        BlockKind::Break | BlockKind::Continue | BlockKind::Return => true,
        kind @ (BlockKind::Loop(_) | BlockKind::Branch(_)) => {
            kind.regions().into_iter().any(|inside| jumps(sdfg, inside))
        }
        BlockKind::State(_) => false,
    })
}

/// Loops and branches with all that belongs to them, also in nested SDFGs, and whether they are branches with a jump in them.
fn structures(sdfg: &Sdfg, found: &mut BTreeSet<(String, bool)>) {
    for (_, block) in sdfg.blocks() {
        match &block.kind {
            BlockKind::Loop(l) => {
                let show = |e: &Option<sdfg::syntax::Expression>| e.as_ref().map(ToString::to_string);
                let (label, init, update) = (&block.label, show(&l.init), show(&l.update));
                let all = (&sdfg.name, label, &l.symbol, init, l.condition.to_string(), update, l.test_after);
                found.insert((format!("{all:?}"), false));
            }
            BlockKind::Branch(branch) => {
                let conditions: Vec<String> = branch.arms.iter().map(|(c, _)| c.to_string()).collect();
                let all = (&sdfg.name, &block.label, conditions, branch.otherwise.is_some());
                let has_jump = block.kind.regions().into_iter().any(|arm| jumps(sdfg, arm));
                found.insert((format!("{all:?}"), has_jump));
            }
            BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
    }
    for (_, state) in sdfg.states() {
        for (_, node) in state.nodes() {
            if let NodeKind::Nested(nested) = &node.kind {
                structures(&nested.sdfg, found);
            }
        }
    }
}

#[test]
fn lowered_and_raised_programs_mean_the_same() {
    // Of all loops and branches, and of those without jumps.
    let (mut all, mut recovered) = ([0; 2], [0; 2]);
    let mut missing = Vec::new();
    for seed in 0..PROGRAMS {
        let mut rng = Rng::new(seed);
        let sizes = Sizes { n: 1 + rng.below(5) as i64, m: 1 + rng.below(5) as i64 };
        let original = text::parse("random.sdft", &generate(seed)).unwrap();
        let arguments = inputs(&original, sizes, &mut rng);
        let expected = run(&original, arguments.clone()).unwrap();
        let mut changed = original.clone();
        lower(&mut changed);
        assert!(changed.blocks().all(|(_, block)| matches!(block.kind, BlockKind::State(_))));
        assert_same(seed, &expected, &changed, &arguments);
        raise(&mut changed);
        assert_same(seed, &expected, &changed, &arguments);
        let printed = text::print(&changed);
        raise(&mut changed);
        assert_eq!(text::print(&changed), printed, "seed {seed} raised twice");
        let (mut before, mut after) = (BTreeSet::new(), BTreeSet::new());
        structures(&original, &mut before);
        structures(&changed, &mut after);
        for (kind, counts) in [|_: bool| true, |has_jump: bool| !has_jump].into_iter().enumerate() {
            all[kind] += before.iter().filter(|(_, has_jump)| counts(*has_jump)).count();
            recovered[kind] += before.intersection(&after).filter(|(_, has_jump)| counts(*has_jump)).count();
        }
        missing.extend(before.difference(&after).map(|(it, _)| format!("{seed}: {it}")));
    }
    for ((all, recovered), least) in all.into_iter().zip(recovered).zip([85, 95]) {
        assert!(all > 100, "only {all} loops and branches");
        assert!(recovered * 100 >= all * least, "{recovered} of {all} are recovered, but not {missing:#?}");
    }
}

#[test]
fn example_programs_come_back_as_they_were() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let mut loops = 0;
    let folders = [folder.join("polybench"), folder];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    for path in files {
        let name = path.display().to_string();
        let mut original = text::parse(&name, &std::fs::read_to_string(&path).unwrap()).unwrap();
        let mut changed = original.clone();
        lower(&mut changed);
        raise(&mut changed);
        // A choice that was written as transitions is a branch then.
        raise(&mut original);
        assert_eq!(text::print(&changed), text::print(&original), "{name}");
        loops += original.blocks().filter(|(_, block)| matches!(block.kind, BlockKind::Loop(_))).count();
    }
    assert!(loops >= 3, "only {loops} loops");
}
