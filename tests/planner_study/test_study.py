"""tenon plan study and accuracy at full size: what docs/planner_search.md and planner_accuracy.md promise. Slow."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import program  # noqa: E402


class Study(unittest.TestCase):
    def test_small_problems_come_within_one_percent_of_exhaustive_search(self):
        _, answer = program.run_json("plan", "study", "--what", "small", timeout=280)
        self.assertGreaterEqual(answer["problems"], 180)
        self.assertEqual(answer["within_one_percent"], answer["problems"])

    def test_genes_with_the_policy_need_fewer_configurations_where_others_miss(self):
        _, answer = program.run_json("plan", "study", "--what", "ablation", "--seed", 99, timeout=280)
        hard = {m["method"]: m for m in answer["methods"] if m["problems"].startswith("those")}
        self.assertGreaterEqual(hard["random"]["count"], 10)
        ours = hard["genetic with policy"]["mean"]
        self.assertLess(ours, hard["hierarchical"]["mean"])
        self.assertLess(ours, hard["random"]["mean"])

    def test_published_plans_are_among_our_first_five_in_their_own_space(self):
        _, answer = program.run_json("plan", "study", "--what", "experts", timeout=280)
        self.assertEqual(len(answer["plans"]), 10)
        for plan in answer["plans"]:
            self.assertLessEqual(plan["rank"], 5, plan["expert"])

    def test_speed(self):
        _, answer = program.run_json("plan", "study", "--what", "speed", timeout=280)
        results = {r["what"]: r for r in answer["results"]}
        self.assertLessEqual(results["plan for 405B on 16,384 devices"]["seconds"], 10)
        self.assertLessEqual(results["plan for 70B on three device types x 256"]["seconds"], 10)
        self.assertGreaterEqual(results["pricing, 405B on 16,384 devices"]["per_second"], 100_000)
        events = results["event simulation of 16,384 ranks, unfolded"]
        self.assertLessEqual(events["seconds"], 10)
        self.assertLessEqual(results["our schedule for 64 stages, 512 micro-batches"]["seconds"], 1)
        self.assertLessEqual(answer["peak_bytes"], 4e9)

    def test_tables_that_no_fit_has_seen(self):
        _, answer = program.run_json("plan", "accuracy", "--leave-one-out")
        for table in answer["tables"]:
            self.assertLess(table["data_sheet_mean_error"], 0.2, table["calibration"])


if __name__ == "__main__":
    unittest.main()
