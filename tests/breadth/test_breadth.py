"""A detector and decoders, exported from PyTorch by both of its exporters, give ONNX Runtime's answers.

Needs the environment of scripts/setup.sh --torch (or another python with PyTorch in TENON_TORCH_PYTHON).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("TENON_TORCH_PYTHON") or str(ROOT / ".venv-torch/bin/python")
TENON = os.environ.get("TENON") or str(ROOT / "build/tenon")
# What the exporters can do; every other pair below must pass.
REFUSED_BY_EXPORTER = {"ssdlite/dynamo"}  # the number of boxes depends on the data


def has_pytorch():
    return pathlib.Path(PYTHON).exists() and subprocess.run([PYTHON, "-c", "import torch, torchvision, timm, transformers"], capture_output=True).returncode == 0


class Exported(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def verify(self, *names):
        results = pathlib.Path(self.folder.name) / f"{names[0]}.json"
        done = subprocess.run([PYTHON, ROOT / "scripts/breadth.py", "--tenon", TENON, "--results", results,
                               "--folder", pathlib.Path(self.folder.name) / "models", *names], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        for r in json.loads(results.read_text())["results"]:
            pair = f"{r['architecture']}/{r['exporter']}"
            with self.subTest(pair):
                self.assertEqual(r["status"], "not exported" if pair in REFUSED_BY_EXPORTER else "pass", r.get("reason"))

    def test_detector(self):
        self.verify("ssdlite")

    def test_decoder_with_and_without_cache(self):
        self.verify("gpt2", "gpt2_with_cache")


if __name__ == "__main__":
    if not has_pytorch():
        print("skipped: no PyTorch; scripts/setup.sh --torch")
        sys.exit(77)
    unittest.main(verbosity=2)
