package llama

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// OpenMP reads it when it is loaded, which is not before the first test opens an engine.
	_ = os.Setenv("OMP_WAIT_POLICY", "passive")
	goleak.VerifyTestMain(m)
}
