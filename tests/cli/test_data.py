"""tenon data check, bench and show on real pictures, tables and sounds, and on damaged ones."""
import ast
import gzip
import os
import pathlib
import shutil
import struct
import tempfile
import unittest

import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
INPUTS = pathlib.Path(os.environ.get("TENON_INPUTS", ROOT / ".cache/inputs"))


def needed(path):
    """A fetched input; the test is skipped, by name, where it is not here."""
    full = INPUTS / path
    if not full.exists():
        raise unittest.SkipTest(f"{path} is not here; scripts/fetch_inputs.py {path.split('/')[0]}")
    return full


def read_npy(path):
    """(dtype text, shape, the bytes) of a .npy file, without NumPy."""
    data = pathlib.Path(path).read_bytes()
    assert data[:6] == b"\x93NUMPY", path
    start = 10 if data[6] == 1 else 12
    length = struct.unpack("<H" if data[6] == 1 else "<I", data[8:start])[0]
    header = ast.literal_eval(data[start:start + length].decode())
    return header["descr"], header["shape"], data[start + length:]


class Data(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def toml(self, text):
        path = self.folder / "train.toml"
        path.write_text(text)
        return path

    def pictures(self):
        """A folder of two classes of real JPEG and PNG files."""
        source = needed("skimage-pictures")
        root = self.folder / "pictures"
        for name, kind in (("retina.jpg", "a"), ("hubble_deep_field.jpg", "b"), ("coffee.png", "a"), ("chelsea.png", "b")):
            (root / kind).mkdir(parents=True, exist_ok=True)
            shutil.copy(next(source.rglob(name)), root / kind / name)
        return root

    def picture_toml(self, extra=""):
        return self.toml(f"""
[data]
kind = "image_folder"
path = "pictures"
shuffle = false
{extra}
[[data.transform]]
kind = "random_resized_crop"
size = 64
[[data.transform]]
kind = "random_flip"
[[data.transform]]
kind = "normalize"
mean = [0.485, 0.456, 0.406]
std = [0.229, 0.224, 0.225]
[train]
batch = 2
""")

    def fashion_toml(self):
        return self.toml(f"""
[data]
kind = "idx"
path = "{needed("fashion-mnist")}"
images = "train-images-idx3-ubyte.gz"
labels = "train-labels-idx1-ubyte.gz"
test_images = "t10k-images-idx3-ubyte.gz"
test_labels = "t10k-labels-idx1-ubyte.gz"
shuffle = false
[train]
batch = 64
""")

    def test_check_opens_every_fashion_mnist_sample(self):
        code, answer = program.run_json("data", "check", self.fashion_toml())
        self.assertEqual(code, 0)
        self.assertEqual((answer["samples"], answer["bad"]), (70000, []))
        self.assertGreater(answer["samples_per_second"], 0)
        self.assertGreaterEqual(answer["stall_seconds"], 0)

    def test_bench_times_the_loader_alone(self):
        code, answer = program.run_json("data", "bench", self.fashion_toml(), "--seconds", "0.3", "--set", "data.workers=2")
        self.assertEqual(code, 0)
        self.assertEqual(answer["workers"], 2)
        self.assertEqual(answer["samples"], answer["batches"] * 64)
        self.assertGreater(answer["samples_per_second"], 1000)

    def test_bench_with_steps_subtracts_a_replay(self):
        code, answer = program.run_json("data", "bench", self.fashion_toml(), "--seconds", "0.5", "--step-seconds", "0.005")
        self.assertEqual(code, 0)
        self.assertGreater(answer["steps"], 0)
        self.assertAlmostEqual(answer["stall_seconds"], answer["seconds"] - answer["replay_seconds"], places=6)

    def test_show_writes_the_pixels_of_the_files(self):
        out = self.folder / "out"
        code, answer = program.run_json("data", "show", self.fashion_toml(), "--count", "2", "--output-dir", out)
        self.assertEqual(code, 0)
        self.assertEqual([s["field"] for s in answer["samples"]], ["image", "label"] * 2)
        raw = gzip.decompress((INPUTS / "fashion-mnist/train-images-idx3-ubyte.gz").read_bytes())
        labels = gzip.decompress((INPUTS / "fashion-mnist/train-labels-idx1-ubyte.gz").read_bytes())
        for i in range(2):
            picture, label = answer["samples"][2 * i:2 * i + 2]
            self.assertEqual(read_npy(picture["file"]), ("|u1", (28, 28), raw[16 + 784 * i:16 + 784 * (i + 1)]))
            self.assertEqual(read_npy(label["file"])[2], struct.pack("<q", labels[8 + i]))

    def test_augmented_pictures_follow_the_seed(self):
        self.pictures()
        file = self.picture_toml()
        shown = {}
        for name, seed in (("first", 1), ("again", 1), ("other", 2)):
            code, answer = program.run_json("data", "show", file, "--seed", seed, "--output-dir", self.folder / name)
            self.assertEqual(code, 0)
            shown[name] = [pathlib.Path(s["file"]).read_bytes() for s in answer["samples"] if s["field"] == "image"]
            self.assertEqual(answer["samples"][0]["shape"], [3, 64, 64])
        self.assertEqual(shown["first"], shown["again"])
        self.assertNotEqual(shown["first"], shown["other"])

    def test_corrupt_pictures_are_named_and_passed_over(self):
        root = self.pictures()
        whole = (root / "a/retina.jpg").read_bytes()
        (root / "a/cut.jpg").write_bytes(whole[:len(whole) // 2])
        (root / "b/noise.png").write_bytes(os.urandom(500))
        code, answer = program.run_json("data", "check", self.picture_toml())
        self.assertEqual(code, 1)
        self.assertEqual(answer["samples"], 6)
        self.assertEqual(sorted(pathlib.Path(b["name"]).name for b in answer["bad"]), ["cut.jpg", "noise.png"])
        self.assertTrue(all(b["reason"] for b in answer["bad"]))
        code, answer = program.run_json("data", "bench", self.picture_toml(), "--seconds", "0.2")
        self.assertEqual(code, 0, "a run goes on with other samples")
        self.assertLessEqual({pathlib.Path(b["name"]).name for b in answer["bad"]}, {"cut.jpg", "noise.png"})

    def test_corrupt_pictures_are_fatal_if_asked(self):
        root = self.pictures()
        (root / "a/broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 no picture")
        done = program.run("data", "bench", self.picture_toml('on_bad = "fail"'), "--seconds", "5")
        self.assertEqual(done.returncode, 3)
        self.assertIn("broken.jpg", done.stderr)

    def test_flights_as_csv_and_as_parquet(self):
        csv = needed("flights/flights-airport.csv")
        code, answer = program.run_json("data", "show", csv, "--output-dir", self.folder / "csv")
        self.assertEqual(code, 0)
        columns = {s["field"]: s for s in answer["samples"]}
        self.assertEqual(list(columns), ["origin", "destination", "count"])
        rows = csv.read_text().splitlines()[1:]
        descr, shape, data = read_npy(columns["count"]["file"])
        self.assertEqual((descr, shape), ("<f8", (len(rows),)))
        self.assertEqual(list(struct.unpack(f"<{len(rows)}d", data)), [float(row.split(",")[2]) for row in rows])
        file = self.toml(f"""
[data]
kind = "parquet"
path = "{needed("flights/flights-3m.parquet")}"
numeric = ["distance"]
categorical = ["origin", "date.hour"]
label = "delay"
label_above = 15
held_out = 0.1
""")
        code, answer = program.run_json("data", "check", file)
        self.assertEqual((code, answer["samples"], answer["bad"]), (0, 3000000, []))

    def test_flights_as_arrow(self):
        file = needed("flights/flights-200k.arrow")
        code, answer = program.run_json("data", "show", file, "--output-dir", self.folder)
        self.assertEqual(code, 0)
        delay = next(s for s in answer["samples"] if s["field"] == "delay")
        self.assertEqual((delay["shape"], read_npy(delay["file"])[2][:24]), ([200000], struct.pack("<3d", 0, 171, 177)))

    def test_mail_is_packed_by_class(self):
        mails, vocabulary = needed("spam-assassin"), needed("minilm/vocab.txt")
        for kind in ("spam-1", "easy-ham-1"):
            (self.folder / kind).mkdir()
            for path in sorted((mails / kind).iterdir())[:40]:
                shutil.copy(path, self.folder / kind)
        file = self.toml(f"""
[data]
kind = "text_folder"
path = "."
tokenizer = "{vocabulary}"
mail = true
collate = "pack"
pack_tokens = 512
max_length = 256
[data.classes]
ham = "easy-ham-1"
spam = ["spam-1"]
[train]
batch = 2
""")
        code, answer = program.run_json("data", "check", file)
        self.assertEqual((code, answer["samples"], answer["bad"]), (0, 80, []))
        code, answer = program.run_json("data", "bench", file, "--seconds", "0.2")
        self.assertEqual(code, 0)
        self.assertGreater(answer["samples"], 2 * answer["batches"], "a batch is two packs of several mails")

    def test_damaged_tables_say_where(self):
        (self.folder / "t.csv").write_text("a,b\n1,2\n3\n")
        (self.folder / "t.parquet").write_bytes(needed("flights/flights-3m.parquet").read_bytes()[:5000])
        done = program.run("data", "show", self.folder / "t.csv", "--output-dir", self.folder / "out")
        self.assertEqual(done.returncode, 1)
        self.assertIn("line 3", done.stdout)
        code, answer = program.run_json("data", "show", self.folder / "t.parquet", "--output-dir", self.folder / "out")
        self.assertEqual(code, 1)
        self.assertIn("t.parquet", answer["samples"][0]["error"])

    def test_sounds_become_log_mels(self):
        root = self.folder / "sounds"
        for language in ("en", "fr"):
            (root / language).mkdir(parents=True)
            for wav in sorted(needed(f"asterisk-{language}").rglob("*.wav"))[:4]:
                shutil.copy(wav, root / language)
        (root / "en/cut.wav").write_bytes(next((root / "en").glob("*.wav")).read_bytes()[:30])
        file = self.toml("""
[data]
kind = "sound_folder"
path = "sounds"
sample_rate = 8000
seconds = 1
random_start = true
[[data.transform]]
kind = "log_mel"
window = 256
hop = 128
mels = 32
""")
        code, answer = program.run_json("data", "check", file)
        self.assertEqual((code, answer["samples"]), (1, 9))
        self.assertEqual([pathlib.Path(b["name"]).name for b in answer["bad"]], ["cut.wav"])
        code, answer = program.run_json("data", "show", file, "--count", "100", "--output-dir", self.folder / "out")
        good = [s for s in answer["samples"] if s.get("field") == "sound"]
        self.assertEqual((len(good), good[0]["shape"][0], good[0]["dtype"]), (8, 32, "f32"))
        wav = next(needed("asterisk-en").rglob("*.wav"))
        code, answer = program.run_json("data", "show", wav, "--output-dir", self.folder / "wav")
        self.assertEqual((code, len(answer["samples"][0]["shape"])), (0, 1))

    def test_mistakes_in_the_file_are_all_reported(self):
        file = self.toml('[data]\nkind = "idx"\npath = "nowhere"\nworkrs = 1\n')
        done = program.run("data", "check", file)
        self.assertEqual(done.returncode, 3)
        for word in ("nowhere", "workrs", "images", "labels"):
            self.assertIn(word, done.stderr)
        self.assertEqual(program.run("data", "check", self.folder / "none.toml").returncode, 2)
        self.assertEqual(program.run("data").returncode, 2)


if __name__ == "__main__":
    unittest.main()
