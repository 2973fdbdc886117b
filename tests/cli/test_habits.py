"""Habits of every command, against texts kept in golden/ (`test_habits.py --update` rewrites them)."""
import json
import pathlib
import subprocess
import sys
import unittest

import program

GOLDEN = pathlib.Path(__file__).parent / "golden"
UPDATE = "--update" in sys.argv

# name -> (arguments, exit code); the golden file holds both streams.
CASES = {
    "no_command": ([], 2),
    "unknown_command": (["evn"], 2),
    "unknown_option": (["env", "--jsno"], 2),
    "unexpected_argument": (["env", "now"], 2),
    "bad_choice": (["env", "--backend", "cpuu"], 2),
    "bad_number": (["env", "--threads", "many"], 2),
    "missing_value": (["env", "--threads"], 2),
    "usage_error_json": (["env", "--jsno", "--json"], 2),
    "env_help": (["env", "--help"], 0),
}


class Habits(unittest.TestCase):
    def test_golden_texts(self):
        for name, (arguments, code) in CASES.items():
            with self.subTest(name):
                done = program.run(*arguments)
                text = f"$ tenon {' '.join(arguments)}\nexit {done.returncode}\n--- stdout\n{done.stdout}--- stderr\n{done.stderr}"
                file = GOLDEN / f"{name}.txt"
                if UPDATE:
                    file.write_text(text)
                self.assertEqual(done.returncode, code)
                self.assertEqual(text, file.read_text())

    def test_every_command_keeps_the_habits(self):
        listing = program.run("--help").stdout.split("Commands:\n")[1].split("\n\n")[0]
        names = [line.split()[0] for line in listing.splitlines()]
        self.assertIn("env", names)
        for name in names:
            with self.subTest(name):
                self.assertEqual(program.run(name, "--no-such-option").returncode, 2)
                text = program.run(name, "--help")
                self.assertEqual((text.returncode, text.stderr), (0, ""))
                self.assertIn("Examples:", text.stdout)
                for option in ("--threads", "--seed", "--backend", "--precision", "--json", "--verbose",
                               "--quiet", "--version"):
                    self.assertIn(option, text.stdout)

    def test_output_has_no_colour_and_one_object(self):
        done = program.run("env", "--json")
        self.assertEqual(done.stdout.count("\n"), 1)
        self.assertNotIn("\033", done.stdout + done.stderr)
        json.loads(done.stdout)

    def test_a_full_disk_is_reported(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([program.TENON, "env"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 4)
        self.assertTrue(done.stderr.startswith("error: cannot write"), done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[a for a in sys.argv if a != "--update"])
