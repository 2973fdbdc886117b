"""scripts/fetch_inputs.py on packages made here: no registry is asked."""
import contextlib
import hashlib
import io
import pathlib
import sys
import tarfile
import tempfile
import tomllib
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import fetch_inputs  # noqa: E402


class Fetching(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.archive = self.root / "thing-1.0.tgz"
        with tarfile.open(self.archive, "w:gz") as tar:
            for name, text in {"package/models/a.onnx": b"aaaa", "package/models/b.txt": b"bb", "package/x.js": b"x"}.items():
                info = tarfile.TarInfo(name)
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text))
        lines = sorted(f"{hashlib.sha256(t).hexdigest()}  {n}\n" for n, t in (("a.onnx", b"aaaa"),))
        self.entry = {"name": "thing", "source": "npm", "package": "thing", "version": "1.0", "groups": ["g"],
                      "strip": "package/models/", "keep": ["package/models/*"], "drop": ["*.txt"], "what": "",
                      "sha256": fetch_inputs.sha256(self.archive),
                      "content_sha256": hashlib.sha256("".join(lines).encode()).hexdigest()}
        original = fetch_inputs.download
        fetch_inputs.download = lambda entry, folder: self.archive
        self.addCleanup(setattr, fetch_inputs, "download", original)

    def fetch(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            fetch_inputs.fetch(self.entry, self.root / "cache", relock=False)
        return said.getvalue()

    def test_keeps_what_is_asked_and_is_quick_the_second_time(self):
        self.assertIn("fetching", self.fetch())
        target = self.root / "cache/inputs/thing"
        self.assertEqual([p.name for p in target.iterdir() if p.name != ".manifest"], ["a.onnx"])
        self.assertIn("here", self.fetch())

    def test_refuses_a_file_that_was_changed_in_the_cache(self):
        self.fetch()
        victim = self.root / "cache/inputs/thing/a.onnx"
        victim.write_bytes(b"aaab")
        with self.assertRaisesRegex(fetch_inputs.Problem, r"a\.onnx: sha256 is .* the lock says"):
            self.fetch()
        victim.unlink()
        with self.assertRaisesRegex(fetch_inputs.Problem, "no such file"):
            self.fetch()

    def test_refuses_a_manifest_that_was_changed_with_its_file(self):
        self.fetch()
        folder = self.root / "cache/inputs/thing"
        (folder / "a.onnx").write_bytes(b"evil")
        (folder / ".manifest").write_text(fetch_inputs.manifest_text(folder))
        with self.assertRaisesRegex(fetch_inputs.Problem, "list of files differs"):
            self.fetch()

    def test_refuses_another_archive_and_leaves_nothing(self):
        self.entry["sha256"] = "0" * 64
        with self.assertRaisesRegex(fetch_inputs.Problem, "inputs.lock.toml says 0000"):
            self.fetch()
        self.assertFalse((self.root / "cache/inputs/thing").exists())

    def test_refuses_members_outside_the_folder(self):
        with tarfile.open(self.archive, "w:gz") as tar:
            tar.addfile(tarfile.TarInfo("package/../../../evil"), io.BytesIO())
        self.entry["sha256"] = fetch_inputs.sha256(self.archive)
        with self.assertRaisesRegex(fetch_inputs.Problem, "outside its folder"):
            self.fetch()


class Lock(unittest.TestCase):
    def test_every_input_is_pinned_and_described(self):
        entries = tomllib.loads((SCRIPTS / "inputs.lock.toml").read_text())["input"]
        names = [entry["name"] for entry in entries]
        self.assertEqual(len(names), len(set(names)))
        for entry in entries:
            with self.subTest(entry["name"]):
                self.assertIn(entry["source"], ("npm", "pip", "apt"))
                for key in ("package", "version", "groups", "keep", "what", "licence"):
                    self.assertTrue(entry[key])
                for key in ("sha256", "content_sha256"):
                    self.assertRegex(entry[key], "^[0-9a-f]{64}$")

    def test_an_unknown_name_lists_the_groups(self):
        with self.assertRaisesRegex(fetch_inputs.Problem, "groups: .*quickstart"):
            fetch_inputs.select(tomllib.loads((SCRIPTS / "inputs.lock.toml").read_text())["input"], ["nope"])


if __name__ == "__main__":
    unittest.main()
