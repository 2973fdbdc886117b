"""Large models: three gigabytes of external data are mapped, never loaded; 100,000 nodes take seconds."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

try:
    import onnx
    from onnx import TensorProto as T, helper as h
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TENON = os.environ.get("TENON") or str(pathlib.Path(__file__).resolve().parents[2] / "build/tenon")
ANONYMOUS_MB = 105  # 100 MB and 5 %
SECONDS = 20


def run_watched(*arguments):
    """(exit code, stderr, largest RssAnon in MB, seconds) of one run of tenon."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([TENON, *arguments], stdout=subprocess.DEVNULL, stderr=errors)
        peak = 0
        while process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            peak = max([peak] + [int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")])
            time.sleep(0.002)
        code = process.wait()
        errors.seek(0)
        return code, errors.read(), peak / 1024, time.monotonic() - start


def wide_model(folder):
    """A chain of twelve products with 256 MB of weights each; the data file is a hole and takes no room."""
    size, count = 8192, 12
    weights, nodes = [], []
    for i in range(count):
        w = T(name=f"w{i}", data_type=T.FLOAT, dims=[size, size], data_location=T.EXTERNAL)
        for key, value in {"location": "weights.bin", "offset": i * size * size * 4, "length": size * size * 4}.items():
            w.external_data.add(key=key, value=str(value))
        weights.append(w)
        nodes.append(h.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"], name=f"product{i}"))
    with open(f"{folder}/weights.bin", "wb") as data:
        data.truncate(count * size * size * 4)
    value = [h.make_tensor_value_info(name, T.FLOAT, ["N", size]) for name in ("x0", f"x{count}")]
    model = h.make_model(h.make_graph(nodes, "wide", [value[0]], [value[1]], weights), opset_imports=[h.make_opsetid("", 17)])
    pathlib.Path(f"{folder}/wide.onnx").write_bytes(model.SerializeToString())
    return f"{folder}/wide.onnx"


def long_model(folder, count=100_000):
    """A chain of small operators with names and two readers here and there."""
    nodes = []
    for i in range(count):
        other = [f"v{i - 7}"] if i > 7 and i % 3 == 0 else [f"v{i}"]
        inputs = [f"v{i}", *other] if i % 2 else [f"v{i}"]
        nodes.append(h.make_node("Add" if i % 2 else "Relu", inputs, [f"v{i + 1}"], name=f"block.{i // 50}/node.{i}"))
    ends = [h.make_tensor_value_info(name, T.FLOAT, ["N", 4]) for name in ("v0", f"v{count}")]
    onnx.save(h.make_model(h.make_graph(nodes, "long", [ends[0]], [ends[1]]), opset_imports=[h.make_opsetid("", 17)]),
              f"{folder}/long.onnx")
    return f"{folder}/long.onnx"


def main():
    problems = []
    with tempfile.TemporaryDirectory(prefix="tenon-large-") as folder:
        wide = wide_model(folder)
        for command in (["inspect", wide], ["analyze", wide]):
            code, errors, peak, seconds = run_watched(*command)
            print(f"{command[0]}: 3 GB of external data, {peak:.0f} MB anonymous, {seconds:.1f} s")
            if code != 0 or peak > ANONYMOUS_MB:
                problems.append(f"{command[0]} of 3 GB: exit code {code}, {peak:.0f} MB anonymous, at most {ANONYMOUS_MB} {errors}")
        long = long_model(folder)
        for command in (["inspect", long], ["export", long, "-o", f"{folder}/long.txt"], ["inspect", f"{folder}/long.txt"],
                        ["export", long, "-o", f"{folder}/long.json"], ["inspect", f"{folder}/long.json"]):
            code, errors, peak, seconds = run_watched(*command)
            print(f"{' '.join(command).replace(folder + '/', '')}: 100,000 nodes, {seconds:.1f} s, {peak:.0f} MB anonymous")
            if code != 0 or seconds > SECONDS:
                problems.append(f"{command}: exit code {code}, {seconds:.1f} s, at most {SECONDS} {errors}")
    print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
