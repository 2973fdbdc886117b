#!/usr/bin/env python3
"""Generated kernels against ONNX Runtime and PyTorch, one operator or chain at a time, paired in one run.

    benchmarks/kernels.py                              Tenon and ONNX Runtime, one thread
    benchmarks/kernels.py --torch-python PYTHON        PyTorch too, from an environment that has it
    benchmarks/kernels.py --only attention --threads 2 --rounds 9 --json kernels.json

Every round measures each engine once on each case, one after the other, so that a busy machine hurts all alike. The
figure of a round is the median of its runs, the figure of a case the median of its rounds. Engines run with the same
number of threads on the same ONNX file (PyTorch: the same computation, `torch.nn.functional` where it has one).
`--clock cpu` compares processor time per run instead of elapsed time: the better clock when other programs take turns
on the same processors. Tenon's is then that of a long run of the program less that of a short one.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Model:
    """One ONNX graph under construction."""

    def __init__(self):
        self.nodes, self.inputs, self.constants = [], [], []
        self.random = np.random.default_rng(7)

    def input(self, *dims):
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))
        return name

    def weight(self, *dims):
        return self.constant(self.random.standard_normal(dims).astype(np.float32))

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def __call__(self, op, *args, **attrs):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, args, [name], **attrs))
        return name

    def save(self, path, result):
        out = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "kernel", self.inputs, [out], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def softmax(m, *dims, axis=-1):
    return m("Softmax", m.input(*dims), axis=axis)


def layer_norm(m, *dims):
    return m("LayerNormalization", m.input(*dims), m.weight(dims[-1]), m.weight(dims[-1]), axis=-1)


def exported_layer_norm(m, *dims):
    x = m.input(*dims)
    axes = m.constant(np.int64([-1]))
    d = m("Sub", x, m("ReduceMean", x, axes))
    variance = m("ReduceMean", m("Pow", d, m.constant(np.float32(2))), axes)
    n = m("Div", d, m("Sqrt", m("Add", variance, m.constant(np.float32(1e-5)))))
    return m("Add", m("Mul", n, m.weight(dims[-1])), m.weight(dims[-1]))


def rms_norm(m, *dims):
    x = m.input(*dims)
    mean = m("ReduceMean", m("Mul", x, x), m.constant(np.int64([-1])))
    r = m("Reciprocal", m("Sqrt", m("Add", mean, m.constant(np.float32(1e-6)))))
    return m("Mul", m("Mul", x, r), m.weight(dims[-1]))


def gelu(m, *dims):
    x = m.input(*dims)
    e = m("Erf", m("Div", x, m.constant(np.float32(2**0.5))))
    return m("Mul", m("Mul", x, m("Add", e, m.constant(np.float32(1)))), m.constant(np.float32(0.5)))


def silu(m, *dims):
    x = m.input(*dims)
    return m("Mul", x, m("Sigmoid", x))


def reduction(m, *dims, axis=-1, op="ReduceSum"):
    return m(op, m.input(*dims), m.constant(np.int64([axis])), keepdims=0)


def transpose(m, *dims, perm):
    return m("Transpose", m.input(*dims), perm=perm)


def attention(m, batch, length, heads, size, causal=False):
    def operand(perm):
        return m("Transpose", m.input(batch, length, heads, size), perm=perm)

    scores = m("Div", m("MatMul", operand([0, 2, 1, 3]), operand([0, 2, 3, 1])), m.constant(np.float32(size**0.5)))
    if causal:
        mask = np.where(np.tri(length, dtype=bool), np.float32(0), np.float32(-3e38))
        scores = m("Add", scores, m.constant(mask[None, None]))
    y = m("MatMul", m("Softmax", scores, axis=-1), operand([0, 2, 1, 3]))
    return m("Transpose", y, perm=[0, 2, 1, 3])


# name: (build, PyTorch expression over the inputs x and F = torch.nn.functional)
CASES = {
    "softmax 12x128x128": (lambda m: softmax(m, 12, 128, 128), "F.softmax(x[0], -1)"),
    "softmax 256x50257": (lambda m: softmax(m, 256, 50257), "F.softmax(x[0], -1)"),
    "softmax 1x19x64x64 axis 1": (lambda m: softmax(m, 1, 19, 64, 64, axis=1), "F.softmax(x[0], 1)"),
    "layer norm 128x768": (lambda m: layer_norm(m, 1, 128, 768), "F.layer_norm(x[0], (768,), W(768), W(768))"),
    "layer norm 3136x96": (lambda m: layer_norm(m, 1, 3136, 96), "F.layer_norm(x[0], (96,), W(96), W(96))"),
    "exported layer norm 128x768": (
        lambda m: exported_layer_norm(m, 1, 128, 768),
        "F.layer_norm(x[0], (768,), W(768), W(768))",
    ),
    "rms norm 512x2048": (lambda m: rms_norm(m, 1, 512, 2048), "F.rms_norm(x[0], (2048,), W(2048))"),
    "gelu 128x3072": (lambda m: gelu(m, 1, 128, 3072), "F.gelu(x[0])"),
    "silu 512x5632": (lambda m: silu(m, 512, 5632), "F.silu(x[0])"),
    "sum of rows 4096x1024": (lambda m: reduction(m, 4096, 1024), "x[0].sum(-1)"),
    "sum of columns 4096x1024": (lambda m: reduction(m, 4096, 1024, axis=0), "x[0].sum(0)"),
    "max of rows 4096x1024": (lambda m: reduction(m, 4096, 1024, op="ReduceMax"), "x[0].amax(-1)"),
    "transpose 1024x1024": (lambda m: transpose(m, 1024, 1024, perm=[1, 0]), "x[0].t().contiguous()"),
    "transpose heads 1x512x12x64": (
        lambda m: transpose(m, 1, 512, 12, 64, perm=[0, 2, 1, 3]),
        "x[0].permute(0, 2, 1, 3).contiguous()",
    ),
    "transpose 8x56x56x96 to channels first": (
        lambda m: transpose(m, 8, 56, 56, 96, perm=[0, 3, 1, 2]),
        "x[0].permute(0, 3, 1, 2).contiguous()",
    ),
    "attention 128, 12 heads of 64": (lambda m: attention(m, 1, 128, 12, 64), "SDPA(x)"),
    "attention 512, 12 heads of 64": (lambda m: attention(m, 1, 512, 12, 64), "SDPA(x)"),
    "attention 4096, 12 heads of 64": (lambda m: attention(m, 1, 4096, 12, 64), "SDPA(x)"),
    "attention 1024 masked, 12 heads of 64": (lambda m: attention(m, 1, 1024, 12, 64, True), "SDPA(x, True)"),
}

TORCH = """
import sys, json, time, statistics, torch
import torch.nn.functional as F
torch.set_num_threads(int(sys.argv[1])); torch.set_grad_enabled(False)
now = time.process_time if sys.argv[2] == "cpu" else time.perf_counter
weights = {}
def W(n):
    return weights.setdefault(n, torch.randn(n))
def SDPA(x, causal=False):
    q, k, v = (t.transpose(1, 2) for t in x)
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).contiguous()
for line in sys.stdin:
    case = json.loads(line)
    x = [torch.rand(*d) * 2 - 1 for d in case["dims"]]
    f = eval("lambda: " + case["code"])
    f(); times, end = [], time.perf_counter() + case["seconds"]
    while time.perf_counter() < end or len(times) < 3:
        start = now(); f(); times.append(now() - start)
    print(statistics.median(times) * 1e3, flush=True)
"""


def dims_of(path):
    graph = onnx.load(path).graph
    return [[d.dim_value for d in i.type.tensor_type.shape.dim] for i in graph.input]


def bench(args, path, seconds):
    """The answer of `tenon bench`, and the processor seconds of the whole program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [args.tenon, "bench", str(path), "--threads", str(args.threads), "--seconds", str(seconds), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def time_tenon(args, path):
    answer, seconds = bench(args, path, args.seconds)
    if args.clock == "wall":
        return answer["latency_ms"]["median"]
    if answer["iterations"] < 5:  # one run must not stand for all
        answer, seconds = bench(args, path, 6e-3 * answer["latency_ms"]["median"])
    short, overhead = bench(args, path, 1e-6)
    runs = answer["iterations"] - short["iterations"]
    return (seconds - overhead) / runs * 1e3 if runs else answer["latency_ms"]["median"]


def onnx_runtime(args, path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(1)
    feed = {i.name: random.uniform(-1, 1, i.shape).astype(np.float32) for i in session.get_inputs()}

    def measure():
        session.run(None, feed)
        times, end = [], time.perf_counter() + args.seconds
        while time.perf_counter() < end or len(times) < 3:
            start = args.now()
            session.run(None, feed)
            times.append(args.now() - start)
        return statistics.median(times) * 1e3

    return measure


class Torch:
    def __init__(self, args):
        self.seconds = args.seconds
        self.process = subprocess.Popen(
            [args.torch_python, "-c", TORCH, str(args.threads), args.clock],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def measure(self, path, code):
        case = {"dims": dims_of(path), "code": code, "seconds": self.seconds}
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def run(args, folder):
    peer = Torch(args) if args.torch_python else None
    rows = []
    for name, (build, code) in CASES.items():
        if args.only and args.only not in name:
            continue
        path = folder / f"case{len(rows)}.onnx"
        model = Model()
        model.save(path, build(model))
        other = onnx_runtime(args, path)
        samples = {"tenon": [], "onnxruntime": [], **({"torch": []} if peer else {})}
        for _ in range(args.rounds):
            samples["tenon"].append(time_tenon(args, path))
            samples["onnxruntime"].append(other())
            if peer:
                samples["torch"].append(peer.measure(path, code))
        row = {"case": name, **{engine: statistics.median(v) for engine, v in samples.items()}}
        rows.append(row)
        ratios = "  ".join(f"{e} {row[e]:9.3f} ms ({row['tenon'] / row[e]:.2f}x)" for e in list(samples)[1:])
        print(f"{name:42} tenon {row['tenon']:9.3f} ms   {ratios}   load {os.getloadavg()[0]:.1f}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", default=str(ROOT / "build" / "tenon"), help="the program")
    parser.add_argument("--torch-python", help="a Python that has PyTorch")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each measurement")
    parser.add_argument("--only", help="cases whose name contains this")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="elapsed or processor time")
    parser.add_argument("--json", help="write the figures here")
    args = parser.parse_args()
    args.now = time.process_time if args.clock == "cpu" else time.perf_counter
    load = os.getloadavg()[0]
    print(f"{cpu_model()}, {args.threads} thread(s), {args.rounds} rounds, {args.clock} clock, load {load:.1f}; in brackets: Tenon's time / theirs")
    with tempfile.TemporaryDirectory() as folder:
        rows = run(args, pathlib.Path(folder))
    if args.json:
        record = {"schema": "tenon.kernels/1", "cpu": cpu_model(), "threads": args.threads, "rounds": args.rounds, "clock": args.clock}
        pathlib.Path(args.json).write_text(json.dumps({**record, "load": load, "cases": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
