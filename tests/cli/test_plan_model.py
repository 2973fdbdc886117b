"""tenon plan model and largest: presets, Hugging Face configurations against true parameter counts, the largest model."""
import json
import pathlib
import tempfile
import unittest

import program

# Parameters as counted on the frameworks' own models, built from these configurations without storage.
CONFIGS = pathlib.Path(__file__).parent / "data/hugging_face.json"
# Published sizes, in billions.
PRESETS = {"llama3-8b": 8.03, "llama3-70b": 70.6, "llama3-405b": 405.9, "gpt3-175b": 174.6, "mixtral-8x7b": 46.7,
           "bert-large": 0.335, "t5-large": 0.738, "vit-base": 0.0866, "resnet50": 0.02556, "llava-7b": 7.06, "clip-vit-l": 0.428}


class Model(unittest.TestCase):
    def parameters(self, model):
        code, answer = program.run_json("plan", "model", model)
        self.assertEqual(code, 0, answer)
        return answer

    def test_configurations_have_their_true_parameters(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, case in json.loads(CONFIGS.read_text()).items():
                path = pathlib.Path(folder) / "config.json"
                path.write_text(json.dumps(case["config"]))
                got = self.parameters(path)["parameters"]
                self.assertLess(abs(got / case["parameters"] - 1), 0.001, f"{name}: {got} {case['parameters']}")

    def test_presets_have_their_published_size(self):
        for name, billions in PRESETS.items():
            self.assertLess(abs(self.parameters(name)["parameters"] / billions / 1e9 - 1), 0.01, name)
        for name in ("dlrm", "deepseek-v3", "gpt2", "t5-11b", "qwen2.5-72b"):
            answer = self.parameters(name)
            self.assertGreater(answer["parameters"], 0)
            total = sum(layer["parameters"] * layer["count"] for layer in answer["classes"])
            self.assertGreaterEqual(total, answer["parameters"] * 0.999, name)

    def test_an_unknown_family_is_one_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            path.write_text('{"model_type": "lama"}')
            done = program.run("plan", "model", path)
            self.assertEqual(done.returncode, 3)
            self.assertIn("llama", done.stderr)


class Largest(unittest.TestCase):
    def test_the_next_step_does_not_fit_and_more_memory_trains_more(self):
        sizes = []
        for cluster in ("A100-40G:8", "A100-80G:8", "A100-80G:16"):
            code, answer = program.run_json("plan", "largest", "--model", "llama3-8b", "--cluster", cluster, "--batch", 64,
                                            "--fix", "offload=none")
            self.assertEqual(code, 0, answer)
            self.assertGreater(answer["next"]["parameters"], answer["parameters"])
            self.assertIn("GiB", answer["next"]["why_not"])
            sizes.append(answer["parameters"])
        self.assertEqual(sizes, sorted(sizes))
        self.assertGreater(sizes[1], 1.5 * sizes[0])

    def test_what_has_no_family_says_so(self):
        done = program.run("plan", "largest", "--model", "resnet50", "--cluster", "V100:8")
        self.assertEqual(done.returncode, 3)
        self.assertIn("resnet50", done.stderr)


if __name__ == "__main__":
    unittest.main()
