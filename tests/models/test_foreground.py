"""ISNet in int8 and in fp16 cuts a person out of a real picture as ONNX Runtime does (minutes: its pictures have a megapixel).

The model comes from scripts/fetch_inputs.py isnet; what is missing is named and skipped.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
import program  # noqa: E402

INPUTS = pathlib.Path(os.environ.get("TENON_INPUTS", ROOT / ".cache/inputs"))
PEERS = os.environ.get("TENON_PEERS_PYTHON") or sys.executable
# Grows the picture to the model's size, so that no resizing of the recipe stands between the engines, and runs ONNX Runtime.
EXPECT = """
import sys, numpy, onnxruntime
from PIL import Image
source, model, picture, out = sys.argv[1:]
big = Image.open(source).convert("RGB").resize((1024, 1024), Image.BILINEAR)
big.save(picture)
values = ((numpy.asarray(big, numpy.float32) - 128) / 256).transpose(2, 0, 1)[None]
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
numpy.save(out, onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(["output"], {"input": values})[0])
"""
# How far two arrays are apart, and how the mask looks at places that a person would name.
MEASURE = """
import json, sys, numpy
from PIL import Image
got, expected, mask = numpy.load(sys.argv[1]), numpy.load(sys.argv[2]), numpy.asarray(Image.open(sys.argv[3]))
places = {"face": (240, 440), "chest": (900, 440), "flag": (60, 60), "wall": (60, 960), "shuttle": (500, 80)}
print(json.dumps({"shape": got.shape == expected.shape, "mean": float(abs(got - expected).mean()), "sides": float(((got > 0.5) == (expected > 0.5)).mean()),
                  "places": {name: int(mask[place]) for name, place in places.items()}}))
"""


def child(code, *arguments):
    done = subprocess.run([PEERS, "-c", code, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    return done.stdout


class Foreground(unittest.TestCase):
    def cut(self, name, mean, sides):
        """`mean`: largest mean difference of the mask; `sides`: least share of pixels on the same side of one half."""
        model, source = INPUTS / f"isnet/isnet_{name}.onnx", INPUTS / "skimage-pictures/astronaut.png"
        for path in (model, source):
            if not path.exists():
                self.skipTest(f"{path} is not here; scripts/fetch_inputs.py {path.parent.name}")
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            child(EXPECT, source, model, folder / "big.png", folder / "expected.npy")
            code, answer = program.run_json("run", model, "--recipe", ROOT / "examples/recipes/cut_foreground.toml", "--input",
                                            folder / "big.png", "--output-dir", folder, timeout=600)
            self.assertEqual(code, 0, answer)
            seen = json.loads(child(MEASURE, folder / "output.npy", folder / "expected.npy", folder / "mask.png"))
        self.assertTrue(seen["shape"])
        self.assertLess(seen["mean"], mean)
        self.assertGreater(seen["sides"], sides)
        places = seen["places"]
        self.assertGreater(min(places["face"], places["chest"]), 250, places)
        self.assertLess(max(places["flag"], places["wall"], places["shuttle"]), 5, places)

    def test_int8(self):
        self.cut("small", 1e-3, 0.999)

    def test_fp16(self):
        self.cut("medium", 1e-3, 0.999)


if __name__ == "__main__":
    if not (INPUTS / "isnet").is_dir() or subprocess.run([PEERS, "-c", "import numpy, onnxruntime, PIL"], capture_output=True).returncode:
        print("skipped: needs scripts/fetch_inputs.py isnet and scripts/setup.sh --peers")
        sys.exit(77)
    result = unittest.main(verbosity=2, exit=False).result
    sys.exit(77 if result.skipped and not result.failures + result.errors else not result.wasSuccessful())
