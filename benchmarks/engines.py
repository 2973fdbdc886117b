"""One class for each engine: a model loaded with the engine's best documented options for latency.

`seconds(budget)` runs for about that long and returns the median time of one run.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time


def timed(run, budget):
    """Median seconds of `run` within `budget` seconds, at least five runs after two for warming."""
    run()
    run()
    times = []
    end = time.perf_counter() + budget
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


class Tenon:
    """`tenon migrate` once, then `tenon bench` on the bundle: a new process for each round."""

    options = "tenon migrate MODEL --threads N; tenon bench BUNDLE --threads N --seconds S"

    def __init__(self, path, feeds, threads, program):
        self.program, self.threads = program, threads
        self.folder = tempfile.mkdtemp(prefix="tenon-bench-")
        self.bundle = os.path.join(self.folder, "model.tenon")
        self.shapes = []
        for name, value in feeds.items():
            self.shapes += ["--shape", f"{name}={','.join(map(str, value.shape))}"]
        start = time.perf_counter()
        self.call("migrate", str(path), "-o", self.bundle)
        self.load_seconds = time.perf_counter() - start

    def call(self, *args):
        command = [self.program, *args, "--threads", str(self.threads), "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode > 1:
            raise RuntimeError(done.stderr.strip()[:300])
        return json.loads(done.stdout)

    def seconds(self, budget):
        answer = self.call("bench", self.bundle, "--seconds", str(budget), *self.shapes)
        return answer["latency_ms"]["median"] / 1e3

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class OnnxRuntime:
    options = "SessionOptions: intra_op_num_threads=N, all graph optimisations, CPUExecutionProvider"

    def __init__(self, path, feeds, threads):
        import onnxruntime

        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = threads
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        settings.log_severity_level = 3
        start = time.perf_counter()
        self.session = onnxruntime.InferenceSession(
            str(path), settings, providers=["CPUExecutionProvider"])
        self.load_seconds = time.perf_counter() - start
        self.feeds = feeds
        self.version = onnxruntime.__version__

    def seconds(self, budget):
        return timed(lambda: self.session.run(None, self.feeds), budget)

    def close(self):
        self.session = None


class OpenVino:
    options = "INFERENCE_NUM_THREADS=N, PERFORMANCE_HINT=LATENCY, INFERENCE_PRECISION_HINT=f32"

    def __init__(self, path, feeds, threads):
        import openvino

        start = time.perf_counter()
        compiled = openvino.Core().compile_model(str(path), "CPU", {
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
            "ENABLE_CPU_PINNING": False,
        })
        self.request = compiled.create_infer_request()
        self.load_seconds = time.perf_counter() - start
        self.feeds = feeds
        self.version = openvino.__version__.split("-")[0]

    def seconds(self, budget):
        return timed(lambda: self.request.infer(self.feeds), budget)

    def close(self):
        self.request = None


class Torch:
    """Eager, or compiled by Inductor; only for networks of model_zoo."""

    options = "torch.inference_mode(), torch.set_num_threads(N)"

    def __init__(self, name, batch, threads, compiled):
        import torch

        import model_zoo

        torch.set_num_threads(threads)
        start = time.perf_counter()
        self.module, self.args = model_zoo.build(name, batch)
        if compiled:
            self.module = torch.compile(self.module)
            self.run()
        self.load_seconds = time.perf_counter() - start
        self.version = torch.__version__

    def run(self):
        import torch

        with torch.inference_mode():
            self.module(*self.args)

    def seconds(self, budget):
        return timed(self.run, budget)

    def close(self):
        self.module = None


def feeds_for(path, shapes, seed=0):
    """Inputs for an ONNX file: floats around 0, indices within the smallest table they may index."""
    import numpy
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    weights = {w.name: list(w.dims) for w in model.graph.initializer}
    tables = {}
    for node in model.graph.node:
        if node.op_type == "Gather" and node.input[0] in weights:
            tables[node.input[1]] = weights[node.input[0]][0]
    random = numpy.random.default_rng(seed)
    feeds = {}
    for value in model.graph.input:
        if value.name in weights:
            continue
        tensor = value.type.tensor_type
        dims = shapes.get(value.name) or [d.dim_value or 1 for d in tensor.shape.dim]
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if numpy.issubdtype(kind, numpy.integer):
            feeds[value.name] = random.integers(1, tables.get(value.name, 2), dims).astype(kind)
        else:
            feeds[value.name] = random.standard_normal(dims).astype(kind)
    return feeds


def find_program(given):
    root = pathlib.Path(__file__).resolve().parent.parent
    program = pathlib.Path(given) if given else root / "build" / "tenon"
    if not program.exists():
        raise SystemExit(f"error: {program} is not there\nhelp: build it (./quickstart) or give --tenon")
    return str(program)
