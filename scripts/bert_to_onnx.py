#!/usr/bin/env python3
"""Writes a BERT encoder as ONNX from its safetensors, without any framework: only numpy and onnx.

  scripts/bert_to_onnx.py FOLDER -o model.onnx     FOLDER has config.json and model.safetensors

Inputs input_ids, attention_mask, token_type_ids (int64 [batch, sequence]), output last_hidden_state (float [batch,
sequence, hidden]); batch and sequence stay free. Architecture: Devlin et al., "BERT", 2018; names of the weights as in
the files of sentence-transformers.
"""
import argparse
import json
import pathlib
import struct

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64}


def read_safetensors(path):
    """{name: array}: eight bytes of header length, a JSON header, then the values that its offsets name."""
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    body = memoryview(data)[8 + length:]
    return {name: np.frombuffer(body[slice(*h["data_offsets"])], TYPES[h["dtype"]]).reshape(h["shape"]) for name, h in header.items()}


class Encoder:
    """Builds the graph; every method returns the name of the value it made."""

    def __init__(self, config, weights):
        self.config, self.weights = config, weights
        self.nodes, self.constants = [], {}

    def constant(self, name, value):
        self.constants[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def node(self, op, *inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def weight(self, name):
        return self.constant(name, self.weights[name])

    def linear(self, x, name):
        """x w^T + b: the file holds w as [out, in]."""
        w = self.constant(name + ".weight", self.weights[name + ".weight"].T)
        product = self.node("MatMul", x, w, name=name + "/product")
        return self.node("Add", product, self.weight(name + ".bias"), name=name + "/sum")

    def norm(self, x, name):
        return self.node("LayerNormalization", x, self.weight(name + ".weight"), self.weight(name + ".bias"), name=name + "/norm",
                         axis=-1, epsilon=float(self.config["layer_norm_eps"]))

    def gelu(self, x, name):
        """x (1 + erf(x / sqrt 2)) / 2."""
        inner = self.node("Div", x, self.constant("sqrt2", np.float32(np.sqrt(2))), name=name + "/scaled")
        inner = self.node("Add", self.node("Erf", inner, name=name + "/erf"), self.constant("one", np.float32(1)), name=name + "/plus")
        return self.node("Mul", self.node("Mul", x, inner, name=name + "/wide"), self.constant("half", np.float32(0.5)), name=name + "/gelu")

    def embed(self):
        length = self.node("Gather", self.node("Shape", "input_ids", name="shape"), self.constant("axis1", np.int64(1)), name="length")
        end = self.node("Unsqueeze", length, self.constant("axis0", np.array([0])), name="end")
        places = self.node("Slice", self.weight("embeddings.position_embeddings.weight"), self.constant("start", np.array([0])), end, name="places")
        words = self.node("Gather", self.weight("embeddings.word_embeddings.weight"), "input_ids", name="words")
        types = self.node("Gather", self.weight("embeddings.token_type_embeddings.weight"), "token_type_ids", name="types")
        total = self.node("Add", self.node("Add", words, types, name="words_and_types"), places, name="embedded")
        return self.norm(total, "embeddings.LayerNorm")

    def mask(self):
        """0 where there is a word, -1e9 under padding, [batch, 1, 1, sequence]."""
        wide = self.node("Unsqueeze", "attention_mask", self.constant("axes12", np.array([1, 2])), name="wide_mask")
        numbers = self.node("Cast", wide, name="mask_numbers", to=TensorProto.FLOAT)
        return self.node("Mul", self.node("Sub", "one", numbers, name="padding"), self.constant("lowest", np.float32(-1e9)), name="mask")

    def heads(self, x, name, order):
        split = self.constant("split", np.array([0, 0, self.config["num_attention_heads"], -1]))
        return self.node("Transpose", self.node("Reshape", x, split, name=name + "/split"), name=name + "/heads", perm=order)

    def attention(self, x, mask, name):
        own = name + "attention.self."
        query, key, value = (self.linear(x, own + part) for part in ("query", "key", "value"))
        scores = self.node("MatMul", self.heads(query, own + "query", [0, 2, 1, 3]), self.heads(key, own + "key", [0, 2, 3, 1]), name=own + "scores")
        size = self.config["hidden_size"] // self.config["num_attention_heads"]
        scaled = self.node("Div", scores, self.constant("root", np.float32(np.sqrt(size))), name=own + "scaled")
        shares = self.node("Softmax", self.node("Add", scaled, mask, name=own + "masked"), name=own + "shares", axis=-1)
        mixed = self.node("MatMul", shares, self.heads(value, own + "value", [0, 2, 1, 3]), name=own + "mixed")
        back = self.node("Transpose", mixed, name=own + "back", perm=[0, 2, 1, 3])
        return self.node("Reshape", back, self.constant("join", np.array([0, 0, self.config["hidden_size"]])), name=own + "joined")

    def layer(self, x, mask, name):
        mixed = self.linear(self.attention(x, mask, name), name + "attention.output.dense")
        x = self.norm(self.node("Add", mixed, x, name=name + "attention/residual"), name + "attention.output.LayerNorm")
        wide = self.gelu(self.linear(x, name + "intermediate.dense"), name + "intermediate")
        narrow = self.linear(wide, name + "output.dense")
        return self.norm(self.node("Add", narrow, x, name=name + "residual"), name + "output.LayerNorm")

    def model(self):
        self.constant("one", np.float32(1))
        x, mask = self.embed(), self.mask()
        for i in range(self.config["num_hidden_layers"]):
            x = self.layer(x, mask, f"encoder.layer.{i}.")
        self.node("Identity", x, name="last_hidden_state")
        ids = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "sequence"]) for n in ("input_ids", "attention_mask", "token_type_ids")]
        out = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", self.config["hidden_size"]])
        graph = helper.make_graph(self.nodes, "bert", ids, [out], list(self.constants.values()))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="bert_to_onnx")


def convert(folder, target):
    folder = pathlib.Path(folder)
    config = json.loads((folder / "config.json").read_text())
    if config["model_type"] != "bert" or config["hidden_act"] != "gelu" or config.get("position_embedding_type", "absolute") != "absolute":
        raise SystemExit(f"bert_to_onnx.py: {folder} is not a BERT encoder with gelu and absolute positions")
    model = Encoder(config, read_safetensors(folder / "model.safetensors")).model()
    onnx.checker.check_model(model)
    onnx.save(model, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="the folder of the model")
    parser.add_argument("-o", "--output", required=True, help="the ONNX file to write")
    options = parser.parse_args()
    convert(options.folder, options.output)


if __name__ == "__main__":
    main()
