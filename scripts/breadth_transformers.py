"""Architectures of transformers with random weights: two layers, width 32, a hundred words.

Every configuration starts from its class's defaults; `SMALL` replaces whatever of its keys the class knows, in
its parts too (the text and the picture half of CLIP). A row adds only what its architecture needs beyond that.
`architectures()` yields (name, package, make); make() returns (module, inputs).
"""

SMALL = dict(
    vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8, intermediate_size=64,
    max_position_embeddings=64, n_embd=32, n_layer=2, n_head=4, n_positions=64, n_ctx=64, n_inner=64, n_layers=2, n_heads=4, dim=32, hidden_dim=64,
    d_model=32, d_ff=64, d_kv=8, num_layers=2, num_heads=4, num_decoder_layers=2, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
    decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, ffn_dim=64, embedding_size=32, emb_dim=32, dff=64, d_inner=64,
    image_size=32, patch_size=8, projection_dim=32, num_local_experts=4, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
    q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, sliding_window=16, state_size=4,
    pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, num_labels=5,
)
SOUND = dict(conv_dim=(16, 16, 16), conv_stride=(5, 4, 2), conv_kernel=(10, 4, 3), num_feat_extract_layers=3,
             num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2)
WIDE = dict(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1])

# Encoders of text: name, prefix of the class, and what the smallest configuration needs beyond SMALL.
ENCODERS = [
    ("bert", "Bert", {}), ("albert", "Albert", {}), ("roberta", "Roberta", dict(max_position_embeddings=70)), ("distilbert", "DistilBert", {}),
    ("electra", "Electra", {}), ("deberta", "Deberta", dict(relative_attention=True, pos_att_type=["c2p", "p2c"], position_biased_input=False)),
    ("deberta_v2", "DebertaV2", dict(relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8)),
    ("mpnet", "MPNet", dict(max_position_embeddings=70)), ("xlm", "XLM", {}), ("xlnet", "XLNet", dict(max_position_embeddings=...)),
    ("funnel", "Funnel", dict(num_hidden_layers=..., block_sizes=[1, 1], num_decoder_layers=1, d_head=8)), ("mobilebert", "MobileBert", dict(intra_bottleneck_size=32, true_hidden_size=32)),
    ("squeezebert", "SqueezeBert", {}), ("convbert", "ConvBert", {}), ("fnet", "FNet", {}), ("nystromformer", "Nystromformer", dict(segment_means_seq_len=16, num_landmarks=16)),
    ("modernbert", "ModernBert", {}), ("roformer", "RoFormer", {}), ("rembert", "RemBert", dict(input_embedding_size=32, output_embedding_size=32)),
    ("esm", "Esm", dict(position_embedding_type="rotary", mask_token_id=4)), ("ernie", "Ernie", {}), ("ibert", "IBert", dict(max_position_embeddings=70)),
    ("layoutlm", "LayoutLM", {}), ("lilt", "Lilt", dict(hidden_size=48, max_position_embeddings=70, channel_shrink_ratio=2)), ("megatron_bert", "MegatronBert", {}), ("big_bird", "BigBird", dict(attention_type="original_full")),
    ("canine", "Canine", dict(num_hash_buckets=50, local_transformer_stride=8)), ("splinter", "Splinter", {}), ("yoso", "Yoso", dict(use_expectation=True, max_position_embeddings=70)),
    ("longformer", "Longformer", dict(attention_window=8, max_position_embeddings=70)), ("nomic_bert", "NomicBert", {}), ("eurobert", "EuroBert", {}),
    ("data2vec_text", "Data2VecText", dict(max_position_embeddings=70)), ("xmod", "Xmod", dict(max_position_embeddings=70, default_language="en_XX")),
]

# Decoders that read a text and give the scores of the next word.
DECODERS = [
    ("gpt2", "GPT2", {}), ("gpt_neo", "GPTNeo", dict(attention_types=[[["global", "local"], 1]])), ("gpt_neox", "GPTNeoX", {}), ("gptj", "GPTJ", dict(rotary_dim=4)),
    ("opt", "OPT", dict(word_embed_proj_dim=32)), ("bloom", "Bloom", {}), ("codegen", "CodeGen", dict(rotary_dim=4)), ("llama", "Llama", {}), ("mistral", "Mistral", {}),
    ("mixtral", "Mixtral", {}), ("qwen2", "Qwen2", {}), ("qwen3", "Qwen3", {}), ("qwen2_moe", "Qwen2Moe", dict(shared_expert_intermediate_size=32)), ("qwen3_moe", "Qwen3Moe", {}),
    ("gemma", "Gemma", {}), ("gemma2", "Gemma2", dict(query_pre_attn_scalar=8)), ("gemma3", "Gemma3Text", dict(query_pre_attn_scalar=8)), ("phi", "Phi", {}),
    ("phi3", "Phi3", {}), ("falcon", "Falcon", dict(head_dim=...)), ("mpt", "Mpt", dict(max_seq_len=64)), ("stablelm", "StableLm", {}), ("starcoder2", "Starcoder2", {}),
    ("olmo", "Olmo", {}), ("olmo2", "Olmo2", {}), ("cohere", "Cohere", {}), ("granite", "Granite", {}), ("glm", "Glm", {}), ("glm4", "Glm4", {}), ("nemotron", "Nemotron", {}),
    ("persimmon", "Persimmon", {}), ("xglm", "XGLM", dict(attention_heads=4)), ("ctrl", "CTRL", {}), ("openai_gpt", "OpenAIGPT", {}), ("biogpt", "BioGpt", {}),
    ("mamba", "Mamba", dict(intermediate_size=64, time_step_rank=4)), ("mamba2", "Mamba2", dict(num_heads=8, head_dim=8, n_groups=2, chunk_size=8, state_size=8)),
    ("falcon_mamba", "FalconMamba", dict(intermediate_size=64, time_step_rank=4)),
    ("recurrent_gemma", "RecurrentGemma", dict(lru_width=32, attention_window_size=16, num_hidden_layers=3)), ("rwkv", "Rwkv", dict(context_length=64, attention_hidden_size=32)),
    ("jamba", "Jamba", dict(attn_layer_offset=1, attn_layer_period=2, expert_layer_offset=1, expert_layer_period=2, use_mamba_kernels=False, mamba_d_state=4)),
    ("bamba", "Bamba", dict(attn_layer_indices=[1], mamba_n_heads=8, mamba_d_head=8, mamba_d_state=8, mamba_n_groups=1, mamba_chunk_size=8)),
    ("smollm3", "SmolLM3", {}), ("helium", "Helium", {}), ("ernie4_5", "Ernie4_5", {}), ("exaone4", "Exaone4", {}), ("gpt_oss", "GptOss", {}), ("deepseek_v2", "DeepseekV2", dict(n_routed_experts=4, n_group=1, topk_group=1)),
    ("deepseek_v3", "DeepseekV3", dict(n_routed_experts=4, n_group=1, topk_group=1, first_k_dense_replace=1)), ("lfm2", "Lfm2", dict(layer_types=["conv", "full_attention"], block_auto_adjust_ff_dim=False)),
    ("arcee", "Arcee", {}), ("seed_oss", "SeedOss", {}), ("granitemoe", "GraniteMoe", {}), ("gpt_bigcode", "GPTBigCode", {}), ("bitnet", "BitNet", {}),
    ("diffllama", "DiffLlama", {}), ("olmoe", "Olmoe", {}), ("phimoe", "Phimoe", {}), ("doge", "Doge", {}), ("apertus", "Apertus", {}),
]
CACHED = ["gpt2", "llama", "mistral", "qwen2", "gemma", "phi", "opt", "gpt_neox"]

# Encoder and decoder, both fed with words.
PAIRS = [
    ("t5", "T5", {}), ("mt5", "MT5", {}), ("umt5", "UMT5", {}), ("longt5", "LongT5", dict(local_radius=8, encoder_attention_type="transient-global", global_block_size=4)),
    ("switch_transformers", "SwitchTransformers", dict(num_sparse_encoder_layers=1, num_sparse_decoder_layers=1)),
    ("bart", "Bart", {}), ("mbart", "MBart", {}), ("pegasus", "Pegasus", {}), ("pegasus_x", "PegasusX", dict(block_size=8, num_global_tokens=4)), ("marian", "Marian", dict(decoder_vocab_size=99)),
    ("blenderbot", "Blenderbot", {}), ("led", "LED", dict(attention_window=[8, 8], max_encoder_position_embeddings=64, max_decoder_position_embeddings=64)),
    ("m2m_100", "M2M100", {}), ("plbart", "PLBart", {}), ("prophetnet", "ProphetNet", dict(num_encoder_layers=2, num_decoder_layers=2, num_encoder_attention_heads=4, num_decoder_attention_heads=4)),
    ("fsmt", "FSMT", dict(src_vocab_size=99, tgt_vocab_size=99, langs=["en", "de"])), ("bigbird_pegasus", "BigBirdPegasus", dict(attention_type="original_full")), ("mvp", "Mvp", {}),
]

# Sound as a wave.
WAVES = [(name, prefix, {**SOUND, **more}) for name, prefix, more in [
    ("wav2vec2", "Wav2Vec2", {}), ("hubert", "Hubert", {}), ("wavlm", "WavLM", {}), ("unispeech", "UniSpeech", {}), ("unispeech_sat", "UniSpeechSat", {}),
    ("data2vec_audio", "Data2VecAudio", dict(conv_pos_kernel_size=3)), ("sew", "SEW", dict(squeeze_factor=2)), ("sew_d", "SEWD", dict(squeeze_factor=2)),
    ("wav2vec2_conformer", "Wav2Vec2Conformer", {}),
]]

# Pictures: side, prefix, more.
PICTURES = [
    ("hf_deit", "DeiT", 32, {}), ("dinov2", "Dinov2", 32, {}), ("dinov2_with_registers", "Dinov2WithRegisters", 32, {}), ("dinov3", "DINOv3ViT", 32, {}),
    ("cvt", "Cvt", 64, dict(embed_dim=[16, 32, 32], num_heads=[1, 2, 2], depth=[1, 2, 3])), ("segformer", "Segformer", 64, dict(num_attention_heads=[1, 2, 2, 2], depths=[1, 1, 1, 1], hidden_sizes=[16, 16, 32, 32], decoder_hidden_size=32)),
    ("poolformer", "PoolFormer", 64, dict(depths=[1, 1, 1, 1], hidden_sizes=[16, 16, 32, 32])), ("pvt", "Pvt", 64, dict(num_attention_heads=[1, 2, 2, 2], image_size=64, depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 32, 32], patch_sizes=[4, 2, 2, 2])),
    ("glpn", "GLPN", 64, dict(num_attention_heads=[1, 2, 2, 2], depths=[1, 1, 1, 1], hidden_sizes=[16, 16, 32, 32])), ("yolos", "Yolos", 32, dict(image_size=[32, 32], num_detection_tokens=8)),
    ("bit", "Bit", 64, dict(embedding_size=16, num_groups=8, **WIDE)), ("mobilenet_v1", "MobileNetV1", 64, dict(depth_multiplier=0.25)), ("swin2sr", "Swin2SR", 32, dict(image_size=32, patch_size=1, num_attention_heads=..., num_layers=..., embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4)),
    ("vit_msn", "ViTMSN", 32, {}), ("ijepa", "IJepa", 32, {}), ("data2vec_vision", "Data2VecVision", 32, {}), ("textnet", "TextNet", 64, {}), ("pixio", "Pixio", 32, {}),
    ("vitdet", "VitDet", 64, dict(image_size=64)),
    ("superpoint", "SuperPoint", 64, dict(encoder_hidden_sizes=[16, 16, 16, 16], decoder_hidden_size=32)), ("pp_lcnet", "PPLCNet", 64, {}), ("hf_hgnet_v2", "HGNetV2", 64, {}),
]


def config_of(cls, more):
    """The class's defaults with SMALL and `more`, parts included; a dictionary in `more` goes to that part, and ... keeps
    the default of a key."""
    defaults = cls()
    arguments = {key: value for key, value in SMALL.items() if hasattr(defaults, key) and more.get(key) is not ...}
    for part, part_class in (getattr(cls, "sub_configs", None) or {}).items():
        own = getattr(defaults, part, None)
        if own is not None and hasattr(own, "to_dict") and isinstance(more.get(part, {}), dict):
            arguments[part] = config_of(type(own), more.get(part, {})).to_dict()
    arguments.update({key: value for key, value in more.items() if not (key in arguments and isinstance(value, dict))})
    return cls(**{key: value for key, value in arguments.items() if value is not ...})


def tensors_of(value):
    """Every tensor in an answer, in order, without caches."""
    import torch
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for key, v in value.items() if key != "past_key_values" for t in tensors_of(v)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors_of(v)]
    return []


def named_call(module, names, **fixed):
    """A module of positional inputs around one of named inputs, whose answer is plain tensors."""
    import torch

    class Named(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module

        def forward(self, *values):
            return tuple(tensors_of(self.inner(**dict(zip(names, values)), **fixed)))
    return Named()


def cached_decoder(module, layers):
    """One step of a decoder: a word and the keys and values so far in, scores and longer ones out."""
    import torch
    from transformers import DynamicCache

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module

        def forward(self, words, *past):
            cache = DynamicCache()
            for i in range(layers):
                cache.update(past[2 * i], past[2 * i + 1], i)
            out = self.inner(input_ids=words, past_key_values=cache, use_cache=True)
            now = out.past_key_values.layers
            return (out.logits, *(t for layer in now for t in (layer.keys, layer.values)))
    return Step()


def model_of(prefix, suffix, more):
    import transformers
    config = config_of(getattr(transformers, prefix + "Config"), more)
    return getattr(transformers, prefix + suffix)(config), config


def words(length=12, batch=1):
    import torch
    return torch.randint(3, 99, (batch, length))


def encoder(prefix, more):
    import torch
    module, _ = model_of(prefix, "Model", more)
    mask = torch.ones(1, 16, dtype=torch.int64)
    mask[:, -3:] = 0
    return named_call(module, ["input_ids", "attention_mask"]), (words(16), mask)


def decoder(prefix, more):
    module, _ = model_of(prefix, "LMHeadModel" if prefix in ("GPT2", "CTRL", "OpenAIGPT") else "ForCausalLM", more)
    import torch
    keep = {} if prefix in ("OpenAIGPT",) else {"use_cache": False}
    if prefix in ("Rwkv", "Mamba", "FalconMamba"):  # states, no masks
        return named_call(module, ["input_ids"], **keep), (words(),)
    return named_call(module, ["input_ids", "attention_mask"], **keep), (words(), torch.ones(1, 12, dtype=torch.int64))


def step(prefix, more):
    import torch
    module, config = model_of(prefix, "LMHeadModel" if prefix == "GPT2" else "ForCausalLM", {**more, "sliding_window": None})
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    past = [torch.randn(1, heads, 6, 8) for _ in range(4)]
    return cached_decoder(module, 2), (words(1), *past)


def pair(prefix, more):
    module, _ = model_of(prefix, "Model", more)
    return named_call(module, ["input_ids", "decoder_input_ids"], use_cache=False), (words(16), words(6))


def wave(prefix, more):
    import torch
    module, _ = model_of(prefix, "Model", more)
    return named_call(module, ["input_values"]), (torch.randn(1, 2000),)


def seen(prefix, side, more):
    import torch
    suffix = {"SuperPoint": "ForKeypointDetection", "Yolos": "ForObjectDetection", "Segformer": "ForSemanticSegmentation",
              "GLPN": "ForDepthEstimation", "Swin2SR": "ForImageSuperResolution", "PPLCNet": "ForImageClassification",
              "HGNetV2": "ForImageClassification"}.get(prefix, "Model")
    module, _ = model_of(prefix, suffix, more)
    return named_call(module, ["pixel_values"]), (torch.rand(1, 3, side, side),)


def architectures():
    import breadth_multimodal
    rows = [(name, lambda p=prefix, m=more: encoder(p, m)) for name, prefix, more in ENCODERS]
    rows += [(name, lambda p=prefix, m=more: decoder(p, m)) for name, prefix, more in DECODERS]
    rows += [(f"{name}_with_cache", lambda p=prefix, m=more: step(p, m)) for name, prefix, more in DECODERS if name in CACHED]
    rows += [(name, lambda p=prefix, m=more: pair(p, m)) for name, prefix, more in PAIRS]
    rows += [(name, lambda p=prefix, m=more: wave(p, m)) for name, prefix, more in WAVES]
    rows += [(name, lambda p=prefix, s=side, m=more: seen(p, s, m)) for name, prefix, side, more in PICTURES]
    for name, make in rows + breadth_multimodal.ROWS:
        yield name, "transformers", make
