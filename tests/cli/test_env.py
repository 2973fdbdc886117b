"""tenon env against the kernel's view of the processor."""
import os
import unittest

import program


class Env(unittest.TestCase):
    def test_has_the_promised_keys(self):
        code, answer = program.run_json("env")
        self.assertEqual(code, 0)
        for key in ("cpu", "features", "targets", "versions", "code_paths"):
            self.assertIn(key, answer)
        self.assertEqual([target["name"] for target in answer["targets"]][0], "cpu")
        self.assertRegex(answer["versions"]["onednn"], r"^3\.")
        self.assertEqual(answer["cpu"]["num_cores"], len(os.sched_getaffinity(0)))

    def test_masking_is_shown_with_its_reason(self):
        _, answer = program.run_json("env", env={"TENON_ISA": "plain"})
        paths = {path["path"]: path for path in answer["code_paths"]}
        self.assertTrue(paths["plain"]["used"])
        self.assertFalse(paths["avx2"]["used"])
        self.assertTrue(paths["avx2"]["why"])
        self.assertEqual(answer["targets"][0]["isa"], "plain")


if __name__ == "__main__":
    unittest.main()
