"""The table of breadth: what counts as passing, and how reasons are told. Needs no PyTorch."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import breadth  # noqa: E402
import breadth_table  # noqa: E402


def result(name, exporter, status, **more):
    return {"architecture": name, "package": "timm", "exporter": exporter, "status": status, "operators": {"Conv": 2, "Relu": 1}, **more}


class Table(unittest.TestCase):
    RESULTS = [result("a", "dynamo", "pass", worst=1e-7, fallbacks={"range": 1}), result("a", "torchscript", "differs", worst=0.5, reason="first at conv | x"),
               result("b", "dynamo", "not exported", reason="no <rule>")]

    def test_an_architecture_counts_once(self):
        self.assertIn("1 of 2 architectures pass", breadth_table.summary(self.RESULTS + [result("a", "other", "pass", worst=0)]))

    def test_every_model_has_its_line_and_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            breadth_table.write(page, self.RESULTS)
            text = page.read_text()
        self.assertIn("| a | timm | dynamo | 3 (2) | 1.0e-07 | pass |", text)
        self.assertIn("differs: first at conv \\| x", text)
        self.assertIn("not exported: no &lt;rule>", text)
        self.assertIn("range 1", text)


class Catalogue(unittest.TestCase):
    def test_names_are_plain_and_many(self):
        names = list(breadth.catalogue())
        self.assertGreater(len(names), 250)
        self.assertTrue(all(name.isidentifier() for name in names), names)

    def test_only_what_is_missing_or_failed_runs(self):
        known = {"a": None, "b": None, "c": None}
        options = type("Options", (), {"names": [], "exporter": ["dynamo"], "again": False})
        results = {"a/dynamo": {"status": "pass"}, "b/dynamo": {"status": "differs"}}
        self.assertEqual(breadth.wanted(known, options, results), ["c"])
        options.again = True
        self.assertEqual(breadth.wanted(known, options, results), ["b", "c"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
