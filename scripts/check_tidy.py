#!/usr/bin/env python3
"""Runs clang-tidy (.clang-tidy: a short list, findings are errors) on files, or on those that differ from a commit.

    check_tidy.py FILE...        these files
    check_tidy.py --since main   what changed since a commit (default HEAD, with the work tree)
    check_tidy.py --all          everything: minutes
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys

from cache_dir import ROOT


def changed(since):
    listing = subprocess.run(["git", "-C", ROOT, "diff", "--name-only", "--diff-filter=d", since, "--", "*.cpp"],
                             capture_output=True, text=True, check=True)
    return listing.stdout.splitlines()


def every():
    return [str(p.relative_to(ROOT)) for p in sorted((ROOT / "tenon").rglob("*.cpp"))]


def check(name):
    done = subprocess.run(["clang-tidy-19", "-p", ROOT / "build", "--quiet", ROOT / name], capture_output=True, text=True)
    return done.stdout if done.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--since", default="HEAD")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    files = options.files or (every() if options.all else changed(options.since))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = [text for text in pool.map(check, files) if text]
    print("".join(findings) + f"tidy: {len(files)} files, {len(findings)} with findings")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
