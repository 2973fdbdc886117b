#!/usr/bin/env python3
"""Prints where downloads are kept: $TENON_CACHE, else .cache of the checkout (git worktrees share the main one's)."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def cache_dir() -> pathlib.Path:
    if chosen := os.environ.get("TENON_CACHE"):
        return pathlib.Path(chosen).resolve()
    git = subprocess.run(["git", "-C", ROOT, "rev-parse", "--path-format=absolute", "--git-common-dir"],
                         capture_output=True, text=True)
    common = pathlib.Path(git.stdout.strip()) if git.returncode == 0 else ROOT / ".git"
    return (common.parent if common.name == ".git" and common.parent.is_dir() else ROOT) / ".cache"


if __name__ == "__main__":
    print(cache_dir())
