"""PyTorch twins of Tenon's models: the same arithmetic, with the weights of a checkpoint."""
import json
import pathlib
import struct

import numpy
import torch
from torch import nn
from torch.nn import functional


def read_weights(checkpoint):
    """name -> float32 array, of a checkpoint's model."""
    data = (pathlib.Path(checkpoint) / "model.safetensors").read_bytes()
    size = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + size])
    weights = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            weights[name] = numpy.frombuffer(data[8 + size + begin:8 + size + end], "<f4").reshape(entry["shape"]).copy()
    return weights


class Block(nn.Module):
    """A transformer layer; norms in front (GPT) or behind (BERT)."""

    def __init__(self, width, heads, ffn, is_gpt):
        super().__init__()
        self.heads, self.is_gpt = heads, is_gpt
        epsilon = 1e-5 if is_gpt else 1e-12
        self.ln_1, self.ln_2 = nn.LayerNorm(width, epsilon), nn.LayerNorm(width, epsilon)
        self.attn = nn.ModuleDict({"qkv": nn.Linear(width, 3 * width), "proj": nn.Linear(width, width)})
        self.mlp = nn.ModuleDict({"fc": nn.Linear(width, ffn), "proj": nn.Linear(ffn, width)})

    def attend(self, x):
        n, t, width = x.shape
        q, k, v = (part.view(n, t, self.heads, -1).transpose(1, 2) for part in self.attn["qkv"](x).chunk(3, -1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.is_gpt)
        return self.attn["proj"](y.transpose(1, 2).reshape(n, t, width))

    def feed(self, x):
        return self.mlp["proj"](functional.gelu(self.mlp["fc"](x), approximate="tanh" if self.is_gpt else "none"))

    def forward(self, x):
        if self.is_gpt:
            x = x + self.attend(self.ln_1(x))
            return x + self.feed(self.ln_2(x))
        x = self.ln_1(x + self.attend(x))
        return self.ln_2(x + self.feed(x))


class Gpt(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(c["vocab"], c["hidden"]), nn.Embedding(c["sequence"], c["hidden"])
        self.h = nn.ModuleList(Block(c["hidden"], c["heads"], 4 * c["hidden"], True) for _ in range(c["layers"]))
        self.ln_f = nn.LayerNorm(c["hidden"])

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[:tokens.shape[1]]
        for block in self.h:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


class Bert(nn.Module):
    def __init__(self, c):
        super().__init__()
        width = c["hidden"]
        self.tokens, self.positions = nn.Embedding(c["vocab"], width), nn.Embedding(c["sequence"], width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layer = nn.ModuleList(Block(width, c["heads"], 4 * width, False) for _ in range(c["layers"]))
        self.pooler, self.classifier = nn.Linear(width, width), nn.Linear(width, c["classes"])

    def forward(self, tokens):
        x = self.norm(self.tokens(tokens) + self.positions.weight[:tokens.shape[1]])
        for block in self.layer:
            x = block(x)
        return self.classifier(torch.tanh(self.pooler(x[:, 0])))


class Tagger(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tokens = nn.Embedding(c["vocab"], c["embedding"])
        self.lstm1 = nn.LSTM(c["embedding"], c["hidden"], batch_first=True, bidirectional=True)
        self.tags = nn.Linear(2 * c["hidden"], c["classes"])

    def forward(self, tokens):
        return self.tags(self.lstm1(self.tokens(tokens))[0])


class WideAndDeep(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.columns, self.buckets = c["columns"], c["buckets"]
        rows, width = c["buckets"] * c["columns"], c["embedding"]
        sizes = [c["columns"] * width + c["numbers"], *c["hidden"]]
        self.deep = nn.ModuleDict({"embedding": nn.Embedding(rows, width), "out": nn.Linear(sizes[-1], 1)})
        for i in range(len(sizes) - 1):
            self.deep[f"fc{i + 1}"] = nn.Linear(sizes[i], sizes[i + 1])
        self.depth = len(sizes) - 1
        self.wide = nn.ModuleDict({"categories": nn.Embedding(rows, 1), "numbers": nn.Linear(c["numbers"], 1)})

    def forward(self, categories, numeric):
        rows = categories % self.buckets + torch.arange(self.columns) * self.buckets
        x = torch.cat([self.deep["embedding"](rows).flatten(1), numeric], 1)
        for i in range(self.depth):
            x = torch.relu(self.deep[f"fc{i + 1}"](x))
        wide = self.wide["categories"](rows).sum(1) + self.wide["numbers"](numeric)
        return (self.deep["out"](x) + wide).squeeze(1)


def resnet(c):
    import torchvision
    return getattr(torchvision.models, f"resnet{c['depth']}")(num_classes=c["classes"])


MAKERS = {"resnet": resnet, "gpt": Gpt, "bert": Bert, "lstm_tagger": Tagger, "wide_and_deep": WideAndDeep}


def lstm_weights(weights):
    """ONNX gates input, output, forget, cell to PyTorch's input, forget, cell, output."""
    out = {}
    for d, suffix in enumerate(("", "_reverse")):
        turn = lambda a: numpy.concatenate([numpy.split(a, 4)[i] for i in (0, 2, 3, 1)])  # noqa: E731
        out[f"lstm1.weight_ih_l0{suffix}"] = turn(weights["lstm1.w"][d])
        out[f"lstm1.weight_hh_l0{suffix}"] = turn(weights["lstm1.r"][d])
        w, r = numpy.split(weights["lstm1.b"][d], 2)
        out[f"lstm1.bias_ih_l0{suffix}"], out[f"lstm1.bias_hh_l0{suffix}"] = turn(w), turn(r)
    return out


def load(model, weights):
    """Tenon's weights into a twin; every parameter must be there with its shape."""
    linear = {f"{name}.weight" for name, m in model.named_modules() if isinstance(m, nn.Linear)}
    fresh = lstm_weights(weights) if "lstm1.w" in weights else {}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            array = fresh.get(name)
            if array is None:
                array = weights[name if name in weights else name.removesuffix(".weight")]
            parameter.copy_(torch.from_numpy(array.T.copy() if name in linear else array).view_as(parameter))


def make(section):
    return MAKERS[section["kind"]](section)


def loss_of(model, batch):
    """Mean loss of a batch: name -> tensor, with `label` or `targets`."""
    inputs = {k: v for k, v in batch.items() if k not in ("label", "targets", "image", "tokens")}
    first = [batch[k] for k in ("image", "tokens") if k in batch]
    logits = model(*first, **inputs)
    if "targets" in batch:
        return functional.cross_entropy(logits.flatten(0, 1), batch["targets"].flatten())
    if batch["label"].is_floating_point():
        return functional.binary_cross_entropy_with_logits(logits, batch["label"])
    return functional.cross_entropy(logits, batch["label"])
