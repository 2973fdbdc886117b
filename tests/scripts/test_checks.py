"""The checks of the house fail where they must."""
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import check_sizes  # noqa: E402

try:
    import lizard  # noqa: F401
    HAS_LIZARD = True
except ImportError:
    HAS_LIZARD = False


def function(name, lines):
    return f"int {name}() {{\n" + "  f();\n" * (lines - 2) + "}\n"


@unittest.skipUnless(HAS_LIZARD, "lizard is not installed (scripts/setup.sh --tests)")
class Sizes(unittest.TestCase):
    def problems(self, text):
        with tempfile.TemporaryDirectory() as folder:
            room = pathlib.Path(folder) / "tenon/room"
            room.mkdir(parents=True)
            (room / "a.cpp").write_text(text)
            self.addCleanup(setattr, check_sizes, "ROOT", check_sizes.ROOT)
            check_sizes.ROOT = pathlib.Path(folder)
            with contextlib.redirect_stdout(io.StringIO()) as said:
                code = check_sizes.main()
        return code, said.getvalue()

    def test_short_functions_pass(self):
        self.assertEqual(self.problems(function("a", 40) + function("b", 5))[0], 0)

    def test_a_long_function_is_named(self):
        code, said = self.problems(function("a", 81))
        self.assertEqual(code, 1)
        self.assertIn("tenon/room/a.cpp:1: a() has 81 lines", said.replace("( )", "()"))

    def test_too_many_middling_functions_fail(self):
        code, said = self.problems("".join(function(f"f{i}", 50 if i < 2 else 5) for i in range(20)))
        self.assertEqual(code, 1)
        self.assertIn("only 90.0% of functions", said)

    def test_a_long_file_is_named(self):
        self.assertIn("the limit is 800", self.problems("//\n" * 801)[1])


class Layers(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "scripts").mkdir()
            for name in ("check_layers.py", "layers.toml"):
                (root / "scripts" / name).write_text((SCRIPTS / name).read_text())
            (root / "tenon/ops").mkdir(parents=True)
            (root / "tenon/ops/README.md").write_text("# ops\n")
            (root / "tenon/ops/a.cpp").write_text(text)
            return subprocess.run([sys.executable, root / "scripts/check_layers.py"], capture_output=True, text=True)

    def test_downwards_passes(self):
        self.assertEqual(self.check('#include "tenon/ir/graph.h"\n').returncode, 0)

    def test_upwards_and_unknown_rooms_fail(self):
        up = self.check('#include "tenon/engine/x.h"\n')
        self.assertEqual(up.returncode, 1)
        self.assertIn("tenon/ops/a.cpp:1: ops (floor 3) includes engine (floor 7)", up.stdout)
        self.assertEqual(self.check('#include "tenon/attic/x.h"\n').returncode, 1)


class Environments(unittest.TestCase):
    def test_the_peers_environment_has_what_the_peers_import(self):
        text = (SCRIPTS.parent / "tenon/migrate/peers.py").read_text()
        imported = {line.split()[1].split(".")[0] for line in map(str.strip, text.splitlines())
                    if line.startswith("import ")}
        pinned = {line.split("==")[0] for line in (SCRIPTS / "requirements-peers.txt").read_text().splitlines()}
        self.assertIn("onnx", imported)
        self.assertEqual(imported - set(sys.stdlib_module_names) - pinned, set())


if __name__ == "__main__":
    unittest.main()
