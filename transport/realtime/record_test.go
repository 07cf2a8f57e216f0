package realtime

import (
	"encoding/json"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// TestMain keeps what the tests' clients and the service have said to each other where RIPOSTE_TEST_EVENTS names a file: clients/python/conform.py
// holds that against the types of OpenAI's own client.
func TestMain(m *testing.M) {
	if name := os.Getenv("RIPOSTE_TEST_EVENTS"); name != "" {
		f, err := os.Create(name)
		if err != nil {
			panic(err)
		}
		talk.file = f // the process's end closes it
	}
	goleak.VerifyTestMain(m)
}

// talk is the record of all tests. Each line is an object: the test, who sent the event, in which form of the protocol, and the event.
var talk struct {
	sync.Mutex
	file *os.File
}

// record keeps one event, if events are kept.
func (p *peer) record(from string, event []byte) {
	if talk.file == nil || !json.Valid(event) {
		return
	}
	form := "ga"
	if p.beta {
		form = "beta"
	}
	line, err := json.Marshal(map[string]any{"test": p.Name(), "from": from, "form": form, "event": json.RawMessage(event)})
	if err != nil {
		p.Fatal(err)
	}
	talk.Lock()
	defer talk.Unlock()
	if _, err := talk.file.Write(append(line, '\n')); err != nil {
		p.Fatal(err)
	}
}
