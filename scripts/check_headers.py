#!/usr/bin/env python3
"""Compiles every header under tenon/ by itself: a header includes what it uses. Needs a configured build folder."""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

from cache_dir import ROOT


def flags_by_room():
    """The options of a source of each room; of a test where there is one, since headers for tests need its definitions."""
    chosen = {}
    for command in sorted(json.loads((ROOT / "build/compile_commands.json").read_text()), key=lambda c: c["file"].endswith("_test.cpp")):
        if f"{ROOT}/tenon/" in command["file"]:
            words = shlex.split(command["command"])
            room = pathlib.Path(command["file"]).relative_to(ROOT / "tenon").parts[0]
            chosen[room] = [w for w in words if w.startswith(("-std", "-W", "-I", "-D", "-f"))]
    return chosen


def check(header, options):
    done = subprocess.run(["clang++-19", *options, "-fsyntax-only", "-x", "c++", "-Wno-pragma-once-outside-header", str(header)],
                          capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def main():
    headers, options = sorted((ROOT / "tenon").rglob("*.h")), flags_by_room()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [text for text in pool.map(lambda h: check(h, options[h.relative_to(ROOT / "tenon").parts[0]]), headers) if text]
    print("".join(problems) + f"headers: {len(headers)} compiled alone, {len(problems)} do not")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
