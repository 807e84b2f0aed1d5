//! Transients that stay on a GPU between kernels, run in the interpreter with separate memories.

use super::support::{difference, page_is_true, parsed};
use sdfg::ir::{Sdfg, Storage};
use sdfg_transforms::rewrites::{
    GpuTransform, RedundantArray, RedundantSecondArray, StateFusion, TransientToDevice,
};
use sdfg_transforms::{Transformation, apply, fixed_point, places};

#[test]
fn the_page_is_true() {
    page_is_true(&TransientToDevice::default());
}

/// Two kernels that follow each other over `T`, which `more` uses, too; `between` stands between them.
fn kernels(containers: &str, between: &str, more: &str) -> Sdfg {
    let text = format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  {containers}
  state s {{
    access A
    access T
    map m [i = 0:N] {{
      tasklet t (x) -> (y) {{ y = x + 1.0 }}
      m.A -> t.x: A[i]
      t.y -> m.T: T[i]
    }}
    A -> m.A
    m.T -> T
{between}
    access T2 = T
    access B
    map n [i = 0:N] {{
      tasklet u (x) -> (y) {{ y = 2.0 * x }}
      n.T -> u.x: T[N - 1 - i]
      u.y -> n.B: B[i]
    }}
    T2 -> n.T
    n.B -> B
{more}
  }}
}}"
    );
    let mut program = parsed(&text);
    let transformation: Box<dyn Transformation> = Box::new(GpuTransform::default());
    let applied = fixed_point(&mut program, &[transformation], None);
    assert_eq!(applied.iter().map(|tally| tally.applications).sum::<usize>(), 2, "{text}");
    program
}

const TRANSIENT: &str = "transient array T: f64[N]";
const OTHER_STATE: &str = "  }
  state r {";

fn storage_of(program: &Sdfg, name: &str) -> Option<Storage> {
    program.find_container(name).map(|id| program.container(id).storage)
}

/// In one state and in two, the transient moves, and no copy through it is left where `RedundantArray` takes it.
#[test]
fn data_stays_on_the_device_between_kernels() {
    for between in [OTHER_STATE, ""] {
        // In one state, an access node more would say nothing of the order of the maps.
        let text = |program: &Sdfg| sdfg::text::print(program);
        let before = match between {
            "" => {
                let mut fused = kernels(TRANSIENT, OTHER_STATE, "");
                let fusion: Box<dyn Transformation> = Box::new(StateFusion::default());
                fixed_point(&mut fused, &[fusion], None);
                assert!(!text(&fused).contains("state r"), "{}", text(&fused));
                fused
            }
            between => kernels(TRANSIENT, between, ""),
        };
        let mut program = before.clone();
        let transformation = TransientToDevice::default();
        let found = places(&program, &transformation).into_iter().find(|found| {
            let node = program.state(found.state()).node(found.node(0));
            node.kind.container() == program.find_container("T")
        });
        apply(&mut program, &transformation, &found.expect("an access node")).expect("it moves");
        assert_eq!(storage_of(&program, "T"), Some(Storage::GpuGlobal));
        assert_eq!(difference(&before, &program), None);
        let redundant: [Box<dyn Transformation>; 2] =
            [Box::new(RedundantArray::default()), Box::new(RedundantSecondArray::default())];
        let applied = fixed_point(&mut program, &redundant, None);
        assert!(applied.iter().map(|tally| tally.applications).sum::<usize>() > 0, "{}", text(&program));
        assert_eq!(difference(&before, &program), None, "{}", text(&program));
    }
}

/// Other uses keep a transient on the host.
#[test]
fn transients_that_the_host_uses_stay_there() {
    let at = |program: &Sdfg, name: &str| {
        let transformation = TransientToDevice::default();
        let id = program.find_container(name);
        let found = places(program, &transformation)
            .into_iter()
            .find(|found| program.state(found.state()).node(found.node(0)).kind.container() == id);
        let mut program = program.clone();
        apply(&mut program, &transformation, &found.expect("an access node")).err().map(|e| e.to_string())
    };
    let cases = [
        ("array T: f64[N]", "", "is no transient array or scalar"),
        ("transient array T: f64[N] storage(gpu_global)", "", "does not lie in the memory of the host"),
        (
            "transient array T: f64[N]\n  array C: f64[N]",
            "    access C\n    T2 -> C",
            "is copied from or to `C`, which is no array on the GPU",
        ),
        (
            "transient array T: f64[N]\n  array C: f64[1]",
            "    access C\n    tasklet w (x) -> (y) { y = x }\n    T2 -> w.x: T[0]\n    w.y -> C: C[0]",
            "is used elsewhere, too",
        ),
    ];
    for (containers, more, reason) in cases {
        let program = kernels(containers, OTHER_STATE, more);
        let refused = at(&program, "T").unwrap_or_default();
        assert!(refused.contains(reason), "{refused} and not {reason}");
    }
}
