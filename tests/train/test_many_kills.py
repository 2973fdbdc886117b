"""Two hundred random kills during training and saving: every resume works, and no bit of the result differs."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import program  # noqa: E402
from small_runs import killed_run, weights, write  # noqa: E402

KILLS = 200


class ManyKills(unittest.TestCase):
    def test_no_bit_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder)
            file = write(at, steps=KILLS * 6, every=1)
            code, whole = program.run_json("train", file, "--run", at / "whole", timeout=600)
            self.assertEqual(code, 0, whole)
            arguments = killed_run(file, at / "killed", KILLS, seed=23)
            code, last = program.run_json("train", *arguments, timeout=600)
            self.assertEqual(code, 0, last)
            self.assertEqual(weights(last["checkpoint"]), weights(whole["checkpoint"]))


if __name__ == "__main__":
    unittest.main()
