package rest

import (
	"io"
	"log"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // the FLAC decoder tells of each frame that its own tests lack the rate
	goleak.VerifyTestMain(m)
}
