#!/usr/bin/env python3
"""Holds functions and files to their budget (docs/architecture.md, "Size and comments").

Fails on a function over 80 lines, a file over 800, fewer than 95 % of functions within 40 lines; prints what lies over
the soft limits (40 and 400) with --verbose. Tests count for files only, generated tables (*.def) not at all.
"""
import sys

from cache_dir import ROOT

SOFT_FUNCTION, HARD_FUNCTION, SHARE = 40, 80, 0.95
SOFT_FILE, HARD_FILE = 400, 800


def function_lengths(files):
    """(lines, name, file, first line) of every function, by lizard."""
    import lizard
    for info in lizard.analyze_files([str(f) for f in files], threads=1, exts=lizard.get_extensions([])):
        for function in info.function_list:
            yield function.length, function.long_name, info.filename, function.start_line


def main():
    try:
        import lizard  # noqa: F401
    except ImportError:
        print("sizes: skipped, lizard is not installed (scripts/setup.sh --tests)")
        return 77
    sources = [p for p in sorted((ROOT / "tenon").rglob("*")) if p.suffix in (".h", ".cpp")]
    problems, remarks = [], []
    for path in sources:
        lines = path.read_text().count("\n")
        text = f"{path.relative_to(ROOT)}: {lines} lines"
        if lines > HARD_FILE:
            problems.append(f"{text}, the limit is {HARD_FILE}: split it")
        elif lines > SOFT_FILE:
            remarks.append(text)
    functions = list(function_lengths(p for p in sources if not p.name.endswith("_test.cpp")))
    for length, name, file, line in sorted(functions, reverse=True):
        text = f"{file.removeprefix(str(ROOT) + '/')}:{line}: {name} has {length} lines"
        if length > HARD_FUNCTION:
            problems.append(f"{text}, the limit is {HARD_FUNCTION}: take steps out of it")
        elif length > SOFT_FUNCTION:
            remarks.append(text)
    within = sum(length <= SOFT_FUNCTION for length, *_ in functions) / max(1, len(functions))
    if within < SHARE:
        problems.append(f"only {within:.1%} of functions have at most {SOFT_FUNCTION} lines, {SHARE:.0%} must")
        problems += remarks
    for line in problems + (remarks if "--verbose" in sys.argv else []):
        print(line)
    print(f"sizes: {len(sources)} files, {len(functions)} functions, {within:.1%} within {SOFT_FUNCTION} lines, "
          f"{len(problems)} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
