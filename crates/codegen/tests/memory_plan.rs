//! Tests of the arena of a handle: sharing of memory by transients, growth, reuse, and allocation failure; and of the bytes of device
//! memories.

use std::num::NonZeroU32;

use sdfg::validate::validate;
use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::load::{Call, CallError, Library};
use sdfg_codegen::lower::{LowerOptions, Target, lower};
use sdfg_codegen::plan::{BlockMemory, DeviceMemory, MemoryUse, Plan};

fn plan(source: &str) -> Plan {
    let program = sdfg::text::parse("program.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}"));
    let validated = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    lower(&validated, &Target::cpu(), &LowerOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn library(source: &str) -> Library {
    let object = sdfg_codegen::llvm::compile(&plan(source), &CompileOptions::default());
    Library::load(&object.unwrap_or_else(|error| panic!("{error}"))).unwrap_or_else(|error| panic!("{error}"))
}

/// The names of the transients of each slot.
fn slots(plan: &Plan) -> Vec<String> {
    let name = |id: &sdfg_codegen::plan::BufferId| plan.buffer(*id).name.clone();
    plan.slots.iter().map(|slot| slot.buffers.iter().map(name).collect::<Vec<_>>().join(" ")).collect()
}

/// `A` through four transients, each the one before and 1.
fn chain(lifetimes: &str, states: bool, repeated: bool) -> String {
    let mut text = String::from("sdfg chain {\n  symbol N: i64\n  array A: i64[N]\n");
    for link in 1..=4 {
        text += &format!("  transient array t{link}: i64[N]{lifetimes}\n");
    }
    if repeated {
        text += "  for l: k = 0:3 {\n";
    }
    if !states {
        text += "  state s {\n    access A\n    access t1\n    access t2\n    access t3\n    access t4\n    access out = A\n";
    }
    let names = ["A", "t1", "t2", "t3", "t4", "A"];
    for (link, pair) in names.windows(2).enumerate() {
        let (from, to) = (pair[0], pair[1]);
        let end = if to == "A" && !states { "out" } else { to };
        if states {
            text += &format!("  state s{link} {{\n    access {from}\n    access {to}\n");
        }
        text += &format!(
            "    map m{link} [i = 0:N] {{
      tasklet next{link} (x) -> (y) {{ y = x + 1 }}
      m{link}.x -> next{link}.x: {from}[i]
      next{link}.y -> m{link}.y: {to}[i]
    }}
    {from} -> m{link}.x
    m{link}.y -> {end}\n"
        );
        if states {
            text += "  }\n";
        }
    }
    if !states {
        text += "  }\n";
    }
    text + if repeated { "  }\n}\n" } else { "}\n" }
}

#[test]
fn transients_that_follow_each_other_take_turns() {
    for lifetimes in ["", " lifetime(sdfg)"] {
        for states in [false, true] {
            for repeated in [false, true] {
                let plan = plan(&chain(lifetimes, states, repeated));
                assert_eq!(slots(&plan), ["t1 t3", "t2 t4"], "{plan}");
                let usage = plan.memory_use();
                assert_eq!(usage.arena.to_string(), "16*N");
                assert_eq!(usage.unshared.to_string(), "32*N");
            }
        }
    }
}

#[test]
fn what_a_loop_keeps_from_one_iteration_to_the_next_has_memory_of_its_own() {
    // Only a part of `t1` is written, so what is in the rest is that of the iteration before.
    let source = chain("", true, true).replacen("[i = 0:N]", "[i = k:N]", 1).replacen(
        "  for l",
        "  state first { access A; access t1; A -> t1 }\n  for l",
        1,
    );
    assert_eq!(slots(&plan(&source)), ["t1", "t2 t4", "t3"]);
}

/// Runs a program of these tests.
fn trusted(call: Call<'_, '_>) -> Result<(), CallError> {
    // SAFETY: the programs access elements of their own arrays.
    unsafe { call.run() }
}

#[test]
fn the_arena_grows_and_is_kept() {
    let library = library(&chain("", false, true));
    // 4 MiB and more begin at a huge page.
    for n in [5_usize, 1, 0, 700_000, 12, 700_001] {
        let mut a: Vec<i64> = (0..n as i64).collect();
        trusted(library.call().symbol("N", n as i64).array_mut("A", &mut a, &[n]))
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(a.iter().enumerate().all(|(at, value)| *value == at as i64 + 15), "{n}: {a:?}");
    }
}

#[test]
fn handles_have_arenas_of_their_own() {
    let library = library(&chain("", true, true));
    let calls = |first: i64| {
        for n in [3_i64, 2000, 40] {
            let mut a: Vec<i64> = (first..first + n).collect();
            let call = library.call().symbol("N", n).array_mut("A", &mut a, &[n as usize]).prepare();
            let mut call = call.unwrap_or_else(|error| panic!("{error}"));
            for _ in 0..20 {
                // SAFETY: the program accesses elements of its own arrays.
                unsafe { call.run() }.unwrap_or_else(|error| panic!("{error}"));
            }
            drop(call);
            assert!(a.iter().zip(first..).all(|(value, start)| *value == start + 300), "{n}: {a:?}");
        }
    };
    std::thread::scope(|scope| {
        for first in [0, 1_000_000, 2_000_000] {
            scope.spawn(move || calls(first));
        }
    });
}

#[test]
fn without_memory_a_run_ends_with_a_status_and_the_next_one_is_as_good_as_any() {
    // The sizes, and with that the sum of several slots, exceed what 64 bits count.
    let source = "sdfg greedy {
  symbol N: i64
  array out: i64[1]
  transient array first: i64[N]
  transient array second: f32[N, N]
  transient array third: i64[3*N - 1]
  state s {
    access first
    access second
    access third
    access out
    tasklet set () -> (a, b, c) { a = 1; b = 2; c = 3 }
    set.a -> first: first[N - 1]
    set.b -> second: second[0, N - 1]
    set.c -> third: third[N]
    tasklet sum (a, b, c) -> (o) { o = a + i64(b) + c }
    first -> sum.a: first[N - 1]
    second -> sum.b: second[0, N - 1]
    third -> sum.c: third[N]
    sum.o -> out: out[0]
  }
}";
    assert_eq!(plan(source).slots.len(), 3);
    let library = library(source);
    for n in [1 << 27, 1 << 30, 1 << 31, 1 << 32, 1 << 40, 1 << 60, (1 << 62) - 1, i64::MAX] {
        let mut out = [0_i64];
        let error = trusted(library.call().symbol("N", n).array_mut("out", &mut out, &[1])).unwrap_err();
        let text = "`greedy` failed: no memory for `second`, `third` and `first`";
        assert_eq!(error.to_string(), text, "{n}");
        trusted(library.call().symbol("N", 7).array_mut("out", &mut out, &[1]))
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(out, [6]);
    }
}

#[test]
fn what_no_expression_counts_is_named() {
    let source = "sdfg p {
  symbol N: i64
  array A: i64[N]
  transient array kept: i64[N] lifetime(persistent)
  transient array row: i64[N]
  transient array late: i64[k]
  transient stream queue: i64
  state s {
    access A
    access kept
    access queue
    A -> kept
    A -> queue
    access x = A
    access y = A
    map m [i = 0:N] {
      access row
      tasklet t (r) -> (o) { o = r[0] }
      m.A -> row: A[i] -> row[0]
      row -> t.r: row[0:1]
      t.o -> m.out: A[i]
    }
    queue -> x
    x -> m.A
    m.out -> y
  }
  -> then with (k = N + 1)
  state then { access A; access late; A -> late: A[0:N] -> late[0:N] }
}";
    let plan = plan(source);
    let MemoryUse { arena, unshared, persistent, each_thread, uncounted, slots } = plan.memory_use();
    assert!(arena.is_zero() && unshared.is_zero() && slots.is_empty());
    assert_eq!(persistent.to_string(), "8*N");
    let name = |id| plan.buffer(id).name.clone();
    let each: Vec<(String, String)> =
        each_thread.into_iter().map(|(id, bytes)| (name(id), bytes.to_string())).collect();
    assert_eq!(each, [("row".to_owned(), "8*N".to_owned())]);
    assert_eq!(uncounted.into_iter().map(name).collect::<Vec<_>>(), ["late", "queue"]);
}

/// Transients of one device are in its pool while they live, memory of blocks belongs to kernels, and the host counts neither.
#[test]
fn memory_of_a_device_is_that_of_its_pool_and_of_blocks() {
    let part = |name: &str, size: &str, after: &str| {
        format!(
            "    nested {name} (A) -> (A) sdfg {name} {{
      symbol N: i64
      array A: f64[N]
      transient array D: f64[{size}] storage(gpu_global)
      state put {{ access A; access D; A -> D: A[0:N] -> D[0:N] }}
      state take {{ access A; access D; D -> A: D[0:N] -> A[0:N] }}
    }}
    access {after} = A
    {name}.A -> {after}
"
        )
    };
    let source = format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N]
  transient array kept: f64[5] storage(gpu_global) lifetime(persistent)
  transient array all: f32[N] storage(gpu_global)
  transient array T: f64[40] storage(gpu_shared)
  transient array late: f64[k] storage(gpu_global)
  for l: r = 0:3 {{
    state parts {{
      access A
{}{}
      A -> one.A
      first -> two.A
    }}
  }}
  state kernel {{
    access all
    map rows [i = 0:N] schedule(gpu_grid) {{
      map fill [j = 0:40] schedule(gpu_block) {{
        tasklet t () -> (o) {{ o = 2 }}
        t.o -> fill.T: T[j]
      }}
      access T
      map add [j = 0:40] schedule(gpu_block) {{
        tasklet u (x) -> (y) {{ y = f32(x) }}
        add.T -> u.x: T[39 - j]
        u.y -> add.all: all[i] wcr(sum)
      }}
      fill.T -> T
      T -> add.T
      add.all -> rows.all
    }}
    rows.all -> all
  }}
  state rest {{ access A; access kept; A -> kept: A[0] -> kept[0] }}
  -> last with (k = N + 1)
  state last {{ access A; access late; A -> late: A[0:N] -> late[0:N] }}
}}",
        part("one", "N", "first"),
        part("two", "2*N", "second"),
    );
    let program = sdfg::text::parse("program.sdft", &source).unwrap_or_else(|errors| panic!("{errors:?}"));
    let validated = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    let with_streams = |streams| {
        let options = LowerOptions { device_streams: streams, ..LowerOptions::default() };
        lower(&validated, &Target::cuda(), &options).unwrap_or_else(|error| panic!("{error}"))
    };
    let plan = with_streams(NonZeroU32::MIN);
    let DeviceMemory { pool, most, unshared, persistent, blocks } = plan.device_memory();
    let name = |id| plan.buffer(id).name.clone();
    let pool: Vec<String> = pool.into_iter().map(|(id, bytes)| format!("{}: {bytes}", name(id))).collect();
    assert_eq!(pool, ["all: 4*N", "D: 8*N", "D_1: 16*N"], "{plan}");
    assert_eq!(most.to_string(), "20*N", "{plan}");
    assert_eq!(unshared.to_string(), "28*N");
    assert_eq!(persistent.to_string(), "40");
    let [BlockMemory { kernel, buffers, bytes }] = &blocks[..] else { panic!("{blocks:?}") };
    let names: Vec<String> = buffers.iter().map(|id| name(*id)).collect();
    assert_eq!((kernel.as_str(), names, bytes.to_string()), ("rows", vec!["T".to_owned()], "320".to_owned()));
    let host = plan.memory_use();
    assert!(host.arena.is_zero() && host.persistent.is_zero(), "{host:?}");
    assert_eq!(host.uncounted.into_iter().map(name).collect::<Vec<_>>(), ["late"]);
    // Streams may hold what others have not freed yet.
    let several = with_streams(LowerOptions::DEVICE_STREAMS);
    let expected = if several.command_streams > 1 { "28*N" } else { "20*N" };
    assert_eq!(several.device_memory().most.to_string(), expected);
}

/// The programs beside `agreement` that are about memory do share some.
#[test]
fn programs_that_are_compared_with_the_interpreter_share_memory() {
    let folder = format!("{}/tests/agreement", env!("CARGO_MANIFEST_DIR"));
    for (name, expected) in [
        ("transient_around_a_loop", vec!["kept", "first", "second"]),
        ("transient_that_could_stay_in_a_register", vec!["first second"]),
        ("transient_written_in_a_branch", vec!["kept", "left right"]),
        ("transients_in_irregular_flow", vec!["kept", "first", "second"]),
        ("transients_in_nested_calls", vec!["t1 t2", "t3 inner", "other"]),
        ("transients_with_resolutions", vec!["t1 t3", "sums", "t2"]),
        ("transients_of_other_sizes_and_types", vec!["both t1 u1", "t2 u2"]),
    ] {
        let source = std::fs::read_to_string(format!("{folder}/{name}.sdft"));
        let mut source = source.unwrap_or_else(|error| panic!("{name}: {error}"));
        for (word, value) in [("RANGE", "0:N"), ("LIMIT", "3"), ("SCHEDULE", "sequential"), ("FEWER", "4")] {
            source = source.replace(word, value);
        }
        assert_eq!(slots(&plan(&source)), expected, "{name}");
    }
}
