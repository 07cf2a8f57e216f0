package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/audio/room"
	"riposte/budget"
	"riposte/stt"
)

// scribe is a recogniser that makes a hypothesis of a word with each half second, and takes its time to finish.
type scribe struct {
	say   string        // All its words.
	close time.Duration // What Finish takes.
	err   error

	mu      sync.Mutex
	streams int // Open at this moment,
	most    int // and at most.
}

type scribbling struct {
	*scribe
	o       stt.Options
	samples int
	words   int
}

func (s *scribe) Listen(o stt.Options) stt.Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams++
	s.most = max(s.most, s.streams)
	return &scribbling{scribe: s, o: o}
}

func (s *scribbling) Write(p audio.PCM) {
	s.samples += len(p)
	all := strings.Fields(s.say)
	if s.o.Heard == nil || s.samples < (s.words+1)*audio.SpeechRate/2 || s.words == len(all) {
		return
	}
	s.words++
	said := append([]string{}, all[:s.words]...)
	stable := len(strings.Join(said[:s.words-1], " "))
	if s.words == 2 {
		said[0] = "hollow" // Stable, and wrong.
		stable = len("hollow")
	}
	s.o.Heard(stt.Hypothesis{Text: strings.Join(said, " "), Stable: stable})
}

func (s *scribbling) Hasten(budget.Urgency) {}

func (s *scribbling) Finish(ctx context.Context, u budget.Urgency) (stt.Transcript, error) {
	time.Sleep(s.scribe.close)
	return stt.Transcript{Text: s.say}, s.err
}

func (s *scribbling) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams--
}

// clips writes recordings of two seconds, of nothing, for scribes know what is said.
func clips(t *testing.T, n int) []Clip {
	t.Helper()
	var all []Clip
	for i := range n {
		file := filepath.Join(t.TempDir(), fmt.Sprint(i, ".wav"))
		if err := audio.WriteWAV(file, make(audio.PCM, 2*audio.SpeechRate), audio.SpeechRate); err != nil {
			t.Fatal(err)
		}
		all = append(all, Clip{
			File: file, Language: "en", Kinds: []string{"read"}, Transcript: "hello there old friend", SpeechStart: 100 * time.Millisecond, SpeechEnd: 2 * time.Second,
		})
	}
	return all
}

func TestSTT(t *testing.T) {
	all := clips(t, 4)
	all[3].Language, all[3].Transcript = "", "" // Nobody speaks, and still four words are heard.
	synctest.Test(t, func(t *testing.T) {
		live, offline := &scribe{say: "Hello there, odd friend.", close: 100 * time.Millisecond}, &scribe{say: "hello there old friend", close: 400 * time.Millisecond}
		began := time.Now()
		r, err := (&STT{Live: live, Offline: offline, Clips: all}).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 4*2500*time.Millisecond {
			t.Errorf("took %v: two seconds of each clip, its closing and its offline pass are 10 s", took)
		}
		if r.WER != 0.25 || r.WERByKind["read"] != 0.25 || r.WEROffline != 0 || r.NospeechWords != 4 || r.Loops != 0 || r.Failed != 0 {
			t.Errorf("%+v", r)
		}
		if r.Close.P50 != 100 || r.Close.P95 != 100 || r.Full.P50 != 400 || r.CloseRatio != 0.25 || r.FirstPartial.P50 != 400 {
			t.Errorf("times: %+v", r)
		}
		// Of each clip, 4 hypotheses in 2 s, a first word that changes and changes back, one of three stable words wrong.
		if r.Hypotheses != 2 || math.Abs(r.Contradicted-1./3) > 1e-9 || math.Abs(r.Revised-3./4) > 1e-9 {
			t.Errorf("hypotheses: %+v", r)
		}
	})
}

func TestSTTByTelephone(t *testing.T) {
	all := clips(t, 3)
	all[1].Transcript = ""
	synctest.Test(t, func(t *testing.T) {
		told := 0
		b := &STT{Live: &scribe{say: "hello there odd friend"}, Offline: &scribe{say: "hello there old friend"}, Clips: all, Telephone: true,
			Each: func(n int, c Clip, h STTHearing) { told++ }}
		r, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if w := r.TelephoneWER; w == nil || w.Wide != 0.25 || w.Telephone != 0.25 || w.ByLaw[room.MuLaw] != 0.25 || w.ByLaw[room.ALaw] != 0.25 || told != 3+2*2 {
			t.Errorf("%+v, %d told", r.TelephoneWER, told)
		}
		b.Telephone = false
		if r, err = b.Run(t.Context()); err != nil || r.TelephoneWER != nil {
			t.Errorf("not asked for: %+v, %v", r.TelephoneWER, err)
		}
	})
}

func TestSTTStreams(t *testing.T) {
	all := clips(t, 4)
	synctest.Test(t, func(t *testing.T) {
		live, offline := &scribe{say: "hello there old friend"}, &scribe{err: errors.New("no ear")}
		r, err := (&STT{Live: live, Offline: offline, Clips: all, Streams: 4}).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if live.most != 4 || live.streams != 0 || offline.streams != 0 {
			t.Errorf("%d streams at once, %d and %d left open", live.most, live.streams, offline.streams)
		}
		if r.Failed != 4 || r.WER != 0 || r.WEROffline != 1 || r.Close.P50 != 0 {
			t.Errorf("%+v", r)
		}
	})
}

func TestSTTEnded(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	end(enough)
	if _, err := (&STT{Live: &scribe{}, Offline: &scribe{}, Clips: clips(t, 1)}).Run(ctx); !errors.Is(err, enough) {
		t.Errorf("error %v, want the cause", err)
	}
}

func TestLooped(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "no no no": false, "no no no no no no": true, "a b a b": false, "a b a b a b": true,
		"and so and so and so on": true, "x a b c a b c a b c y": true, "a b c a b c": false,
	} {
		if got := looped(strings.Fields(text)); got != want {
			t.Errorf("%q: looped is %v", text, got)
		}
	}
}
