"""Architectures of transformers that need more than a row: sound and pictures with words, detectors, forecasts.

`ROWS` holds (name, make); make() returns (module, inputs).
"""
from breadth_transformers import model_of, named_call, words


def spectrum(bands, frames, batch=1):
    import torch
    return torch.randn(batch, bands, frames)


def whisper():
    module, _ = model_of("Whisper", "Model", dict(num_mel_bins=16, max_source_positions=20, max_target_positions=20))
    return named_call(module, ["input_features", "decoder_input_ids"], use_cache=False), (spectrum(16, 40), words(5))


def speech_to_text():
    module, _ = model_of("Speech2Text", "Model", dict(input_feat_per_channel=16, conv_channels=16, max_source_positions=64, max_target_positions=20))
    return named_call(module, ["input_features", "decoder_input_ids"], use_cache=False), (spectrum(32, 16), words(5))


def moonshine():
    import torch
    module, _ = model_of("Moonshine", "Model", dict(encoder_num_hidden_layers=1, decoder_num_hidden_layers=1, encoder_num_attention_heads=4, decoder_num_attention_heads=4))
    return named_call(module, ["input_values", "decoder_input_ids"], use_cache=False), (torch.randn(1, 4000), words(5))


def spectrogram_transformer():
    import torch
    module, _ = model_of("AST", "Model", dict(max_length=32, num_mel_bins=16, frequency_stride=8, time_stride=8))
    return named_call(module, ["input_values"]), (torch.randn(1, 32, 16),)


def wav2vec2_bert():
    import torch
    module, _ = model_of("Wav2Vec2Bert", "Model", dict(feature_projection_input_dim=16, left_max_position_embeddings=8, right_max_position_embeddings=4))
    return named_call(module, ["input_features"]), (torch.randn(1, 20, 16),)


def codec(prefix, more):
    import torch
    module, _ = model_of(prefix, "Model", more)

    class Decode(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = module.encoder, module.decoder

        def forward(self, wave):
            return self.decoder(self.encoder(wave))
    return Decode(), (torch.randn(1, 1, 1280),)


def univnet():
    import torch
    module, _ = model_of("UnivNet", "Model", dict(model_in_channels=8, model_hidden_channels=8, num_mel_bins=16, kernel_predictor_hidden_channels=8))
    return named_call(module, ["input_features", "noise_sequence"]), (torch.randn(1, 12, 16), torch.randn(1, 12, 8))


def text_and_picture(prefix, more, side=32, suffix="Model"):
    import torch
    module, _ = model_of(prefix, suffix, more)
    mask = torch.ones(2, 8, dtype=torch.int64)
    return named_call(module, ["input_ids", "pixel_values", "attention_mask"]), (words(8, 2), torch.rand(2, 3, side, side), mask)


def clip(prefix, more=None, side=32):
    own = {"vision_config": {"image_size": side}, "text_config": {"eos_token_id": 2}}
    for part, keys in (more or {}).items():
        own[part] = {**own.get(part, {}), **keys} if isinstance(keys, dict) else keys
    return text_and_picture(prefix, own, side)


def owl(prefix):
    import torch
    module, _ = model_of(prefix, "ForObjectDetection", {"text_config": {"max_position_embeddings": 8}})
    return named_call(module, ["input_ids", "pixel_values", "attention_mask"]), (words(8, 2), torch.rand(1, 3, 32, 32), torch.ones(2, 8, dtype=torch.int64))


def vilt():
    import torch
    module, _ = model_of("Vilt", "Model", {})
    return named_call(module, ["input_ids", "pixel_values", "pixel_mask"]), (words(8), torch.rand(1, 3, 32, 32), torch.ones(1, 32, 32, dtype=torch.int64))


def layoutlmv3():
    import torch
    module, _ = model_of("LayoutLMv3", "Model", dict(input_size=32, coordinate_size=6, shape_size=4, max_position_embeddings=70))
    boxes = torch.randint(0, 500, (1, 8, 4))
    boxes[..., 2:] = boxes[..., :2] + 100
    return named_call(module, ["input_ids", "bbox", "pixel_values"]), (words(8), boxes, torch.rand(1, 3, 32, 32))


def git():
    import torch
    module, _ = model_of("Git", "Model", {"vision_config": {"image_size": 32}})
    return named_call(module, ["input_ids", "pixel_values"], use_cache=False), (words(6), torch.rand(1, 3, 32, 32))


def resnet_part():
    import transformers
    return transformers.ResNetConfig(embedding_size=16, hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1], out_features=["stage2", "stage3", "stage4"], layer_type="basic")


def detection(prefix, more, side=64, levels=True):
    import torch
    part = resnet_part()
    if not levels:
        part.out_features = ["stage4"]
    module, _ = model_of(prefix, "ForObjectDetection", dict(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=part, num_queries=6, **more))
    return named_call(module, ["pixel_values"]), (torch.rand(1, 3, side, side),)


def rt_detr(prefix):
    return detection(prefix, dict(encoder_in_channels=[16, 32, 32], encoder_hidden_dim=32, feat_strides=[8, 16, 32], decoder_in_channels=[32, 32, 32], eval_size=None,
                                  encoder_ffn_dim=32, decoder_ffn_dim=32, encoder_attention_heads=2, hidden_expansion=0.5))


def depth(prefix="DPT"):
    import torch
    more = dict(is_hybrid=False, backbone_out_indices=[0, 0, 1, 1], neck_hidden_sizes=[16, 16, 16, 16], fusion_hidden_size=16)
    module, _ = model_of(prefix, "ForDepthEstimation", more)
    return named_call(module, ["pixel_values"]), (torch.rand(1, 3, 32, 32),)


def movie(prefix, more, frames=4, suffix="Model"):
    import torch
    module, _ = model_of(prefix, suffix, more)
    return named_call(module, ["pixel_values"]), (torch.rand(1, frames, 3, 32, 32),)


def read_picture():
    import torch
    import transformers
    seer, _ = model_of("ViT", "Model", {})
    writer, _ = model_of("TrOCR", "ForCausalLM", dict(cross_attention_hidden_size=32, is_decoder=True, add_cross_attention=True))
    module = transformers.VisionEncoderDecoderModel(encoder=seer, decoder=writer)
    return named_call(module, ["pixel_values", "decoder_input_ids"], use_cache=False), (torch.rand(1, 3, 32, 32), words(5))


def segment_anything():
    import torch
    module, _ = model_of("Sam", "Model", {"vision_config": dict(image_size=32, output_channels=16, window_size=2, global_attn_indexes=[1], num_pos_feats=8, mlp_dim=32),
                                          "prompt_encoder_config": dict(hidden_size=16, image_size=32, image_embedding_size=4, patch_size=8, mask_input_channels=8),
                                          "mask_decoder_config": dict(hidden_size=16, mlp_dim=32, iou_head_hidden_dim=16, num_attention_heads=2)})
    return named_call(module, ["pixel_values", "input_points"], multimask_output=True), (torch.rand(1, 3, 32, 32), torch.rand(1, 1, 2, 2) * 31)


def series(prefix, more, length, channels, suffix="ForPrediction"):
    import torch
    module, _ = model_of(prefix, suffix, dict(context_length=length, prediction_length=4, num_input_channels=channels, patch_length=4, patch_stride=4, stride=4, **more))
    return named_call(module, ["past_values"]), (torch.randn(1, length, channels),)


def lxmert():
    import torch
    module, _ = model_of("Lxmert", "Model", dict(l_layers=1, x_layers=1, r_layers=1, visual_feat_dim=16))
    return named_call(module, ["input_ids", "visual_feats", "visual_pos"]), (words(8), torch.randn(1, 5, 16), torch.rand(1, 5, 4))


def decisions():
    import torch
    module, _ = model_of("DecisionTransformer", "Model", dict(state_dim=5, act_dim=3, max_ep_len=40))
    values = torch.randn(1, 4, 5), torch.randn(1, 4, 3), torch.randn(1, 4, 1), torch.arange(4)[None], torch.ones(1, 4, dtype=torch.int64)
    return named_call(module, ["states", "actions", "returns_to_go", "timesteps", "attention_mask"]), values


def perceiver():
    import torch
    module, _ = model_of("Perceiver", "Model", dict(num_latents=8, d_latents=32, d_model=16, num_blocks=1, num_self_attends_per_block=1, num_self_attention_heads=2, num_cross_attention_heads=2))
    return named_call(module, ["inputs"]), (torch.randn(1, 10, 16),)


ROWS = [
    ("whisper", whisper), ("speech_to_text", speech_to_text), ("moonshine", moonshine), ("audio_spectrogram_transformer", spectrogram_transformer),
    ("wav2vec2_bert", wav2vec2_bert), ("encodec", lambda: codec("Encodec", dict(num_filters=4, upsampling_ratios=[4, 2], hidden_size=16))),
    ("dac", lambda: codec("Dac", dict(encoder_hidden_size=8, decoder_hidden_size=32, downsampling_ratios=[2, 4], upsampling_ratios=[4, 2], hidden_size=32))),
    ("univnet", univnet),
    ("clip", lambda: clip("CLIP")), ("siglip", lambda: clip("Siglip")), ("altclip", lambda: clip("AltCLIP")), ("chinese_clip", lambda: clip("ChineseCLIP")),
    ("groupvit", lambda: clip("GroupViT", {"vision_config": dict(depths=[1, 1, 1], num_group_tokens=[8, 4, 0], num_output_groups=[8, 4, 0])})),
    ("blip", lambda: clip("Blip")), ("flava", lambda: text_and_picture("Flava", {})), ("align", lambda: clip("Align", {"vision_config": dict(image_size=64, hidden_dim=2560)}, 64)),
    ("owlvit", lambda: owl("OwlViT")), ("owlv2", lambda: owl("Owlv2")), ("vilt", vilt), ("layoutlmv3", layoutlmv3), ("git", git),
    ("detr", lambda: detection("Detr", {}, levels=False)), ("conditional_detr", lambda: detection("ConditionalDetr", {}, levels=False)),
    ("dab_detr", lambda: detection("DabDetr", {}, levels=False)),
    ("deformable_detr", lambda: detection("DeformableDetr", dict(num_feature_levels=4))), ("table_transformer", lambda: detection("TableTransformer", {}, levels=False)),
    ("rt_detr", lambda: rt_detr("RTDetr")), ("rt_detr_v2", lambda: rt_detr("RTDetrV2")), ("d_fine", lambda: rt_detr("DFine")),
    ("dpt", depth), ("timesformer", lambda: movie("Timesformer", dict(num_frames=4))), ("videomae", lambda: movie("VideoMAE", dict(num_frames=4))),
    ("vivit", lambda: movie("Vivit", dict(num_frames=4, tubelet_size=[2, 8, 8]))), ("trocr", read_picture), ("sam", segment_anything),
    ("patchtst", lambda: series("PatchTST", {}, 16, 2)), ("patchtsmixer", lambda: series("PatchTSMixer", {}, 16, 2)),
    ("lxmert", lxmert), ("decision_transformer", decisions), ("perceiver", perceiver),
]
