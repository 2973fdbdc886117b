"""tenon plan: searching, its files, fixed keys, schedules, bad input."""
import json
import pathlib
import tempfile
import unittest

import program

SMALL = ("--model", "llama3-8b", "--cluster", "H100-SXM:16")


class Plan(unittest.TestCase):
    def test_search_has_the_promised_keys(self):
        code, answer = program.run_json("plan", *SMALL, "--tokens-per-batch", "1M", "--tokens", "1G")
        self.assertEqual(code, 0)
        for key in ("plan", "prediction", "runners_up", "pareto", "limits", "search", "run"):
            self.assertIn(key, answer)
        self.assertGreaterEqual(len(answer["runners_up"]), 4)
        for other in answer["runners_up"]:
            self.assertTrue(other["why_lost"])
            self.assertGreaterEqual(other["prediction"]["step_seconds"],
                                    answer["prediction"]["step_seconds"])
        parts = ("compute_seconds", "exposed_communication_seconds", "bubble_seconds",
                 "optimizer_seconds", "other_seconds")
        self.assertAlmostEqual(sum(answer["prediction"][p] for p in parts),
                               answer["prediction"]["step_seconds"], places=6)
        self.assertIn("model", answer["plan"])
        self.assertEqual(answer["search"]["stopped_by"], "converged")

    def test_files_are_written_and_the_plan_is_read_back(self):
        with tempfile.TemporaryDirectory() as folder:
            done = program.run("plan", *SMALL, "--batch", 128, "-o", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            written = {p.name for p in pathlib.Path(folder).iterdir()}
            self.assertEqual(written, {"plan.json", "timeline.json", "report.html"})
            json.loads((pathlib.Path(folder) / "timeline.json").read_text())
            code, again = program.run_json("plan", "simulate", "--plan",
                                           pathlib.Path(folder) / "plan.json")
            self.assertEqual(code, 0)
            saved = json.loads((pathlib.Path(folder) / "plan.json").read_text())
            self.assertAlmostEqual(again["prediction"]["step_seconds"],
                                   saved["prediction"]["step_seconds"], places=9)

    def test_fixed_keys_stay(self):
        _, answer = program.run_json("plan", *SMALL, "--batch", 128, "--fix", "tensor_parallel=4",
                                     "--fix", "schedule=1f1b", "--objective", "pareto")
        self.assertEqual(answer["plan"]["tensor_parallel"], 4)
        self.assertEqual(answer["plan"]["schedule"], "1f1b")
        self.assertGreaterEqual(len(answer["pareto"]), 2)

    def test_a_stored_result_starts_the_next_search(self):
        with tempfile.TemporaryDirectory() as folder:
            store = pathlib.Path(folder) / "results.jsonl"
            _, cold = program.run_json("plan", *SMALL, "--batch", 128, "--store", store)
            self.assertEqual(len(store.read_text().splitlines()), 1)
            _, warm = program.run_json("plan", *SMALL, "--batch", 128, "--store", store)
            self.assertLessEqual(warm["prediction"]["step_seconds"],
                                 cold["prediction"]["step_seconds"])
            self.assertEqual(len(store.read_text().splitlines()), 1)

    def test_bad_input_gets_one_answer_that_helps(self):
        for arguments, code in ((("--model", "llama3-405b", "--cluster", "A100-40G:8"), 3),
                                ((*SMALL, "--fix", "tensor_paralel=4"), 3),
                                ((*SMALL, "--fix", "tensor_parallel"), 3),
                                (("--model", "llama3-8b", "--cluster", "H100-SXM:0"), 3),
                                (("--model", "llama3-8b"), 2),
                                ((*SMALL, "--tokens-per-batch", "many"), 3)):
            done = program.run("plan", *arguments)
            self.assertEqual(done.returncode, code, (arguments, done.stderr))
            self.assertRegex(done.stderr, r"(?m)^error: ")

    def test_fixed_keys_that_cannot_be_say_what_could(self):
        for fixed, fragment in (("tensor_parallel=3", "32 heads"), ("pipeline_parallel=64", "multiply to 64"),
                                ("precision=fp8", "no fp8"), ("micro_batch=7", "a batch of"),
                                ("expert_parallel=2", "no experts"), ("context_parallel=3", "8192 tokens")):
            cluster = "V100:16" if "fp8" in fixed else "H100-SXM:16"
            done = program.run("plan", "--model", "llama3-8b", "--cluster", cluster, "--batch", 64, "--fix", fixed)
            self.assertEqual(done.returncode, 3, fixed)
            self.assertIn(fragment, done.stderr)
            self.assertIn("help: ", done.stderr)

    def test_devices_without_bf16_get_what_they_have(self):
        _, answer = program.run_json("plan", "--model", "gpt2-xl", "--cluster", "V100:8", "--batch", 64)
        self.assertEqual(answer["plan"]["precision"], "fp16")
        self.assertTrue(any("bf16" in note for note in answer["notes"]))

    def test_explain_diff_and_whatif_read_a_written_plan(self):
        with tempfile.TemporaryDirectory() as folder:
            a, b = pathlib.Path(folder) / "a", pathlib.Path(folder) / "b"
            program.run_json("plan", *SMALL, "--batch", 128, "-o", a)
            program.run_json("plan", *SMALL, "--batch", 128, "-o", b, "--fix", "tensor_parallel=4")
            code, answer = program.run_json("plan", "explain", "--plan", a / "plan.json")
            self.assertEqual(code, 0)
            self.assertGreaterEqual(len(answer["changes"]), 4)
            for change in answer["changes"]:
                if change["fits"]:  # the search would have taken it
                    self.assertGreaterEqual(change["relative_change"], -0.01)
            code, answer = program.run_json("plan", "diff", a / "plan.json", b / "plan.json")
            self.assertEqual((code, answer["equal"]), (1, False))
            self.assertIn("tensor_parallel", {c["key"] for c in answer["changes"]})
            self.assertEqual(program.run("plan", "diff", a / "plan.json", a / "plan.json").returncode, 0)
            code, answer = program.run_json("plan", "whatif", "--plan", a / "plan.json", "--lose", 8)
            self.assertEqual(code, 0)
            self.assertFalse(answer["same_plan"]["valid"])
            self.assertGreater(answer["replanned"]["prediction"]["step_seconds"],
                               answer["before"]["prediction"]["step_seconds"])
            code, answer = program.run_json("plan", "whatif", "--plan", a / "plan.json",
                                            "--slow-rank", 3, "--factor", 2)
            self.assertGreater(answer["relative_change"], 0.2)
            self.assertEqual(program.run("plan", "whatif", "--plan", a / "plan.json").returncode, 2)

    def test_whatif_prices_each_device_as_before(self):
        with tempfile.TemporaryDirectory() as folder:
            cluster = pathlib.Path(folder) / "mixed.toml"
            cluster.write_text('[[node_group]]\ndevice = "H100-SXM"\ncount = 8\nnodes = 1\n'
                               '[[node_group]]\ndevice = "A100-80G"\ncount = 8\nnodes = 1\n')
            program.run_json("plan", "--model", "llama3-8b", "--cluster", cluster, "--batch", 128, "-o", folder)
            code, answer = program.run_json("plan", "whatif", "--plan", pathlib.Path(folder) / "plan.json",
                                            "--memory", 1000)
            self.assertEqual(code, 0)
            self.assertAlmostEqual(answer["same_plan"]["prediction"]["step_seconds"],
                                   answer["before"]["prediction"]["step_seconds"], places=9)
            replanned = answer["replanned"]
            self.assertLessEqual(replanned["prediction"]["step_seconds"],
                                 1.001 * answer["before"]["prediction"]["step_seconds"])
            self.assertAlmostEqual(replanned["fetch_seconds"] + replanned["restart_seconds"],
                                   replanned["move_seconds"])

    def test_an_awkward_number_of_devices_leaves_some_over(self):
        code, answer = program.run_json("plan", "--model", "llama3-8b", "--cluster", "H100-SXM:104",
                                        "--batch", 512)
        self.assertEqual(code, 0)
        plan = answer["plan"]
        used = 1
        for axis in ("data", "tensor", "pipeline", "context"):
            used *= plan[axis + "_parallel"]
        self.assertLess(used, 104)
        self.assertTrue(any("left over" in note for note in answer["notes"]))

    def test_schedule_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            times = pathlib.Path(folder) / "times.csv"
            times.write_text("forward,backward_input,backward_weight,send\n1,1,1,0\n")
            code, answer = program.run_json("plan", "schedule", "--stages", 4, "--micro-batches", 8,
                                            "--times", times, "--kind", "1f1b")
            self.assertEqual(code, 0)
            self.assertAlmostEqual(answer["makespan_ms"], 33)
            self.assertAlmostEqual(answer["bubble_rate"], 3 / 11)
            self.assertEqual(answer["peak_activations"], [4, 3, 2, 1])
            self.assertEqual([len(row) for row in answer["table"]], [16] * 4)
            code, answer = program.run_json("plan", "schedule", "--stages", 4, "--micro-batches", 8,
                                            "--times", times, "--kind", "gpipe", "--memory-limit", 4)
            self.assertEqual((code, answer["fits"]), (1, False))


if __name__ == "__main__":
    unittest.main()
