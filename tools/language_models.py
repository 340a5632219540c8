"""Language models of transformers from small configurations with seeded weights, saved in the ways that people have; tools/language.py judges them.

    tools/language_models.py MODEL FOLDER

writes FOLDER/MODEL.WAY.pt or .pt2 for each way that transformers has for that model, FOLDER/MODEL.npz (prompts, and the tokens of PyTorch's
greedy generation) and FOLDER/MODEL.json (what is in the files, and the reason of each way that cannot be saved).

    tensors   a module of forward(input_ids, attention_mask, past), keys and values in and out: traced (.pt) and exported (.pt2), all sizes dynamic
    dynamic   the model itself with a DynamicCache among its arguments
    static    convert_and_export_with_cache; the cache is state of the program
    decoder   TorchExportableModuleForDecoderOnlyLM, of any number of tokens at a time; for models with an encoder Seq2SeqLMExportableModule
"""
import json
import logging
import os
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
import numpy                                                        # noqa: E402
import torch                                                        # noqa: E402
import transformers as t                                            # noqa: E402
from torch import nn                                                # noqa: E402
from torch.export import Dim                                        # noqa: E402
from transformers.cache_utils import DynamicCache, EncoderDecoderCache   # noqa: E402
from transformers.integrations import executorch                    # noqa: E402

VOCABULARY = 211
NEW = 64                            # tokens that are generated
LONGEST = 96                        # positions of a static cache
PROMPTS = (1, 7, 20)                # lengths; batched, the shorter ones get padding at the left
COMMON = dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, initializer_range=0.2,
              max_position_embeddings=256, pad_token_id=0, bos_token_id=1, eos_token_id=None)
GROUPED = dict(COMMON, num_key_value_heads=2)


def llama():
    return t.LlamaForCausalLM(t.LlamaConfig(**GROUPED))


def qwen3():
    return t.Qwen3ForCausalLM(t.Qwen3Config(head_dim=16, **GROUPED))


def gemma3():
    return t.Gemma3ForCausalLM(t.Gemma3TextConfig(head_dim=16, query_pre_attn_scalar=16, sliding_window=128, **dict(GROUPED, num_hidden_layers=3),
                                                  layer_types=["sliding_attention", "full_attention", "sliding_attention"]))


def phi():
    return t.PhiForCausalLM(t.PhiConfig(partial_rotary_factor=0.5, **COMMON))


def mixtral():
    return t.MixtralForCausalLM(t.MixtralConfig(num_local_experts=4, num_experts_per_tok=2, **GROUPED))


def gpt2():
    return t.GPT2LMHeadModel(t.GPT2Config(vocab_size=VOCABULARY, n_embd=64, n_layer=2, n_head=4, n_positions=256, initializer_range=0.2,
                                          pad_token_id=0, bos_token_id=1, eos_token_id=None))


def mamba():
    return t.MambaForCausalLM(t.MambaConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=8, initializer_range=0.2,
                                            pad_token_id=0, bos_token_id=1, eos_token_id=None))


def t5():
    return t.T5ForConditionalGeneration(t.T5Config(vocab_size=VOCABULARY, d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4,
                                                   decoder_start_token_id=1, pad_token_id=0, eos_token_id=None, initializer_factor=3.0))


def whisper():
    model = t.WhisperForConditionalGeneration(t.WhisperConfig(
        vocab_size=VOCABULARY, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=96,
        decoder_ffn_dim=96, max_source_positions=40, max_target_positions=128, num_mel_bins=8, init_std=0.2, pad_token_id=0, bos_token_id=1,
        eos_token_id=None, decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None))
    model.lm_head = model.proj_out                                  # the name by which the exporter of encoders and decoders asks for it
    return model


MODELS = {f.__name__: f for f in (llama, qwen3, gemma3, phi, mixtral, gpt2, t5, whisper, mamba)}


# ---- the modules that people write ----

class WithTensors(nn.Module):
    """Keys and values as a list of tensors, a pair a layer; the positions of padded rows begin behind the padding."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, past):
        positions = (attention_mask.cumsum(-1) - 1).clamp(min=0)[:, -input_ids.shape[1]:]
        cache = DynamicCache(tuple(zip(past[0::2], past[1::2])))
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, position_ids=positions, past_key_values=cache, use_cache=True)
        return out.logits, [v for layer in out.past_key_values.layers for v in (layer.keys, layer.values)]


class WithStates(nn.Module):
    """Mamba's states as a list of tensors, two a layer; one token a time."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, past):
        cache = DynamicCache(config=self.model.config)
        for layer, conv, recurrent in zip(cache.layers, past[0::2], past[1::2]):
            layer.lazy_initialization(conv_states=conv, recurrent_states=recurrent)
            layer.conv_states[0], layer.recurrent_states[0] = conv.clone(), recurrent.clone()
            layer.has_previous_state[0] = True
        out = self.model(input_ids=input_ids, cache_params=cache, use_cache=True)
        return out.logits, [v for layer in cache.layers for v in (layer.conv_states[0], layer.recurrent_states[0])]


class WithBuffers(nn.Module):
    """The same with the states in buffers; a bool says that a text begins."""

    def __init__(self, model, states):
        super().__init__()
        self.inner = WithStates(model)
        for i, v in enumerate(states):
            self.register_buffer("state_%d" % i, v)
        self.n = len(states)

    def forward(self, input_ids):
        states = [getattr(self, "state_%d" % i) for i in range(self.n)]
        logits, after = self.inner(input_ids, states)
        for buffer, v in zip(states, after):
            buffer.copy_(v)
        return logits


class Encoder(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.encoder = model.get_encoder()

    def forward(self, *inputs):
        return self.encoder(*inputs).last_hidden_state


class Decoder(nn.Module):
    """A decoder beside its encoder: keys and values of its own tokens as tensors, or as one DynamicCache."""

    def __init__(self, model):
        super().__init__()
        self.decoder, self.head = model.get_decoder(), model.lm_head

    def run(self, input_ids, hidden, mask, own):
        heard = {} if mask is None else {"encoder_attention_mask": mask}
        out = self.decoder(input_ids=input_ids, encoder_hidden_states=hidden, past_key_values=EncoderDecoderCache(own, DynamicCache()), use_cache=True,
                           **heard)
        return self.head(out[0])

    def forward(self, input_ids, hidden, mask, past):
        own = DynamicCache(tuple(zip(past[0::2], past[1::2])))
        logits = self.run(input_ids, hidden, mask, own)
        return logits, [v for layer in own.layers for v in (layer.keys, layer.values)]


class DecoderWithCache(Decoder):
    def forward(self, input_ids, hidden, mask, past):
        return self.run(input_ids, hidden, mask, past), past


class DecoderOfSound(Decoder):
    """Whisper's: what it hears has no padding."""

    def forward(self, input_ids, hidden, past):
        return super().forward(input_ids, hidden, None, past)


class DecoderOfSoundWithCache(Decoder):
    def forward(self, input_ids, hidden, past):
        return self.run(input_ids, hidden, None, past), past


# ---- saving them ----

BATCH, LENGTH, PAST = Dim("batch", min=1, max=64), Dim("length", min=1, max=128), Dim("past", min=0, max=4096)


class Maker:
    """What one model is saved as: self.ways, and self.refused with the reasons of what torch or transformers refuse."""

    def __init__(self, name, folder):
        torch.manual_seed(0)
        self.name, self.folder, self.ways, self.refused = name, folder, {}, {}
        self.model = MODELS[name]().eval()
        self.config = self.model.config
        self.encodes = self.config.is_encoder_decoder
        self.sound = name == "whisper"

    def path(self, way, suffix):
        return os.path.join(self.folder, "%s.%s%s" % (self.name, way, suffix))

    def save(self, way, suffix, make, **about):
        path = self.path(way, suffix)
        try:
            with torch.no_grad():
                made = make()
                made.save(path) if suffix == ".pt" else torch.export.save(made, path)
            self.ways[way + suffix] = dict(about, file=os.path.basename(path))
        except Exception as e:                                      # a way that torch or transformers refuse
            self.refused[way + suffix] = ("%s: %s" % (type(e).__name__, e)).split("\n")[0][:300]
            if os.environ.get("TRACE"):
                raise

    # -- what goes in --

    def cache_of(self, batch, past):
        c = self.config
        if self.name == "mamba":
            n = c.intermediate_size
            return [torch.randn(batch, n, k) for _ in range(c.num_hidden_layers) for k in (c.conv_kernel, c.state_size)]
        heads = getattr(c, "num_key_value_heads", None) or c.num_attention_heads
        width = getattr(c, "head_dim", None) or getattr(c, "d_kv", None) or c.hidden_size // c.num_attention_heads
        layers = getattr(c, "decoder_layers", None) or getattr(c, "num_decoder_layers", None) or c.num_hidden_layers
        return [torch.randn(batch, heads, past, width) for _ in range(2 * layers)]

    def dynamic_cache(self, past):
        cache = DynamicCache() if self.encodes else DynamicCache(config=self.config)
        for i in range(len(past) // 2):
            cache.update(past[2 * i], past[2 * i + 1], i)
        return cache

    def encoder_inputs(self, batch=2, n=9):
        if self.sound:
            return (torch.randn(batch, 8, 80),)
        mask = torch.ones(batch, n, dtype=torch.int64)
        mask[1:, n - 3:] = 0
        return torch.randint(2, VOCABULARY, (batch, n)), mask

    def example(self, batch=2, length=3, past=4):
        """(names, values, sizes by axis) of what stands before the cache."""
        ids = torch.randint(2, VOCABULARY, (batch, length))
        if self.name == "mamba":
            return ["input_ids"], [ids[:, :1]], [{0: BATCH}]
        if self.encodes:
            inputs = self.encoder_inputs(batch)
            heard = {0: BATCH} if self.sound else {0: BATCH, 1: Dim("heard", min=1, max=128)}
            hidden = Encoder(self.model)(*inputs)
            names = ["input_ids", "hidden"] + ([] if self.sound else ["mask"])
            return names, [ids, hidden, *inputs[1:]], [{0: BATCH, 1: LENGTH}, heard, heard][:len(names)]
        mask = torch.ones(batch, past + length, dtype=torch.int64)
        mask[0, :2] = 0
        return ["input_ids", "attention_mask"], [ids, mask], [{0: BATCH, 1: LENGTH}, {0: BATCH, 1: Dim.AUTO}]

    def module(self):
        if self.name == "mamba":
            return WithStates(self.model)
        if self.encodes:
            return (DecoderOfSound if self.sound else Decoder)(self.model)
        return WithTensors(self.model)

    # -- the ways --

    def tensors(self):
        names, values, sizes = self.example()
        past = self.cache_of(2, 4)
        grows = {0: BATCH} if self.name == "mamba" else {0: BATCH, 2: PAST}
        module, args = self.module(), (*values, past)
        first, heard, total = ({0: "batch=1..64", 1: n} for n in ("length=1..128", "heard=1..128", "past+length"))
        words_of = [first, heard, heard] if self.encodes else [first, total]
        if self.name == "mamba" or self.sound:
            words_of = [first if self.sound else {0: "batch"}, {0: "batch"}]

        def spec(name, v, axes):
            kind = "int64" if v.dtype == torch.int64 else "float32"
            return "%s:%s[%s]" % (name, kind, ",".join(axes.get(i, str(n)) for i, n in enumerate(v.shape)))
        specs = [spec(n, v, w) for n, v, w in zip(names, values, words_of)]
        axes = {0: "batch"} if self.name == "mamba" else {0: "batch", 2: "past"}
        specs += [spec("past.%d" % i, v, axes) for i, v in enumerate(past)]
        self.save("tensors", ".pt", lambda: torch.jit.trace(module, args, check_trace=False), inputs=names, specs=specs)
        shapes = (*sizes, [grows] * len(past))
        self.save("tensors", ".pt2", lambda: torch.export.export(module, args, dynamic_shapes=shapes, strict=False), inputs=names)

    def dynamic(self):
        executorch.register_dynamic_cache_export_support()
        names, values, sizes = self.example()
        if self.name == "mamba":
            self.refused["dynamic.pt2"] = "transformers exports no DynamicCache of states"
            return
        past = self.dynamic_cache(self.cache_of(2, 4))
        layers = len(past.layers)
        if self.name == "gemma3":               # DynamicCache asks whether the window is full
            sizes = [{0: BATCH, 1: Dim("length", min=1, max=27)}, sizes[1]]
        shapes = [[{0: BATCH, 2: Dim("past", min=0, max=100) if self.name == "gemma3" else PAST}] * layers] * 2
        if self.encodes:
            module = (DecoderOfSoundWithCache if self.sound else DecoderWithCache)(self.model)
            self.save("dynamic", ".pt2", lambda: torch.export.export(module, (*values, past), dynamic_shapes=(*sizes, shapes), strict=False), inputs=names)
            return
        if self.name == "gpt2":                 # its positions are absolute, and rows with padding have their own
            names, values, sizes = names + ["position_ids"], values + [torch.tensor([[2, 3, 4], [4, 5, 6]])], sizes + [sizes[0]]
        kwargs = dict(zip(names, values), past_key_values=past, use_cache=True)
        self.save("dynamic", ".pt2", lambda: torch.export.export(
            self.model, (), kwargs, strict=False,
            dynamic_shapes=dict(zip(names, sizes), past_key_values=shapes, use_cache=None)), inputs=names)

    def generation(self):
        self.model.generation_config = t.GenerationConfig(use_cache=True, cache_implementation="static", max_length=LONGEST,
                                                          cache_config={"batch_size": 1, "max_cache_len": LONGEST})

    def static(self):
        self.generation()
        if self.name == "mamba":
            module = WithBuffers(self.model, [torch.zeros_like(v) for v in self.cache_of(1, 0)])
            self.save("static", ".pt2", lambda: torch.export.export(module, (torch.ones(1, 1, dtype=torch.int64),), strict=False), inputs=["input_ids"])
            self.refused["decoder.pt2"] = "transformers has no static cache of states"
            return
        if self.encodes:
            self.static_decoder()
            return
        self.save("static", ".pt2", lambda: executorch.convert_and_export_with_cache(self.model, strict=False), inputs=["input_ids", "cache_position"])
        ids, length = torch.ones(1, 5, dtype=torch.int64), Dim("length", min=1, max=LONGEST - 1)
        self.save("decoder", ".pt2", lambda: executorch.TorchExportableModuleForDecoderOnlyLM(self.model, 1, LONGEST).export(
            ids, cache_position=torch.arange(5), dynamic_shapes={"input_ids": {1: length}, "cache_position": {0: length}}, strict=False),
            inputs=["input_ids", "cache_position"])

    def static_decoder(self):
        module = executorch.Seq2SeqLMExportableModule(self.model, 1, 64, "static", LONGEST)
        hidden = Encoder(self.model)(*self.encoder_inputs(1))
        ids, at = torch.ones(1, 1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
        if self.sound:                          # its own exporter leaves open how much is heard, which Whisper does not
            decoder = executorch.Seq2SeqLMDecoderExportableModuleWithStaticCache(self.model, LONGEST, 1).eval()
            self.save("static", ".pt2", lambda: torch.export.export(decoder, (ids, hidden, at), strict=False), inputs=["input_ids", "hidden", "position"])
            return
        self.save("static", ".pt2", lambda: module._export_decoder(ids, hidden, at), inputs=["input_ids", "hidden", "position"])

    # -- what PyTorch says --

    def prompts(self):
        """(name, arguments of generate, batch): each prompt alone, and all of them in one batch with padding at the left."""
        generator = torch.Generator().manual_seed(1)
        rows = [torch.randint(2, VOCABULARY, (n,), generator=generator) for n in PROMPTS]
        if self.encodes:
            return
        widest = max(PROMPTS)
        ids = torch.stack([torch.cat([torch.zeros(widest - len(r), dtype=torch.int64), r]) for r in rows])
        yield from ((r[None], torch.ones_like(r)[None]) for r in rows)
        if self.name != "mamba":
            yield ids, (ids != 0).long()

    def said(self):
        """The arrays of the .npz: prompts and tokens, by number."""
        self.model.generation_config = t.GenerationConfig(pad_token_id=0, bos_token_id=1, decoder_start_token_id=1, use_cache=True)
        how = dict(do_sample=False, max_new_tokens=NEW, min_new_tokens=NEW)
        arrays, i = {}, 0
        if self.encodes:
            torch.manual_seed(2)
            for batch in (1, 2):
                inputs = self.encoder_inputs(batch)
                named = dict(input_features=inputs[0]) if self.sound else dict(input_ids=inputs[0], attention_mask=inputs[1])
                mask = {} if self.sound else {"%d.mask" % i: inputs[1]}
                tokens = self.generated(**named, **how)
                arrays.update({"%d.hidden" % i: Encoder(self.model)(*inputs), "%d.input_ids" % i: tokens[:, :1], "%d.tokens" % i: tokens[:, 1:], **mask})
                i += 1
            return arrays
        for ids, mask in self.prompts():
            tokens = self.generated(input_ids=ids, attention_mask=mask, **how)[:, ids.shape[1]:]
            arrays.update({"%d.input_ids" % i: ids, "%d.attention_mask" % i: mask, "%d.tokens" % i: tokens})
            i += 1
        return arrays

    def generated(self, **how):
        if not self.sound:
            return self.model.generate(**how)
        features = how.pop("input_features")                        # whisper's own generate() splits sound, and leaves words out
        tokens = torch.ones(len(features), 1, dtype=torch.int64)
        hidden = Encoder(self.model)(features)
        decoder, past = DecoderOfSoundWithCache(self.model), DynamicCache()
        for _ in range(NEW):
            logits, past = decoder(tokens[:, past.get_seq_length():], hidden, past)
            tokens = torch.cat([tokens, logits[:, -1:].argmax(-1)], 1)
        return tokens


def main():
    name, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    made = Maker(name, folder)
    with torch.no_grad():
        numpy.savez(os.path.join(folder, name + ".npz"), **{k: v.numpy() for k, v in made.said().items()})
        for way in (made.tensors, made.dynamic, made.static):
            way()
    about = {"ways": made.ways, "refused": made.refused, "cache": [list(v.shape[1:]) for v in made.cache_of(1, 0)], "longest": LONGEST}
    with open(os.path.join(folder, name + ".json"), "w") as f:
        json.dump(about, f, indent=1)


if __name__ == "__main__":
    main()
