package asterisk

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"riposte/transport/phone"
)

// notices are messages as Asterisk 22 writes them, in both languages.
var notices = []struct {
	plain, object string
	want          notice // Of the latter.
}{
	{
		"MEDIA_START connection_id:media1 channel:WebSocket/media1/0x7f channel_id:1796128512.3 format:ulaw optimal_frame_size:160 ptime:20",
		`{"event":"MEDIA_START","connection_id":"media1","channel":"WebSocket/media1/0x7f","channel_id":"1796128512.3","format":"ulaw","optimal_frame_size":160,"ptime":20,"channel_variables":{"RIPOSTE_ROUTE":"sales"}}`,
		notice{Event: mediaStart, ConnectionID: "media1", Channel: "WebSocket/media1/0x7f", ChannelID: "1796128512.3", Format: "ulaw", FrameSize: 160, Variables: map[string]string{"RIPOSTE_ROUTE": "sales"}},
	},
	{"DTMF_END digit:# channel_id:1.2", `{"event":"DTMF_END","channel_id":"1.2","digit":"#"}`, notice{Event: dtmfEnd, ChannelID: "1.2", Digit: "#"}},
	{"MEDIA_XOFF", `{"event":"MEDIA_XOFF"}`, notice{Event: mediaXOFF}},
	{"MEDIA_MARK_PROCESSED m 7", `{"event":"MEDIA_MARK_PROCESSED","correlation_id":"m 7"}`, notice{Event: markProcessed, CorrelationID: "m 7"}},
	{"MEDIA_MARK_PROCESSED", `{"event":"MEDIA_MARK_PROCESSED","correlation_id":""}`, notice{Event: markProcessed}},
	{
		"ERROR channel_id:1.2 error_text:FLUSH_MEDIA not supported in passthrough mode",
		`{"event":"ERROR","channel_id":"1.2","error_text":"FLUSH_MEDIA not supported in passthrough mode"}`,
		notice{Event: errorEvent, ChannelID: "1.2", Text: "FLUSH_MEDIA not supported in passthrough mode"},
	},
	{
		"STATUS channel_id:1.2 queue_length:43 xon_level:800 xoff_level:900 queue_full:false bulk_media:true media_paused:false",
		`{"event":"STATUS","channel_id":"1.2","queue_length":43,"xon_level":800,"xoff_level":900,"queue_full":false,"bulk_media":true,"media_paused":false}`,
		notice{Event: "STATUS", ChannelID: "1.2"},
	},
}

func TestParse(t *testing.T) {
	for _, c := range notices {
		if got, err := languageOf([]byte(c.object)).parse([]byte(c.object)); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\nis %+v, %v", c.object, got, err)
		}
		want := c.want
		want.Variables = nil // plain text has none
		if got, err := languageOf([]byte(c.plain)).parse([]byte(c.plain)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nis %+v, %v", c.plain, got, err)
		}
	}
	for _, wrong := range []string{"", " ", "{", "{}", `{"event":3}`, "hello there", "\x00\x00", strings.Repeat("A", 65), `{"event":"media start"}`, `{"event":"MEDIA_START","optimal_frame_size":"big"}`, "MEDIA_START optimal_frame_size:big"} {
		if _, err := languageOf([]byte(wrong)).parse([]byte(wrong)); !isMisuse(err) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func isMisuse(err error) bool {
	_, ok := errors.AsType[*phone.Misuse](err)
	return ok
}

func TestCommand(t *testing.T) {
	for want, c := range map[string]struct {
		language language
		name, id string
	}{
		"MARK_MEDIA m7": {plain, markMedia, "m7"},
		"FLUSH_MEDIA":   {plain, flushMedia, ""},
		`{"command":"MARK_MEDIA","correlation_id":"m7"}`: {object, markMedia, "m7"},
		`{"command":"FLUSH_MEDIA"}`:                      {object, flushMedia, ""},
	} {
		if got, err := c.language.command(c.name, c.id); err != nil || string(got) != want {
			t.Errorf("%q, %v in place of %q", got, err, want)
		}
	}
	if _, err := plain.command(markMedia, strings.Repeat("m", mostCommand)); err == nil {
		t.Error("a command was written that Asterisk would leave out")
	}
}

func TestSounds(t *testing.T) {
	for name, want := range map[string]phone.Format{
		"ulaw": {Encoding: phone.MuLaw, Rate: 8000}, "alaw": {Encoding: phone.ALaw, Rate: 8000}, "slin": {Encoding: phone.Linear, Rate: 8000},
		"slin16": {Encoding: phone.Linear, Rate: 16000}, "slin44": {Encoding: phone.Linear, Rate: 44100}, "slin192": {Encoding: phone.Linear, Rate: 192000},
	} {
		if got, err := (notice{Format: name, FrameSize: want.Bytes()}).sounds(); err != nil || got != want {
			t.Errorf("%s is %v, %v", name, got, err)
		}
	}
	for _, wrong := range []notice{{}, {Format: "opus"}, {Format: "g722", FrameSize: 160}, {Format: "slin8", FrameSize: 320}, {Format: "ulaw"}, {Format: "ulaw", FrameSize: -160}, {Format: "ulaw", FrameSize: 240}} {
		if _, err := wrong.sounds(); !isMisuse(err) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range notices {
		f.Add([]byte(c.plain))
		f.Add([]byte(c.object))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		n, err := languageOf(message).parse(message)
		if err != nil {
			if !isMisuse(err) {
				t.Errorf("%q: %v", message, err)
			}
			return
		}
		if !isEvent(n.Event) {
			t.Errorf("%q has the event %q", message, n.Event)
		}
		_, _ = n.sounds()
	})
}
