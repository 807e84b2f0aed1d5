"""The tables of ``docs/coming-from-dace.md``, read and run.

A cell is Python code, or lines for a shell, as it stands on the page; `<br>` separates lines. As a program, with the folder to work in, this file runs
every line that needs DaCe and prints what is wrong, one line each.
"""

import ast
import os
import pathlib
import re
import subprocess
import sys

import numpy

import sdfg

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "coming-from-dace.md"
_SHELL = ("sdfg ", "sdfgcc ", "ls", "cat ", "SDFG_CACHE=")


def blocks(language):
    """The code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def rows(heading):
    """The rows of the table below a heading, each a list of cells, and each cell the list of its code spans."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")][2:]
    # Code has no `|`, so that this finds the cells.
    return [[(cell.strip(), re.findall(r"`([^`]+)`", cell)) for cell in line.strip("|").split("|")] for line in table]


def module():
    """The code of DaCe's side that every line follows."""
    return blocks("python")[0]


def names_of_dace():
    """The names that DaCe's module defines; a line of ours that uses one needs DaCe."""
    found = {"dace"}
    for statement in ast.parse(module()).body:
        if isinstance(statement, ast.FunctionDef):
            found.add(statement.name)
        elif isinstance(statement, ast.Assign):
            found.update(target.id for target in statement.targets)
    return found


def needs_dace(lines):
    """Whether a cell of ours uses an object of DaCe."""
    if lines[0].startswith(_SHELL):
        return False
    used = {node.id for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, ast.Name)}
    return bool(used & names_of_dace())


def outcome(lines, names):
    """The value of the last expression of a cell, or its exception; for a shell, the output."""
    if lines[0].startswith(_SHELL):
        done = subprocess.run("\n".join(["set -e", *lines]), shell=True, capture_output=True, text=True)
        return done.stdout + done.stderr if done.returncode == 0 else RuntimeError(f"status {done.returncode}: {done.stderr}")
    body = ast.parse("\n".join(lines)).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    try:
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    except Exception as error:
        return error


def agrees(found, expected, is_shell):
    """Whether an outcome is the one of the page."""
    if is_shell:
        return isinstance(found, str) and str(expected) in found
    if isinstance(expected, type) and issubclass(expected, Exception):
        return isinstance(found, expected)
    if isinstance(found, Exception):
        return False
    if isinstance(expected, tuple):
        return isinstance(found, tuple) and len(found) == len(expected) and all(agrees(*pair, False) for pair in zip(found, expected))
    if expected is None or isinstance(expected, str):
        return found == expected
    return numpy.array_equal(found, expected)


def wrong(heading, sides, names=None):
    """Messages for the lines whose outcome is another one; `sides` are `DaCe` and `here`, `names` those that DaCe's module defines."""
    messages, count = [], 0
    for (topic, _), theirs, ours, (_, results) in rows(heading):
        for side, (_, lines), result in (("DaCe", theirs, results[0]), ("here", ours, results[-1])):
            if side not in sides or (side == "here" and names is None and needs_dace(lines)):
                continue
            count += 1
            is_shell = lines[0].startswith(_SHELL)
            fresh = {"numpy": numpy, "sdfg": sdfg, **(names or {}), "X": numpy.arange(3.0), "Y": numpy.ones(3)}
            found = outcome(lines, fresh)
            expected = result if is_shell else eval(result, {"sdfg": sdfg})
            if not agrees(found, expected, is_shell):
                messages.append(f"{heading}, {topic}, {side}: {found!r} and not {result}")
    return messages, count


def wrong_configuration(configuration=None):
    """Messages for keys with another value in `dace.Config`, and for lines of ours that fail."""
    messages, count = [], 0
    for (_, (key,)), (_, (value,)), (_, lines) in rows("Configuration"):
        count += 1
        if configuration is not None and configuration.get(*key.split(".")) != ast.literal_eval(value):
            messages.append(f"{key} is {configuration.get(*key.split('.'))!r} and not {value}")
        found = outcome(lines, {"numpy": numpy, "sdfg": sdfg})
        if isinstance(found, Exception):
            messages.append(f"{key}, here: {found!r}")
    return messages, count


def wrong_terms(printed):
    """Messages for statements of the text form that a printed program lacks."""
    lines = {line.strip() for line in printed.splitlines()}
    return [f"{term}: `{text}` is not printed" for (term, _), _, (_, (text,)) in rows("Terms") if text not in lines]


def with_dace(folder):
    """Runs everything with DaCe, in a folder; messages of what is wrong."""
    os.chdir(folder)
    import dace

    # DaCe reads the source of functions, and puts the name of other modules than the main one before theirs.
    source = pathlib.Path("dace_side.py").resolve()
    source.write_text(module(), encoding="utf-8")
    names = {"__name__": "__main__"}
    exec(compile(module(), str(source), "exec"), names)
    messages = wrong_configuration(dace.Config)[0]
    for heading in ("Calls", "Behaviour"):
        messages += wrong(heading, ("DaCe", "here"), names)[0]
    terms = {"dace": dace}
    for (term, _), (_, lines), _ in rows("Terms"):
        try:
            exec("\n".join(lines), terms)
        except Exception as error:
            messages.append(f"Terms, {term}: {error!r}")
    terms["graph"].validate()
    terms["graph"].save("terms.sdfg")
    printed = outcome(["sdfg print terms.sdfg"], {})
    if printed != blocks("sdft")[0]:
        messages.append(f"the program of the terms is printed as\n{printed}")
    return messages


if __name__ == "__main__":
    for message in with_dace(pathlib.Path(sys.argv[1])):
        print(f"wrong: {message}")
    print("done")
