package llama

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// OpenMP reads it when it is loaded, which is not before the first test opens an engine.
	_ = os.Setenv("OMP_WAIT_POLICY", "passive")
	goleak.VerifyTestMain(tests{m})
}

// tests are those of this package, with the engine that they share.
type tests struct{ *testing.M }

// Run implements goleak.TestingM.
func (ts tests) Run() int {
	code := ts.M.Run()
	if shared.engine != nil {
		if err := shared.engine.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}
