"""Writes the graphs of programs.py, raw, simplified and with regions, and their inputs and outputs. Needs DaCe 1.0.2.

`make.py FOLDER` does it for programs.py in another folder. With DaCe 2, the simplified graphs of version2.py are written instead.
"""
import copy
import json
import pathlib
import sys

import dace
import numpy as np

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__ + '/..').resolve()
sys.path.insert(0, str(FOLDER))
IS_VERSION_2 = dace.__version__.startswith('2')
if IS_VERSION_2:
    import version2 as programs  # noqa: E402
else:
    import programs  # noqa: E402

DROPPED = {'guid', 'debuginfo', 'hash', 'transformation_hist', 'orig_sdfg', 'collapsed', 'scope_dict'}


def stripped(value):
    """The document without what changes from run to run and says nothing."""
    if isinstance(value, dict):
        return {key: stripped(inner) for key, inner in value.items() if key not in DROPPED}
    return [stripped(inner) for inner in value] if isinstance(value, list) else value


def numbers(value):
    value = np.asarray(value)
    parts = np.stack([value.real, value.imag], -1) if np.iscomplexobj(value) else value
    return {'dtype': str(value.dtype), 'shape': list(value.shape), 'values': parts.flatten().tolist()}


def write(name, sdfg):
    text = json.dumps(stripped(json.loads(json.dumps(sdfg.to_json()))), separators=(',', ':'))
    (FOLDER / f'{name}.sdfg').write_text(text + '\n')


for name, inputs in programs.INPUTS.items():
    expected = copy.deepcopy(inputs)
    if hasattr(programs, name + '_numpy'):
        getattr(programs, name + '_numpy')(**expected)
    else:
        getattr(programs, name + '_graph')()(**expected)
    data = {'inputs': {key: numbers(value) for key, value in inputs.items()},
            'outputs': {key: numbers(value) for key, value in expected.items() if isinstance(value, np.ndarray)}}
    (FOLDER / f'{name}.json').write_text(json.dumps(data) + '\n')
    if hasattr(programs, name + '_graph'):
        dace.Config.set('testing', 'serialize_all_fields', value=name in programs.WITH_DEFAULTS)
        write(name, getattr(programs, name + '_graph')())
        continue
    program = getattr(programs, name)
    if IS_VERSION_2:
        write(name + '.version2', program.to_sdfg(simplify=True))
        continue
    write(name + '.raw', program.to_sdfg(simplify=False))
    write(name + '.simplified', program.to_sdfg(simplify=True))
    program.use_experimental_cfg_blocks = True
    write(name + '.regions', program.to_sdfg(simplify=False))
    program.use_experimental_cfg_blocks = False
