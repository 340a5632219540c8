#!/usr/bin/env python3
"""The models of tools/runtimes.py, from configurations with seeded weights, and one export of one of them in a process of its own.

    tools/runtime_models.py trace|ts|dy MODEL OUT OPSET

trace saves the traced model, with OUT.npz beside it: its inputs and PyTorch's results. ts and dy are torch.onnx's two exporters.
"""
import logging
import os
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
import numpy                                                        # noqa: E402
import torch                                                        # noqa: E402
from torch import nn                                                # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# What onnxruntime.transformers.optimizer is told that a model is; without a word of it, that tool is not asked.
KINDS = {"hf_vit": "vit", "distilbert": "bert", "bert": "bert", "gpt2": "gpt2", "t5_encoder": "t5", "t5": "t5", "whisper": "bart", "llama": "bert"}
VOCABULARY = 1000


class Named(nn.Module):
    """A model of transformers called by name: a tracer passes all of forward's parameters by position, which they forbid."""

    def __init__(self, model, *names, **more):
        super().__init__()
        self.model, self.names, self.more = model, names, more

    def forward(self, *values):
        return self.model(**dict(zip(self.names, values)), **self.more, return_dict=False)[0]


class First(nn.Module):
    """The sequence that a recurrent layer gives."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


def words(n=32):
    return torch.randint(0, VOCABULARY, (1, n))


def padding(n=32):
    return torch.cat([torch.ones(1, n - 3, dtype=torch.int64), torch.zeros(1, 3, dtype=torch.int64)], 1)


def picture():
    return torch.randn(1, 3, 224, 224)


def resnet18():
    import peers
    return peers.resnet18(), (picture(),)


def mobilenet():
    import transformers as t
    return Named(t.MobileNetV2Model(t.MobileNetV2Config()), "pixel_values"), (picture(),)


def hf_vit():
    import transformers as t
    config = t.ViTConfig(hidden_size=384, num_attention_heads=6, intermediate_size=1536)
    return Named(t.ViTModel(config), "pixel_values"), (picture(),)


def distilbert():
    import transformers as t
    return Named(t.DistilBertModel(t.DistilBertConfig(vocab_size=VOCABULARY)), "input_ids", "attention_mask"), (words(), padding())


def bert():
    import transformers as t
    config = t.BertConfig(vocab_size=VOCABULARY, num_hidden_layers=4)
    return Named(t.BertModel(config), "input_ids", "attention_mask"), (words(), padding())


def gpt2():
    import transformers as t
    config = t.GPT2Config(vocab_size=VOCABULARY, n_embd=384, n_head=6)
    return Named(t.GPT2LMHeadModel(config), "input_ids", "attention_mask", use_cache=False), (words(), padding())


def llama():
    import transformers as t
    config = t.LlamaConfig(vocab_size=VOCABULARY, hidden_size=256, intermediate_size=688, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4)
    return Named(t.LlamaForCausalLM(config), "input_ids", "attention_mask", use_cache=False), (words(), padding())


def t5_config():
    import transformers as t
    return t.T5Config(vocab_size=VOCABULARY, decoder_start_token_id=0)


def t5_encoder():
    import transformers as t
    return Named(t.T5EncoderModel(t5_config()), "input_ids", "attention_mask"), (words(), padding())


def t5():
    import transformers as t
    model = t.T5ForConditionalGeneration(t5_config())
    return Named(model, "input_ids", "attention_mask", "decoder_input_ids", use_cache=False), (words(), padding(), words(8))


def whisper():
    import transformers as t
    config = t.WhisperConfig(vocab_size=VOCABULARY, d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6, decoder_attention_heads=6,
                             encoder_ffn_dim=1536, decoder_ffn_dim=1536, max_source_positions=300, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                             decoder_start_token_id=1)
    model = t.WhisperForConditionalGeneration(config)
    return Named(model, "input_features", "decoder_input_ids", use_cache=False), (torch.randn(1, 80, 600), words(8))


def lstm_bi2():
    return First(nn.LSTM(64, 128, num_layers=2, bidirectional=True, batch_first=True)), (torch.randn(4, 20, 64),)


def gru_bi2():
    return First(nn.GRU(64, 128, num_layers=2, bidirectional=True, batch_first=True)), (torch.randn(4, 20, 64),)


MODELS = {f.__name__: f for f in (resnet18, mobilenet, hf_vit, distilbert, bert, gpt2, llama, t5_encoder, t5, whisper, lstm_bi2, gru_bi2)}


def made(name):
    torch.manual_seed(0)
    model, args = MODELS[name]()
    return model.eval(), args


def main():
    how, name, out, opset = sys.argv[1:]
    model, args = made(name)
    with torch.no_grad():
        if how == "trace":
            torch.jit.trace(model, args, check_trace=False).save(out)
            numpy.savez(out + ".npz", want=model(*args).numpy(), **{"in%d" % i: a.numpy() for i, a in enumerate(args)})
        elif how == "ts":
            torch.onnx.export(model, args, out, dynamo=False, opset_version=int(opset))
        else:
            torch.onnx.export(model, args, out, dynamo=True, opset_version=int(opset), external_data=False, verbose=False)


if __name__ == "__main__":
    main()
