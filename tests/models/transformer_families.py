"""transformer_families.py - the families of transformers, each built from its configuration with small random weights.

A row is a class of transformers, its configuration and the kind of inputs it takes. Every family is exported twice:
with fixed sizes, and with the sizes that its users vary (batch, and length, or height and width) left open. Weights are
drawn wider than transformers does: with its standard deviation of 0.02 attention is nearly uniform, and a wrong mask
would hide in the tolerance. A family whose export torch itself refuses for a dynamic size names the ones it can have open.
"""
import torch
from torch import nn
import transformers
from transformers.integrations.executorch import TorchExportableModuleWithStaticCache, register_dynamic_cache_export_support

from recipe import Recipe

VOCABULARY = 99
WIDTH = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
GQA = dict(WIDTH, num_key_value_heads=2)
TEXT = dict(WIDTH, vocab_size=VOCABULARY, max_position_embeddings=64)
DECODER = dict(GQA, vocab_size=VOCABULARY, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)

FAMILIES = []


# ---- inputs: a function of sizes, which of an argument's dimensions are open, the sizes to run at ----

class Kind:
    def __init__(self, make, open_dims, sizes):
        self.make, self.open_dims, self.sizes = make, open_dims, sizes


def tokens(batch, length):
    return torch.randint(3, VOCABULARY, (batch, length))


def mask(batch, length):
    """The first row is whole, each other one is padded at its end."""
    m = torch.ones(batch, length, dtype=torch.int64)
    for i in range(1, batch):
        m[i, max(1, length - i):] = 0
    return m


def words(batch, length):
    return {"input_ids": tokens(batch, length), "attention_mask": mask(batch, length)}


def seq2seq(batch, length):
    return dict(words(batch, length), decoder_input_ids=tokens(batch, length + 1))


def boxes(batch, length):
    low = torch.randint(0, 50, (batch, length, 2))
    return torch.cat([low, low + torch.randint(1, 50, (batch, length, 2))], -1)


def images(size, channels=3):
    def make(batch, height=size, width=size):
        return {"pixel_values": torch.randn(batch, channels, height, width)}
    return make


SEQUENCE = {0: "batch", 1: "length"}
WORDS = Kind(words, {"input_ids": SEQUENCE, "attention_mask": SEQUENCE}, [(2, 8), (3, 5), (1, 13)])
TOKENS = Kind(lambda b, n: {"input_ids": tokens(b, n)}, {"input_ids": SEQUENCE}, WORDS.sizes)
SEQ2SEQ = Kind(seq2seq, {"input_ids": SEQUENCE, "attention_mask": SEQUENCE, "decoder_input_ids": {0: "batch", 1: "target"}}, WORDS.sizes)
LAYOUT = Kind(lambda b, n: dict(words(b, n), bbox=boxes(b, n)), {"input_ids": SEQUENCE, "attention_mask": SEQUENCE, "bbox": SEQUENCE}, WORDS.sizes)


def image(size, channels=3):
    """An image of one size: the model's position embeddings, or torch's export, fix it."""
    return Kind(images(size, channels), {"pixel_values": {0: "batch"}}, [(2,), (3,), (1,)])


def any_image(size, *others):
    return Kind(images(size), {"pixel_values": {0: "batch", 2: "height", 3: "width"}}, [(2, size, size)] + list(others or [(3, size, size)]))


def audio(samples, *others):
    return Kind(lambda b, n: {"input_values": torch.randn(b, n)}, {"input_values": {0: "batch", 1: "samples"}}, [(2, samples)] + list(others))


# ---- the table ----

def family(name, model, config, kind, still=(), forms=("pt2", "pt2.dyn"), **fields):
    """still: the dimensions that torch cannot leave open in this family."""
    FAMILIES.append(Row(name, model, config, kind, still, forms, fields))


class Row:
    def __init__(self, name, model, config, kind, still, forms, fields):
        self.name, self.kind, self.forms = name, kind, forms
        self.model, self.config, self.fields, self.still = model, config, fields, still

    def make(self, use_cache=False):
        config = getattr(transformers, self.config)(**{k: v() if callable(v) else v for k, v in self.fields.items()})
        config.use_cache = use_cache
        return spread(getattr(transformers, self.model)(config))

    def recipe(self):
        dims = {arg: {d: n for d, n in dims.items() if n not in self.still} for arg, dims in self.kind.open_dims.items()}
        # what stays still has the example's size in every run
        return Recipe(self.name, self.make, self.kind.make, self.forms, ["transformers", "trained"], self.sizes(), dynamic=dims)

    @property
    def heads(self):
        """Of keys and values, each of 8 numbers."""
        return self.fields.get("num_key_value_heads", 4)

    def sizes(self):
        names = list(dict.fromkeys(n for dims in self.kind.open_dims.values() for _, n in sorted(dims.items())))
        first = self.kind.sizes[0]
        return tuple(tuple(first[i] if i < len(names) and names[i] in self.still else s for i, s in enumerate(size)) for size in self.kind.sizes)


def spread(model):
    """Weights of a trained network's size, biases and norms that are no identities."""
    g = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for m in model.modules():
            for name, p in m.named_parameters(recurse=False):
                if not p.is_floating_point():
                    continue
                if isinstance(m, nn.Embedding):
                    p.copy_(torch.randn(p.shape, generator=g))
                elif isinstance(m, (nn.Linear, nn.Conv1d, nn.Conv2d)) and name == "weight":
                    p.copy_(torch.randn(p.shape, generator=g) * (1.5 / max(1, p[0].numel()) ** 0.5))
                elif p.numel() > 1 and bool((p == p.flatten()[0]).all()):
                    low = 0.5 if "weight" in name or "scale" in name else -0.3
                    p.copy_(torch.rand(p.shape, generator=g) * 0.6 + low)
    return model


# ---- encoders of text ----

family("bert", "BertModel", "BertConfig", WORDS, **TEXT)
family("bert_classifier", "BertForSequenceClassification", "BertConfig", WORDS, num_labels=3, **TEXT)
family("roberta", "RobertaModel", "RobertaConfig", WORDS, pad_token_id=1, **TEXT)
family("distilbert", "DistilBertForMaskedLM", "DistilBertConfig", WORDS, vocab_size=VOCABULARY, max_position_embeddings=64, dim=32, n_layers=2, n_heads=4,
       hidden_dim=48)
family("albert", "AlbertModel", "AlbertConfig", WORDS, embedding_size=16, **TEXT)
family("electra", "ElectraForTokenClassification", "ElectraConfig", WORDS, embedding_size=16, **TEXT)
family("deberta_v2", "DebertaV2Model", "DebertaV2Config", WORDS, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8, **TEXT)
family("deberta", "DebertaModel", "DebertaConfig", WORDS, relative_attention=True, pos_att_type=["p2c", "c2p"], **TEXT)
family("mpnet", "MPNetModel", "MPNetConfig", WORDS, **TEXT)
family("xlm_roberta", "XLMRobertaForQuestionAnswering", "XLMRobertaConfig", WORDS, pad_token_id=1, **TEXT)
family("modernbert", "ModernBertModel", "ModernBertConfig", WORDS, global_attn_every_n_layers=2, local_attention=4, pad_token_id=0, bos_token_id=1, eos_token_id=2,
       cls_token_id=1, sep_token_id=2, **TEXT)
family("mobilebert", "MobileBertModel", "MobileBertConfig", WORDS, embedding_size=16, intra_bottleneck_size=32, num_feedforward_networks=2, **TEXT)
family("squeezebert", "SqueezeBertModel", "SqueezeBertConfig", WORDS, embedding_size=32, **TEXT)
family("convbert", "ConvBertModel", "ConvBertConfig", WORDS, embedding_size=32, conv_kernel_size=3, **TEXT)
family("fnet", "FNetModel", "FNetConfig", TOKENS, hidden_size=32, num_hidden_layers=2,
       intermediate_size=48, vocab_size=VOCABULARY, max_position_embeddings=64)
family("esm", "EsmModel", "EsmConfig", WORDS, pad_token_id=1, mask_token_id=2, position_embedding_type="rotary", **TEXT)
family("layoutlm", "LayoutLMModel", "LayoutLMConfig", LAYOUT, max_2d_position_embeddings=128, **TEXT)
family("xlnet", "XLNetModel", "XLNetConfig", WORDS, vocab_size=VOCABULARY, d_model=32, n_layer=2, n_head=4, d_inner=48)

# ---- decoders ----

GPT = dict(vocab_size=VOCABULARY, n_positions=64, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)
family("gpt2", "GPT2LMHeadModel", "GPT2Config", WORDS, **GPT)
family("gptj", "GPTJForCausalLM", "GPTJConfig", WORDS, rotary_dim=4, **GPT)
family("codegen", "CodeGenForCausalLM", "CodeGenConfig", WORDS, rotary_dim=4, n_ctx=64, **GPT)
family("gpt_neo", "GPTNeoForCausalLM", "GPTNeoConfig", WORDS, vocab_size=VOCABULARY, max_position_embeddings=64, hidden_size=32, num_layers=2, num_heads=4,
       attention_types=[[["global", "local"], 1]], window_size=4)
family("gpt_neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", WORDS, rotary_pct=0.5, **TEXT)
family("opt", "OPTForCausalLM", "OPTConfig", WORDS, vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=48,
       max_position_embeddings=64, word_embed_proj_dim=32)
family("bloom", "BloomForCausalLM", "BloomConfig", WORDS, vocab_size=VOCABULARY, hidden_size=32, n_layer=2, n_head=4)
family("llama", "LlamaForCausalLM", "LlamaConfig", WORDS, **DECODER)
family("mistral", "MistralForCausalLM", "MistralConfig", WORDS, sliding_window=4, **DECODER)
family("qwen2", "Qwen2ForCausalLM", "Qwen2Config", WORDS, **DECODER)
family("qwen3", "Qwen3ForCausalLM", "Qwen3Config", WORDS, head_dim=8, **DECODER)
family("gemma", "GemmaForCausalLM", "GemmaConfig", WORDS, head_dim=8, **DECODER)
family("gemma2", "Gemma2ForCausalLM", "Gemma2Config", WORDS, head_dim=8, sliding_window=4, **DECODER)
family("gemma3", "Gemma3ForCausalLM", "Gemma3TextConfig", WORDS, head_dim=8, sliding_window=4, **DECODER)
family("phi", "PhiForCausalLM", "PhiConfig", WORDS, **DECODER)
family("phi3", "Phi3ForCausalLM", "Phi3Config", WORDS, **DECODER)
family("falcon", "FalconForCausalLM", "FalconConfig", WORDS, vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)
family("falcon_alibi", "FalconForCausalLM", "FalconConfig", WORDS, vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, alibi=True,
       new_decoder_architecture=False, multi_query=False)
family("mpt", "MptForCausalLM", "MptConfig", WORDS, vocab_size=VOCABULARY, d_model=32, n_layers=2, n_heads=4, max_seq_len=64)
family("stablelm", "StableLmForCausalLM", "StableLmConfig", WORDS, **DECODER)
family("starcoder2", "Starcoder2ForCausalLM", "Starcoder2Config", WORDS, **DECODER)
family("olmo2", "Olmo2ForCausalLM", "Olmo2Config", WORDS, **DECODER)
family("cohere", "CohereForCausalLM", "CohereConfig", WORDS, **DECODER)
family("granite", "GraniteForCausalLM", "GraniteConfig", WORDS, **DECODER)
family("mixtral", "MixtralForCausalLM", "MixtralConfig", WORDS, num_local_experts=4, num_experts_per_tok=2, **DECODER)
family("mamba", "MambaForCausalLM", "MambaConfig", TOKENS, vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=4, still=("length",))
family("rwkv", "RwkvForCausalLM", "RwkvConfig", TOKENS, vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, attention_hidden_size=32, rescale_every=0, still=("length",))

# ---- encoder and decoder ----

T5 = dict(vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0, relative_attention_num_buckets=8)
family("t5", "T5ForConditionalGeneration", "T5Config", SEQ2SEQ, **T5)
family("mt5", "MT5ForConditionalGeneration", "MT5Config", SEQ2SEQ, feed_forward_proj="gated-gelu", **T5)
BART = dict(vocab_size=VOCABULARY, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
            decoder_ffn_dim=48, max_position_embeddings=64)
family("bart", "BartForConditionalGeneration", "BartConfig", SEQ2SEQ, **BART)
family("mbart", "MBartForConditionalGeneration", "MBartConfig", SEQ2SEQ, **BART)
family("pegasus", "PegasusForConditionalGeneration", "PegasusConfig", SEQ2SEQ, **BART)
family("marian", "MarianMTModel", "MarianConfig", SEQ2SEQ, pad_token_id=0, **BART)
family("m2m_100", "M2M100ForConditionalGeneration", "M2M100Config", SEQ2SEQ, **BART)

# ---- images ----

VIT = dict(WIDTH, image_size=32, patch_size=8)
family("vit", "ViTForImageClassification", "ViTConfig", image(32), **VIT)
family("deit", "DeiTForImageClassificationWithTeacher", "DeiTConfig", image(32), **VIT)
family("beit", "BeitForImageClassification", "BeitConfig", image(32), use_relative_position_bias=True, **VIT)
family("dinov2", "Dinov2Model", "Dinov2Config", image(32), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=32,
       patch_size=8)
family("swin", "SwinForImageClassification", "SwinConfig", image(32), image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)
family("swinv2", "Swinv2Model", "Swinv2Config", image(32), image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)
family("convnext", "ConvNextForImageClassification", "ConvNextConfig", any_image(64, (3, 96, 64), (1, 64, 128)), hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1])
family("convnextv2", "ConvNextV2Model", "ConvNextV2Config", any_image(64, (3, 96, 64), (1, 64, 128)), hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1])
family("resnet", "ResNetForImageClassification", "ResNetConfig", any_image(64, (3, 96, 64), (1, 64, 128)), embedding_size=8, hidden_sizes=[8, 16], depths=[1, 2],
       layer_type="basic")
family("regnet", "RegNetForImageClassification", "RegNetConfig", any_image(64, (3, 96, 64), (1, 64, 128)), embedding_size=8, hidden_sizes=[8, 16], depths=[1, 2],
       groups_width=4)
family("mobilenet_v2", "MobileNetV2ForImageClassification", "MobileNetV2Config", any_image(64), depth_multiplier=0.35, still=("height", "width"))
family("mobilevit", "MobileViTForImageClassification", "MobileViTConfig", image(64), image_size=64, patch_size=2, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32],
       num_attention_heads=2)
family("poolformer", "PoolFormerForImageClassification", "PoolFormerConfig", any_image(64, (3, 96, 64), (1, 64, 128)), hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1])
family("segformer", "SegformerForSemanticSegmentation", "SegformerConfig", any_image(64, (3, 96, 64), (1, 64, 128)), num_encoder_blocks=2, depths=[1, 1], sr_ratios=[4, 2],
       hidden_sizes=[16, 32], patch_sizes=[7, 3], strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=16)
family("pvt_v2", "PvtV2ForImageClassification", "PvtV2Config", any_image(64, (3, 96, 64), (1, 64, 128)), hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
       num_attention_heads=[1, 2, 3, 4], mlp_ratios=[2, 2, 2, 2])
family("yolos", "YolosForObjectDetection", "YolosConfig", image(32), num_detection_tokens=5, **dict(VIT, image_size=[32, 32]))
RESNET = lambda: transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", out_features=["stage2"])     # noqa: E731
family("detr", "DetrForObjectDetection", "DetrConfig", any_image(64, (3, 96, 64), (1, 64, 128)), use_timm_backbone=False, use_pretrained_backbone=False,
       backbone=None, backbone_config=RESNET, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
       decoder_ffn_dim=48, num_queries=6, num_labels=3)
family("dpt", "DPTForDepthEstimation", "DPTConfig", image(32), backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 16, 24, 32], fusion_hidden_size=16,
       reassemble_factors=[4, 2, 1, 0.5], **dict(VIT, num_hidden_layers=4))

# ---- sound ----

WAV = dict(WIDTH, conv_dim=[16, 16, 16], conv_kernel=[10, 3, 2], conv_stride=[5, 2, 2], num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2)
SOUND = audio(800, (3, 1000), (1, 640))
family("wav2vec2", "Wav2Vec2ForCTC", "Wav2Vec2Config", SOUND, vocab_size=20, **WAV)
family("hubert", "HubertModel", "HubertConfig", SOUND, **WAV)
family("wavlm", "WavLMModel", "WavLMConfig", SOUND, num_buckets=16, max_bucket_distance=32, **WAV)
family("sew", "SEWModel", "SEWConfig", SOUND, squeeze_factor=2, **WAV)
family("unispeech", "UniSpeechModel", "UniSpeechConfig", SOUND, **WAV)
family("ast", "ASTForAudioClassification", "ASTConfig", Kind(lambda b: {"input_values": torch.randn(b, 24, 16)}, {"input_values": {0: "batch"}}, [(2,), (3,), (1,)]),
       patch_size=4, num_mel_bins=16, max_length=24, frequency_stride=2, time_stride=2, **WIDTH)
family("whisper", "WhisperForConditionalGeneration", "WhisperConfig",
       Kind(lambda b, n: {"input_features": torch.randn(b, 8, 40), "decoder_input_ids": tokens(b, n)},
            {"input_features": {0: "batch"}, "decoder_input_ids": SEQUENCE}, WORDS.sizes),
       vocab_size=VOCABULARY, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
       num_mel_bins=8, max_source_positions=20, max_target_positions=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
       suppress_tokens=None, begin_suppress_tokens=None)
family("speech_to_text", "Speech2TextForConditionalGeneration", "Speech2TextConfig",
       Kind(lambda b, n: {"input_features": torch.randn(b, 4 * n, 8), "decoder_input_ids": tokens(b, n)},
            {"input_features": {0: "batch", 1: "frames"}, "decoder_input_ids": SEQUENCE}, WORDS.sizes),
       vocab_size=VOCABULARY, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
       input_feat_per_channel=8, conv_channels=16, max_source_positions=64, max_target_positions=64)

# ---- images and text ----

PAIR = Kind(lambda b, n: dict(words(b, n), **images(32)(b)), {"input_ids": SEQUENCE, "attention_mask": SEQUENCE, "pixel_values": {0: "batch"}}, WORDS.sizes)
PAIRED = dict(vision_config=dict(VIT, projection_dim=16), projection_dim=16)
family("clip", "CLIPModel", "CLIPConfig", PAIR, text_config=dict(TEXT, projection_dim=16, pad_token_id=0, bos_token_id=1, eos_token_id=2), **PAIRED)
family("chinese_clip", "ChineseCLIPModel", "ChineseCLIPConfig", PAIR, text_config=dict(TEXT, pad_token_id=0), **PAIRED)
family("siglip", "SiglipModel", "SiglipConfig", PAIR, text_config=dict(TEXT, projection_size=32, pad_token_id=0, bos_token_id=1, eos_token_id=2), vision_config=dict(VIT))
family("blip", "BlipForImageTextRetrieval", "BlipConfig", PAIR, text_config=dict(TEXT, encoder_hidden_size=32, projection_dim=16, pad_token_id=0, bos_token_id=1, eos_token_id=2),
       vision_config=dict(VIT), projection_dim=16, image_text_hidden_size=16)

# ---- series ----

family("patchtst", "PatchTSTForPrediction", "PatchTSTConfig", Kind(lambda b: {"past_values": torch.randn(b, 32, 3)}, {"past_values": {0: "batch"}}, [(2,), (3,), (1,)]),
       num_input_channels=3, context_length=32, patch_length=4, patch_stride=4, d_model=32, num_attention_heads=4, num_hidden_layers=2, ffn_dim=48, prediction_length=8)

# ---- decoders with a cache, as models with state ----

CACHE = 16                          # positions


def chunk(batch, length, at):
    """Tokens for the positions from `at` on."""
    return {"input_ids": tokens(batch, length), "cache_position": torch.arange(at, at + length)}


def cached(row, open_length):
    """The family's decoder with transformers' static cache: keys and values of all positions so far are buffers."""
    def make():
        model = row.make(use_cache=True)
        model.generation_config = transformers.GenerationConfig(use_cache=True, cache_implementation="static",
                                                                cache_config={"batch_size": 1, "max_cache_len": CACHE, "device": "cpu"})
        return TorchExportableModuleWithStaticCache(model)
    steps = [(1, 4, 0), (1, 3, 4), (1, 2, 7)] if open_length else [(1, 1, i) for i in range(4)]
    r = Recipe("%s_cached%s" % (row.name, "_chunks" if open_length else ""), make, chunk, ("pt2",), ["transformers", "trained", "state"], tuple(steps))
    r.shapes = {"input_ids": {1: torch.export.Dim.DYNAMIC}, "cache_position": {0: torch.export.Dim.DYNAMIC}} if open_length else None
    return r


def continued(row):
    """The family's decoder that is given the keys and values of what was before, and gives them back longer."""
    def make():
        register_dynamic_cache_export_support()
        return row.make(use_cache=True)

    def inputs(batch, length, past):
        cache = transformers.DynamicCache()
        for i in range(2):
            cache.update(torch.randn(batch, row.heads, past, 8), torch.randn(batch, row.heads, past, 8), i)
        return {"input_ids": tokens(batch, length), "attention_mask": mask(batch, past + length), "past_key_values": cache}
    D = torch.export.Dim.DYNAMIC
    r = Recipe(row.name + "_past", make, inputs, ("pt2",), ["transformers", "trained"], ((2, 3, 5), (3, 2, 7), (2, 4, 3)))
    r.shapes = {"input_ids": {0: D, 1: D}, "attention_mask": {0: D, 1: D}, "past_key_values": [[{0: D, 2: D}] * 2] * 2}
    return r


CACHED = ("gpt2", "gpt_neox", "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "phi", "phi3", "stablelm", "starcoder2", "olmo2", "cohere", "granite")
RECIPES = [row.recipe() for row in FAMILIES]
RECIPES += [cached(row, open_length) for row in FAMILIES if row.name in CACHED for open_length in (False, True)]
RECIPES += [continued(row) for row in FAMILIES if row.name in ("gpt2", "gpt_neox", "llama", "qwen2", "gemma", "phi", "stablelm", "starcoder2", "olmo2", "granite")]
