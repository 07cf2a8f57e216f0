package native

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

// Where ggml's CPU code multiplies matrices one column at a time, and what goes there.
var (
	sameSumBefore = []byte("static void ggml_compute_forward_mul_mat_one_chunk(\n")
	sameSumLoop   = []byte("                for (int64_t ir0 = iir0; ir0 < iir0 + blck_0 && ir0 < ir0_end; ir0 += num_rows_per_vec_dot) {\n" +
		"                    vec_dot(ne00, &tmp[ir0 - iir0], (num_rows_per_vec_dot > 1 ? 16 : 0), ")

	//go:embed samesum.inc
	sameSumRows []byte
	//go:embed samesum_call.inc
	sameSumCall []byte
)

// sameSums makes a token's numbers the same however many tokens are computed with it. ggml's kernels for one column and
// for several add up the same products in different orders in attention (for 8-bit weights they do not), so the rounding
// differs, and now and then the word.
func sameSums(src string) error {
	path := filepath.Join(src, "ggml", "src", "ggml-cpu", "ggml-cpu.c")
	code, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("patching for equal sums: %w", err)
	}
	patched, err := insertSameSums(code)
	if err != nil {
		return err
	}
	return os.WriteFile(path, patched, 0o644)
}

func insertSameSums(code []byte) ([]byte, error) {
	if bytes.Count(code, sameSumBefore) != 1 || bytes.Count(code, sameSumLoop) != 1 {
		return nil, fmt.Errorf("patching for equal sums: %w: ggml-cpu.c does not look as expected", ErrHash)
	}
	code = bytes.Replace(code, sameSumBefore, append(bytes.Clone(sameSumRows), sameSumBefore...), 1)
	return bytes.Replace(code, sameSumLoop, append(bytes.Clone(sameSumCall), sameSumLoop...), 1), nil
}
