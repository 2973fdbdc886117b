"""The page of docs/add_an_operator.md works as it says: added to the registry, it passes the op suite."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TENON", ROOT / "build/tenon")).resolve().parent
SUITE = sorted((BUILD / "CMakeFiles/tenon_op_suite.dir/tests/ops").glob("*.o"))


def compile_command(source, folder):
    """How the build compiles `source`, without its output and input, looking for headers in `folder` first."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    entry = next(c for c in commands if c["file"] == str(ROOT / source))
    words = shlex.split(entry["command"])
    options = next(i for i, w in enumerate(words) if w.startswith("-"))
    return [*words[:options], f"-I{folder}", *words[options:words.index("-o")]]


@unittest.skipUnless(SUITE and (BUILD / "compile_commands.json").exists(), "the op suite is not built")
class Softcap(unittest.TestCase):
    def test_the_shown_page_passes_the_suite(self):
        text = (ROOT / "docs/add_an_operator.md").read_text()
        page = re.search(r"```cpp\n(.*?)```", text, re.S)[1]
        line = re.search(r"gets `(OP\((\w+)\))`", text)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "tenon/ops").mkdir(parents=True)
            manifest = (ROOT / "tenon/ops/manifest.def").read_text()
            (folder / "tenon/ops/manifest.def").write_text(f"{manifest}{line[1]}\n")
            (folder / f"{line[2]}.cpp").write_text(page)
            objects = []
            for source in (folder / f"{line[2]}.cpp", ROOT / "tenon/ops/registry.cpp"):
                objects.append(folder / (source.stem + ".o"))
                self.run_it([*compile_command("tenon/ops/registry.cpp", folder), "-o", objects[-1], "-c", source])
            self.link(folder / "suite", objects)
            done = self.run_it([folder / "suite", f"--gtest_filter=*{line[2]}*:Pages.*"])
            passed = int(re.search(r"\[  PASSED  \] (\d+) tests", done.stdout)[1])
            self.assertGreater(passed, 10, done.stdout)

    def link(self, program, objects):
        """The suite with another registry: its objects come before the library that holds the usual one."""
        found = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "tenon_op_suite"], capture_output=True, text=True, check=True)
        words = shlex.split(found.stdout.splitlines()[-1].replace("&&", " ").replace(" : ", " "))
        words = words[next(i for i, w in enumerate(words) if "clang" in w or w.endswith("++")):]
        at = words.index("-o")
        words[at + 1] = str(program)
        words[at:at] = [str(o) for o in objects]
        if words[-1] == ":":
            words.pop()
        self.run_it(words, cwd=BUILD)

    def run_it(self, words, cwd=None):
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True, cwd=cwd)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])
        return done


if __name__ == "__main__":
    sys.exit(unittest.main())
