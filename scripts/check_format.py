#!/usr/bin/env python3
"""Fails when a C++ file is not as clang-format leaves it; --fix formats instead. Arguments: files (default: all)."""
import shutil
import subprocess
import sys

from cache_dir import ROOT

PROGRAM = shutil.which("clang-format-19") or shutil.which("clang-format")


def sources():
    listing = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "*.h", "*.cpp"],
                             capture_output=True, text=True, check=True)
    return [str(ROOT / name) for name in listing.stdout.splitlines() if (ROOT / name).exists()]


def main():
    if not PROGRAM:
        print("format: skipped, clang-format-19 is not installed (scripts/setup.sh --tests)")
        return 77
    fix = "--fix" in sys.argv
    files = [a for a in sys.argv[1:] if a != "--fix"] or sources()
    if not files:
        return 0
    if fix:
        return subprocess.run([PROGRAM, "-i", *files]).returncode
    done = subprocess.run([PROGRAM, "--dry-run", "-Werror", "--ferror-limit=1", *files], capture_output=True, text=True)
    bad = sorted({line.split(":", 1)[0] for line in done.stderr.splitlines() if ": error:" in line})
    print("\n".join(f"{name}: not formatted; scripts/check_format.py --fix" for name in bad) or f"format: {len(files)} files ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
