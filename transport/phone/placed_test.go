package phone

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"riposte/transport"
)

// What far sides say of calls that were placed is understood in all their words, and nothing is made of what they say of others.
func TestPlaced(t *testing.T) {
	for _, c := range []struct {
		direction, by string
		placed        bool
		want          transport.Answerer
	}{
		{"", "", false, ""}, {"inbound", "human", false, ""}, {"", "machine", false, ""},
		{"outbound-api", "", true, ""}, {"outbound-dial", "unknown", true, ""}, {"outbound", "NOTSURE", true, ""}, {"outbound", "not_sure", true, ""},
		{"outbound", "human", true, transport.Human}, {"OUTBOUND", "HUMAN", true, transport.Human},
		{"outbound", "machine", true, transport.Machine}, {"outbound-api", "machine_start", true, transport.Machine}, {"outbound", "MACHINE", true, transport.Machine},
		{"outbound-api", "machine_end_beep", true, transport.Recorder}, {"outbound-api", "machine_end_silence", true, transport.Recorder},
		{"outbound-api", "machine_end_other", true, transport.Recorder}, {"outbound-api", "fax", true, transport.Fax},
	} {
		o := Opening{Parameters: map[string]string{"direction": c.direction, "answered_by": c.by}}
		if o.placed(); o.Placed != c.placed || o.Answerer != c.want {
			t.Errorf("%q, %q: %v by %q", c.direction, c.by, o.Placed, o.Answerer)
		}
	}
	o := Opening{Placed: true, Answerer: transport.Human, Parameters: map[string]string{"answered_by": "machine"}}
	if o.placed(); !o.Placed || o.Answerer != transport.Human {
		t.Errorf("what the wire says does not count: %v by %q", o.Placed, o.Answerer)
	}
}

// A call that a machine had answered ends once all that was sent to it was heard, and the far side is told to hang up.
func TestMachineHearsAll(t *testing.T) {
	for _, fails := range []error{nil, errors.New("it does not")} {
		bubble(t, func(t *testing.T) {
			f := newFar(mulaw)
			f.buffers = 90 * ms
			s := held(func(ctx context.Context, c transport.Call, set transport.Settings) error {
				if p := c.(transport.Telephone).Parties(); !p.Placed || p.Answerer != transport.Recorder {
					t.Errorf("the call is %+v", p)
				}
				p := &speaker{T: t, call: c, ctx: ctx, settings: set}
				p.pacer.Lead = set.Lead
				p.say("a", nil, time.Second)
				return transport.ErrMachine
			})
			o := opened(mulaw, 300*ms, false)
			o.Placed, o.Answerer = true, transport.Recorder
			if err := s.Converse(t.Context(), hanging{clearing{marking{f}}, fails}, o); err != transport.ErrMachine || f.why != transport.ErrMachine {
				t.Errorf("it ended with %v, and the line was told %v", err, f.why)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if time.Now().Before(f.empty()) || !slices.Equal(f.log, []string{"hang up"}) {
				t.Errorf("%v before the last was heard: %v", time.Until(f.empty()), f.log)
			}
		})
	}
}

// hanging is a far side that has to be told to end the call.
type hanging struct {
	clearing
	fails error
}

func (h hanging) HangUp(context.Context) error {
	h.note("hang up")
	return h.fails
}
