"""Compares the transformations of this project with DaCe's on DaCe's raw graphs: `cargo xtask bench dace --transformations`.

- Matches: for each transformation that DaCe has too, the places in each raw graph of the corpus at which it applies. Both check each
  place in the graph as it was read. Passes of DaCe's have no places: their number is that of the elements that they remove.
- `--run TRANSFORMATION`: DaCe applies each of its matches to a fresh graph and runs the result. An application is wrong if DaCe
  rejects the result, cannot compile it, or the outputs are not the expected ones.
- Time: from the file to the simplified graph, in processor time, because other work on the machine disturbs the clock. DaCe loads,
  validates and simplifies in this process, after its modules were loaded. Ours is the program `beside_dace`: a process that does
  the same once, and the share of each of ten rounds in one process. Rounds of both are interleaved.
"""

import argparse
import contextlib
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

# DaCe's name, and ours.
TRANSFORMATIONS = [
    ("MapCollapse", "MapCollapse"),
    ("MapDimShuffle", "MapDimShuffle"),
    ("MapExpansion", "MapExpansion"),
    ("MapFission", "MapFission"),
    ("MapFusion", "MapFusion"),
    ("MapInterchange", "MapInterchange"),
    ("MapReduceFusion", "MapReduceFusion"),
    ("MapTiling", "MapTiling"),
    ("MapToForLoop", "MapToForLoop"),
    ("MapUnroll", "MapUnroll"),
    ("StripMining", "StripMining"),
    ("TrivialMapElimination", "TrivialMapElimination"),
    ("TrivialTaskletElimination", "TrivialTaskletElimination"),
    ("BufferTiling", "BufferTiling"),
    ("DoubleBuffering", "DoubleBuffering"),
    ("InLocalStorage", "LocalStorage"),
    ("OutLocalStorage", "LocalStorage of outputs"),
    ("StreamTransient", "LocalStream"),
    ("AccumulateTransient", "AccumulateTransient"),
    ("Vectorization", "Vectorization"),
    ("GPUTransformMap", "GPUTransform"),
    ("LiftEinsum", "LiftToLibrary"),
    ("RedundantArray", "RedundantArray"),
    ("RedundantReadSlice", "RedundantReadSlice"),
    ("RedundantSecondArray", "RedundantSecondArray"),
    ("StateFusion", "StateFusion"),
    ("StartStateElimination", "StateElimination"),
    ("EndStateElimination", "StateElimination"),
    ("InlineSDFG", "InlineSDFG"),
    ("InlineMultistateSDFG", "InlineSDFG"),
    ("NestSDFG", "NestSDFG"),
    ("LoopPeeling", "LoopPeeling"),
    ("LoopToMap", "LoopToMap"),
    ("LoopUnroll", "LoopUnroll"),
    ("MoveLoopIntoMap", "MoveLoopIntoMap"),
]

# Passes, with the elements that their result lists.
PASSES = [
    ("DeadDataflowElimination", "DeadDataflowElimination"),
    ("DeadStateElimination", "DeadStateElimination"),
    ("ScalarToSymbolPromotion", "ScalarToSymbol"),
    ("ConstantPropagation", "SymbolPropagation"),
]


def main():
    options = arguments()
    warnings.filterwarnings("ignore")
    graphs = sorted(options.corpus.glob("*/*/raw.sdfg.gz"))
    graphs = [g for g in graphs if not options.names or any(name in str(g) for name in options.names)]
    if not graphs:
        sys.exit(f"error: no raw graph of these names in {options.corpus}")
    if options.run:
        for graph in graphs:
            for label, wrong in run_matches(options, graph, options.run):
                print(f"{name_of(graph)} {label}: {wrong or 'right'}", flush=True)
        return
    if options.count:
        found = {}
        for graph in graphs:
            found[name_of(graph)] = matches(options, graph)
            print(f"counted {name_of(graph)}", file=sys.stderr, flush=True)
        text = table(found)
        print(text)
        if options.table:
            write_table(options.table, text)
    if options.time:
        times(options, graphs)


def arguments():
    parser = argparse.ArgumentParser(description="Compares transformations with DaCe's on the raw graphs of the corpus.")
    parser.add_argument("--corpus", type=Path, required=True, help="a folder in the layout of the corpus")
    parser.add_argument("--example", type=Path, required=True, help="the program beside_dace")
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds of each graph")
    parser.add_argument("--table", type=Path, help="the page whose table of matches is replaced")
    parser.add_argument("--no-count", dest="count", action="store_false")
    parser.add_argument("--no-time", dest="time", action="store_false")
    parser.add_argument("--run", metavar="TRANSFORMATION", help="apply this one of DaCe's at each match, and run the results")
    parser.add_argument("names", nargs="*", help="parts of the names of graphs, otherwise all")
    return parser.parse_args()


def name_of(graph):
    return graph.parent.name


# Matches


def matches(options, graph):
    """For each transformation: DaCe's number of matches and ours."""
    ours = json.loads(subprocess.run([options.example, "matches", graph], check=True, capture_output=True, text=True).stdout)
    return {dace: (number, ours[own]) for dace, own, number in dace_matches(graph)}


def table(found):
    """The table of all graphs: totals, and the graphs in which DaCe has more matches."""
    lines = ["| DaCe | matches | ours | matches | graphs where DaCe has more |", "|---|---:|---|---:|---|"]
    for dace, own in TRANSFORMATIONS + PASSES:
        theirs, ours = (sum(counts[dace][at] for counts in found.values()) for at in (0, 1))
        more = [f"{graph} ({a} and {b})" for graph, counts in found.items() for a, b in [counts[dace]] if a > b]
        lines.append(f"| {dace} | {theirs} | {own} | {ours} | {', '.join(more)} |")
    return "\n".join(lines)


def run_matches(options, graph, name):
    """Applies each match of DaCe's to a fresh graph, and runs the result in DaCe. Yields the match and why it is wrong, or nothing."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "crates/dace/tests/dace"))
    os.environ.setdefault("SDFG_DACE_SECONDS", "300")
    import run  # sets the compiler's options before DaCe is loaded

    number = sum(1 for _ in dace_found(graph, name)[1])
    for at in range(number):
        sdfg, found = dace_found(graph, name)
        found = found[at]
        label = label_of(sdfg, found)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "applied.sdfg"
            try:
                with silence():
                    found.apply_pattern(append=False)
                    sdfg.save(str(file))
            except Exception as error:  # whatever DaCe raises is a result
                yield label, f"it cannot be applied: {type(error).__name__}: {str(error).splitlines()[:1]}"
                continue
            _, reached, why = run.run(f"{file}\t{graph.parent / 'io'}\n").split("\t", 2)
        yield label, None if reached == "same" else f"{reached}: {why}"


def dace_found(graph, name):
    """A fresh graph and the matches of a transformation in it."""
    import dace
    from dace.transformation import dataflow, interstate
    from dace.transformation.passes import pattern_matching

    transformation = getattr(dataflow, name, None) or getattr(interstate, name)
    with silence():
        sdfg = dace.SDFG.from_file(str(graph))
        return sdfg, list(pattern_matching.match_patterns(sdfg, transformation))


def label_of(sdfg, found):
    region = sdfg.cfg_list[found.cfg_id]
    graph = region if found.state_id < 0 else region.node(found.state_id)
    names = ", ".join(getattr(graph.node(node), "label", "?") for node in found.subgraph.values())
    return names if found.state_id < 0 else f"{graph.label}: {names}"


BEGIN, END = "<!-- begin: matches -->\n", "<!-- end: matches -->\n"


def write_table(page, text):
    """Replaces the table of a page, whose other text people write."""
    old = page.read_text()
    page.write_text(old[: old.index(BEGIN) + len(BEGIN)] + "\n" + text + "\n\n" + old[old.index(END) :])


def dace_matches(graph):
    import dace

    for name, own in TRANSFORMATIONS:
        yield name, own, len(dace_found(graph, name)[1])
    for name, own in PASSES:
        with silence():
            number = removed_by(name, dace.SDFG.from_file(str(graph)))
        yield name, own, number


def removed_by(name, sdfg):
    """Number of elements that a pass removes or promotes in an SDFG and in those that it calls."""
    from dace.transformation import pass_pipeline
    from dace.transformation.passes import constant_propagation, dead_dataflow_elimination, dead_state_elimination, scalar_to_symbol

    modules = (constant_propagation, dead_dataflow_elimination, dead_state_elimination, scalar_to_symbol)
    make = next(getattr(module, name) for module in modules if hasattr(module, name))
    number = 0
    for called in list(sdfg.all_sdfgs_recursive()):
        result = pass_pipeline.Pipeline([make()]).apply_pass(called, {})
        result = (result or {}).get(name)
        if isinstance(result, dict):
            number += sum(len(part) if isinstance(part, (set, list)) else 1 for part in result.values())
        elif result:
            number += len(result)
    return number


@contextlib.contextmanager
def silence():
    """DaCe prints what it does and warns of exceptions inside of its checks."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


# Times


ROUNDS_IN_A_ROW = 10


def times(options, graphs):
    lines = [
        "| graph | DaCe reads | simplifies | ours, a process | in a row | of which reads | times faster: a process | in a row |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    print("\n".join(lines))
    ratios = []
    dace_time(graphs[0])  # modules are loaded when they are used first
    for graph in graphs:
        rounds = []
        for _ in range(options.rounds):
            theirs = dace_time(graph)
            once = own_time(options, "simplify", 1, graph)
            row, reading = (
                (own_time(options, command, 1 + ROUNDS_IN_A_ROW, graph) - own_time(options, command, 1, graph)) / ROUNDS_IN_A_ROW
                for command in ("simplify", "read")
            )
            rounds.append((*theirs, once, row, reading))
        reads, simplifies, once, row, reading = (statistics.median(part) for part in zip(*rounds))
        theirs = statistics.median(r[0] + r[1] for r in rounds)
        ratios.append((theirs / once, theirs / row))
        cells = f"{reads:.0f} | {simplifies:.0f} | {once:.1f} | {row:.2f} | {reading:.2f} | {theirs / once:.0f} | {theirs / row:.0f}"
        lines.append(f"| {name_of(graph)} | {cells} |")
        print(lines[-1], flush=True)
    for what, found in zip(("a process", "in a row"), zip(*ratios)):
        print(f"times faster, {what}: median {statistics.median(found):.0f}, least {min(found):.0f} (goal 100)")


def own_time(options, command, rounds, graph):
    """Milliseconds of processor time of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([options.example, command, str(rounds), graph], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e3


def dace_time(graph):
    """Milliseconds of processor time that DaCe takes to load and validate a graph, and to simplify it."""
    import dace

    with silence():
        start = time.process_time()
        sdfg = dace.SDFG.from_file(str(graph))
        sdfg.validate()
        loaded = time.process_time()
        sdfg.simplify()
        end = time.process_time()
    return (loaded - start) * 1e3, (end - loaded) * 1e3


if __name__ == "__main__":
    main()
