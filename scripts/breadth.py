#!/usr/bin/env python3
"""Exports many architectures with random weights to ONNX and verifies each with Tenon against ONNX Runtime.

  scripts/setup.sh --torch          makes .venv-torch
  .venv-torch/bin/python scripts/breadth.py [NAME...] [--again] [--table]

Each architecture is exported by both exporters of PyTorch in a process of its own, then `tenon verify --against
onnxruntime` runs it. Results are kept in a JSON file, so that a run can be stopped and continued: what is already
there is not done again unless it is named, or failed and `--again` is given. `--table` writes docs/breadth.md.
"""
import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import sys
import time

import breadth_pictures
import breadth_table
import breadth_transformers
import cache_dir

ROOT = pathlib.Path(__file__).resolve().parents[1]
EXPORTERS = ("dynamo", "torchscript")


def catalogue():
    """{name: (package, make)}; a name stands for one architecture, whichever package has it."""
    found = {}
    for name, package, make in [*breadth_pictures.architectures(), *breadth_transformers.architectures()]:
        found.setdefault(name, (package, make))
    return found


def enliven(module):
    """Random statistics and a little noise on every weight, so that no zero or one of the initialisation hides an error."""
    import torch
    with torch.no_grad():
        for name, value in [*module.named_parameters(), *module.named_buffers()]:
            if name.endswith("running_var"):
                value.uniform_(0.5, 1.5)
            elif name.endswith("running_mean"):
                value.normal_(0, 0.1)
            elif isinstance(value, torch.nn.Parameter) and value.is_floating_point():
                value.nan_to_num_(0.1, 0.1, -0.1).clamp_(-10, 10)  # some are left as the memory was
                if value.ndim < 2 or value.std() == 0:
                    value.add_(torch.randn_like(value) * 0.05)


def proves_nothing(module, inputs):
    """Why agreement on this model would mean little: the same answer everywhere, or no number; empty when it is sound."""
    import torch
    with torch.no_grad():
        outputs = [t.float() for t in breadth_transformers.tensors_of(module(*inputs))]
    if any(t.isnan().any() for t in outputs):
        return "an output of PyTorch is not a number"
    return "" if any(t.numel() > 1 and (t != t.flatten()[0]).any() for t in outputs) else "all outputs are constant"


def is_text(value):
    return value.ndim == 2 and not value.is_floating_point()


def export(exporter, module, inputs, path):
    """Writes path; the sizes of batches and texts stay symbols."""
    import torch
    names = [f"input_{i}" for i in range(len(inputs))]
    common = dict(input_names=names, verbose=False)
    if exporter == "torchscript":
        axes = {n: {0: "batch", 1: f"length_{v.shape[1]}"} for n, v in zip(names, inputs) if is_text(v)}
        torch.onnx.export(module, inputs, str(path), dynamo=False, opset_version=17, dynamic_axes=axes, **common)
        return
    auto = torch.export.Dim.AUTO
    shapes = tuple({0: auto, 1: auto} if is_text(v) else None for v in inputs) if all(map(is_text, inputs)) else None
    if shapes and type(module).__name__ == "Named":
        shapes = (shapes,)  # they arrive as one *values
    try:
        torch.onnx.export(module, inputs, str(path), dynamo=True, dynamic_shapes=shapes, external_data=False, **common)
    except Exception:
        if not shapes:
            raise  # else perhaps with fixed sizes
        torch.onnx.export(module, inputs, str(path), dynamo=True, external_data=False, **common)


def describe(path):
    """Operators with their counts, of functions and inner graphs too, and the opset."""
    import onnx
    model = onnx.load(path, load_external_data=False)
    count = collections.Counter()
    graphs = [model.graph, *model.functions]
    while graphs:
        for node in graphs.pop().node:
            count[node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"] += 1
            graphs += [a.g for a in node.attribute if a.HasField("g")]
    own = {f.name for f in model.functions}
    count = {op: n for op, n in sorted(count.items()) if op.split(".")[-1] not in own}
    return {"operators": count, "opset": max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))}


def export_all(make, folder, exporters):
    """In a process of its own: what it made lies in folder, one subfolder an exporter; errors in error.txt."""
    log = os.open(folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.nice(5)  # exports are long; whoever works beside them comes first
    import numpy
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(1)
    error, module = "", None
    try:
        module, inputs = make()
        module = module.eval()
        enliven(module)
        error = proves_nothing(module, inputs)
    except Exception as e:
        error = f"not built: {type(e).__name__}: {e}"
    for exporter in exporters:
        out = folder / exporter
        out.mkdir(exist_ok=True)
        start = time.time()
        try:
            if error:
                raise RuntimeError(error)
            export(exporter, module, inputs, out / "model.onnx")
            for i, value in enumerate(inputs):
                numpy.save(out / f"input_{i}.npy", value.numpy())
            facts = {**describe(out / "model.onnx"), "parameters": sum(p.numel() for p in module.parameters())}
            (out / "facts.json").write_text(json.dumps({**facts, "export_seconds": round(time.time() - start, 1)}))
        except BaseException as e:
            (out / "error.txt").write_text(f"{type(e).__name__}: {e}" if not error else error)


def first_line(text):
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    lines = [line for line in lines if line.startswith("<class '")] or lines  # the cause inside a report of the exporter
    return (lines[0] if lines else "no message")[:300]


def input_arguments(folder):
    """Inputs that the exporter left in the model (it drops those that nothing reads)."""
    import onnx
    kept = {v.name for v in onnx.load(folder / "model.onnx", load_external_data=False).graph.input}
    files = sorted(folder.glob("input_*.npy"), key=lambda f: int(f.stem.split("_")[1]))
    return [f"--input={f.stem}={f}" for f in files if f.stem in kept]


PEER = """
import sys, numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
session = onnxruntime.InferenceSession(sys.argv[1] + "/model.onnx", options, providers=["CPUExecutionProvider"])
session.run(None, {i.name: numpy.load(f"{sys.argv[1]}/{i.name}.npy") for i in session.get_inputs()})
"""


def peer_failure(folder, seconds):
    """What ONNX Runtime says against the model by itself; empty when it runs it."""
    done = subprocess.run([sys.executable, "-c", PEER, str(folder)], capture_output=True, text=True, timeout=seconds)
    message = (done.stderr.strip().splitlines() or ["no message"])[-1].replace(f"{folder}/", "")
    return "" if done.returncode == 0 else message.split("[ONNXRuntimeError]")[-1].lstrip(" :")[:300]


def verify(tenon, folder, seconds):
    """The verdict of the program on one exported model."""
    command = [tenon, "verify", folder / "model.onnx", "--against", "onnxruntime", "--json", "--threads", "1", *input_arguments(folder)]
    start = time.time()
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL,
                              env={**os.environ, "TENON_PEERS_PYTHON": sys.executable})
    except subprocess.TimeoutExpired:
        return {"status": "too slow", "reason": f"no answer in {seconds} s"}
    took = {"verify_seconds": round(time.time() - start, 1)}
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return {"status": "crashed", "reason": f"exit {done.returncode}: {first_line(done.stderr)}", **took}
    if "error" in answer:
        if peer := peer_failure(folder, seconds):
            return {"status": "runtime", "reason": peer, **took}
        return {"status": "refused", "reason": f"{answer['error']['message']} [{answer['error'].get('where', '')}]"[:600], **took}
    worst = max((o["max_relative"] for o in answer["outputs"] if o["max_relative"] is not None), default=0)
    took.update(worst=worst, layers=answer["layers_compared"], fallbacks=collections.Counter(f["op"] for f in answer.get("fallbacks", [])),
                fallback_reasons=sorted({f"{f['op']}: {f['reason']}" for f in answer.get("fallbacks", [])}))
    if answer["outputs_equal"]:  # a value inside may differ and mean nothing: the order of two almost equal scores, say
        return {"status": "pass", **took}
    bad = answer["first_bad_node"] or {}
    return {"status": "differs", "reason": f"first at {bad.get('op', '?')} {bad.get('name', '')} {bad.get('mismatch', '')}".strip(), **took}


def examine(tenon, folder, exporter, seconds):
    out = folder / exporter
    if not (out / "facts.json").exists():
        error = out / "error.txt"
        reason = error.read_text() if error.exists() else f"no export in {seconds} s"
        return {"status": "not exported", "reason": first_line(reason)}
    return {**json.loads((out / "facts.json").read_text()), **verify(tenon, out, seconds)}


def make_exports(make, folder, exporters, seconds):
    for exporter in exporters:
        shutil.rmtree(folder / exporter, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    child = multiprocessing.get_context("fork").Process(target=export_all, args=(make, folder, exporters))
    child.start()
    child.join(seconds)
    if child.is_alive():
        child.kill()
    child.join()


def load_packages():
    """Once, in the parent: the processes of the architectures then start with them loaded."""
    import torch
    import torchvision  # noqa: F401
    import timm  # noqa: F401
    import transformers
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()


def wanted(known, options, results):
    names = options.names or list(known)
    for name in names:
        if name not in known:
            sys.exit(f"breadth.py: no architecture {name}; --list shows all")
    if options.names:
        return names
    def done(name):
        states = [results.get(f"{name}/{e}", {}).get("status") for e in options.exporter]
        return all(states) and not (options.again and any(s != "pass" for s in states))
    return [name for name in names if not done(name)]


def run(known, options, results):
    if not options.verify_only:
        load_packages()
    names = wanted(known, options, results)
    for i, name in enumerate(names):
        package, make = known[name]
        folder = options.folder / name
        if not options.verify_only:
            make_exports(make, folder, options.exporter, options.seconds)
        for exporter in options.exporter:
            if options.verify_only and not (folder / exporter).exists():
                continue
            result = {"architecture": name, "package": package, "exporter": exporter, **examine(options.tenon, folder, exporter, options.seconds)}
            results[f"{name}/{exporter}"] = result
            print(f"{i + 1}/{len(names)} {name:26} {exporter:12} {result['status']:13} {result.get('worst', '')} {result.get('reason', '')[:200]}", flush=True)
            if result["status"] == "pass" and not options.keep:
                (folder / exporter / "model.onnx").unlink(missing_ok=True)
                (folder / exporter / "model.onnx.data").unlink(missing_ok=True)
        write_results(options.results, results)


def write_results(path, results):
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    temporary.write_text(json.dumps({"schema": "tenon.breadth/1", "results": [results[k] for k in sorted(results)]}, indent=1) + "\n")
    temporary.replace(path)


def arguments():
    cache = pathlib.Path(cache_dir.cache_dir()) / "breadth"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="architectures (default: all that have no result yet)")
    parser.add_argument("--list", action="store_true", help="print the architectures and stop")
    parser.add_argument("--exporter", choices=EXPORTERS, action="append", help="one exporter only")
    parser.add_argument("--tenon", default=ROOT / "build/tenon", help="the program")
    parser.add_argument("--results", type=pathlib.Path, default=cache / "results.json")
    parser.add_argument("--folder", type=pathlib.Path, default=cache / "models", help="where models are written")
    parser.add_argument("--seconds", type=float, default=300, help="limit for the exports of one architecture, and for one verification")
    parser.add_argument("--again", action="store_true", help="try again what did not pass")
    parser.add_argument("--verify-only", action="store_true", help="verify the models that lie in the folder; needs no PyTorch")
    parser.add_argument("--keep", action="store_true", help="keep models that passed")
    parser.add_argument("--table", action="store_true", help="write docs/breadth.md from the results and stop")
    options = parser.parse_args()
    options.exporter = options.exporter or list(EXPORTERS)
    return options


def main():
    options = arguments()
    known = catalogue()
    if options.list:
        print("\n".join(f"{name:30} {package}" for name, (package, _) in known.items()))
        return
    results = {}
    if options.results.exists():
        results = {f"{r['architecture']}/{r['exporter']}": r for r in json.loads(options.results.read_text())["results"]}
    if not options.table:
        run(known, options, results)
    else:
        breadth_table.write(ROOT / "docs/breadth.md", list(results.values()))
    print(breadth_table.summary(list(results.values())))


if __name__ == "__main__":
    main()
