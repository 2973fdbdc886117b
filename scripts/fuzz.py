#!/usr/bin/env python3
"""Runs libFuzzer targets under the sanitizers: scripts/fuzz.py NAME... --seconds 1800 (no name: all, one after another).

Inputs that reach new code go into tests/fuzz/corpus/NAME, the smallest hundred; a crash is left in out/fuzz.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests/fuzz/corpus"
# The repository keeps few and small files; the whole corpus of a machine stays in out/fuzz.
MAX_KEPT_BYTES = 4096
MAX_KEPT_FILES = 100


def run(name, seconds):
    """Fuzzes into a scratch corpus, then merges what found something; returns libFuzzer's exit code."""
    scratch = ROOT / "out/fuzz" / name
    scratch.mkdir(parents=True, exist_ok=True)
    program = ROOT / "build-fuzz/tests/fuzz" / f"fuzz_{name}"
    kept = CORPUS / name
    done = subprocess.run([program, scratch, kept, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048",
                           "-print_final_stats=1", f"-artifact_prefix={scratch}/crash-"])
    if done.returncode == 0:
        keep_new(program, kept, scratch)
    return done.returncode


def keep_new(program, kept, scratch):
    """Copies what adds coverage to the kept corpus, the smallest first."""
    merged = scratch.with_suffix(".merged")
    shutil.rmtree(merged, ignore_errors=True)
    shutil.copytree(kept, merged)
    subprocess.run([program, "-merge=1", f"-max_len={MAX_KEPT_BYTES}", merged, scratch], check=True)
    here = {path.name for path in kept.iterdir()}
    new = sorted((p for p in merged.iterdir() if p.name not in here), key=lambda p: (p.stat().st_size, p.name))
    for path in new[: max(0, MAX_KEPT_FILES - len(here))]:
        shutil.copy(path, kept / path.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    options = parser.parse_args()
    names = options.names or sorted(p.name for p in CORPUS.iterdir())
    subprocess.run(["cmake", "--preset", "fuzz"], cwd=ROOT, check=True)
    subprocess.run(["ninja", "-C", ROOT / "build-fuzz", *(f"fuzz_{n}" for n in names)], check=True)
    failed = [name for name in names if run(name, options.seconds)]
    print(f"fuzz: {len(names) - len(failed)} of {len(names)} targets clean" + (f"; failed: {failed}" if failed else ""))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
