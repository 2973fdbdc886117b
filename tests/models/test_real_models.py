"""Trained models: their outputs equal ONNX Runtime's, and recipes give the answers that people see in the picture or sound.

Models and data come from scripts/fetch_inputs.py; what is missing is named and skipped.
"""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
import program  # noqa: E402

INPUTS = pathlib.Path(os.environ.get("TENON_INPUTS", ROOT / ".cache/inputs"))
RECIPES = ROOT / "examples/recipes"
PEERS = os.environ.get("TENON_PEERS_PYTHON") or sys.executable

# One sentence of eight tokens, the last three padding: [CLS] hello world . [SEP].
TOKENS = {"input_ids": [101, 7592, 2088, 1012, 102, 0, 0, 0], "attention_mask": [1] * 5 + [0] * 3, "token_type_ids": [0] * 8}
LEGACY_STATE = {"h": "2,1,64", "c": "2,1,64"}
SILERO_16K = ({"input": "1,512", "state": "2,1,128"}, {"sr": 16000})
SILERO_8K = ({"input": "1,288", "state": "2,1,128"}, {"sr": 8000})
# Models that have nodes for which there is no native kernel yet.
INTERPRETED = ("silero", "minilm-int8")
# (model, sizes of inputs, values of int64 inputs); other inputs are invented by the program from its seed.
MODELS = [
    ("ocr-v4/ch_PP-OCRv4_det_infer.onnx", {"x": "1,3,192,384"}, {}),
    ("ocr-v4/ch_PP-OCRv4_rec_infer.onnx", {"x": "1,3,48,320"}, {}),
    ("ocr-v4/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": "1,3,48,192"}, {}),
    ("ocr-v5/det/det.onnx", {"x": "1,3,192,384"}, {}),
    ("ocr-v5/rec/rec.onnx", {"x": "1,3,48,320"}, {}),
    ("ocr-v5/cls/cls.onnx", {"x": "1,3,80,160"}, {}),
    ("blazeface/face_detection_front_128x128_barracuda.onnx", {}, {}),
    ("blazeface/face_detection_back_256x256_barracuda.onnx", {}, {}),
    ("basic-pitch/nmp.onnx", {"serving_default_input_2:0": "1,43844,1"}, {}),
    ("minilm-int8/model.onnx", {}, TOKENS),
    ("openwakeword/melspectrogram.onnx", {"input": "1,32000"}, {}),
    ("openwakeword/embedding_model.onnx", {"input_1": "2,76,32,1"}, {}),
    *((f"openwakeword/{word}_v0.1.onnx", {}, {}) for word in ("hey_jarvis", "alexa", "hey_mycroft", "hey_rhasspy", "timer", "weather")),
    ("openwakeword/silero_vad.onnx", {"input": "1,768", **LEGACY_STATE}, {"sr": 8000}),
    ("silero-vad-web/silero_vad_legacy.onnx", {"input": "1,768", **LEGACY_STATE}, {"sr": 8000}),
    *((f"silero-vad-web/silero_vad_{v}.onnx", *form) for v in ("v5", "v6") for form in (SILERO_16K, SILERO_8K)),
    *((f"silero-vad/{name}.onnx", *SILERO_16K) for name in ("silero_vad", "silero_vad_16k_op15", "silero_vad_op18_ifless")),
    ("silero-vad/silero_vad_half.onnx", {"input": "1,512", "state": "2,1,128"}, {}),
    ("silero-vad/silero_vad_openvino_16k.onnx", {}, {}),
    ("silero-vad/silero_vad_16k_sequence.onnx", {"input": "4,576"}, {}),
    ("silero-vad-whisper/silero_vad_v6.onnx", {"input": "4,576"}, {}),
]


def write_npy(path, values):
    """An int64 .npy: a number becomes a scalar, a list one row."""
    flat, shape = (values, f"(1, {len(values)})") if isinstance(values, list) else ([values], "()")
    head = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(flat)}q", *flat))


def engine_is_there():
    return subprocess.run([PEERS, "-c", "import numpy, onnx, onnxruntime"], capture_output=True).returncode == 0


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def need(self, name):
        """The path of a fetched file; skips the test when it is not here."""
        if not (INPUTS / name).exists():
            self.skipTest(f"{name} is not here; scripts/fetch_inputs.py {name.split('/')[0]}")
        return INPUTS / name


@unittest.skipUnless(engine_is_there(), "no ONNX Runtime; scripts/setup.sh --peers")
class AgainstOnnxRuntime(Case):
    def compare(self, model, shapes, values):
        arguments = [f"--shape={name}={size}" for name, size in shapes.items()]
        for i, (name, value) in enumerate(values.items()):
            write_npy(self.folder / f"{i}.npy", value)
            arguments.append(f"--input={name}={self.folder}/{i}.npy")
        self.compare_file(self.need(model), arguments)

    def compare_file(self, model, arguments):
        code, answer = program.run_json("verify", model, "--against", "onnxruntime", *arguments,
                                        env={"TENON_PEERS_PYTHON": PEERS})
        self.assertTrue(answer.get("equal"), {k: v for k, v in answer.items() if k != "layers"})
        self.assertEqual(code, 0)
        self.assertTrue(answer["layers"], "nothing was compared")
        if not any(word in str(model) for word in INTERPRETED):
            self.assertEqual(answer["fallbacks"], [], "nodes that no kernel runs")

    def test_minilm_from_its_safetensors(self):
        write_minilm(self)
        for name, value in TOKENS.items():
            write_npy(self.folder / f"{name}.npy", value)
        self.compare_file(self.folder / "minilm.onnx", [f"--input={name}={self.folder}/{name}.npy" for name in TOKENS])


def write_minilm(case):
    """The float encoder of its safetensors as minilm.onnx in the test's folder."""
    source = case.need("minilm/model.safetensors").parent
    subprocess.run([PEERS, ROOT / "scripts/bert_to_onnx.py", source, "-o", case.folder / "minilm.onnx"], check=True)


def add_comparison(model, shapes, values):
    name = model.removesuffix(".onnx") + (f"_at_{values['sr']}" if "sr" in values else "")
    setattr(AgainstOnnxRuntime, f"test_{name}", lambda self: self.compare(model, shapes, values))


for entry in MODELS:
    add_comparison(*entry)


class Answers(Case):
    def answer(self, model, recipe, data):
        code, answer = program.run_json("run", self.need(model), "--recipe", recipe, "--input", data)
        self.assertEqual(code, 0, answer)
        return answer["answer"]

    def read_page(self, model, recipe):
        lines = self.answer(model, RECIPES / recipe, self.need("skimage-pictures/page.png"))["lines"]
        texts = [line["text"] for line in lines]
        self.assertIn("Let us first determine markers of the coins and the", texts)
        self.assertEqual(len(texts), 7)  # as many as the picture has

    def test_page_is_read_by_v4(self):
        self.read_page("ocr-v4", "read_page.toml")

    def test_page_is_read_by_v5(self):
        self.read_page("ocr-v5", "read_page_v5.toml")

    def test_one_face_where_the_astronaut_has_hers(self):
        boxes = self.answer("blazeface/face_detection_back_256x256_barracuda.onnx", RECIPES / "find_faces.toml",
                            self.need("skimage-pictures/astronaut.png"))["boxes"]
        self.assertEqual([b["label"] for b in boxes], ["face"])
        (left, top), (right, bottom) = boxes[0]["box"][0], boxes[0]["box"][2]
        self.assertTrue(left < 224 < right and top < 120 < bottom, boxes)  # the middle of her face
        self.assertLess(right - left, 160)

    def speech(self, model, recipe, speech, windows):
        """A window whose score lies on the threshold may fall to either side: 3 windows of slack."""
        counts = self.answer(f"silero-vad-web/{model}.onnx", RECIPES / recipe, self.need("asterisk-en/demo-congrats.wav"))["counts"]
        self.assertEqual(sum(counts.values()), windows)
        self.assertAlmostEqual(counts["speech"], speech, delta=3)

    # The counts are those of ONNX Runtime on the same windows.
    def test_speech_by_silero_v5(self):
        self.speech("silero_vad_v5", "find_speech.toml", 860, 946)

    def test_speech_by_silero_v6(self):
        self.speech("silero_vad_v6", "find_speech.toml", 886, 946)

    def test_speech_by_the_older_silero(self):
        self.speech("silero_vad_legacy", "find_speech_legacy.toml", 279, 315)

    def test_nobody_says_hey_jarvis(self):
        best = self.answer("openwakeword", RECIPES / "hear_wake_word.toml", self.need("asterisk-en/demo-congrats.wav"))["classes"][0]
        self.assertEqual(best["label"], "something else")
        self.assertAlmostEqual(1 - best["score"], 5.5e-6, delta=1e-6)  # ONNX Runtime's score; not 0, which silence in the graph would give

    def rank_sentences(self, model):
        shutil.copy(self.need("minilm/vocab.txt"), self.folder)
        recipe = shutil.copy(RECIPES / "compare_sentences.toml", self.folder)
        text = self.folder / "sentences.txt"
        text.write_text("A man is eating food.\nA man is eating a piece of bread.\nThe stock market fell today.\n")
        pairs = self.answer(model, recipe, text)["similarities"]
        cosine = {(p["a"], p["b"]): p["cosine"] for p in pairs}
        self.assertGreater(cosine[0, 1], 0.6)
        self.assertLess(max(cosine[0, 2], cosine[1, 2]), 0.2)

    def test_sentences_ranked_in_int8(self):
        self.rank_sentences("minilm-int8/model.onnx")

    @unittest.skipUnless(engine_is_there(), "no onnx; scripts/setup.sh --peers")
    def test_sentences_ranked_in_float(self):
        write_minilm(self)
        self.rank_sentences(self.folder / "minilm.onnx")


if __name__ == "__main__":
    if not INPUTS.is_dir():
        print(f"skipped: no models below {INPUTS}; scripts/fetch_inputs.py --list")
        sys.exit(77)
    result = unittest.main(verbosity=2, exit=False).result
    if result.testsRun == len(result.skipped) and not result.failures + result.errors:
        sys.exit(77)
    sys.exit(not result.wasSuccessful())
