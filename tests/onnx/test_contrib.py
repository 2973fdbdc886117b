"""com.microsoft operators against ONNX Runtime: random cases, its outputs as the expected ones."""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto as T, helper as h, numpy_helper as nh
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

rng = np.random.default_rng(7)


def f(*dims, scale=1.0):
    return (rng.standard_normal(dims) * scale).astype(np.float32)


def u8(*dims, low=0, high=256):
    return rng.integers(low, high, dims, dtype=np.int64).astype(np.uint8)


def i8(*dims):
    return rng.integers(-128, 128, dims, dtype=np.int64).astype(np.int8)


def i32(*dims, high=2):
    return rng.integers(0, high, dims, dtype=np.int64).astype(np.int32)


one = np.float32(0.05)
z = np.uint8(120)
# name: (operator, inputs (None: absent), number of outputs, attributes, indices of inputs that are constants)
cases = {
    "fused_matmul": ("FusedMatMul", [f(2, 3, 4), f(2, 5, 4)], 1, dict(alpha=0.5, transB=1), ()),
    "fused_matmul_a": ("FusedMatMul", [f(4, 3), f(4, 5)], 1, dict(transA=1), ()),
    "gelu": ("Gelu", [f(3, 4)], 1, {}, ()),
    "fast_gelu": ("FastGelu", [f(3, 4), f(4)], 1, {}, ()),
    "bias_gelu": ("BiasGelu", [f(3, 4), f(4)], 1, {}, ()),
    "quick_gelu": ("QuickGelu", [f(3, 4)], 1, dict(alpha=1.7), ()),
    "skip_layer_norm": ("SkipLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)], 1, dict(epsilon=1e-5), ()),
    "skip_layer_norm_sum": ("SkipLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8)], [0, 3], dict(epsilon=1e-5), ()),
    "simplified_layer_norm": ("SimplifiedLayerNormalization", [f(2, 3, 8), f(8)], 1, dict(epsilon=1e-5, axis=-1), (), ""),
    "skip_simplified_layer_norm": ("SkipSimplifiedLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8)], [0, 3], dict(epsilon=1e-5), ()),
    "embed_layer_norm": ("EmbedLayerNormalization", [i32(2, 4, high=9), i32(2, 4), f(9, 8), f(6, 8), f(2, 8), f(8), f(8), np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)], 2, dict(epsilon=1e-5), ()),
    "fused_conv": ("FusedConv", [f(1, 3, 6, 6), f(4, 3, 3, 3), f(4)], 1, dict(activation="Relu", kernel_shape=[3, 3], pads=[1, 1, 1, 1]), ()),
    "fused_conv_sum": ("FusedConv", [f(1, 3, 6, 6), f(4, 3, 3, 3), f(4), f(1, 4, 4, 4)], 1, dict(activation="Clip", activation_params=[-0.5, 1.5], kernel_shape=[3, 3]), ()),
    "fused_gemm": ("FusedGemm", [f(3, 4), f(5, 4), f(5)], 1, dict(transB=1, activation="LeakyRelu", activation_alpha=0.2), ()),
    "bias_split_gelu": None,  # no CPU kernel
    "attention": ("Attention", [f(2, 4, 8), f(8, 24, scale=0.3), f(24)], 1, dict(num_heads=2), ()),
    "attention_mask_lengths": ("Attention", [f(2, 4, 8), f(8, 24, scale=0.3), f(24), np.array([4, 2], np.int32)], 1, dict(num_heads=2), ()),
    "attention_mask_raw": ("Attention", [f(2, 4, 8), f(8, 24, scale=0.3), f(24), np.array([[1, 1, 1, 1], [1, 1, 0, 0]], np.int32)], 1, dict(num_heads=2), ()),
    "attention_mask_3d": ("Attention", [f(2, 4, 8), f(8, 24, scale=0.3), f(24), np.tril(np.ones((2, 4, 4), np.int32))], 1, dict(num_heads=2), ()),
    "attention_causal_past": ("Attention", [f(2, 4, 8), f(8, 24, scale=0.3), f(24), None, f(2, 2, 2, 3, 4)], 2, dict(num_heads=2, unidirectional=1), ()),
    "attention_bias": ("Attention", [f(2, 4, 8), f(8, 24, scale=0.3), f(24), None, None, f(2, 2, 4, 4)], 1, dict(num_heads=2, scale=0.7), ()),
    "multi_head": ("MultiHeadAttention", [f(2, 4, 8), f(2, 5, 8), f(2, 5, 8)], 1, dict(num_heads=2), ()),
    "multi_head_bias": ("MultiHeadAttention", [f(2, 4, 8), f(2, 5, 8), f(2, 5, 8), f(24)], 1, dict(num_heads=2), ()),
    "multi_head_mask": ("MultiHeadAttention", [f(2, 4, 8), f(2, 5, 8), f(2, 5, 8), None, np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int32)], 1, dict(num_heads=2), ()),
    "multi_head_past": ("MultiHeadAttention", [f(2, 1, 8), f(2, 1, 8), f(2, 1, 8), None, None, f(1, 1, 1, 4), f(2, 2, 3, 4), f(2, 2, 3, 4)], 3, dict(num_heads=2), ()),
    "multi_head_cross": ("MultiHeadAttention", [f(2, 4, 8), f(2, 2, 5, 4), f(2, 2, 5, 4)], 1, dict(num_heads=2), ()),
    "group_query_prompt": ("GroupQueryAttention", [f(2, 4, 32), f(2, 4, 16), f(2, 4, 16), None, None, np.array([3, 3], np.int32), np.array(4, np.int32)], 3, dict(num_heads=4, kv_num_heads=2), ()),
    "group_query_packed_rotary": ("GroupQueryAttention", [f(1, 4, 128), None, None, None, None, np.array([3], np.int32), np.array(4, np.int32), f(8, 8), f(8, 8)], 3, dict(num_heads=4, kv_num_heads=2, do_rotary=1), ()),
    "group_query_decode": ("GroupQueryAttention", [f(2, 1, 64), f(2, 1, 32), f(2, 1, 32), f(2, 2, 5, 16), f(2, 2, 5, 16), np.array([5, 5], np.int32), np.array(6, np.int32), f(8, 8), f(8, 8)], 3, dict(num_heads=4, kv_num_heads=2, do_rotary=1, rotary_interleaved=1, softcap=20.0), ()),
    "group_query_window": ("GroupQueryAttention", [f(1, 6, 32), f(1, 6, 16), f(1, 6, 16), None, None, np.array([5], np.int32), np.array(6, np.int32)], 3, dict(num_heads=4, kv_num_heads=2, local_window_size=3), ()),
    "rotary": ("RotaryEmbedding", [f(2, 3, 16), np.array([[0, 1, 2], [3, 4, 5]], np.int64), f(8, 4), f(8, 4)], 1, dict(), ()),
    "rotary_offset": ("RotaryEmbedding", [f(2, 2, 3, 8), np.array([2], np.int64), f(8, 4), f(8, 4)], 1, dict(interleaved=1), ()),
    "qlinear_add": ("QLinearAdd", [u8(2, 5), one, z, u8(5), np.float32(0.03), np.uint8(100), np.float32(0.07), np.uint8(128)], 1, {}, (1, 2, 4, 5, 6, 7)),
    "qlinear_mul": ("QLinearMul", [u8(2, 5), one, z, u8(5), np.float32(0.03), np.uint8(100), np.float32(0.2), np.uint8(128)], 1, {}, (1, 2, 4, 5, 6, 7)),
    "qlinear_sigmoid": ("QLinearSigmoid", [u8(2, 50), one, z, np.float32(1 / 256), np.uint8(0)], 1, {}, (1, 2, 3, 4)),
    "qlinear_leaky_relu": ("QLinearLeakyRelu", [u8(2, 50), one, z, np.float32(0.03), np.uint8(20)], 1, dict(alpha=0.1), (1, 2, 3, 4)),
    "qlinear_softmax": ("QLinearSoftmax", [u8(2, 8), one, z, np.float32(1 / 256), np.uint8(0)], 1, dict(axis=-1, opset=13), (1, 2, 3, 4)),
    "qlinear_average_pool": ("QLinearAveragePool", [u8(1, 3, 6, 6), one, z, np.float32(0.043), z], 1, dict(kernel_shape=[2, 2], strides=[2, 2]), (1, 2, 3, 4)),
    "qlinear_global_average_pool": ("QLinearGlobalAveragePool", [u8(1, 3, 6, 6), one, z, np.float32(0.04), z], 1, dict(channels_last=0), (1, 2, 3, 4)),
    "qlinear_concat": ("QLinearConcat", [np.float32(0.1), np.uint8(128), u8(2, 3), one, z, u8(2, 2), np.float32(0.2), np.uint8(90)], 1, dict(axis=1), (0, 1, 3, 4, 6, 7)),
    "qattention": ("QAttention", [u8(2, 4, 8), i8(8, 24), f(24), np.float32(0.02), np.float32(0.01), None, np.uint8(128), np.int8(0)], 1, dict(num_heads=2), (1, 2, 3, 4, 6, 7)),
    "qgemm": ("QGemm", [u8(3, 4), one, z, i8(4, 5), np.float32(0.02), np.int8(3), i32(5, high=500), np.float32(0.05), np.uint8(128)], 1, dict(), (1, 2, 3, 4, 5, 6, 7, 8)),
    "matmul_integer_to_float": ("MatMulIntegerToFloat", [u8(3, 4), i8(4, 5), one, np.float32(0.02), z, np.int8(3), f(5)], 1, {}, ()),
    "dynamic_quantize_matmul": ("DynamicQuantizeMatMul", [f(3, 4), i8(4, 5), np.float32(0.02), np.int8(3), f(5)], 1, {}, ()),
    "matmul_nbits": ("MatMulNBits", [f(2, 64), u8(5, 2, 16), f(10, scale=0.1)], 1, dict(K=64, N=5, bits=4, block_size=32), (1, 2)),
    "matmul_nbits_zero": ("MatMulNBits", [f(2, 64), u8(5, 2, 16), f(10, scale=0.1), u8(5)], 1, dict(K=64, N=5, bits=4, block_size=32), (1, 2, 3)),
    "matmul_8_bits": ("MatMulNBits", [f(2, 64), u8(5, 2, 32), f(10, scale=0.01)], 1, dict(K=64, N=5, bits=8, block_size=32), (1, 2)),
    "quantize": ("QuantizeLinear", [f(2, 5), one, z], 1, {}, (1, 2)),
    "dequantize": ("DequantizeLinear", [u8(2, 5), one, z], 1, {}, (1, 2)),
}


def numpy_type(a):
    return h.np_dtype_to_tensor_dtype(a.dtype)


def build(op, inputs, outputs, attributes, constants, domain="com.microsoft"):
    outputs = list(range(outputs)) if isinstance(outputs, int) else outputs
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    results = [f"y{i}" if i in outputs else "" for i in range(max(outputs) + 1)]
    node = h.make_node(op, names, results, domain=domain, name=op, **attributes)
    given = [(i, np.asarray(x)) for i, x in enumerate(inputs) if x is not None]
    graph = h.make_graph(
        [node], "case",
        [h.make_tensor_value_info(f"x{i}", numpy_type(x), x.shape) for i, x in given if i not in constants],
        [h.make_empty_tensor_value_info(f"y{i}") for i in outputs],
        [nh.from_array(x, f"x{i}") for i, x in given if i in constants])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)], ir_version=9)
    return model, [(f"x{i}", x) for i, x in given if i not in constants]


def write_case(folder, model, inputs, outputs):
    os.makedirs(f"{folder}/test_data_set_0")
    onnx.save(model, f"{folder}/model.onnx")
    for kind, arrays in (("input", inputs), ("output", outputs)):
        for i, a in enumerate(arrays):
            with open(f"{folder}/test_data_set_0/{kind}_{i}.pb", "wb") as out:
                out.write(nh.from_array(np.asarray(a)).SerializeToString())


def main():
    ort.set_default_logger_severity(4)
    suite = os.environ.get("TENON_ONNX_SUITE", "build/tenon_onnx_suite")
    with tempfile.TemporaryDirectory() as root:
        count = 0
        for name, case in cases.items():
            if not case:
                continue
            model, feeds = build(*case)
            options = ort.SessionOptions()
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            try:
                session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
                outputs = session.run(None, dict(feeds))
            except Exception as refused:
                print(f"{name}: ONNX Runtime refuses it: {str(refused)[:200]}")
                continue
            write_case(f"{root}/{name}", model, [x for _, x in feeds], outputs)
            count += 1
        done = subprocess.run([suite, root, "", "2e-3", "1e-5"], capture_output=True, text=True)
        print(done.stdout, done.stderr)
        assert count >= 40, f"only {count} cases ran"
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
