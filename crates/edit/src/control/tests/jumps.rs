//! Tests on random state machines without structure: each state may lead to any other, including into loops.

use super::{Count, Random, all_ways, digit};

/// States with jumps to any other; `fuel` counts down on the way back, so that all end.
fn random_machine(seed: u64) -> String {
    let mut random = Random(seed);
    let n = 2 + random.below(6);
    let mut machine = "state enter {}\n-> s0 with (fuel = 25, x = 1)\n".to_owned();
    for state in 0..n {
        match random.below(2) {
            0 => machine.push_str(&format!("state s{state} {{}}\n")),
            _ => machine.push_str(&digit(&format!("s{state}"), format!("{state} + x"))),
        }
        transitions(&mut random, state, n, &mut machine);
    }
    machine + &digit("leave", "x * fuel")
}

fn transitions(random: &mut Random, state: u64, n: u64, machine: &mut String) {
    for _ in 0..1 + random.below(3) {
        let target = random.below(n + 1);
        let to = if target == n { "leave".to_owned() } else { format!("s{target}") };
        let conditions = [
            "",
            "",
            "fuel % 2 == 0",
            "x % 3 == 1",
            "x % 3 != 1",
            "x > fuel",
            "trace % 2 == 0",
            "x % 2",
            "true",
        ];
        let mut condition = random.pick(&conditions).to_owned();
        let assigned = ["x = x + fuel", "x = (2 * x + 1) % 1001", "x = x + trace % 5", ""];
        let mut assigned = vec![random.pick(&assigned)];
        if target <= state {
            condition = if condition.is_empty() {
                "fuel > 0".to_owned()
            } else {
                format!("fuel > 0 and {condition}")
            };
            assigned.push("fuel = fuel - 1");
        }
        let last = condition.is_empty();
        let condition = if last { String::new() } else { format!(" if {condition}") };
        assigned.retain(|assigned| !assigned.is_empty());
        let assigned =
            if assigned.is_empty() { String::new() } else { format!(" with ({})", assigned.join(", ")) };
        machine.push_str(&format!("-> {to}{condition}{assigned}\n"));
        // Now and then a transition that is never tried follows.
        if last && random.below(4) > 0 {
            return;
        }
    }
    if random.below(2) == 0 {
        machine.push_str("-> leave\n");
    }
}

#[test]
fn random_jumps_mean_the_same() {
    let mut all = Count::default();
    for seed in 0..80 {
        let found = all_ways(&format!("seed {seed}"), &random_machine(seed));
        all.loops += found.loops;
        all.branches += found.branches;
    }
    assert!(all.loops > 12 && all.branches > 12, "{all:?}");
}
