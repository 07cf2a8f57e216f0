package realtime

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var plainAppends = []struct {
	name, in string
	plain    bool
}{
	{"as clients write it", `{"type":"input_audio_buffer.append","audio":"AAECAw=="}`, true},
	{"with spaces", "\n{ \"audio\" : \"AAEC\",\t\"type\":\"input_audio_buffer.append\" } \r\n", true},
	{"with a name", `{"event_id":"e 1","type":"input_audio_buffer.append","audio":"AAECAw=="}`, true},
	{"with an empty name", `{"event_id":"","type":"input_audio_buffer.append","audio":"AAECAw=="}`, true},
	{"no audio", `{"type":"input_audio_buffer.append"}`, false},
	{"empty audio", `{"type":"input_audio_buffer.append","audio":""}`, false},
	{"padding alone", `{"type":"input_audio_buffer.append","audio":"===="}`, false},
	{"no base64", `{"type":"input_audio_buffer.append","audio":"A!=="}`, false},
	{"escaped", `{"type":"input_audio_buffer.append","audio":"AA\u0041="}`, false},
	{"escaped slashes", `{"type":"input_audio_buffer.append","audio":"AA\/="}`, false},
	{"other letters", `{"type":"input_audio_buffer.append","audio":"AAEC","event_id":"é"}`, false},
	{"another field", `{"type":"input_audio_buffer.append","audio":"AAEC","more":1}`, false},
	{"another case", `{"Type":"input_audio_buffer.append","AUDIO":"AAEC"}`, false},
	{"twice", `{"type":"input_audio_buffer.append","audio":"AAEC","audio":"AAAA"}`, false},
	{"another type", `{"type":"input_audio_buffer.clear","audio":"AAEC"}`, false},
	{"cut off", `{"type":"input_audio_buffer.append","audio":"AAEC"`, false},
	{"more behind it", `{"type":"input_audio_buffer.append","audio":"AAEC"}{}`, false},
	{"a comma too many", `{"type":"input_audio_buffer.append","audio":"AAEC",}`, false},
	{"a number", `{"type":"input_audio_buffer.append","audio":7}`, false},
	{"nothing", ``, false},
	{"an empty object", `{}`, false},
}

func TestPlainAppend(t *testing.T) {
	for _, tt := range plainAppends {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, ok := plainAppend([]byte(tt.in), nil); ok != tt.plain {
				t.Errorf("it is plain: %v, want %v", ok, tt.plain)
			}
			agree(t, []byte(tt.in))
		})
	}
}

// What plainAppend takes, decode takes as the same.
func FuzzPlainAppend(f *testing.F) {
	for _, tt := range plainAppends {
		f.Add([]byte(tt.in))
	}
	for _, tt := range wireCases {
		f.Add([]byte(tt.in))
	}
	f.Fuzz(agree)
}

func agree(t *testing.T, b []byte) {
	e, id, ok := plainAppend(b, []byte("what was there before"))
	if !ok {
		return
	}
	want, wantID, err := decode(b)
	if err != nil {
		t.Fatalf("%q is taken, but %v", b, err)
	}
	if diff := cmp.Diff(want, clientEvent(e)); diff != "" || id != wantID {
		t.Fatalf("%q: id %q, want %q; (-want +got):\n%s", b, id, wantID, diff)
	}
}

func BenchmarkAppend(b *testing.B) {
	event := []byte(`{"type":"input_audio_buffer.append","audio":"` + string(make([]byte, 1280)) + `"}`)
	for i, c := range event {
		if c == 0 {
			event[i] = 'A'
		}
	}
	b.Run("plain", func(b *testing.B) {
		var room []byte
		b.ReportAllocs()
		for b.Loop() {
			e, _, ok := plainAppend(event, room)
			if !ok {
				b.Fatal("it is not plain")
			}
			room = e.Audio
		}
	})
	b.Run("any", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := decode(event); err != nil {
				b.Fatal(err)
			}
		}
	})
}
