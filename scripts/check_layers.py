#!/usr/bin/env python3
"""Fails when an include under tenon/ goes sideways or up, or a room lacks its README (floors: layers.toml)."""
import pathlib
import re
import sys
import tomllib

root = pathlib.Path(__file__).resolve().parent.parent
config = tomllib.loads((root / "scripts/layers.toml").read_text())
floor, never = config["floor"], config["never"]
problems = []
for source in sorted(root.glob("tenon/**/*")):
    if source.suffix not in (".h", ".cpp") or source.name.endswith("_test.cpp"):
        continue
    room = source.relative_to(root).parts[1]
    where = source.relative_to(root)
    for number, line in enumerate(source.read_text().splitlines(), 1):
        match = re.match(r'#include "tenon/([a-z_]+)/', line)
        if not match or match[1] == room:
            continue
        other = match[1]
        if other not in floor or room not in floor:
            problems.append(f"{where}:{number}: room {other if other not in floor else room} has no floor in layers.toml")
        elif floor[other] >= floor[room]:
            allowed = ", ".join(sorted(r for r in floor if floor[r] < floor[room]))
            problems.append(f"{where}:{number}: {room} (floor {floor[room]}) includes {other} (floor {floor[other]}); "
                            f"allowed: {allowed}; move what both need to a lower room")
        elif other in never.get(room, []):
            problems.append(f"{where}:{number}: {room} never includes {other}")
for folder in sorted((root / "tenon").iterdir()):
    if folder.is_dir() and any(folder.glob("**/*.cpp")) and not (folder / "README.md").exists():
        problems.append(f"tenon/{folder.name}: no README.md")
print("\n".join(problems) or "layers: ok")
sys.exit(bool(problems))
