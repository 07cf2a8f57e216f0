package whisper

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// atEnd is what ends when all tests have.
var atEnd []func() error

func TestMain(m *testing.M) { goleak.VerifyTestMain(tests{m}) }

// tests are those of this package, with what they share.
type tests struct{ *testing.M }

// Run implements goleak.TestingM.
func (ts tests) Run() int {
	code := ts.M.Run()
	for _, end := range atEnd {
		if err := end(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}
