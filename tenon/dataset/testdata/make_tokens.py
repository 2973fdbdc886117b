#!/usr/bin/env python3
"""Writes tiny tokenizers and the token numbers that Hugging Face's `tokenizers` and `tiktoken` give.

    pip install tokenizers tiktoken && python3 make_tokens.py CACHE

Files: tiny_bpe.json, tiny_llama.json, tiny_word_piece.json, tiny.tiktoken (trained on the texts below) and
tokens.json: for each tokenizer the ids of every text; for the real vocabularies in CACHE/inputs (gpt2-bpe, minilm) too.
"""
import base64
import json
import pathlib
import sys

import tiktoken
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

here = pathlib.Path(__file__).parent
TEXTS = [
    "", " ", "Hello, world!", "  two  spaces   three\t\ttabs \n\n lines\r\n", "don't I'll we've they're it's I'm he'd CAN'T IT'S",
    "The quick brown fox jumps over the lazy dog 1234567890 times.", "naïve café résumé Ångström İstanbul ẞtraße ﬁ",
    "北京欢迎你 日本語のテキスト 한국어", "😀 emoji 👩‍👩‍👧 zwj", "a_b-c/d\\e@f#g$h%i^j&k*l(m)n+o=p[q]r{s}t|u;v:w,x.y<z>?",
    "\u00a0nbsp\u2003em\u200bzero\u00adsoft\ufeffbom", "ſ's long 'ſ", "x" * 200, "ab" * 300, "\x00\x07control\x7f", "١٢٣ ½ Ⅷ ²",
    "[CLS] in [SEP] text [MASK]", "<|endoftext|> in text", "e\u0301 e\u0327\u0301", "    def f(x):\n        return x ** 2  # code\n",
    "\n", "\n\n\n x", " \n x", "a \n b", "\t", "word\t", "٣٫١٤ ٬", "ก็ ไทย", "मानक हिन्दी", "...!!!???", "''''s 's't",
]
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
           r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def train_bpe(llama):
    t = Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not llama)
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PATTERN), "isolated"), level]) if llama else level
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(TEXTS * 3, trainers.BpeTrainer(vocab_size=420, special_tokens=["<|endoftext|>"], show_progress=False,
                                                         initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


def train_word_piece():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t.train_from_iterator(TEXTS * 3, trainers.WordPieceTrainer(vocab_size=350, special_tokens=special, show_progress=False))
    t.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    t.decoder = decoders.WordPiece()
    return t


def write_tiktoken(bpe):
    """A tiktoken vocabulary: ranks are positions, so the bytes come first and the merges after them."""
    table = {c: b for b, c in zip(byte_order(), byte_chars())}
    ranks = {bytes([b]): b for b in range(256)}
    model = json.loads(bpe.to_str())["model"]
    for merge in model["merges"]:
        left, right = merge if isinstance(merge, list) else merge.split(" ")
        ranks.setdefault(bytes(table[c] for c in left + right), len(ranks))
    (here / "tiny.tiktoken").write_text("".join(f"{base64.b64encode(k).decode()} {v}\n" for k, v in ranks.items()))
    gpt2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    return tiktoken.Encoding("tiny", pat_str=gpt2, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": len(ranks)})


def byte_order():
    printable = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    return printable + [b for b in range(256) if b not in printable]


def byte_chars():
    printable = [b for b in byte_order()[:188]]
    return [chr(b) for b in printable] + [chr(256 + k) for k in range(68)]


def entry(t, frame):
    rows = [t.encode(x, add_special_tokens=frame).ids for x in TEXTS]
    return {"ids": rows, "decoded": [t.decode(r) for r in rows]}


result = {"texts": TEXTS, "tokenizers": {}}
for name, t in {"tiny_bpe.json": train_bpe(False), "tiny_llama.json": train_bpe(True), "tiny_word_piece.json": train_word_piece()}.items():
    t.save(str(here / name), pretty=False)
    result["tokenizers"][name] = entry(t, True)
    if name == "tiny_bpe.json":
        tik = write_tiktoken(t)
        rows = [tik.encode(x, allowed_special="all") for x in TEXTS]
        result["tokenizers"]["tiny.tiktoken"] = {"ids": rows, "decoded": [tik.decode([i for i in r if i < tik.n_vocab - 1]) for r in rows]}
inputs = pathlib.Path(sys.argv[1]) / "inputs"
result["tokenizers"]["minilm/tokenizer.json"] = entry(Tokenizer.from_file(str(inputs / "minilm/tokenizer.json")), True)
gpt2 = Tokenizer(models.BPE.from_file(str(inputs / "gpt2-bpe/encoder.json"), str(inputs / "gpt2-bpe/vocab.bpe")))
gpt2.pre_tokenizer, gpt2.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
gpt2.add_special_tokens(["<|endoftext|>"])
result["tokenizers"]["gpt2-bpe/encoder.json"] = entry(gpt2, True)
for e in result["tokenizers"].values():
    e.update(ids=[" ".join(map(str, r)) for r in e["ids"]])
(here / "tokens.json").write_text(json.dumps(result, indent=0))
