#!/usr/bin/env python3
"""Fails on names and words that the house does not use: vague file names, unfinished-work marks, headers without a first sentence."""
import re
import subprocess
import sys

from cache_dir import ROOT

VAGUE = re.compile(r"(^|[_/])(utils?|helpers?|misc|managers?|common_stuff)([_./]|$)")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
THIS = "scripts/check_names.py"


def tracked():
    listing = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"],
                             capture_output=True, text=True, check=True)
    return sorted(set(listing.stdout.splitlines()))


def problems_of(name):
    path = ROOT / name
    if VAGUE.search(name):
        yield f"{name}: a vague name; say what the file holds"
    if path.suffix not in (".h", ".cpp", ".py", ".cmake", ".sh", ".md") or name == THIS or not path.is_file():
        return
    text = path.read_text(errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        if UNFINISHED.search(line):
            yield f"{name}:{number}: {UNFINISHED.search(line)[0]}: finish it, or say in the docs what is missing"
    if path.suffix == ".h" and not text.startswith(("//", "/*")):
        yield f"{name}: does not open with a sentence that says what it is"
    if path.suffix == ".h" and "#pragma once" not in text:
        yield f"{name}: no #pragma once"


def main():
    problems = [problem for name in tracked() for problem in problems_of(name)]
    print("\n".join(problems) or "names: ok")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
