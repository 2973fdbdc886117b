#!/usr/bin/env bash
# Runs the everyday tests with coverage counters and prints lines covered by room; out/coverage has the pages by line.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
out=$root/out/coverage
rm -rf "$out" && mkdir -p "$out/raw"
LLVM_PROFILE_FILE="$out/raw/%p-%m.profraw" TENON_PRESET=coverage ./run_tests >&2
llvm-profdata-19 merge -sparse "$out"/raw/*.profraw -o "$out/all.profdata"
objects=()
while IFS= read -r program; do objects+=(-object "$program"); done \
  < <(find build-coverage -type f \( -name 'tenon_*_test' -o -name tenon_op_suite -o -name tenon \) -perm -u+x)
llvm-cov-19 show --format=html --output-dir="$out/html" --instr-profile="$out/all.profdata" "${objects[@]}" tenon >/dev/null
llvm-cov-19 export --summary-only --instr-profile="$out/all.profdata" "${objects[@]}" tenon |
  python3 -c '
import collections, json, sys
rooms = collections.Counter(), collections.Counter()
for file in json.load(sys.stdin)["data"][0]["files"]:
    if "/tenon/" in file["filename"] and not file["filename"].endswith("_test.cpp"):
        room = file["filename"].rsplit("/tenon/", 1)[1].split("/")[0]
        rooms[0][room] += file["summary"]["lines"]["covered"]
        rooms[1][room] += file["summary"]["lines"]["count"]
for room in sorted(rooms[1]):
    print(f"{room:<12} {rooms[0][room]:>6} of {rooms[1][room]:>6} lines  {rooms[0][room] / rooms[1][room]:6.1%}")'
echo "by line: $out/html/index.html" >&2
