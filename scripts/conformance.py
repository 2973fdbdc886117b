#!/usr/bin/env python3
"""Runs the ONNX backend cases through `tenon run --batch` and writes docs/conformance.md: what passes, and the reason of
every failure.

    scripts/conformance.py            writes the page
    scripts/conformance.py --check    compares the page with what it would write; 1 when it is out of date

Needs the built program and the test environment (scripts/setup.sh --tests --peers). The cases are those of the onnx
package, so the newest operators are among them; the nine `light` nets come from the cache (scripts/fetch_inputs.py).
"""
import argparse
import collections
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from cache_dir import ROOT, cache_dir

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PAGE = ROOT / "docs/conformance.md"
RELATIVE, ABSOLUTE = 1e-3, 1e-7
SUITES = ["node", "simple", "pytorch-converted", "pytorch-operator"]
# Cases whose expected numbers are one draw of a generator that the standard leaves open.
RANDOM = "the expected numbers are one random draw, which no other generator repeats"
IS_RANDOM = ("test_bernoulli", "test_training_dropout")


def stored(path, value):
    """The value in a .pb file, of the kind that the model's signature says."""
    kind, data = value.type.WhichOneof("value"), pathlib.Path(path).read_bytes()
    message = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}.get(kind, onnx.TensorProto)()
    message.ParseFromString(data)
    reader = {"sequence_type": numpy_helper.to_list, "optional_type": numpy_helper.to_optional}
    return reader.get(kind, numpy_helper.to_array)(message)


def written(folder, name):
    """An output as `tenon run` leaves it."""
    stem = os.path.join(folder, name.replace("/", "_").replace(":", "_"))
    if os.path.exists(stem + ".npy"):
        return np.load(stem + ".npy", allow_pickle=False)
    if os.path.exists(stem + ".none"):
        return None
    return [np.load(p) for p in sorted(glob.glob(glob.escape(stem) + ".*.npy"), key=lambda p: int(p.split(".")[-2]))]


def difference(got, want):
    """Why two values differ, or the empty string."""
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return "another number of items"
        return next((d for d in map(difference, got, want) if d), "")
    if got is None or want is None:
        return "" if got is None and want is None else "one is absent"
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return f"shape {list(got.shape)} instead of {list(want.shape)}"
    if want.dtype.kind in "OUS":
        return "" if [str(x) for x in got.ravel()] == [x.decode() if isinstance(x, bytes) else str(x) for x in want.ravel()] else "texts differ"
    if got.dtype != want.dtype:
        if got.dtype.itemsize != want.dtype.itemsize:
            return f"type {got.dtype} instead of {want.dtype}"
        got = got.view(want.dtype)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    a, b = got.astype(wide), want.astype(wide)
    near = np.isclose(a, b, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)
    if near.all():
        return ""
    worst = np.abs(a - b)[~near].max()
    return f"{(~near).sum()} of {near.size} elements differ, by {worst:.1e} at most"


def cases_of(folder, into):
    """(name, case for the batch, [(output signature, file)]) of every data set below a suite's folder."""
    for model in sorted(glob.glob(f"{folder}/*/model.onnx")):
        graph = onnx.load(model, load_external_data=False).graph
        for data in sorted(glob.glob(os.path.dirname(model) + "/test_data_set_*")):
            inputs = {v.name: f"{data}/input_{i}.pb" for i, v in enumerate(graph.input)
                      if os.path.exists(f"{data}/input_{i}.pb")}
            case = {"model": model, "inputs": inputs, "output_dir": tempfile.mkdtemp(dir=into)}
            yield (os.path.basename(os.path.dirname(model)), case,
                   [(v, f"{data}/output_{i}.pb") for i, v in enumerate(graph.output)])


def light_cases(into):
    """The nine nets of the `light` suite: ones as input, one output beside each model."""
    for model in sorted(glob.glob(str(cache_dir() / "inputs/onnx-suite/light/*.onnx"))):
        graph = onnx.load(model).graph
        weights = {w.name for w in graph.initializer}
        inputs = {}
        for value in (v for v in graph.input if v.name not in weights):
            dims = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
            inputs[value.name] = os.path.join(into, f"{pathlib.Path(model).stem}.{len(inputs)}.npy")
            np.save(inputs[value.name], np.ones(dims, np.float32))
        yield (pathlib.Path(model).stem, {"model": model, "inputs": inputs, "output_dir": tempfile.mkdtemp(dir=into)},
               [(graph.output[0], model.replace(".onnx", "_output_0.pb"))])


def run_cases(cases, backend):
    """The reason of every failing case by name, "" for those that pass."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as list_file:
        list_file.writelines(json.dumps(case) + "\n" for _, case, _ in cases)
        list_file.flush()
        tenon = os.environ.get("TENON") or str(ROOT / "build/tenon")
        done = subprocess.run([tenon, "run", "--batch", list_file.name, "--backend", backend, "--json"],
                              capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    reasons = collections.OrderedDict()
    for k, (name, case, outputs) in enumerate(cases):
        if k >= len(lines):
            reason = "the program ended before this case"
        elif not lines[k].get("ok"):
            reason = lines[k]["error"]["message"]
        else:
            reason = next((d for v, file in outputs if (d := difference(written(case["output_dir"], v.name), stored(file, v)))), "")
        if reason and name.startswith(IS_RANDOM):
            reason = RANDOM
        reasons[name] = reasons.get(name) or reason
    return reasons


def page(results):
    """The text of docs/conformance.md. `results`: suite -> backend -> {case: reason}."""
    text = ["# Conformance", "",
            f"Cases of onnx {onnx.__version__} through `tenon run --batch`; relative tolerance {RELATIVE:g}, absolute {ABSOLUTE:g}, element types and shapes",
            "exact. A case counts as one however many data sets it has. Written by `scripts/conformance.py`; a test compares this page with a run.", "",
            "| suite | cases | pass on `cpu` | pass on `reference` |", "|---|---|---|---|"]
    for suite, backends in results.items():
        passed = {b: sum(not r for r in reasons.values()) for b, reasons in backends.items()}
        text.append(f"| {suite} | {len(backends['cpu'])} | {passed['cpu']} | {passed['reference']} |")
    text += ["", "## Every failure and its reason", "", "| case | backend | reason |", "|---|---|---|"]
    for suite, backends in results.items():
        failing = collections.OrderedDict()
        for backend, reasons in backends.items():
            for name, reason in reasons.items():
                if reason:
                    failing.setdefault((name, reason.replace("|", "\\|")), []).append(backend)
        text += [f"| {suite}/{name} | {', '.join(backends)} | {reason} |" for (name, reason), backends in sorted(failing.items())]
    return "\n".join(text) + "\n"


def claims(text):
    """What a page says without the reasons, whose last digits may differ from one processor to another."""
    return [line.rsplit(" | ", 1)[0] if "/" in line and line.startswith("| ") else line for line in text.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    with tempfile.TemporaryDirectory(prefix="tenon-conformance-") as into:
        suites = {name: list(cases_of(data / name, into)) for name in SUITES}
        suites["light"] = list(light_cases(into))
        results = {name: {b: run_cases(cases, b) for b in ("cpu", "reference")} for name, cases in suites.items() if cases}
    text = page(results)
    if arguments.check:
        same = PAGE.exists() and claims(PAGE.read_text()) == claims(text)
        if not same:
            print("docs/conformance.md is out of date: run scripts/conformance.py. It would say:\n" + text)
        return 0 if same else 1
    PAGE.write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
