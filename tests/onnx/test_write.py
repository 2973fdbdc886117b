"""What is read can be written: every backend case of the wheel, read and written again, passes ONNX's checker and
gives the same answers in ONNX Runtime as the original file does. Cases that ONNX Runtime itself does not run count as checked only."""
import glob
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import numpy_helper as nh
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

DATA = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data")
# Other numbers from the same seed are no mistake of the writer.
RANDOM = ("bernoulli", "training_dropout", "random")


def load(path, info):
    with open(path, "rb") as file:
        data = file.read()
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        message = onnx.SequenceProto()
        message.ParseFromString(data)
        return nh.to_list(message)
    if kind == "optional_type":
        message = onnx.OptionalProto()
        message.ParseFromString(data)
        return nh.to_optional(message)
    message = onnx.TensorProto()
    message.ParseFromString(data)
    return nh.to_array(message)


def same(a, b):
    if isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if b is None or a is None:
        return a is None and b is None
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or (a.dtype != b.dtype and b.dtype.kind not in "OUS"):
        return False
    if b.dtype.kind in "OUSb":
        return [str(x) for x in a.ravel()] == [str(x) for x in b.ravel()]
    kind = np.complex128 if b.dtype.kind == "c" else np.float64
    return np.allclose(a.astype(kind), b.astype(kind), rtol=1e-3, atol=1e-6, equal_nan=True)


def outputs_of(path, feeds):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def main():
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    tool = os.environ.get("TENON_ONNX_REWRITE", "build/tenon_onnx_rewrite")
    models = sorted(p for s in ("node", "pytorch-converted", "pytorch-operator", "simple") for p in glob.glob(f"{DATA}/{s}/*{part}*/model.onnx"))
    counts = dict(written=0, not_written=0, checked=0, agrees=0, not_run=0)
    bad = []
    with tempfile.TemporaryDirectory() as root:
        pairs = [(p, f"{root}/{i}.onnx") for i, p in enumerate(models)]
        done = subprocess.run([tool], input="".join(f"{a}\t{b}\n" for a, b in pairs), capture_output=True, text=True, check=True)
        for (source, target), answer in zip(pairs, done.stdout.splitlines()):
            name = os.path.basename(os.path.dirname(source))
            if answer != "ok":
                counts["not_written"] += 1
                bad.append(f"{name}: {answer}")
                continue
            counts["written"] += 1
            try:
                onnx.checker.check_model(target, full_check=False)
                counts["checked"] += 1
            except Exception as problem:
                bad.append(f"{name}: checker: {str(problem)[:200]}")
                continue
            if any(word in name for word in RANDOM):
                continue
            model = onnx.load(source)
            folder = os.path.dirname(source) + "/test_data_set_0"
            try:
                feeds = {v.name: load(f"{folder}/input_{i}.pb", v) for i, v in enumerate(model.graph.input) if os.path.exists(f"{folder}/input_{i}.pb")}
                expected = outputs_of(source, feeds)
            except Exception:
                counts["not_run"] += 1
                continue
            try:
                ok = same(outputs_of(target, feeds), expected)
            except Exception as problem:
                bad.append(f"{name}: ONNX Runtime: {str(problem)[:200]}")
                continue
            counts["agrees"] += ok
            if not ok:
                bad.append(f"{name}: other answers")
    print("\n".join(bad))
    print(counts)
    return 0 if not bad else 1


if __name__ == "__main__":
    sys.exit(main())
