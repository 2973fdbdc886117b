"""Installs what is built into an empty folder, builds the example against it with find_package, and runs it."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TENON", ROOT / "build/tenon")).parent


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Package(unittest.TestCase):
    def test_example_builds_against_the_installed_package(self):
        with tempfile.TemporaryDirectory() as folder:
            prefix, build = pathlib.Path(folder) / "prefix", pathlib.Path(folder) / "build"
            run("cmake", "--install", BUILD, "--prefix", prefix)
            self.assertTrue(run(prefix / "bin/tenon", "--version").startswith("tenon "))
            example = ROOT / "examples/load_and_run"
            run("cmake", "-S", example, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
                "-DCMAKE_CXX_COMPILER=clang++-19")
            run("cmake", "--build", build)
            said = run(build / "load_and_run", example / "model.tenon.txt")
            self.assertEqual(said, "y [2, 2] = [9, 12, 9, 12]\n")


if __name__ == "__main__":
    unittest.main()
