"""The networks that the latency figures speak of: how torch builds them, and what goes in.

Weights are random (a fixed seed): latency does not depend on them. Every entry gives the module and
its positional arguments for one sample; `export` writes the ONNX file that every engine but torch
itself reads.
"""
import pathlib
import warnings


def _picture(torch, batch):
    return (torch.randn(batch, 3, 224, 224),)


def _tokens(torch, batch, length, words):
    return (torch.randint(1, words, (batch, length)),)


def _language(kind, config, field, **settings):
    """A transformers model as a function of token ids alone."""

    def make():
        import torch
        import transformers

        class Ids(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = getattr(transformers, kind)(getattr(transformers, config)())

            def forward(self, ids):
                return getattr(self.model(input_ids=ids, **settings), field)

        return Ids()

    return make


def _vision(package, name):
    def make():
        import importlib

        module = importlib.import_module(package)
        return module.create_model(name) if package == "timm" else getattr(module, name)()

    return make


def _tagger():
    import torch

    return torch.nn.LSTM(128, 256, num_layers=2, bidirectional=True, batch_first=True)


NETWORKS = {
    "resnet50": (_vision("torchvision.models", "resnet50"), _picture),
    "mobilenet_v3_large": (_vision("torchvision.models", "mobilenet_v3_large"), _picture),
    "efficientnet_b0": (_vision("timm", "efficientnet_b0"), _picture),
    "convnext_tiny": (_vision("timm", "convnext_tiny"), _picture),
    "densenet121": (_vision("torchvision.models", "densenet121"), _picture),
    "vit_base_patch16_224": (_vision("timm", "vit_base_patch16_224"), _picture),
    "swin_tiny_patch4_window7_224": (_vision("timm", "swin_tiny_patch4_window7_224"), _picture),
    "mlp_mixer_s16": (_vision("timm", "mixer_s16_224"), _picture),
    "bert_base_128": (
        _language("BertModel", "BertConfig", "last_hidden_state"),
        lambda torch, batch: _tokens(torch, batch, 128, 30000),
    ),
    "distilbert_128": (
        _language("DistilBertModel", "DistilBertConfig", "last_hidden_state"),
        lambda torch, batch: _tokens(torch, batch, 128, 30000),
    ),
    "gpt2_256": (
        _language("GPT2LMHeadModel", "GPT2Config", "logits", use_cache=False),
        lambda torch, batch: _tokens(torch, batch, 256, 50000),
    ),
    "lstm_tagger": (_tagger, lambda torch, batch: (torch.randn(batch, 64, 128),)),
}


def build(name, batch=1):
    """The module in inference mode and its arguments; the same weights and inputs every time."""
    import torch

    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    make, inputs = NETWORKS[name]
    module = make().eval()
    return module, inputs(torch, batch)


def export(folder, names, batch=1):
    """Writes FOLDER/NAME.onnx for every name that is not there yet; returns the paths."""
    import torch

    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in names:
        path = folder / (f"{name}.onnx" if batch == 1 else f"{name}_batch{batch}.onnx")
        paths.append(path)
        if path.exists():
            continue
        module, args = build(name, batch)
        with torch.no_grad():
            torch.onnx.export(
                module, args, str(path), dynamo=name != "lstm_tagger", opset_version=18,
                external_data=False, verbose=False,
            )
    return paths
