"""Other engines, run as child processes: what they compute and how fast. Speaks JSON on stdout.

  layers MODEL INPUTS OUT       every value of the model by name, from ONNX Runtime, as OUT (npz)
  bench ENGINE MODEL INPUTS THREADS SECONDS   latencies in ms, and the process's peak memory
INPUTS is an npz of the model's inputs by name.
"""
import json
import sys
import time


def peak_memory_bytes():
    """The most memory this program ever held; unlike getrusage it forgets what was before exec."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def onnxruntime_session(model, threads=0):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return ort, ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def layers(model, inputs, out):
    import numpy as np
    import onnx
    ort, plain = onnxruntime_session(model)
    graph = onnx.load(model)
    known = {v.name for v in graph.graph.output}
    try:
        inferred = onnx.shape_inference.infer_shapes(graph)
    except Exception:
        inferred = graph
    added = [v for v in inferred.graph.value_info if v.name not in known and v.type.HasField("tensor_type")]
    names = {n for node in graph.graph.node for n in node.output}
    graph.graph.output.extend(v for v in added if v.name in names)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    feed = dict(np.load(inputs))
    try:
        session = ort.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
        outputs = [o.name for o in session.get_outputs()]
        values = session.run(outputs, feed)
    except Exception:  # an inferred type was wrong: the outputs alone
        outputs = [o.name for o in plain.get_outputs()]
        values = plain.run(outputs, feed)
    kept = {n: v for n, v in zip(outputs, values) if isinstance(v, np.ndarray) and v.dtype.kind in "fiub"}
    np.savez(out, **{f"v{i}": v for i, v in enumerate(kept.values())})
    print(json.dumps({"engine": "onnxruntime " + ort.__version__, "names": list(kept)}))


def runner(engine, model, threads):
    if engine == "onnxruntime":
        ort, session = onnxruntime_session(model, threads)
        return "onnxruntime " + ort.__version__, lambda feed: session.run(None, feed)
    import openvino as ov
    config = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False}
    request = ov.Core().compile_model(model, "CPU", config).create_infer_request()
    return "openvino " + ov.__version__.split("-")[0], lambda feed: request.infer(feed)


def bench(engine, model, inputs, threads, seconds):
    import numpy as np
    feed = dict(np.load(inputs))
    label, run = runner(engine, model, int(threads))
    run(feed)
    run(feed)
    times, end = [], time.perf_counter() + float(seconds)
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run(feed)
        times.append((time.perf_counter() - start) * 1e3)
    times.sort()
    print(json.dumps({"engine": label, "median_ms": times[len(times) // 2], "min_ms": times[0], "iterations": len(times),
                      "peak_memory_bytes": peak_memory_bytes()}))


if __name__ == "__main__":
    {"layers": layers, "bench": bench}[sys.argv[1]](*sys.argv[2:])
