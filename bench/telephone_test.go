package bench

import (
	"testing"
	"time"

	"riposte/caller/phone"
)

// A conversation by a telephone wire has what the service tells of it beside what the caller hears.
func TestTurnsByTelephone(t *testing.T) {
	clips := said(t)
	s := telephony{}
	s.serve(t, phone.Twilio, func(t *testing.T, p phone.Phone) {
		b := Turns{Telephone: &Telephone{Phone: p, Witness: &s.witness}, Clips: clips, Turns: 3, Seed: 1}
		r, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.Turns != 3 || r.Failed > 0 || len(r.Faults) > 0 {
			t.Errorf("%d turns, %d failed: %v; %v", r.Turns, r.Failed, r.Failures, r.Faults)
		}
		// Silence of 400 ms ends a turn; what the stubs take comes on top of it, and the way.
		if r.Gap.P50 < 400 || r.Gap.P50 > 700 || r.PlatformGap.P50 == 0 || r.Way.P50 < 0 || r.Way.P50 > 60 {
			t.Errorf("gap %v, by the service %v, the way %v", r.Gap, r.PlatformGap, r.Way)
		}
		if r.Stages["stt"].P50 < 400 || r.Verdicts["met"] != 3 {
			t.Errorf("stages %v, verdicts %v", r.Stages, r.Verdicts)
		}
	})
}

// Many callers by telephone are counted as others are, without the service's account of their turns.
func TestCallsByTelephone(t *testing.T) {
	clips := said(t)
	s := telephony{}
	s.serve(t, phone.AudioSocket, func(t *testing.T, p phone.Phone) {
		b := Calls{Telephone: &Telephone{Phone: p, Silence: 400 * time.Millisecond}, Clips: clips, Calls: 3, Turns: 2, Ramp: time.Second, Seed: 1}
		r, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.Admitted != 3 || r.Turns != 6 || r.Failed > 0 || r.Missed > 0 || r.Frames < 6*50 || len(r.Faults) > 0 {
			t.Errorf("%d calls taken, %d turns, %d failed %v, %d of %d frames missed; %v", r.Admitted, r.Turns, r.Failed, r.Failures, r.Missed, r.Frames, r.Faults)
		}
	})
}
