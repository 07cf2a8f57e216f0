package native

import _ "embed"

var (
	//go:embed samesum.inc
	sameSumRows string
	//go:embed samesum_call.inc
	sameSumCall string
)

// Where ggml's CPU code multiplies matrices one column at a time.
const (
	sameSumBefore = "static void ggml_compute_forward_mul_mat_one_chunk(\n"
	sameSumLoop   = "                for (int64_t ir0 = iir0; ir0 < iir0 + blck_0 && ir0 < ir0_end; ir0 += num_rows_per_vec_dot) {\n" +
		"                    vec_dot(ne00, &tmp[ir0 - iir0], (num_rows_per_vec_dot > 1 ? 16 : 0), "
)

// sameSumPatch makes a token's numbers the same however many tokens are computed with it. ggml's kernels for one column and
// for several add up the same products in different orders in attention (for 8-bit weights they do not), so the rounding
// differs, and now and then the word.
func sameSumPatch() patch {
	return patch{
		why: "equal sums", file: "ggml/src/ggml-cpu/ggml-cpu.c", change: insertSameSums, text: []byte(sameSumRows + sameSumCall),
	}
}

func insertSameSums(code []byte) ([]byte, error) {
	return insert(code, []insertion{{sameSumBefore, sameSumRows}, {sameSumLoop, sameSumCall}})
}
