"""Real models, read and written again: ONNX Runtime gives the same answers for both files on random input."""
import glob
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

INPUTS = os.environ.get("TENON_INPUTS", ".cache/inputs")
SIZES = {"batch": 1, "N": 1}
# Values that a model's inputs must have: sample rates, token ids, picture sizes that its strides divide.
SPECIAL = {"sr": np.array(16000, np.int64)}


def session_of(path):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def feed(value, index, rng, spatial):
    if value.name in SPECIAL:
        return SPECIAL[value.name]
    dims = [d if isinstance(d, int) and d > 0 else (1 if axis == 0 or d == "batch" or value.name == "state" else spatial) for axis, d in enumerate(value.shape)]
    if "int64" in value.type:
        return np.ones(dims, np.int64)
    kind = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}[value.type]
    return (rng.standard_normal(dims) * 0.1).astype(kind)


def compare(source, target):
    rng = np.random.default_rng(1)
    a, b = session_of(source), session_of(target)
    for spatial in (64, 512, 2, 1280):  # the first size that the model itself accepts
        feeds = {v.name: feed(v, i, rng, spatial) for i, v in enumerate(a.get_inputs())}
        try:
            expected = a.run(None, feeds)
            break
        except Exception as refused:
            reason = refused
    else:
        return f"ONNX Runtime does not run the original: {str(reason)[:150]}"
    got = b.run(None, feeds)
    for x, y in zip(got, expected, strict=True):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"shape or type differs: {x.shape} {x.dtype} and {y.shape} {y.dtype}"
        scale = max(1e-6, float(np.abs(y).max())) if y.size else 1
        if y.size and not np.allclose(x.astype(np.float64) / scale, y.astype(np.float64) / scale, rtol=1e-3, atol=1e-3 if y.dtype == np.float16 else 1e-5):
            return f"answers differ by {np.abs(x.astype(np.float64) - y).max() / scale}"
    return ""


def main():
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    tool = os.environ.get("TENON_ONNX_REWRITE", "build/tenon_onnx_rewrite")
    models = sorted(p for p in glob.glob(f"{INPUTS}/**/*.onnx", recursive=True) if "/onnx-" not in p and part in p)
    # Nine ImageNet nets with constant weights come with the format's own tests.
    models += sorted(p for p in glob.glob(os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/light/*.onnx")) if part in p)
    if not models:
        print(f"skipped: no models below {INPUTS}")
        return 77
    bad = 0
    with tempfile.TemporaryDirectory() as root:
        for i, source in enumerate(models):
            target = f"{root}/{i}.onnx"
            answer = subprocess.run([tool], input=f"{source}\t{target}\n", capture_output=True, text=True).stdout.strip()
            try:
                problem = compare(source, target) if answer == "ok" else answer
            except Exception as error:
                problem = str(error)[:300]
            bad += bool(problem)
            print(f"{os.path.relpath(source, INPUTS)}: {problem or 'agrees'}")
            for leftover in glob.glob(f"{target}*"):
                os.remove(leftover)
    print(f"{len(models) - bad} of {len(models)} agree")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
