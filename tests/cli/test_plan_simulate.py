"""tenon plan simulate, check, calibrate, accuracy: forms, exit codes and answers."""
import json
import pathlib
import tempfile
import unittest

import program

PLAN = """data_parallel = 2
tensor_parallel = 8
pipeline_parallel = 4
micro_batch = 1
global_batch = 128
sequence_parallel = true
zero_stage = 1
recompute = "selective"
"""
PARTS = ["compute_seconds", "exposed_communication_seconds", "bubble_seconds", "optimizer_seconds", "other_seconds"]


class PlanSimulate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, text, name="plan.toml"):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def arguments(self, text, *more, model="llama3-70b", cluster="H100-SXM:64", command="simulate"):
        return ["plan", command, "--model", model, "--cluster", cluster, "--plan", self.write(text), *more]

    def answer(self, *arguments, code=0):
        got, answer = program.run_json(*arguments)
        self.assertEqual(got, code, answer)
        return answer

    def test_a_valid_plan_has_time_and_memory_with_parts(self):
        answer = self.answer(*self.arguments(PLAN))
        prediction = answer["prediction"]
        self.assertTrue(answer["valid"])
        self.assertEqual(answer["problems"], [])
        self.assertAlmostEqual(sum(prediction[p] for p in PARTS) / prediction["step_seconds"], 1, places=9)
        memory = prediction["memory_bytes"]
        self.assertAlmostEqual(sum(v for k, v in memory.items() if k != "total") / memory["total"], 1, places=9)
        self.assertEqual(len(prediction["per_stage"]), 4)
        self.assertTrue(prediction["calibration"].startswith("H100-SXM"))
        for key in ("bubble_rate", "tokens_per_second", "mfu", "model_tflops_per_device", "uncertainty"):
            self.assertGreater(prediction[key], 0, key)

    def test_events_agree_and_write_a_trace(self):
        plain = self.answer(*self.arguments(PLAN))["prediction"]["step_seconds"]
        trace = self.folder / "trace.json"
        events = self.answer(*self.arguments(PLAN, "--events", "--trace", str(trace)))
        self.assertLess(abs(events["prediction"]["step_seconds"] / plain - 1), 0.02)
        self.assertTrue(json.loads(trace.read_text())["traceEvents"])

    def test_a_plan_that_does_not_fit_is_answered_with_no(self):
        text = PLAN.replace("zero_stage = 1", "zero_stage = 0").replace('recompute = "selective"\n', "")
        text = text.replace("micro_batch = 1", "micro_batch = 4")
        answer = self.answer(*self.arguments(text), code=1)
        self.assertFalse(answer["valid"])
        self.assertGreater(answer["prediction"]["step_seconds"], 0)
        self.assertEqual(answer["problems"][0]["code"], "memory")
        self.assertTrue(answer["problems"][0]["help"])

    def test_check_lists_every_reason(self):
        text = PLAN.replace("tensor_parallel = 8", "tensor_parallel = 7").replace("batch = 128", "batch = 127")
        answer = self.answer(*self.arguments(text, command="check"), code=1)
        self.assertLessEqual({"devices", "batch", "tensor"}, {p["code"] for p in answer["problems"]})

    def test_bad_input_is_one_clear_answer(self):
        for text, model, cluster, fragment in [
                (PLAN.replace("tensor_parallel", "tensor_paralel"), "llama3-70b", "H100-SXM:64", "'tensor_parallel'?"),
                (PLAN, "llama3-70", "H100-SXM:64", "did you mean 'llama3-70b'?"),
                (PLAN, "llama3-70b", "H100:64", "did you mean 'H100-SXM'?"),
                (PLAN, "llama3-70b", "H100-SXM:0", "at least one device")]:
            done = program.run(*self.arguments(text, model=model, cluster=cluster))
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(fragment, done.stderr)

    def test_calibrate_fits_points_and_is_used_by_its_file(self):
        rows = ["kind,device,vocab,recompute,sequence_parallel,zero_stage,seq,layers,hidden,heads,tp,pp,dp,mbs,gbs,iter_s",
                "gpt,H100-SXM,50304,none,true,1,4096,32,4096,32,8,1,1,1,16,2.2",
                "gpt,H100-SXM,50304,none,true,1,4096,48,8192,64,8,4,1,1,32,6.5"]
        points = self.write("\n".join(rows) + "\n", "points.csv")
        out = str(self.folder / "mine.toml")
        answer = self.answer("plan", "calibrate", "--device", "H100-SXM", "--points", points, "-o", out)
        self.assertEqual(len(answer["residuals"]), 2)
        used = self.answer(*self.arguments(PLAN, "--calibration", out))
        self.assertEqual(used["prediction"]["calibration"], "mine")
        self.assertEqual(program.run("plan", "calibrate", "--device", "H100-SXM", "-o", out).returncode, 2)

    def test_accuracy_reports_every_calibration(self):
        tables = {t["calibration"]: t for t in self.answer("plan", "accuracy")["tables"]}
        self.assertLessEqual(tables["A100-80G.megatron-deepspeed"]["mean_error"], 0.06)
        self.assertLessEqual(tables["A100-80G.megatron-2021"]["mean_error"], 0.04)


if __name__ == "__main__":
    unittest.main()
