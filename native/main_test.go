package native

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childVariable makes the test binary do as a child of TestKilledSetUp does.
const childVariable = "RIPOSTE_TEST_SETUP_IN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		os.Exit(setUpAsChild(dir))
	}
	goleak.VerifyTestMain(m)
}
