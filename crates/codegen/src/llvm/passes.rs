//! Pass lists of the optimisation levels, in three parts: passes over the whole program, and those before and after
//! loop vectorisation.
//!
//! The last part has a cut behind vectorisation, where [`recurrence`](super::recurrence) orders sums.
//!
//! The lists are LLVM's own (`opt -passes='default<O2>' -print-pipeline-passes`), written out because LLVM
//! cannot stop in the middle of a pipeline. After the first part, [`parts`](super::parts) may distribute the module over several.
//! After the second, [`joined_pointers`](super::joined_pointers) inspects the loops that are about to be vectorised. Passes for constructs that no program has are omitted: coroutines,
//! profiles, annotations, LLVM's own OpenMP runtime, and loop distribution.
//!
//! The lists differ from LLVM's in one option. Before vectorisation, `simplifycfg` does not sink common
//! instructions of two branches. Sinking would merge two stores to different containers into one store to
//! either, which dependence analysis understands less well.

use super::options::OptLevel;

/// A pass list in three parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passes {
    /// Passes that carry constants and facts between functions, if the level has any.
    pub(super) program: Option<String>,
    /// Passes that prepare loops.
    pub(super) before: String,
    /// Passes over functions that vectorise loops and carry stored values from one iteration to the next.
    pub(super) vectorisation: String,
    /// Passes over functions that follow.
    pub(super) after: String,
    /// Passes over the module at the end, if the level has any.
    pub(super) end: &'static str,
}

/// Takes branches apart and together, without moving instructions out of both sides of one.
const SIMPLIFY: &str = "simplifycfg<bonus-inst-threshold=1;no-forward-switch-cond;switch-range-to-icmp;no-switch-to-lookup;\
    keep-loops;no-hoist-common-insts;no-sink-common-insts;speculate-blocks;simplify-cond-branch;no-speculate-unpredictables>";

/// [`SIMPLIFY`] before anything else.
const SIMPLIFY_FIRST: &str = "simplifycfg<bonus-inst-threshold=1;no-forward-switch-cond;no-switch-range-to-icmp;\
    no-switch-to-lookup;keep-loops;no-hoist-common-insts;no-sink-common-insts;speculate-blocks;simplify-cond-branch;\
    no-speculate-unpredictables>";

/// [`SIMPLIFY`] that moves what both sides of a branch begin with in front of it.
const HOIST: &str = "simplifycfg<bonus-inst-threshold=1;no-forward-switch-cond;switch-range-to-icmp;no-switch-to-lookup;\
    keep-loops;hoist-common-insts;no-sink-common-insts;speculate-blocks;simplify-cond-branch;no-speculate-unpredictables>";

/// [`SIMPLIFY`] after vectorisation: with all that it can do.
const SIMPLIFY_ALL: &str = "simplifycfg<bonus-inst-threshold=1;forward-switch-cond;switch-range-to-icmp;switch-to-lookup;\
    no-keep-loops;hoist-common-insts;sink-common-insts;speculate-blocks;simplify-cond-branch;no-speculate-unpredictables>";

/// [`SIMPLIFY`] at the end.
const SIMPLIFY_LAST: &str = "simplifycfg<bonus-inst-threshold=1;no-forward-switch-cond;switch-range-to-icmp;\
    no-switch-to-lookup;keep-loops;no-hoist-common-insts;no-sink-common-insts;speculate-blocks;simplify-cond-branch;\
    speculate-unpredictables>";

const COMBINE: &str = "instcombine<max-iterations=1;no-use-loop-info;no-verify-fixpoint>";

const ROTATE: &str = "loop-rotate<header-duplication;no-prepare-for-lto>";

/// Module analyses that function passes use.
const ANALYSES: &str = "require<globals-aa>,function(invalidate<aa>),require<profile-summary>";

/// The passes of a level; none for code that is not optimised.
pub(super) fn passes(level: OptLevel) -> Option<Passes> {
    match level {
        OptLevel::O0 => None,
        OptLevel::Quick => Some(quick()),
        OptLevel::O1 | OptLevel::O2 | OptLevel::O3 => {
            let program = Some(of_program(level));
            let before = before_vectorisation(level);
            let (vectorisation, after) = (vectorisation(level), after_vectorisation(level));
            let end = ",globaldce,constmerge,rel-lookup-table-converter";
            Some(Passes { program, before, vectorisation, after, end })
        }
    }
}

/// The list of [`OptLevel::Quick`].
///
/// Variables are promoted to registers, loops rotated where they are not, what they repeat is moved out of them, and they are
/// vectorised once, without the interleaved copies that double the code; nothing is iterated. Each pass was held against the
/// time that it takes and that the code takes without it: simplifying induction variables, recognising loops that copy and moving
/// code once more took a third of the list and gained nothing.
fn quick() -> Passes {
    let before = "function<eager-inv>(sroa<modify-cfg>,early-cse<memssa>,\
        simplifycfg<no-switch-range-to-icmp>,instcombine<no-verify-fixpoint>,\
        loop-mssa(loop-rotate<header-duplication>,licm<allowspeculation>))";
    let vectorisation = "loop-vectorize<interleave-forced-only>".to_owned();
    let after = "early-cse,instcombine<no-verify-fixpoint>,simplifycfg".to_owned();
    Passes { program: None, before: before.to_owned(), vectorisation, after, end: "" }
}

fn of_program(level: OptLevel) -> String {
    let split_calls = if level == OptLevel::O3 { ",callsite-splitting" } else { "" };
    format!(
        "forceattrs,inferattrs,function<eager-inv>(lower-expect,{SIMPLIFY_FIRST},sroa<modify-cfg>,early-cse<>{split_calls}),\
         ipsccp,called-value-propagation,globalopt"
    )
}

fn before_vectorisation(level: OptLevel) -> String {
    let best = level == OptLevel::O3;
    let promote_arguments = if best { "argpromotion," } else { "" };
    let reduce_branches = if best { "chr," } else { "" };
    let of_functions = if level == OptLevel::O1 { simplification_of_o1() } else { simplification(best) };
    format!(
        "function<eager-inv>(mem2reg,{COMBINE},{SIMPLIFY}),always-inline,{ANALYSES},\
         cgscc(devirt<4>(inline,function-attrs<skip-non-recursive-function-attrs>,{promote_arguments}\
         function<eager-inv;no-rerun>({of_functions}),function-attrs,function(require<should-not-run-function-passes>))),\
         deadargelim,globalopt,globaldce,elim-avail-extern,rpo-function-attrs,recompute-globalsaa,\
         function<eager-inv>(float2int,lower-constant-intrinsics,{reduce_branches}loop({ROTATE},loop-deletion))"
    )
}

/// Passes that simplify a function at [`OptLevel::O2`], or, if `best`, at [`OptLevel::O3`].
fn simplification(best: bool) -> String {
    let unswitch = if best { "nontrivial;trivial" } else { "no-nontrivial;trivial" };
    let unswitch = format!("simple-loop-unswitch<{unswitch}>");
    format!(
        "sroa<modify-cfg>,early-cse<memssa>,speculative-execution<only-if-divergent-target>,jump-threading,\
         correlated-propagation,{SIMPLIFY},{COMBINE},aggressive-instcombine,libcalls-shrinkwrap,tailcallelim,{SIMPLIFY},\
         reassociate,constraint-elimination,\
         loop-mssa(loop-instsimplify,loop-simplifycfg,licm<no-allowspeculation>,{ROTATE},licm<allowspeculation>,{unswitch}),\
         {SIMPLIFY},{COMBINE},loop(loop-idiom,indvars,{unswitch},loop-deletion,loop-unroll-full),sroa<modify-cfg>,\
         vector-combine,mldst-motion<no-split-footer-bb>,gvn<>,sccp,bdce,{COMBINE},jump-threading,correlated-propagation,adce,\
         memcpyopt,dse,move-auto-init,loop-mssa(licm<allowspeculation>),{HOIST},{COMBINE}"
    )
}

fn simplification_of_o1() -> String {
    format!(
        "sroa<modify-cfg>,early-cse<memssa>,{SIMPLIFY},{COMBINE},libcalls-shrinkwrap,{SIMPLIFY},reassociate,\
         loop-mssa(loop-instsimplify,loop-simplifycfg,licm<no-allowspeculation>,{ROTATE},licm<allowspeculation>,\
         simple-loop-unswitch<no-nontrivial;trivial>),{SIMPLIFY},{COMBINE},\
         loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),sroa<modify-cfg>,memcpyopt,sccp,bdce,{COMBINE},adce,\
         {SIMPLIFY},{COMBINE}"
    )
}

fn vectorisation(level: OptLevel) -> String {
    // LLVM's first level vectorises loops that ask for it alone.
    let loops = if level == OptLevel::O1 { "vectorize-forced-only" } else { "no-vectorize-forced-only" };
    format!(
        "inject-tli-mappings,loop-vectorize<no-interleave-forced-only;{loops}>,infer-alignment,loop-load-elim"
    )
}

fn after_vectorisation(level: OptLevel) -> String {
    let straight_code = if level == OptLevel::O1 { "" } else { "slp-vectorizer," };
    let unroll = format!("loop-unroll<O{}>", level.of_sources());
    format!(
        "{COMBINE},{SIMPLIFY_ALL},{straight_code}vector-combine,{COMBINE},{unroll},\
         sroa<preserve-cfg>,infer-alignment,{COMBINE},loop-mssa(licm<allowspeculation>),alignment-from-assumptions,loop-sink,\
         instsimplify,div-rem-pairs,tailcallelim,{SIMPLIFY_LAST}"
    )
}

impl Passes {
    /// The first two parts.
    pub(super) fn until_vectorisation(&self) -> String {
        match &self.program {
            Some(program) => format!("{program},{}", self.before),
            None => self.before.clone(),
        }
    }

    /// The last part.
    pub(super) fn since_vectorisation(&self) -> String {
        let Passes { vectorisation, after, end, .. } = self;
        format!("{ANALYSES},function<eager-inv>({vectorisation},{after}){end}")
    }

    /// The last part in two, before and behind the cut.
    pub(super) fn around_cut(&self) -> [String; 2] {
        let Passes { vectorisation, after, end, .. } = self;
        let functions = |list| format!("{ANALYSES},function<eager-inv>({list})");
        [functions(vectorisation), functions(after) + end]
    }

    /// Leaves out the pass that takes loaded values from the iteration before, which asks the analysis of dependences, too.
    pub(super) fn without_reuse(mut self) -> Self {
        self.vectorisation = self.vectorisation.replace(",loop-load-elim", "");
        self
    }
}
