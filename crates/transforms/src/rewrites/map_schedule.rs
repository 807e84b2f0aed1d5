//! [`MapSchedule`].

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{BlockShape, NodeKind, OpenMpSchedule, Schedule, ScheduleKind, Team};
use serde::{Deserialize, Serialize};

use super::{anchored, described, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation};
use crate::lanes::run_on_lanes;
use crate::pattern::{NodeClass, Pattern};

/// Gives a map another schedule of the host, or a map in a kernel to the threads of a block.
///
/// # When it applies
///
/// It applies to every map of the host; for `simd`, to maps that lanes can run (see `Vectorization`). `gpu_block` is for maps
/// in a kernel of a GPU that are in no other map for the threads of a block. Other schedules of devices are set by
/// transformations that move the data, too.
///
/// # Refusals
///
/// - The map has this schedule already, or brings its contents to a device.
/// - `schedule` is none of `default`, `sequential`, `unrolled`, `simd`, `cpu_multicore` and `gpu_block`.
/// - `sharing` is none of `static`, `dynamic` and `guided`, or the schedule has no threads of the host.
/// - For `gpu_block`: the map is in no kernel of a GPU, or in another map of this schedule.
/// - For `simd`: lanes cannot run the contents of the map.
///
/// # Before
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   state main {
///     access A
///     map elements [i = 0:N] {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       elements.A -> double.a: A[i]
///       double.b -> elements.B: B[i]
///     }
///     access B
///     A -> elements.A
///     elements.B -> B
///   }
/// }
/// ```
///
/// # After
///
/// With `schedule="cpu_multicore"`:
///
/// ```sdft
/// sdfg double_all {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   state main {
///     access A
///     map elements [i = 0:N] schedule(cpu_multicore) {
///       tasklet double (a) -> (b) { b = 2.0 * a }
///       elements.A -> double.a: A[i]
///       double.b -> elements.B: B[i]
///     }
///     access B
///     A -> elements.A
///     elements.B -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// Iterations of maps are concurrent by meaning, so every schedule keeps the results. Sums of floating-point
/// numbers may differ in rounding.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapSchedule {
    /// `default`, `sequential`, `unrolled`, `simd`, `cpu_multicore` or `gpu_block`.
    pub schedule: String,
    /// How threads of the host share iterations: `static` (equal parts), `dynamic` (a thread that is free takes the next one) or
    /// `guided`. `dynamic` is for iterations that take different times, as rows of a triangle do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sharing: Option<String>,
}

static METADATA: Metadata = Metadata {
    name: "MapSchedule",
    group: Group::Hardware,
    summary: "Gives a map another schedule of the host, or a map in a kernel to the threads of a block.",
    source: "paper, section 3.3",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("map_schedule.rs"),
    parameters: &[
        Parameter {
            name: "schedule",
            ty: "word",
            default: None,
            summary: "`default`, `sequential`, `unrolled`, `simd`, `cpu_multicore` or `gpu_block`.",
        },
        Parameter {
            name: "sharing",
            ty: "word",
            default: Some("`static`"),
            summary: "How threads of the host share iterations: `static`, `dynamic` or `guided`.",
        },
    ],
};

anchored!(MapSchedule);

impl MapSchedule {
    /// A schedule by its name.
    pub fn new(schedule: &str) -> Self {
        MapSchedule { schedule: schedule.to_owned(), sharing: None }
    }

    /// The same, where threads take the next iteration when they are free.
    #[must_use]
    pub fn dynamic(self) -> Self {
        MapSchedule { sharing: Some(OpenMpSchedule::Dynamic.name().to_owned()), ..self }
    }

    fn chosen(&self) -> Result<Schedule, Refusal> {
        let sharing = self.sharing.as_deref().map(|name| {
            let known = OpenMpSchedule::ALL.into_iter().find(|sharing| sharing.name() == name);
            known.ok_or_else(|| {
                let reason = format!("`{name}` is none of `static`, `dynamic` and `guided`");
                Refusal::Parameter { parameter: "sharing", reason }
            })
        });
        let sharing = sharing.transpose()?;
        let team = || Team { sharing: sharing.unwrap_or_default(), ..Team::default() };
        let schedule = match self.schedule.as_str() {
            "default" => Schedule::Default(team()),
            "sequential" => Schedule::Sequential,
            "unrolled" => Schedule::Unrolled,
            "simd" => Schedule::Simd,
            "cpu_multicore" => Schedule::CpuMulticore(team()),
            "gpu_block" => Schedule::GpuBlock(BlockShape::default()),
            other => {
                let reason = format!(
                    "`{other}` is none of `default`, `sequential`, `unrolled`, `simd`, `cpu_multicore` and `gpu_block`"
                );
                return Err(Refusal::Parameter { parameter: "schedule", reason });
            }
        };
        if sharing.is_some() && !matches!(schedule, Schedule::Default(_) | Schedule::CpuMulticore(_)) {
            let reason = format!("`{}` has no threads of the host", self.schedule);
            return Err(Refusal::Parameter { parameter: "sharing", reason });
        }
        Ok(schedule)
    }
}

impl Transformation for MapSchedule {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (map, schedule) = (site.map(0)?, self.chosen()?);
        if map.schedule == schedule {
            return Err(Refusal::structure(site.label(0), "has this schedule already"));
        }
        nested_maps::on_host(site, map)?;
        if schedule.kind() == ScheduleKind::GpuBlock {
            in_kernel(site)?;
        }
        if schedule == Schedule::Simd {
            run_on_lanes(site)?;
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let mut map = nested_maps::entry_map(editor, state, entry)?;
        if let Ok(schedule) = self.chosen() {
            map.schedule = schedule;
            editor.replace_node(state, entry, NodeKind::MapEntry(map))?;
        }
        Ok(())
    }
}

/// A map for the threads of a block is in a kernel, and each of its iterations is of one thread.
fn in_kernel(site: &Site<'_>) -> Result<(), Refusal> {
    let (state, tree) = (site.state(), site.scopes());
    let kind = |node| {
        let NodeKind::MapEntry(map) = &state.node(node).kind else { return None };
        Some(map.schedule.kind())
    };
    let around: Vec<_> = tree.enclosing(site.found.node(0)).filter_map(kind).collect();
    let label = site.label(0);
    if !around.contains(&ScheduleKind::GpuGrid) {
        return Err(Refusal::structure(label, "is in no kernel of a GPU"));
    }
    if around.contains(&ScheduleKind::GpuBlock) {
        return Err(Refusal::structure(label, "is in a map for the threads of a block"));
    }
    Ok(())
}
