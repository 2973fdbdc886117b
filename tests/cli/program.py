"""Runs the built program for the tests beside this file: ctest gives its path in TENON."""
import json
import os
import pathlib
import subprocess

TENON = os.environ.get("TENON") or str(pathlib.Path(__file__).resolve().parents[2] / "build/tenon")


def run(*arguments, env=None, timeout=60):
    """Runs tenon and returns the completed process with text output; without colours."""
    environment = {**os.environ, "NO_COLOR": "1", **(env or {})}
    return subprocess.run([TENON, *map(str, arguments)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env=environment, timeout=timeout)


def run_json(*arguments, **options):
    """The same with --json: (exit code, the one object on stdout)."""
    done = run(*arguments, "--json", **options)
    return done.returncode, json.loads(done.stdout)
