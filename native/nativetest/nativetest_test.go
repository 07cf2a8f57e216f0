package nativetest

import (
	"strings"
	"testing"

	"riposte/native"
)

// recorder is a testing.TB that notes how a test ended and does not end.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper()        {}
func (r *recorder) Skip(a ...any)  { r.skipped = a[0].(error).Error() }
func (r *recorder) Fatal(a ...any) { r.failed = a[0].(error).Error() }

func TestSkipsOrFails(t *testing.T) {
	t.Setenv(native.CacheVariable, t.TempDir())
	for name, ask := range map[string]func(testing.TB) string{
		"model silero-vad": func(tb testing.TB) string { return File(tb, "silero-vad") },
		"llama.cpp":        LlamaDir,
		"ONNX Runtime":     ONNXRuntime,
	} {
		t.Setenv(Required, "")
		r := &recorder{TB: t}
		if ask(r); !strings.HasPrefix(r.skipped, name) || r.failed != "" {
			t.Errorf("%s: skipped %q, failed %q", name, r.skipped, r.failed)
		}
		t.Setenv(Required, "required")
		r = &recorder{TB: t}
		if ask(r); r.failed == "" {
			t.Errorf("%s: does not fail where it is required", name)
		}
	}
}
