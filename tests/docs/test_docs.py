"""Pages stay true: links resolve, the room table equals layers.toml, the README names commands that exist, samples compile."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tenon/**/README.md"),
                *ROOT.glob("tests/**/*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("benchmarks/**/*.md")])


def anchors(page):
    """The anchors that headings of a page make."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


class Links(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        for page in PAGES:
            for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", page.read_text()):
                if re.match(r"[a-z]+:", target):
                    continue
                with self.subTest(f"{page.relative_to(ROOT)}: {target}"):
                    path, _, anchor = target.partition("#")
                    goal = (page.parent / path).resolve() if path else page
                    self.assertTrue(goal.exists(), f"{page.name} links to {target}, which is not there")
                    if anchor and goal.suffix == ".md":
                        self.assertIn(anchor, anchors(goal))

    def test_scripts_and_pages_named_in_text_exist(self):
        for page in PAGES:
            for name in re.findall(r"`((?:scripts|docs|tests|cmake)/[\w./-]+\.\w+)`", page.read_text()):
                if "NAME" in name:  # stands for any name
                    continue
                with self.subTest(f"{page.relative_to(ROOT)}: {name}"):
                    self.assertTrue((ROOT / name).exists(), f"{page.name} names {name}, which is not there")


class Rooms(unittest.TestCase):
    def test_the_table_of_rooms_is_that_of_the_check(self):
        rows = re.findall(r"^\| (\d+) \| `(\w+)/` \|", (ROOT / "docs/architecture.md").read_text(), re.M)
        floors = tomllib.loads((ROOT / "scripts/layers.toml").read_text())["floor"]
        self.assertEqual({room: int(floor) for floor, room in rows}, floors)

    def test_every_room_is_in_the_table(self):
        floors = tomllib.loads((ROOT / "scripts/layers.toml").read_text())["floor"]
        rooms = {p.name for p in (ROOT / "tenon").iterdir() if p.is_dir()}
        self.assertEqual(rooms - set(floors), set())


class Dependencies(unittest.TestCase):
    def test_every_package_that_cmake_finds_has_its_line(self):
        plain = lambda text: re.sub(r"[^a-z0-9]", "", text.lower())
        page = plain((ROOT / "docs/dependencies.md").read_text())
        build = (ROOT / "cmake/dependencies.cmake").read_text()
        known = {"Threads": "", "PkgConfig": "", "GTest": "googletest", "tomlplusplus": "toml", "PNG": "libpng", "JPEG": "libjpegturbo",
                 "openjp2": "openjpeg"}
        for name in re.findall(r"(?:find_package|pkg_check_modules)\((\w+)", build):
            with self.subTest(name):
                self.assertIn(plain(known.get(name, name)), page)


@unittest.skipUnless(shutil.which("clang++-19"), "clang++-19 is not installed")
class Samples(unittest.TestCase):
    def test_whole_files_shown_in_pages_compile(self):
        """A C++ block that has includes is a whole file; pages that explain additions show such."""
        for page in sorted(ROOT.glob("docs/**/*.md")):
            for number, code in enumerate(re.findall(r"```cpp\n(.*?)```", page.read_text(), re.S), 1):
                if "#include" not in code:
                    continue
                with self.subTest(f"{page.relative_to(ROOT)}, block {number}"), tempfile.TemporaryDirectory() as folder:
                    file = pathlib.Path(folder) / "sample.cpp"
                    file.write_text(code)
                    done = subprocess.run(["clang++-19", "-std=gnu++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                                           "-Wno-missing-designated-field-initializers", f"-I{ROOT}", str(file)],
                                          capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
