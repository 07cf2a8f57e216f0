package realtime

import (
	"errors"
	"testing"
	"time"

	"riposte/transport"
)

func TestHeard(t *testing.T) {
	for _, tt := range []struct {
		name, in, param string
		want            transport.Heard
	}{
		{"all of it", `"response_id":"r","mouth_to_ear_ms":612.5,"jitter_ms":3,"buffer_ms":40,"round_trip_ms":12,"lost_percent":0.5`, "", transport.Heard{
			Ref: "e", Response: "r", MouthToEar: 612500 * time.Microsecond, Detail: "jitter 3 ms, buffered for 40 ms, round trip 12 ms, 0.5 % of the packets lost",
		}},
		{"as little as can be", `"response_id":"r","mouth_to_ear_ms":0`, "", transport.Heard{Ref: "e", Response: "r"}},
		{"the longest", `"response_id":"r","mouth_to_ear_ms":60000`, "", transport.Heard{Ref: "e", Response: "r", MouthToEar: time.Minute}},
		{"of no answer", `"mouth_to_ear_ms":1`, "response_id", transport.Heard{}},
		{"without a time", `"response_id":"r"`, "mouth_to_ear_ms", transport.Heard{}},
		{"before it was said", `"response_id":"r","mouth_to_ear_ms":-1`, "mouth_to_ear_ms", transport.Heard{}},
		{"after a minute", `"response_id":"r","mouth_to_ear_ms":60000.1`, "mouth_to_ear_ms", transport.Heard{}},
		{"never", `"response_id":"r","mouth_to_ear_ms":1e300`, "mouth_to_ear_ms", transport.Heard{}},
		{"with negative jitter", `"response_id":"r","mouth_to_ear_ms":1,"jitter_ms":-0.1`, "jitter_ms", transport.Heard{}},
		{"over an endless way", `"response_id":"r","mouth_to_ear_ms":1,"round_trip_ms":10001`, "round_trip_ms", transport.Heard{}},
		{"with an endless buffer", `"response_id":"r","mouth_to_ear_ms":1,"buffer_ms":10001`, "buffer_ms", transport.Heard{}},
		{"with more lost than was sent", `"response_id":"r","mouth_to_ear_ms":1,"lost_percent":101`, "lost_percent", transport.Heard{}},
	} {
		e, id, err := decode([]byte(`{"type":"riposte.heard","event_id":"e",` + tt.in + `}`))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got, err := e.(*answerHeard).read(id)
		var wrong *wireError
		switch {
		case tt.param != "" && (!errors.As(err, &wrong) || wrong.param != tt.param):
			t.Errorf("%s: got %v, want a refusal of %s", tt.name, err, tt.param)
		case tt.param == "" && (err != nil || got != tt.want):
			t.Errorf("%s: got %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
	}
}
