"""tenon export: graphs as JSON and text go out and come back, weights beside them, and damaged ones are refused once."""
import json
import pathlib
import tempfile
import unittest

import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Forty weights: too many to be written out, so that they lie beside the graph.
GRAPH = """graph "net"(%0 "x": f32[N, 8]) {
  const %1 "w": f32[8, 5] = @"w"
  const %2 "b": f32[5] = [1.0, 2.0, 3.0, 4.0, 5.0]
  %3 "h": f32[N, 5] = matmul(%0, %1) #"layer/product" ("net.onnx", 3, "layer")
  %4 "y": f32[N, 5] = add(%3, %2)
  return %4 "y"
}
"""


def model_in(folder):
    """A graph with large constants, made by writing the small one's weights as a literal first."""
    text = GRAPH.replace('@"w"', "[" + ", ".join(f"{i}.5" for i in range(40)) + "]")
    path = folder / "literal.txt"
    path.write_text(text)
    return path


class Export(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = model_in(self.folder)

    def export(self, model, name):
        code, answer = program.run_json("export", model, "-o", self.folder / name)
        self.assertEqual(code, 0, answer)
        self.assertEqual(answer["lost"], [])
        return self.folder / name

    def test_every_form_comes_back(self):
        as_json = self.export(self.model, "net.json")
        again = self.export(as_json, "again.txt")
        back = self.export(again, "back.json")
        self.assertEqual(json.loads(as_json.read_text()), json.loads(back.read_text()))
        graph = json.loads(as_json.read_text())
        self.assertEqual(graph["schema"], "tenon.graph/1")
        self.assertEqual([n["op"] for n in graph["nodes"]], ["matmul", "add"])
        self.assertEqual(graph["nodes"][0]["origin"], {"file": "net.onnx", "index": 3, "scope": "layer"})
        self.assertTrue((self.folder / "net.json.safetensors").exists())
        for file, form in [(as_json, "tenon-json"), (again, "tenon-text")]:
            code, answer = program.run_json("inspect", file)
            self.assertEqual((code, answer["format"]), (0, form))
        code, answer = program.run_json("verify", as_json, self.model, "--backend", "reference")
        self.assertEqual((code, answer["equal"]), (0, True), answer)

    def refused(self, file, fragment, code=3):
        done = program.run("inspect", file)
        self.assertEqual(done.returncode, code, done.stderr)
        errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertIn(fragment, errors[0])
        self.assertEqual(done.stdout, "")

    def test_what_is_damaged_is_refused_with_one_error(self):
        good = self.export(self.model, "net.json")
        text = good.read_text()
        bad = self.folder / "bad.json"
        bad.write_text(text)
        self.refused(bad, "bad.json.safetensors")  # its weights are not beside it
        bad.write_text(text[:len(text) // 2])
        self.refused(bad, "bad.json")
        bad.write_text(text.replace("tenon.graph/1", "tenon.graph/7"))
        self.refused(bad, "tenon.graph/7")
        bad.write_text(text.replace('"matmul"', '"matmull"'))
        (self.folder / "bad.json.safetensors").write_bytes((self.folder / "net.json.safetensors").read_bytes())
        self.refused(bad, "nodes[0]")
        bad.write_text("{}")
        self.refused(bad, "schema")
        bad.write_text(text)
        (self.folder / "bad.json.safetensors").write_bytes(b"no weights at all")
        self.refused(bad, "bad.json.safetensors")


if __name__ == "__main__":
    unittest.main()
