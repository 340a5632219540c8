"""transformer_more.py - further families of transformers: segmentation, detection, codecs, speech, images with text, the decoders of 2024
to 2026. Rows as in transformer_families.py."""
import copy
import inspect

import torch
import transformers

import transformer_families
from recipe import Recipe
from transformer_families import (DECODER, PAIR, PAIRED, RESNET, SEQUENCE, SOUND, TEXT, TOKENS, VIT, VOCABULARY, WAV, WIDTH, WORDS, Kind, Row, any_image, image, images,
                                  mask, tokens, words)

FAMILIES = []


def family(name, model, config, kind, still=(), forms=("pt2", "pt2.dyn"), **fields):
    FAMILIES.append(Row(name, model, config, kind, still, forms, fields))


# ---- decoders ----

MOE = dict(num_experts=4, num_local_experts=4, num_experts_per_tok=2, moe_intermediate_size=24)
family("qwen3_moe", "Qwen3MoeForCausalLM", "Qwen3MoeConfig", WORDS, head_dim=8, **DECODER, **MOE)
family("gpt_oss", "GptOssForCausalLM", "GptOssConfig", WORDS, head_dim=8, sliding_window=4, num_local_experts=4, num_experts_per_tok=2, **DECODER)
family("llama4_text", "Llama4ForCausalLM", "Llama4TextConfig", WORDS, head_dim=8, num_local_experts=2, intermediate_size_mlp=48, attention_chunk_size=8, **DECODER)
family("deepseek_v3", "DeepseekV3ForCausalLM", "DeepseekV3Config", WORDS, first_k_dense_replace=1, n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1,
       moe_intermediate_size=24, kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=4, v_head_dim=8, **dict(DECODER, num_key_value_heads=4))
family("glm4", "Glm4ForCausalLM", "Glm4Config", WORDS, head_dim=8, **DECODER)
family("smollm3", "SmolLM3ForCausalLM", "SmolLM3Config", WORDS, **DECODER)
family("exaone4", "Exaone4ForCausalLM", "Exaone4Config", WORDS, sliding_window=4, **DECODER)
family("lfm2", "Lfm2ForCausalLM", "Lfm2Config", WORDS, layer_types=["conv", "full_attention"], **DECODER)
family("mamba2", "Mamba2ForCausalLM", "Mamba2Config", TOKENS, still=("length",), vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=4, num_heads=8,
       head_dim=8, n_groups=2, chunk_size=4)
family("gpt_bigcode", "GPTBigCodeForCausalLM", "GPTBigCodeConfig", WORDS, vocab_size=VOCABULARY, n_positions=64, n_embd=32, n_layer=2, n_head=4)
family("trocr", "TrOCRForCausalLM", "TrOCRConfig", TOKENS, vocab_size=VOCABULARY, d_model=32, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=48,
       max_position_embeddings=64, is_decoder=True)
family("biogpt", "BioGptForCausalLM", "BioGptConfig", WORDS, **TEXT)
family("ctrl", "CTRLLMHeadModel", "CTRLConfig", WORDS, vocab_size=VOCABULARY, n_positions=64, n_embd=32, dff=48, n_layer=2, n_head=4)
family("xglm", "XGLMForCausalLM", "XGLMConfig", WORDS, vocab_size=VOCABULARY, d_model=32, ffn_dim=48, num_layers=2, attention_heads=4, max_position_embeddings=64)
family("nemotron", "NemotronForCausalLM", "NemotronConfig", WORDS, head_dim=8, **DECODER)
family("olmo", "OlmoForCausalLM", "OlmoConfig", WORDS, **DECODER)
family("olmo3", "Olmo3ForCausalLM", "Olmo3Config", WORDS, sliding_window=4, **DECODER)
family("olmoe", "OlmoeForCausalLM", "OlmoeConfig", WORDS, num_experts=4, num_experts_per_tok=2, **DECODER)
family("qwen3_next", "Qwen3NextForCausalLM", "Qwen3NextConfig", WORDS, still=("length",), head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24,
       shared_expert_intermediate_size=24, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=8,
       layer_types=["linear_attention", "full_attention"], **DECODER)
DYNAMIC = ("pt2.dyn",)
family("xlstm", "xLSTMForCausalLM", "xLSTMConfig", TOKENS, still=("length",), forms=DYNAMIC, vocab_size=VOCABULARY, hidden_size=32, embedding_dim=32, num_heads=4,
       num_hidden_layers=2, num_blocks=2, chunk_size=4)
family("recurrent_gemma", "RecurrentGemmaForCausalLM", "RecurrentGemmaConfig", WORDS, still=("length",), forms=DYNAMIC, lru_width=32, conv1d_width=4, attention_window_size=4,
       block_types=["recurrent", "attention"], **DECODER)
family("zamba2", "Zamba2ForCausalLM", "Zamba2Config", WORDS, still=("length",), forms=DYNAMIC, mamba_d_state=8, mamba_ngroups=1, n_mamba_heads=8, mamba_headdim=8, chunk_size=4,
       num_mem_blocks=1, layers_block_type=["mamba", "hybrid"], hybrid_layer_ids=[1], use_mem_eff_path=False, attention_head_dim=16, attention_hidden_size=64,
       **dict(DECODER, num_key_value_heads=4))
family("minimax", "MiniMaxForCausalLM", "MiniMaxConfig", WORDS, still=("length",), forms=DYNAMIC, head_dim=8, num_local_experts=4, num_experts_per_tok=2, block_size=4,
       layer_types=["linear_attention", "full_attention"], **DECODER)
family("reformer", "ReformerModelWithLMHead", "ReformerConfig", WORDS, still=("length",), forms=DYNAMIC, attention_head_size=8, attn_layers=["local", "local"], axial_pos_embds=False,
       chunk_size_lm_head=0, feed_forward_size=48, hidden_size=32, is_decoder=True, local_attn_chunk_length=4, max_position_embeddings=64, num_attention_heads=4,
       vocab_size=VOCABULARY)

# ---- encoders of text ----

family("roformer", "RoFormerModel", "RoFormerConfig", WORDS, embedding_size=32, **TEXT)
family("ibert", "IBertModel", "IBertConfig", WORDS, **TEXT)
family("lilt", "LiltModel", "LiltConfig",
       Kind(lambda b, n: dict(words(b, n), bbox=torch.randint(0, 50, (b, n, 4)).cumsum(-1).clamp(max=100)), {"input_ids": SEQUENCE, "attention_mask": SEQUENCE, "bbox": SEQUENCE},
            WORDS.sizes), max_2d_position_embeddings=128, channel_shrink_ratio=2, **dict(TEXT, hidden_size=24))
family("canine", "CanineModel", "CanineConfig", WORDS, still=("length",), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, num_hash_buckets=64,
       max_position_embeddings=64, local_transformer_stride=4, downsampling_rate=2)
family("big_bird", "BigBirdModel", "BigBirdConfig", WORDS, attention_type="original_full", **TEXT)
family("funnel", "FunnelModel", "FunnelConfig", WORDS, still=("length",), vocab_size=VOCABULARY, block_sizes=[1, 1], num_decoder_layers=1, d_model=32, n_head=4, d_head=8, d_inner=48)
family("perceiver", "PerceiverForMaskedLM", "PerceiverConfig", WORDS, still=("length",), num_latents=6, d_latents=16, d_model=32, num_blocks=1, num_self_attends_per_block=2,
       num_self_attention_heads=4, num_cross_attention_heads=4, vocab_size=VOCABULARY, max_position_embeddings=8)
family("long_t5", "LongT5ForConditionalGeneration", "LongT5Config",
       Kind(lambda b, n: dict(words(b, n), decoder_input_ids=tokens(b, n + 1)), {"input_ids": {0: "batch"}, "attention_mask": {0: "batch"}, "decoder_input_ids": {0: "batch"}},
            [(2, 8), (3, 8), (1, 8)]), vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, local_radius=3, relative_attention_num_buckets=8)
family("flava_text", "FlavaTextModel", "FlavaTextConfig", WORDS, **TEXT)
family("altclip_text", "AltCLIPTextModel", "AltCLIPTextConfig", WORDS, project_dim=16, **TEXT)
family("luke", "LukeModel", "LukeConfig",
       Kind(lambda b, n: dict(words(b, n), entity_ids=torch.randint(1, 20, (b, 3)), entity_position_ids=torch.tensor([[[0, 1, -1], [2, -1, -1], [3, 4, -1]]] * b),
                              entity_attention_mask=torch.ones(b, 3, dtype=torch.int64)),
            {"input_ids": SEQUENCE, "attention_mask": SEQUENCE, "entity_ids": {0: "batch"}, "entity_position_ids": {0: "batch"}, "entity_attention_mask": {0: "batch"}}, WORDS.sizes),
       forms=DYNAMIC, entity_vocab_size=20, entity_emb_size=16, pad_token_id=0, **TEXT)
family("tapas", "TapasModel", "TapasConfig",
       Kind(lambda b, n: dict(words(b, n), token_type_ids=torch.randint(0, 2, (b, n, 7))), {"input_ids": SEQUENCE, "attention_mask": SEQUENCE, "token_type_ids": SEQUENCE}, WORDS.sizes),
       forms=DYNAMIC, type_vocab_sizes=[3, 4, 4, 2, 4, 4, 4], reset_position_index_per_cell=True, **TEXT)
family("big_bird_sparse", "BigBirdModel", "BigBirdConfig", Kind(words, {"input_ids": SEQUENCE, "attention_mask": SEQUENCE}, [(2, 32), (3, 32), (1, 32)]), still=("length",), forms=DYNAMIC,
       attention_type="block_sparse", block_size=4, num_random_blocks=1, **TEXT)
family("yoso", "YosoModel", "YosoConfig", WORDS, forms=DYNAMIC, use_expectation=True, **TEXT)

# ---- images ----

any_64 = any_image(64, (3, 96, 64), (1, 64, 128))
family("sam", "SamModel", "SamConfig",
       Kind(lambda b: dict(images(32)(b), input_points=torch.rand(b, 1, 2, 2) * 32, input_labels=torch.ones(b, 1, 2, dtype=torch.int64)),
            {"pixel_values": {0: "batch"}, "input_points": {0: "batch"}, "input_labels": {0: "batch"}}, [(2,), (3,), (1,)]),
       vision_config=dict(hidden_size=16, output_channels=16, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=4, window_size=4, global_attn_indexes=[1], mlp_dim=32,
                          num_pos_feats=8),
       prompt_encoder_config=dict(hidden_size=16, image_size=32, patch_size=4, mask_input_channels=8),
       mask_decoder_config=dict(hidden_size=16, mlp_dim=32, num_hidden_layers=2, num_attention_heads=2, iou_head_hidden_dim=16, num_multimask_outputs=3))
family("dinov3", "DINOv3ViTModel", "DINOv3ViTConfig", image(32), num_register_tokens=2, **dict(VIT, patch_size=8))
family("hiera", "HieraModel", "HieraConfig", image(64), embed_dim=16, image_size=[64, 64], patch_size=[7, 7], patch_stride=[4, 4], patch_padding=[3, 3], depths=[1, 1], num_heads=[1, 2],
       masked_unit_size=[2, 2], query_stride=[2, 2], num_query_pool=1, masked_unit_attention=[True, False])
family("levit", "LevitForImageClassification", "LevitConfig", image(64), image_size=64, hidden_sizes=[16, 24, 32], num_attention_heads=[2, 3, 4], depths=[1, 1, 1], key_dim=[8, 8, 8],
       down_ops=[["Subsample", 8, 2, 4, 2, 2], ["Subsample", 8, 3, 4, 2, 2]])
family("efficientnet", "EfficientNetForImageClassification", "EfficientNetConfig", any_64, width_coefficient=0.25, depth_coefficient=0.3, hidden_dim=320)
family("rt_detr", "RTDetrForObjectDetection", "RTDetrConfig", image(64), still=("batch",), backbone_config=lambda: transformers.RTDetrResNetConfig(
           embedding_size=8, hidden_sizes=[8, 12, 16, 24], depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage2", "stage3", "stage4"]),
       encoder_hidden_dim=16, encoder_in_channels=[12, 16, 24], encoder_layers=1, encoder_ffn_dim=24, encoder_attention_heads=2, d_model=16, num_queries=6,
       decoder_in_channels=[16, 16, 16], decoder_ffn_dim=24, decoder_layers=2, decoder_attention_heads=2, num_labels=3, anchor_image_size=[64, 64], decoder_n_points=2)
family("conditional_detr", "ConditionalDetrForObjectDetection", "ConditionalDetrConfig", any_64, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
       backbone_config=RESNET, d_model=32, encoder_layers=1, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
       num_queries=6, num_labels=3)
family("deformable_detr", "DeformableDetrForObjectDetection", "DeformableDetrConfig", image(64), forms=("pt2",), use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
       backbone_config=lambda: transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 12, 16, 24], depths=[1, 1, 1, 1], layer_type="basic",
                                                                        out_features=["stage2", "stage3", "stage4"]),
       d_model=32, encoder_layers=1, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, num_queries=6, num_labels=3)
family("depth_anything", "DepthAnythingForDepthEstimation", "DepthAnythingConfig", image(56), backbone_config=lambda: transformers.Dinov2Config(
           image_size=56, patch_size=14, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, out_indices=[1, 2, 3, 4], apply_layernorm=True, reshape_hidden_states=False),
       reassemble_hidden_size=32, patch_size=14, neck_hidden_sizes=[8, 12, 16, 16], fusion_hidden_size=8, head_hidden_size=4)
family("maskformer", "MaskFormerForInstanceSegmentation", "MaskFormerConfig", image(64), num_labels=3, fpn_feature_size=32, mask_feature_size=32,
       backbone_config=lambda: transformers.SwinConfig(image_size=64, patch_size=4, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2], window_size=4,
                                                                      out_features=["stage1", "stage2", "stage3", "stage4"]),
       decoder_config=lambda: transformers.DetrConfig(d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
                                                                     encoder_ffn_dim=24, decoder_ffn_dim=24, num_queries=5))
family("vitpose", "VitPoseForPoseEstimation", "VitPoseConfig", Kind(lambda b: {"pixel_values": torch.randn(b, 3, 32, 24)}, {"pixel_values": {0: "batch"}}, [(2,), (3,), (1,)]),
       backbone_config=lambda: transformers.VitPoseBackboneConfig(image_size=[32, 24], patch_size=[8, 8], out_indices=[2], **{k: v for k, v in WIDTH.items() if k != "intermediate_size"}),
       num_labels=4)
family("dinov2_registers", "Dinov2WithRegistersModel", "Dinov2WithRegistersConfig", image(32), num_register_tokens=2, image_size=32, patch_size=8, hidden_size=32,
       num_hidden_layers=2, num_attention_heads=4)
family("ijepa", "IJepaModel", "IJepaConfig", image(32), **VIT)
family("vit_msn", "ViTMSNModel", "ViTMSNConfig", image(32), **VIT)
family("vitdet", "VitDetModel", "VitDetConfig", image(64), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=64, pretrain_image_size=64, patch_size=8,
       window_block_indices=[0], window_size=3, use_relative_position_embeddings=True)
family("timesformer", "TimesformerModel", "TimesformerConfig", Kind(lambda b: {"pixel_values": torch.randn(b, 4, 3, 32, 32)}, {"pixel_values": {0: "batch"}}, [(2,), (3,), (1,)]),
       num_frames=4, **VIT)

# ---- sound ----

SAMPLES = Kind(lambda b, n: {"input_values": torch.randn(b, 1, n)}, {"input_values": {0: "batch", 2: "samples"}}, [(2, 320), (3, 640), (1, 480)])
class Quiet(Row):
    """x + sin(x)^2 of an x of thousands is what x was rounded to."""

    def make(self, use_cache=False):
        model = super().make(use_cache)
        with torch.no_grad():
            for m in model.modules():
                if isinstance(m, (torch.nn.Conv1d, torch.nn.ConvTranspose1d)):
                    m.weight.mul_(0.3)
        return model


FAMILIES.append(Quiet("dac", "DacModel", "DacConfig", SAMPLES, (), ("pt2", "pt2.dyn"), dict(encoder_hidden_size=8, downsampling_ratios=[2, 4], upsampling_ratios=[4, 2], decoder_hidden_size=16, n_codebooks=2, codebook_size=16,
       codebook_dim=4)))
family("moonshine", "MoonshineForConditionalGeneration", "MoonshineConfig",
       Kind(lambda b, n: {"input_values": torch.randn(b, 64 * n + 900), "decoder_input_ids": tokens(b, n)}, {"input_values": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "length"}},
            [(2, 8), (3, 8), (1, 8)]),
       vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, encoder_num_hidden_layers=2, decoder_num_hidden_layers=2, encoder_num_attention_heads=4,
       decoder_num_attention_heads=4, max_position_embeddings=64, pad_token_id=0, decoder_start_token_id=1)
family("data2vec_audio", "Data2VecAudioModel", "Data2VecAudioConfig", SOUND, **WAV)
family("sew_d", "SEWDModel", "SEWDConfig", SOUND, squeeze_factor=2, position_buckets=8, **WAV)
family("bark_semantic", "BarkSemanticModel", "BarkSemanticConfig", TOKENS, input_vocab_size=VOCABULARY, output_vocab_size=VOCABULARY, hidden_size=32, num_layers=2, num_heads=4, block_size=32)
family("bark_coarse", "BarkCoarseModel", "BarkCoarseConfig", TOKENS, input_vocab_size=VOCABULARY, output_vocab_size=VOCABULARY, hidden_size=32, num_layers=2, num_heads=4,
       block_size=32)
MEL = Kind(lambda b: {"input_features": torch.randn(b, 8, 40)}, {"input_features": {0: "batch"}}, [(2,), (3,), (1,)])
family("whisper_encoder", "WhisperForAudioClassification", "WhisperConfig", MEL, d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=48, num_mel_bins=8,
       max_source_positions=20, num_labels=3, pad_token_id=0)
family("whisper_decoder", "WhisperForCausalLM", "WhisperConfig", TOKENS, vocab_size=VOCABULARY, d_model=32, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=48,
       max_target_positions=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
family("bark_fine", "BarkFineModel", "BarkFineConfig",                                # codebook_idx is no tensor: fixed sizes only
       Kind(lambda b, n: {"codebook_idx": 1, "input_ids": torch.randint(0, 20, (b, n, 4))}, {"input_ids": SEQUENCE}, WORDS.sizes), forms=("pt2",),
       input_vocab_size=20, output_vocab_size=20, hidden_size=32, num_layers=2, num_heads=4, block_size=32, n_codes_total=4)
family("musicgen_decoder", "MusicgenForCausalLM", "MusicgenDecoderConfig",
       Kind(lambda b, n: {"input_ids": torch.randint(0, 20, (b * 2, n))}, {"input_ids": {1: "length"}}, [(2, 8), (2, 5)]), still=(), vocab_size=20, num_codebooks=2, num_hidden_layers=2,
       num_attention_heads=4, hidden_size=32, ffn_dim=48, max_position_embeddings=64)

# their padding is a number that a buffer holds: torch.export cannot guard on it
TRACED = ("traced",)
family("mimi", "MimiModel", "MimiConfig", SAMPLES, forms=TRACED, sampling_rate=8000, frame_rate=500, upsampling_ratios=[4, 2], num_filters=4, hidden_size=16, codebook_size=16,
       codebook_dim=16, vector_quantization_hidden_dimension=16, num_quantizers=3, num_semantic_quantizers=1, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
       head_dim=8, intermediate_size=24, upsample_groups=16, max_position_embeddings=64)
family("vits", "VitsModel", "VitsConfig", WORDS, forms=TRACED, still=("batch",), vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, window_size=2, ffn_dim=24, flow_size=16,
       spectrogram_bins=17, prior_encoder_num_flows=2, prior_encoder_num_wavenet_layers=2, duration_predictor_num_flows=2, duration_predictor_filter_channels=16,
       posterior_encoder_num_wavenet_layers=2, upsample_initial_channel=16, upsample_rates=[4, 2], upsample_kernel_sizes=[8, 4], resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]],
       use_stochastic_duration_prediction=False, noise_scale=0.0, depth_separable_channels=2)
VOICE = dict(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, window_size=2, ffn_dim=24, flow_size=16, spectrogram_bins=17,
             prior_encoder_num_flows=1, prior_encoder_num_wavenet_layers=1, duration_predictor_num_flows=1, duration_predictor_filter_channels=16,
             posterior_encoder_num_wavenet_layers=1, upsample_initial_channel=16, upsample_rates=[4], upsample_kernel_sizes=[8], resblock_kernel_sizes=[3],
             resblock_dilation_sizes=[[1, 3]], noise_scale=0.0, noise_scale_duration=0.0, depth_separable_channels=2)
family("vits_stochastic", "VitsModel", "VitsConfig", WORDS, forms=("pt2",), use_stochastic_duration_prediction=True, **VOICE)
# a trace has counted the frames of its example
family("encodec", "EncodecModel", "EncodecConfig", SAMPLES, forms=TRACED, still=("batch", "samples"), num_filters=4, upsampling_ratios=[4, 2], hidden_size=16, codebook_size=16,
       codebook_dim=16, num_lstm_layers=1, target_bandwidths=[8.0, 16.0], sampling_rate=8000)
# a trace has the strides of its example
family("longformer", "LongformerModel", "LongformerConfig", Kind(words, {"input_ids": SEQUENCE, "attention_mask": SEQUENCE}, [(2, 12)]), still=("batch", "length"),
       forms=TRACED, attention_window=[4, 4], **TEXT)
family("led", "LEDModel", "LEDConfig", Kind(words, {"input_ids": SEQUENCE, "attention_mask": SEQUENCE}, [(2, 12)]), still=("batch", "length"), forms=TRACED,
       vocab_size=VOCABULARY, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
       attention_window=[4, 4], max_encoder_position_embeddings=64, max_decoder_position_embeddings=64)

# ---- images and text ----

family("siglip2_vision", "Siglip2VisionModel", "Siglip2VisionConfig",
       Kind(lambda b: {"pixel_values": torch.randn(b, 16, 48), "pixel_attention_mask": torch.ones(b, 16, dtype=torch.int64), "spatial_shapes": torch.tensor([[4, 4]] * b)},
            {"pixel_values": {0: "batch"}, "pixel_attention_mask": {0: "batch"}, "spatial_shapes": {0: "batch"}}, [(2,), (3,)]), still=("batch",), patch_size=4, num_patches=16, **WIDTH)
family("siglip2_text", "Siglip2TextModel", "Siglip2TextConfig", WORDS, projection_size=16, **TEXT)
family("clipseg", "CLIPSegForImageSegmentation", "CLIPSegConfig", PAIR, still=("batch",), text_config=dict(TEXT, projection_dim=16, bos_token_id=1, eos_token_id=2),
       vision_config=dict(VIT, projection_dim=16, num_hidden_layers=3), projection_dim=16, extract_layers=[1, 2], reduce_dim=8, decoder_num_attention_heads=2,
       decoder_intermediate_size=16)
family("git", "GitForCausalLM", "GitConfig", PAIR, still=("batch", "length"), vision_config=VIT, **TEXT)
QUERIED = dict(text_config=dict(TEXT, pad_token_id=0, bos_token_id=1, eos_token_id=2), vision_config=VIT, projection_dim=32)
family("owlvit", "OwlViTForObjectDetection", "OwlViTConfig", PAIR, **QUERIED)
family("owlv2", "Owlv2ForObjectDetection", "Owlv2Config", PAIR, **QUERIED)
family("groupvit", "GroupViTModel", "GroupViTConfig", PAIR, projection_dim=16, projection_intermediate_dim=32, text_config=QUERIED["text_config"],
       vision_config=dict(VIT, depths=[1, 1, 1], num_group_tokens=[4, 4, 0], num_output_groups=[4, 4, 0]))
family("metaclip_2", "MetaClip2Model", "MetaClip2Config", PAIR, text_config=dict(QUERIED["text_config"], projection_dim=16), **PAIRED)
family("grounding_dino", "GroundingDinoForObjectDetection", "GroundingDinoConfig", Kind(lambda b, n: dict(words(b, n), **images(64)(b)), PAIR.open_dims, WORDS.sizes),
       forms=("pt2",), still=("batch", "length"), text_config=lambda: transformers.BertConfig(**TEXT), num_queries=6, d_model=32, encoder_layers=1, encoder_ffn_dim=48,
       encoder_attention_heads=4, decoder_layers=2, decoder_ffn_dim=48, decoder_attention_heads=4, max_text_len=16,
       backbone_config=lambda: transformers.SwinConfig(image_size=64, patch_size=4, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2], window_size=4,
                                                                      out_features=["stage2", "stage3", "stage4"]))
family("lxmert", "LxmertModel", "LxmertConfig",
       Kind(lambda b, n: dict(words(b, n), visual_feats=torch.randn(b, 4, 12), visual_pos=torch.rand(b, 4, 4)),
            {"input_ids": SEQUENCE, "attention_mask": SEQUENCE, "visual_feats": {0: "batch"}, "visual_pos": {0: "batch"}}, WORDS.sizes),
       vocab_size=VOCABULARY, hidden_size=32, num_attention_heads=4, intermediate_size=48, l_layers=1, x_layers=1, r_layers=1, visual_feat_dim=12, max_position_embeddings=64)
family("visual_bert", "VisualBertModel", "VisualBertConfig",
       Kind(lambda b, n: dict(words(b, n), visual_embeds=torch.randn(b, 4, 12), visual_attention_mask=torch.ones(b, 4)),
            {"input_ids": SEQUENCE, "attention_mask": SEQUENCE, "visual_embeds": {0: "batch"}, "visual_attention_mask": {0: "batch"}}, WORDS.sizes),
       visual_embedding_dim=12, **TEXT)

IMAGE = 90                          # a token that stands where a part of the image goes


def pictured(parts, shape):
    """An image a row, whose tokens stand before the words."""
    def make(batch, length):
        ids = torch.cat([torch.full((batch, parts), IMAGE), tokens(batch, length) % 80 + 3], 1)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "pixel_values": torch.randn(batch, *shape)}
    return Kind(make, {"input_ids": SEQUENCE, "attention_mask": SEQUENCE, "pixel_values": {0: "batch"}}, WORDS.sizes)


def without_cache(config, **fields):
    return dict(fields, model_type=config, use_cache=False)


family("internvl", "InternVLForConditionalGeneration", "InternVLConfig", pictured(4, (3, 32, 32)), forms=DYNAMIC, text_config=without_cache("qwen2", **DECODER),
       vision_config=dict(WIDTH, image_size=[32, 32], patch_size=[8, 8]), image_token_id=IMAGE, downsample_ratio=0.5)
family("idefics3", "Idefics3ForConditionalGeneration", "Idefics3Config", pictured(4, (1, 3, 32, 32)), forms=("pt2",), text_config=without_cache("llama", **DECODER),
       vision_config=dict(VIT), image_token_id=IMAGE, scale_factor=2)

# ---- decoders whose cache is made of tensors that the caller keeps ----


class Kept(torch.nn.Module):
    """A layer of attention ("a") keeps keys and values, a linear one ("l") what a convolution and a recurrence go on from."""

    def __init__(self, model, layers):
        super().__init__()
        self.model, self.layers = model, layers
        self.name = "cache_params" if "cache_params" in inspect.signature(model.forward).parameters else "past_key_values"

    def forward(self, input_ids, attention_mask, a0, b0, a1, b1):
        cache = transformers.DynamicCache(config=self.model.config)
        for i, (kind, a, b) in enumerate(zip(self.layers, (a0, a1), (b0, b1))):
            if kind == "a":
                cache.update(a, b, i)
            else:
                cache.update_conv_state(a, i)
                cache.update_recurrent_state(b, i)
        logits = self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=True, **{self.name: cache}).logits
        left = [(layer.keys, layer.values) if kind == "a" else (layer.conv_states[0], layer.recurrent_states[0]) for kind, layer in zip(self.layers, cache.layers)]
        return (logits, *left[0], *left[1])


def kept(name, layers="aa", states=()):
    """Several tokens after some others, or one where a layer is recurrent; states: the shapes of such a layer."""
    row = next(r for r in transformer_families.FAMILIES + FAMILIES if r.name == name)

    def inputs(batch, length, past):
        given = {"input_ids": tokens(batch, length), "attention_mask": mask(batch, past + length)}
        for i, kind in enumerate(layers):
            shapes = [(row.heads, past, 8)] * 2 if kind == "a" else states
            given.update({"%s%d" % (c, i): torch.randn(batch, *shape) for c, shape in zip("ab", shapes)})
        return given
    open_dims = {"input_ids": {0: "batch"} if states else SEQUENCE, "attention_mask": {0: "batch", 1: "total"}}
    open_dims.update({"%s%d" % (c, i): {0: "batch", 2: "past"} if kind == "a" else {0: "batch"} for i, kind in enumerate(layers) for c in "ab"})
    sizes = [(2, 1, 5), (3, 1, 7), (2, 1, 3)] if states else [(2, 3, 5), (3, 2, 7), (2, 4, 3)]
    return Recipe(name + "_kept", lambda: Kept(row.make(use_cache=True), layers).eval(), inputs, ("pt2.dyn", "traced"), ["transformers", "trained"], sizes, dynamic=open_dims)


RECIPES = [row.recipe() for row in FAMILIES]
RECIPES += [kept("gemma3"), kept("mamba", "ll", [(64, 4), (64, 4)]), kept("qwen3_next", "la", [(64, 4), (4, 8, 8)])]

# ---- as traces: what torch.jit.trace can take at all ----

# torch.jit.trace fails in the first three, and takes a dict of results of one type only
UNTRACED = {"bloom", "sew_d", "bark_fine"} | {"xlnet", "clip", "chinese_clip", "siglip", "rt_detr", "clipseg", "owlvit", "owlv2", "groupvit", "metaclip_2"}
UNTRACED |= {"yoso", "reformer", "recurrent_gemma", "idefics3"}     # functions of Python, an index map of torch's tracer, splits by a list of numbers
UNTRACED |= {"deformable_detr"}             # 85 places, sampled between pixels by random offsets: off by 1.04e-4


def traced(row):
    row.forms = ("traced",)
    return row.recipe()


RECIPES += [traced(copy.copy(row)) for row in transformer_families.FAMILIES + FAMILIES if row.name not in UNTRACED and row.forms != TRACED]
