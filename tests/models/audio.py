"""audio.py - torchaudio's networks and transforms with small random weights, for `make corpus`: recognition, synthesis, separation,
streaming with state that the caller keeps, and what stands before a network: spectrograms and cepstra."""
from typing import List

import torch
from torch import nn
import torchaudio.models as models
import torchaudio.transforms as transforms

from recipe import Recipe

BOTH, SCRIPTED = ["traced", "scripted"], ["scripted"]      # a trace of some keeps the sizes of its example, in torch too


def sound(batch, samples):
    return (torch.randn(batch, samples),)


def lengths(batch, longest):
    """The first is the longest, as the models demand."""
    return torch.tensor([max(1, longest - 2 * i) for i in range(batch)])


def frames(features):
    return lambda batch, length: (torch.randn(batch, length, features), lengths(batch, length))


WAV = dict(extractor_conv_layer_config=[(16, 5, 2), (16, 3, 2)], extractor_conv_bias=False, encoder_embed_dim=16, encoder_projection_dropout=0.1,
           encoder_pos_conv_kernel=8, encoder_pos_conv_groups=4, encoder_num_layers=2, encoder_num_heads=4, encoder_attention_dropout=0.1,
           encoder_ff_interm_features=24, encoder_ff_interm_dropout=0.1, encoder_dropout=0.1, encoder_layer_drop=0.0)
SOUND = dict(batches=[(2, 200), (3, 161), (1, 240)], dynamic={"waveforms": {0: "batch", 1: "samples"}})
SPEECH = dict(input_dim=16, segment_length=4, right_context_length=2)


def wav2vec2(mode, first, **more):
    """Without the hook of weight_norm, which tracing cannot name; scripting removes it itself."""
    model = models.wav2vec2_model(mode, encoder_layer_norm_first=first, **WAV, **more)
    nn.utils.remove_weight_norm(model.encoder.transformer.pos_conv_embed.conv)
    return model


class Logits(nn.Module):
    """What a trace may return: its other result is None."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, waveforms):
        return self.model(waveforms)[0]


class Segments(nn.Module):
    """One step of a streaming recogniser: a segment, and the state of the segments before it, which the caller keeps."""

    def __init__(self):
        super().__init__()
        self.layers = models.Emformer(16, 4, 24, 2, segment_length=4, right_context_length=2, left_context_length=6, max_memory_size=0)

    def forward(self, segment, length, kept: List[List[torch.Tensor]]):
        return self.layers.infer(segment, length, kept)


def nothing_kept(batch):
    layers = Segments().layers
    return [[torch.randn_like(t) if t.is_floating_point() else t + 3 for t in layer._init_state(batch, torch.device("cpu"))] for layer in layers.emformer_layers]


class Transducer(nn.Module):
    """One step of a streaming transducer (RNN-T): a segment and the last token, joined to the logits of the next one. The caller keeps
    what the transcriber, with a memory of earlier segments, and the predictor, layers of LSTM with norms, hand over."""

    def __init__(self):
        super().__init__()
        self.model = models.rnnt.emformer_rnnt_model(
            input_dim=8, encoding_dim=16, num_symbols=12, segment_length=8, right_context_length=4, time_reduction_input_dim=6, time_reduction_stride=2,
            transformer_num_heads=2, transformer_ffn_dim=24, transformer_num_layers=2, transformer_dropout=0.1, transformer_activation="gelu",
            transformer_left_context_length=6, transformer_max_memory_size=2, transformer_weight_init_scale_strategy="depthwise", transformer_tanh_on_mem=True,
            symbol_embedding_dim=10, num_lstm_layers=2, lstm_layer_norm=True, lstm_layer_norm_epsilon=1e-3, lstm_dropout=0.3)

    def forward(self, segment, length, heard: List[List[torch.Tensor]], token, token_length, said: List[List[torch.Tensor]]):
        source, source_length, heard = self.model.transcribe_streaming(segment, length, heard)
        target, target_length, said = self.model.predict(token, token_length, said)
        logits, source_length, target_length = self.model.join(source, source_length, target, target_length)
        return logits, source_length, heard, said


def transducer_step(batch, steps):
    """What has been kept for so many steps."""
    model = Transducer().model.eval()
    segment, token = lambda: torch.randn(batch, 12, 8), lambda: torch.randint(0, 12, (batch, 1), dtype=torch.int32)
    length, one = torch.full((batch,), 12), torch.ones(batch, dtype=torch.int32)
    heard = [layer._init_state(batch, torch.device("cpu")) for layer in model.transcriber.transformer.emformer_layers]
    said = [[torch.zeros(batch, layer.hidden_dim) for _ in range(2)] for layer in model.predictor.lstm_layers]
    for _ in range(steps):
        heard, said = model.transcribe_streaming(segment(), length, heard)[2], model.predict(token(), one, said)[2]
    return segment(), length, heard, token(), one, said


class Synthesis(nn.Module):
    """Tacotron2.infer: text to a spectrogram, a frame at a time until a gate closes or the limit is reached."""

    def __init__(self):
        super().__init__()
        self.model = models.Tacotron2(n_mels=8, n_symbol=20, symbol_embedding_dim=12, encoder_embedding_dim=12, encoder_n_convolution=2, decoder_rnn_dim=16,
                                      decoder_max_step=6, decoder_early_stopping=False, attention_rnn_dim=16, attention_hidden_dim=8,
                                      attention_location_n_filter=4, attention_location_kernel_size=5, prenet_dim=8, postnet_n_convolution=2, postnet_embedding_dim=12)
        steps = [step for layer in self.model.decoder.prenet.layers for step in (layer, nn.ReLU())]
        self.model.decoder.prenet = nn.Sequential(*steps)               # its own drops values at random, in evaluation too

    def forward(self, tokens, lengths):
        return self.model.infer(tokens, lengths)


RECIPES = [
    Recipe("wav2vec2", lambda: wav2vec2("group_norm", False, aux_num_out=7), sound, SCRIPTED, **SOUND),
    Recipe("wav2vec2_logits", lambda: Logits(wav2vec2("group_norm", False, aux_num_out=7)), sound, ["traced"], **SOUND),
    Recipe("wav2vec2_large", lambda: wav2vec2("layer_norm", True, aux_num_out=None), sound, SCRIPTED, **SOUND),
    Recipe("wav2vec2_lengths", lambda: wav2vec2("layer_norm", False, aux_num_out=7),
           lambda b, n: (torch.randn(b, n), lengths(b, n)), SCRIPTED, batches=SOUND["batches"],
           dynamic={"waveforms": {0: "batch", 1: "samples"}, "lengths": {0: "batch"}}),
    Recipe("conformer", lambda: models.Conformer(16, 4, 24, 2, 5), frames(16), SCRIPTED, batches=[(2, 9), (3, 6), (1, 12)],
           dynamic={"input": {0: "batch", 1: "length"}, "lengths": {0: "batch"}}),
    Recipe("conformer_first", lambda: models.Conformer(16, 4, 24, 2, 5, use_group_norm=True, convolution_first=True), frames(16), SCRIPTED,
           batches=[(2, 9), (3, 6), (1, 12)], dynamic={"input": {0: "batch", 1: "length"}, "lengths": {0: "batch"}}),
    # a batch of one has no mask there, None instead of a tensor: that no model of ONNX could decide when it runs
    Recipe("emformer", lambda: models.Emformer(16, 4, 24, 2, segment_length=4, right_context_length=2, left_context_length=3), frames(16), BOTH,
           batches=[(2, 14), (3, 14)], dynamic={"input": {0: "batch=2..64"}, "lengths": {0: "batch"}}),
    Recipe("emformer_step", Segments, lambda b: (torch.randn(b, 6, 16), torch.full((b,), 6), nothing_kept(b)), SCRIPTED, batches=[2, 3],
           dynamic={"segment": {0: "batch=2..64"}, "length": {0: "batch"}, **{"kept.%d.%d" % (i, j): {1: "batch"} for i in range(2) for j in range(4)}}),
    Recipe("transducer_step", Transducer, transducer_step, SCRIPTED, batches=[(2, 0), (2, 1), (2, 4), (3, 3)],
           dynamic={**{name: {0: "batch=2..64"} for name in ("segment", "length", "token", "token_length")},
                    **{"heard.%d.%d" % (i, j): {1: "batch=2..64"} for i in range(2) for j in range(4)},
                    **{"said.%d.%d" % (i, j): {0: "batch=2..64"} for i in range(2) for j in range(2)}}),
    Recipe("deepspeech", lambda: models.DeepSpeech(8, n_hidden=16, n_class=7), lambda b, n: (torch.randn(b, 1, n, 8),), ["traced"],
           batches=[(2, 9), (3, 5), (1, 12)], dynamic={"x": {0: "batch", 2: "length"}}),
    Recipe("wav2letter", lambda: models.Wav2Letter(num_classes=7, input_type="mfcc", num_features=8), lambda b, n: (torch.randn(b, 8, n),), BOTH,
           batches=[(2, 60), (1, 80)], dynamic={"x": {0: "batch", 2: "length"}}),
    Recipe("conv_tasnet", lambda: models.ConvTasNet(2, 8, 16, 3, 12, 20, 2, 2), lambda b, n: (torch.randn(b, 1, n),), SCRIPTED,
           batches=[(2, 80), (3, 70), (1, 96)], dynamic={"input": {0: "batch", 2: "samples"}}),
    Recipe("wavernn", lambda: models.WaveRNN([2, 3], 10, 6, n_res_block=2, n_rnn=16, n_fc=16, kernel_size=5, n_freq=8, n_hidden=8, n_output=8),
           lambda b, n: (torch.randn(b, 1, 6 * (n - 4)), torch.randn(b, 1, 8, n)), SCRIPTED, batches=[(2, 9), (3, 7), (1, 11)],
           dynamic={"waveform": {0: "batch", 2: "?"}, "specgram": {0: "batch", 3: "frames"}}),
    Recipe("tacotron2", Synthesis, lambda b, n: (torch.randint(0, 20, (b, n)), lengths(b, n)), SCRIPTED, batches=[(2, 7), (2, 9)],
           dynamic={"tokens": {1: "length"}}),                      # it unfolds by its batch, which must be known
    Recipe("hdemucs", lambda: models.HDemucs(["a", "b"], channels=4, nfft=256, depth=4), lambda b: (torch.randn(b, 2, 2048),), ["traced"], batches=[1, 2], dynamic="N"),
    Recipe("spectrogram", lambda: transforms.Spectrogram(n_fft=32, hop_length=8), lambda b, n: (torch.randn(b, n),), BOTH,
           batches=[(2, 100), (3, 77)], dynamic={"waveform": {0: "batch", 1: "samples"}}),
    Recipe("mel", lambda: transforms.MelSpectrogram(n_fft=64, n_mels=8), lambda b, n: (torch.randn(b, n),), BOTH,
           batches=[(2, 200), (3, 177)], dynamic={"waveform": {0: "batch", 1: "samples"}}),
    Recipe("mel_in_decibel", lambda: nn.Sequential(transforms.MelSpectrogram(n_fft=64, n_mels=8), transforms.AmplitudeToDB(top_db=40.0)),
           lambda b, n: (torch.randn(b, n),), SCRIPTED, batches=[(2, 200), (3, 177)], dynamic={"input": {0: "batch", 1: "samples"}}),
    Recipe("mfcc", lambda: transforms.MFCC(n_mfcc=5, melkwargs=dict(n_fft=64, n_mels=8)), lambda b, n: (torch.randn(b, n),), BOTH,
           batches=[(2, 200), (3, 177)], dynamic={"waveform": {0: "batch", 1: "samples"}}),
    Recipe("resample", lambda: transforms.Resample(16000, 12000), lambda b, n: (torch.randn(b, n),), BOTH,
           batches=[(2, 100), (3, 77)], dynamic={"waveform": {0: "batch", 1: "samples"}}),
]
