"""docs/conformance.md says what the ONNX backend cases give today (scripts/conformance.py --check)."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.exit(subprocess.run([sys.executable, ROOT / "scripts/conformance.py", "--check"], check=False).returncode)
