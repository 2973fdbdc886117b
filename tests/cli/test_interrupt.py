"""Ctrl-C in the middle of work: exit code 130, and nothing is half-written."""
import json
import pathlib
import signal
import subprocess
import tempfile
import unittest

import program


class Interrupt(unittest.TestCase):
    def test_a_batch_stops_between_cases(self):
        with tempfile.TemporaryDirectory() as folder:
            cases = pathlib.Path(folder) / "cases.jsonl"
            case = json.dumps({"model": f"{folder}/no-such-model", "inputs": {}, "output_dir": folder})
            cases.write_text(f"{case}\n" * 300_000)
            running = subprocess.Popen([program.TENON, "run", "--batch", cases, "--json"], text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
            first = running.stdout.readline()
            running.send_signal(signal.SIGINT)
            # Not communicate(): it reads past what readline() has buffered, and loses it.
            rest = running.stdout.read()
            said = running.stderr.read()
            running.wait(timeout=60)
            running.stdout.close()
            running.stderr.close()
            self.assertEqual(running.returncode, 130, said)
            lines = (first + rest).splitlines()
            self.assertLess(len(lines), 300_000)
            for line in lines:
                self.assertIn("ok", json.loads(line))  # every line is whole, and the answer to a case
            self.assertIn("interrupted", said)


if __name__ == "__main__":
    unittest.main()
