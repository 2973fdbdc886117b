"""tenon plan export and import: files, what is lost, a round trip on disk, other people's files, bad input."""
import json
import os
import pathlib
import tempfile
import unittest

import program

SCRIPT = """#!/bin/bash
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 \\
  --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 --global-batch-size 256 --bf16 --vocab-size 50304 \\
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --use-distributed-optimizer --lr 1e-4 --save $DIR
"""


class ExportImport(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def plan(self, *arguments):
        code, _ = program.run_json("plan", "--model", "llama3-70b", "--cluster", "H100-SXM:64", "--batch", 256,
                                   "-o", self.folder, *arguments)
        self.assertEqual(code, 0)
        return self.folder / "plan.json"

    def test_what_is_written_is_read_back(self):
        plan = self.plan("--fix", "pipeline_parallel=4", "--fix", "schedule=interleaved")
        for engine, file in (("megatron", "megatron.sh"), ("deepspeed", "ds_config.json"), ("torchtitan", "torchtitan.sh"),
                             ("torchtitan", "torchtitan.toml")):
            code, said = program.run_json("plan", "export", plan, "--to", engine, "-o", self.folder / engine)
            self.assertEqual(code, 0, said)
            path = self.folder / engine / file
            self.assertIn(str(path), said["files"])
            if path.suffix == ".sh":
                self.assertTrue(os.access(path, os.X_OK))
            lost = {remark["key"] for remark in said["lost"]}
            tell = [f"--set=tensor_parallel={said['written']['tensor_parallel']}"] if "tensor_parallel" in lost else []
            code, back = program.run_json("plan", "import", path, "--from", engine, "--model", "llama3-70b",
                                          "--cluster", "H100-SXM:64", *tell)
            self.assertEqual(code, 0, back)
            for key, value in said["written"].items():
                if key not in lost:
                    self.assertEqual(back["plan"].get(key), value, f"{engine} {key}")

    def test_an_imported_script_is_judged_and_improved(self):
        script, plan = self.folder / "train.sh", self.folder / "plan.json"
        script.write_text(SCRIPT)
        code, said = program.run_json("plan", "import", script, "--from", "megatron", "--cluster", "A100-80G:32", "-o", plan)
        self.assertEqual(code, 0, said)
        self.assertEqual(said["plan"]["data_parallel"], 8)
        self.assertIn("lr", said["ignored"])
        code, judged = program.run_json("plan", "simulate", "--plan", plan)
        self.assertEqual(code, 0, judged)
        code, better = program.run_json("plan", "--model", "gpt-1.7b", "--cluster", "A100-80G:32", "--batch", 256,
                                        "--start-from", plan)
        self.assertEqual(code, 0)

    def test_bad_input(self):
        script = self.folder / "train.sh"
        script.write_text(SCRIPT.replace("--bf16", "--bf-16"))
        done = program.run("plan", "import", script, "--from", "megatron")
        self.assertEqual(done.returncode, 3)
        self.assertIn("line 3", done.stderr)
        self.assertIn("bf16", done.stderr)
        code, said = program.run_json("plan", "import", script, "--from", "megatron", "--ignore-unknown")
        self.assertEqual((code, "bf-16" in said["ignored"]), (0, True))
        done = program.run("plan", "import", script, "--from", "megatrom")
        self.assertEqual(done.returncode, 2)
        plan = self.folder / "p.toml"
        plan.write_text("data_parallel = 8\nmicro_batch = 1\nglobal_batch = 64\n")
        done = program.run("plan", "export", plan, "--to", "megatron", "-o", self.folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("--model", done.stderr)
        done = program.run("plan", "export", plan, "--to", "megatron", "-o", self.folder, "--model", "llama3-8b",
                           "--cluster", "H100-SXM:16")
        self.assertEqual(done.returncode, 3)
        self.assertIn("data_parallel = 16", done.stderr)

    def test_deepspeed_script_names_its_configuration(self):
        (self.folder / "ds.json").write_text(json.dumps({"train_batch_size": 64, "zero_optimization": {"stage": 3}}))
        script = self.folder / "run.sh"
        script.write_text("deepspeed --num_gpus=8 --num_nodes 2 train.py --deepspeed_config ds.json --epochs 3\n")
        code, said = program.run_json("plan", "import", script, "--from", "deepspeed")
        self.assertEqual(code, 0, said)
        self.assertEqual((said["plan"]["data_parallel"], said["plan"]["micro_batch"], said["plan"]["zero_stage"]), (16, 4, 3))


if __name__ == "__main__":
    unittest.main()
