"""Writes the tiny random dense model of tests/data/dense with its golden outputs, from the transformers library (fp32, CPU).

What it covers and nano does not: a dense feed-forward, tied embeddings, text-only tensor names, three value heads a key head.
usage: dense_golden.py OUT_DIR
"""
import json
import os
import sys

import torch
from safetensors.torch import load_file, save_file
from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5TextConfig
from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5ForCausalLM

out = sys.argv[1]
os.makedirs(f"{out}/golden", exist_ok=True)
torch.manual_seed(5)
config = Qwen3_5TextConfig(
    vocab_size=320, hidden_size=64, intermediate_size=96, num_hidden_layers=5, num_attention_heads=4, num_key_value_heads=2,
    head_dim=32, linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=16, linear_value_head_dim=24,
    linear_conv_kernel_dim=4, max_position_embeddings=4096, tie_word_embeddings=True, rms_norm_eps=1e-6,
    layer_types=["linear_attention", "full_attention", "linear_attention", "linear_attention", "full_attention"],
    rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25})
config._attn_implementation = "eager"
model = Qwen3_5ForCausalLM(config).float().eval()
with torch.no_grad():
    for name, p in model.named_parameters():
        if p.dim() >= 2:
            p.normal_(std=(0.5 if "conv1d" in name else 1.0 / p.shape[-1] ** 0.5))
        elif "A_log" in name:
            p.uniform_(0.1, 4.0).log_()
        elif "dt_bias" in name:
            p.normal_(mean=-2.0)
        elif name.endswith("linear_attn.norm.weight"):
            p.normal_(mean=1.0, std=0.2)
        else:
            p.normal_(std=0.2)
        p.copy_(p.bfloat16().float())
weights = {k: v.bfloat16().contiguous() for k, v in model.state_dict().items() if k != "lm_head.weight"}
save_file(weights, f"{out}/model.safetensors")
ids = torch.randint(0, 320, (1, 150))
with torch.no_grad():
    o = model(input_ids=ids, output_hidden_states=True)
save_file({"ids_a": ids[0].to(torch.int32), "logits_a": o.logits[0].float().contiguous(),
           "hidden_a": torch.stack(o.hidden_states)[:, 0].float().contiguous()}, f"{out}/golden/golden.safetensors")
written = {
    "architectures": ["Qwen3_5ForCausalLM"], "model_type": "qwen3_5_text", "vocab_size": 320, "hidden_size": 64,
    "intermediate_size": 96, "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
    "linear_num_key_heads": 2, "linear_num_value_heads": 6, "linear_key_head_dim": 16, "linear_value_head_dim": 24,
    "linear_conv_kernel_dim": 4, "max_position_embeddings": 4096, "tie_word_embeddings": True, "rms_norm_eps": 1e-06,
    "hidden_act": "silu", "attention_bias": False, "attn_output_gate": True, "layer_types": list(config.layer_types),
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}, "dtype": "bfloat16"}
json.dump(written, open(f"{out}/config.json", "w"), indent=1)
print({k: tuple(v.shape) for k, v in load_file(f"{out}/model.safetensors").items()})
print("logits", o.logits.abs().max().item(), o.logits.std().item(), "hidden", len(o.hidden_states), [h.std().item() for h in o.hidden_states])
