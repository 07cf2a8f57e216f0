package native

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakePip is a python3 whose pip delivers the file of the package "one". It is run with: -m pip download … --dest DIR …
const fakePip = `
[ "$3" = --version ] && exit 0
echo "$@" >"$RIPOSTE_TEST_ARGS"
while [ "$1" != --dest ]; do shift; done
case "$(cat "$4")" in "one==1 --hash=sha256:"*) ;; *) echo "ERROR: pin $4"; exit 1;; esac
[ -d "$TMPDIR" ] || exit 1
%s
`

func TestPipDownload(t *testing.T) {
	dir := t.TempDir()
	args := filepath.Join(dir, "args")
	t.Setenv("RIPOSTE_TEST_ARGS", args)
	program(t, "python3", strings.ReplaceAll(fakePip, "%s", `printf wheel >"$2/one.whl"`))
	p := Package{Name: "one", Version: "1", Kind: Wheel, File: "one.whl", SHA256: strings.Repeat("0", 64)}
	to := filepath.Join(dir, "to")
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := pipDownload(t.Context(), p, to, filepath.Join(dir, "log"), func(int64) {}); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, to); got != "one.whl" {
		t.Errorf("delivered: %s", got)
	}
	b, err := os.ReadFile(args)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--require-hashes", "--no-deps", "--only-binary :all:"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("pip got %q, without %s", b, want)
		}
	}
	p.Kind = Source
	if err := pipDownload(t.Context(), p, to, filepath.Join(dir, "log"), func(int64) {}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(args); err != nil || !strings.Contains(string(b), "--no-binary one") {
		t.Errorf("pip got %q, %v", b, err)
	}
}

func TestPipFails(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("RIPOSTE_TEST_ARGS", filepath.Join(dir, "args"))
	p := Package{Name: "one", Version: "1", Kind: Wheel, File: "one.whl"}
	for says, want := range map[string]string{
		"ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE": "do not use it",
		"ERROR: No matching distribution found for one==1":                         "pip config list",
		"OSError: [Errno 28] No space left on device":                              "free some space",
	} {
		program(t, "python3", strings.ReplaceAll(fakePip, "%s", "echo '"+says+"'; exit 1"))
		to := t.TempDir()
		err := explain(pipDownload(t.Context(), p, to, filepath.Join(dir, "log"), func(int64) {}), dir)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if err := pipDownload(t.Context(), p, t.TempDir(), filepath.Join(dir, "log"), func(int64) {}); !errors.Is(err, ErrTool) || !strings.Contains(err.Error(), "python3-pip") {
		t.Errorf("without pip: %v", err)
	}
}
