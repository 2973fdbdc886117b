"""tenon train: runs, folders, checkpoints, and the same bits after every kind of stop."""
import json
import os
import pathlib
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import program
from small_runs import killed_run, losses, weights, write


class Train(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.at = pathlib.Path(self.folder.name)
        self.file = write(self.at)

    def tearDown(self):
        self.folder.cleanup()

    def train(self, *arguments):
        code, answer = program.run_json("train", *arguments)
        self.assertEqual(code, 0, answer)
        return answer

    def test_a_run_leaves_what_the_documentation_says(self):
        answer = self.train(self.file, "--run", self.at / "run")
        for key in ("step", "loss", "metrics", "step_seconds", "samples_per_second", "peak_memory_bytes",
                    "stall_seconds", "checkpoint"):
            self.assertIn(key, answer)
        self.assertEqual(answer["step"], 24)
        self.assertFalse([op for op in answer["interpreted_operators"] if "adjoint" in op], answer)
        run = self.at / "run"
        self.assertEqual([step for step, _ in losses(run)], list(range(1, 25)))
        self.assertEqual(sorted(p.name for p in (run / "checkpoints").iterdir()), ["18", "24"])
        self.assertIn("<svg", (run / "curves.html").read_text())
        self.assertIn("learning_rate = 0.003", (run / "train.toml").read_text())
        events = next(run.glob("events.out.tfevents.*")).read_bytes()
        count, at = 0, 0
        while at < len(events):
            at += 12 + struct.unpack_from("<Q", events, at)[0] + 4
            count += 1
        self.assertEqual((count, at), (25, len(events)))

    def test_a_second_run_in_the_folder_is_refused(self):
        self.train(self.file, "--run", self.at / "run")
        done = program.run("train", self.file, "--run", self.at / "run")
        self.assertEqual(done.returncode, 3)
        self.assertIn("holds a run already", done.stderr)

    def test_sets_and_mistakes(self):
        done = program.run("train", self.file, "--set", "train.stepz=3", "--set", "optimizer.kind=sdg",
                           "--run", self.at / "run")
        self.assertEqual(done.returncode, 3)
        self.assertIn("stepz", done.stderr)
        self.assertIn("sdg", done.stderr)
        answer = self.train(self.file, "--set", "train.steps=2", "--run", self.at / "run")
        self.assertEqual(answer["step"], 2)

    def test_a_benchmark_writes_nothing(self):
        answer = self.train(self.file, "--benchmark", 3)
        self.assertEqual((answer["step"], answer["checkpoint"]), (3, None))
        self.assertEqual(sorted(p.name for p in self.at.iterdir()), ["train.toml"])

    def test_a_budget_that_is_too_small_is_named(self):
        done = program.run("train", self.file, "--set", "train.memory_budget_bytes=1000", "--benchmark", 1)
        self.assertEqual(done.returncode, 4)
        self.assertIn("budget", done.stderr)

    def test_resumed_by_parts_equals_the_whole(self):
        whole = self.train(self.file, "--run", self.at / "whole")
        run = self.at / "parts"
        running = subprocess.Popen([program.TENON, "train", self.file, "--run", run, "--set", "train.steps=2000"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        metrics = run / "metrics.jsonl"
        while not (metrics.exists() and metrics.stat().st_size > 500):
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=60)[1]
        self.assertEqual(running.returncode, 130, said)
        self.assertIn("--resume", said)
        # The schedule belongs to the number of steps: the same file, stopped early on purpose.
        part = self.at / "part"
        self.train(self.file, "--run", part, "--set", "checkpoint.every=5", "--set", "checkpoint.keep=9")
        for step in ("24", "20", "15"):
            for path in (part / "checkpoints" / step).iterdir():
                path.unlink()
            (part / "checkpoints" / step).rmdir()
        again = self.train("--resume", part)
        self.assertEqual(weights(again["checkpoint"]), weights(whole["checkpoint"]))
        self.assertEqual(losses(part), losses(self.at / "whole"))

    def test_a_damaged_checkpoint_is_passed_over(self):
        whole = self.train(self.file, "--run", self.at / "run")
        newest = self.at / "run/checkpoints/24"
        expected = weights(newest)
        data = bytearray((newest / "state.safetensors").read_bytes())
        data[-5] ^= 1
        (newest / "state.safetensors").write_bytes(data)
        done = program.run("train", "--resume", self.at / "run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("damaged", done.stderr)
        self.assertEqual(weights(newest), expected)
        self.assertEqual(whole["step"], 24)

    def test_a_finished_run_names_its_checkpoint_again(self):
        whole = self.train(self.file, "--run", self.at / "run")
        again = self.train("--resume", self.at / "run")
        self.assertEqual((again["step"], again["checkpoint"]), (whole["step"], whole["checkpoint"]))

    def test_a_dozen_kills_change_no_bit(self):
        file = write(self.at, steps=60, every=1)
        whole = self.train(file, "--run", self.at / "whole")
        last = self.train(*killed_run(file, self.at / "killed", kills=12, seed=5))
        self.assertEqual(weights(last["checkpoint"]), weights(whole["checkpoint"]))

    def test_a_checkpoint_is_a_model(self):
        checkpoint = self.train(self.file, "--run", self.at / "run")["checkpoint"]
        code, told = program.run_json("inspect", checkpoint)
        self.assertEqual((code, told["format"]), (0, "checkpoint"))
        self.assertEqual(program.run("export", checkpoint, "-o", self.at / "model.onnx").returncode, 0)
        done = program.run("verify", checkpoint, "--against", "reference")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_exported_model_trains_on(self):
        checkpoint = self.train(self.file, "--run", self.at / "run")["checkpoint"]
        self.assertEqual(program.run("export", checkpoint, "-o", self.at / "model.onnx").returncode, 0)
        text = self.file.read_text()
        model = text[text.index("[model]"):text.index("[optimizer]")]
        file = self.at / "tune.toml"
        file.write_text(text.replace(model, '[model]\nkind = "file"\npath = "model.onnx"\ntrain = ["fc*"]\n'))
        answer = self.train(file, "--run", self.at / "tuned", "--set", "train.steps=3")
        self.assertEqual(answer["step"], 3)

    def test_the_example_in_cpp_trains(self):
        example = pathlib.Path(program.TENON).parent / "train_in_cpp"
        pictures = pathlib.Path(os.environ.get("TENON_INPUTS", "")) / "fashion-mnist"
        if not (example.exists() and pictures.exists()):
            self.skipTest("the example is not built, or Fashion-MNIST is not there")
        done = subprocess.run([example, pictures, self.at / "run", "2"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("test_accuracy", done.stdout)
        self.assertTrue((self.at / "run/model.onnx").exists())


if __name__ == "__main__":
    unittest.main()
