"""Small runs of tenon train for the tests: their file, their results, and runs that are killed."""
import hashlib
import json
import pathlib
import random
import subprocess
import time

import program

TRAIN = """
seed = 7
threads = 1
[data]
kind = "random"
samples = 96
fields.image = {{ dims = [1, 12, 12] }}
fields.label = {{ dims = [], below = 4 }}
[model]
kind = "cnn"
classes = 4
channels = [8]
hidden = [16]
dropout = 0.25
[optimizer]
kind = "adamw"
learning_rate = 0.003
clip_norm = 1.0
[schedule]
kind = "cosine"
warmup_steps = 5
[train]
steps = {steps}
batch = 16
[checkpoint]
every = {every}
keep = 2
"""


def write(folder, steps=24, every=6):
    path = pathlib.Path(folder) / "train.toml"
    path.write_text(TRAIN.format(steps=steps, every=every))
    return path


def weights(checkpoint):
    """Checksums of what training computed."""
    return {name: hashlib.sha256((pathlib.Path(checkpoint) / name).read_bytes()).hexdigest()
            for name in ("graph.txt", "model.safetensors", "state.safetensors")}


def losses(run):
    lines = (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines()
    return [(record["step"], record["loss"]) for record in map(json.loads, lines)]


def killed_run(file, run, kills, seed):
    """Starts the run, and kills and resumes it `kills` times at random moments of training and saving.
    The arguments that go on from there."""
    chance, arguments = random.Random(seed), [file, "--run", run]
    metrics = run / "metrics.jsonl"
    for _ in range(kills):
        running = subprocess.Popen([program.TENON, "train", *map(str, arguments)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        size = metrics.stat().st_size if metrics.exists() else 0
        while running.poll() is None and not (metrics.exists() and metrics.stat().st_size > size):
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.05))
        running.kill()
        running.wait()
        arguments = ["--resume", run]
    return arguments
