package native

import _ "embed"

//go:embed attention.inc
var attentionCode string

// attentionEdits put it into ggml's CPU code, and call it.
var attentionEdits = []insertion{
	{"#include <cmath>\n", "#include <vector>\n"},
	{"static void ggml_compute_forward_flash_attn_ext_f16(\n", attentionCode},
	{"                ggml_compute_forward_flash_attn_ext_f16(params, dst);\n", "                if (rp_attention(params, dst)) break;\n"},
}

// attentionPatch gives ggml's CPU code an attention of ours. A token after a long history costs half as much with it, and
// its numbers are the same however many tokens are computed with it: ggml's kernels for one column and for several add up
// the same products in different orders (for 8-bit weights they do not), so the rounding differs, and now and then the word.
func attentionPatch() patch {
	return inserting("attention", "ggml/src/ggml-cpu/ops.cpp", attentionEdits)
}
