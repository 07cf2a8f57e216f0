package whisper

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"riposte/audio"
	"riposte/audio/mel"
	"riposte/stt"
)

// script is a decoder that answers from a list and keeps what it was asked.
type script struct {
	answers []heard
	err     error
	asked   []request
}

func (s *script) decode(r request) (heard, error) {
	s.asked = append(s.asked, r)
	if s.err != nil {
		return heard{}, s.err
	}
	h := s.answers[0]
	s.answers = s.answers[1:]
	return h, nil
}

func (s *script) listener() *listener {
	return &listener{ear: s, threads: 1, least: minWindow, sound: &spectrum{}}
}

// text is a decode that went well: a token for each word.
func text(words string) heard {
	h := heard{ended: true, language: "en"}
	for _, w := range strings.Fields(words) {
		id := int32(0)
		for _, r := range w {
			id = id*31 + r
		}
		h.tokens = append(h.tokens, token{id: id, logProb: -0.3, text: " " + w})
	}
	return h
}

// tone returns seconds of something loud.
func tone(seconds float64) []float32 {
	p := make([]float32, int(seconds*audio.SpeechRate))
	for i := range p {
		p[i] = 0.1 * float32(i%16-8) / 8
	}
	return p
}

// noise returns n samples of white noise at the amplitude given, always the same.
func noise(n int, amplitude float64) audio.PCM {
	r := rand.New(rand.NewPCG(1, 2))
	p := make(audio.PCM, n)
	for i := range p {
		p[i] = int16(amplitude * r.NormFloat64())
	}
	return p
}

func TestListen(t *testing.T) {
	loop := text("go on and on on on on on on on on on on on on")
	loop.period = 1
	endless := text(strings.Repeat("many words ", 100))
	endless.ended = false
	doubtful := text("Thank you.")
	for i := range doubtful.tokens {
		doubtful.tokens[i].logProb = -2
	}
	silent := text("Thank you.")
	silent.noSpeech = 0.9
	sure := text("Yes.")
	sure.noSpeech = 0.9
	for i := range silent.tokens {
		silent.tokens[i].logProb = -1.1
	}
	for _, tt := range []struct {
		name    string
		samples []float32
		answers []heard
		want    saying
		windows []int // Of the decodes, in order.
	}{
		{"silence is not decoded", make([]float32, 5*audio.SpeechRate), nil, saying{}, nil},
		{"short", tone(2), []heard{text("yes please")}, saying{text: "yes please", language: "en"}, []int{192}},
		{"window fits", tone(11), []heard{text("and so")}, saying{text: "and so", language: "en"}, []int{640}},
		{"window ends at 30 s", tone(30), []heard{text("and so")}, saying{text: "and so", language: "en"}, []int{1500}},
		{"loop in brief speech, cut", tone(2), []heard{loop}, saying{text: "go on and on", language: "en"}, []int{192}},
		{"loop, decoded again", tone(4), []heard{loop, text("go on")}, saying{text: "go on", language: "en"}, []int{288, 608}},
		{"loop in both, cut", tone(4), []heard{loop, loop, loop}, saying{text: "go on and on", language: "en"}, []int{288, 608, 1500}},
		{"no end, decoded again", tone(2), []heard{endless, text("go on")}, saying{text: "go on", language: "en"}, []int{192, 512}},
		{"too many words, cut in two", tone(20), []heard{endless, endless, endless, text("one half"), text("the other")}, saying{text: "one half the other", language: "en"}, []int{1088, 1408, 1500, 416, 736}},
		{"words of nobody", tone(2), []heard{silent}, saying{text: "", language: "en"}, []int{192}},
		{"sure words of nobody", tone(2), []heard{sure}, saying{text: "Yes.", language: "en"}, []int{192}},
		{"doubtful words", tone(2), []heard{doubtful}, saying{text: "", language: "en"}, []int{192}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{answers: tt.answers}
			got, err := s.listener().part(tt.samples, stt.Options{Prompt: "names"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.text != tt.want.text || got.language != tt.want.language {
				t.Errorf("heard %q, want %q", got.text, tt.want.text)
			}
			var windows []int
			for i, r := range s.asked {
				windows = append(windows, r.window)
				if r.tokens < 16 || r.tokens > maxTokens || r.threads != 1 || r.prompt != "names" {
					t.Errorf("decode %d: asked for %+v", i, r)
				}
			}
			if diff := cmp.Diff(tt.windows, windows); diff != "" {
				t.Errorf("windows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestListenFails(t *testing.T) {
	s := &script{err: errStopped}
	if got, err := s.listener().part(tone(10), stt.Options{}, nil); !errors.Is(err, errStopped) || got.text != "" || len(s.asked) != 1 {
		t.Errorf("got %v, %v after %d decodes", got, err, len(s.asked))
	}
}

// TestQuietest cuts in the pause, and not in the louder sound around it.
func TestQuietest(t *testing.T) {
	p := tone(35)
	pause := 27 * audio.SpeechRate
	clear(p[pause-audio.SpeechRate/10 : pause+audio.SpeechRate/10])
	if at := quietest(p, 25*audio.SpeechRate, 29*audio.SpeechRate); at < pause-audio.SpeechRate/20 || at > pause+audio.SpeechRate/20 {
		t.Errorf("cut at %d, want about %d", at, pause)
	}
}

func TestFit(t *testing.T) {
	for n := audio.SpeechRate; n <= longest; n += 777 {
		w := (&listener{least: minWindow}).fit(n)
		if w < minWindow || w > FullWindow || w < 50*n/audio.SpeechRate || w%windowStep != 0 && w != FullWindow {
			t.Fatalf("the window of %d samples is %d", n, w)
		}
	}
}

// TestSpread sees that the silence in a window weighs as much as all that it stands for, and lies all over it.
func TestSpread(t *testing.T) {
	for _, tt := range []struct{ from, window int }{{50, 192}, {190, 192}, {1000, 1088}, {700, 1472}} {
		places, weights := spread(tt.from, tt.window)
		if len(places) != tt.window || len(weights) != tt.window {
			t.Fatalf("%+v: %d places and %d weights", tt, len(places), len(weights))
		}
		var sum float64
		for i, w := range weights {
			sum += math.Exp(float64(w))
			if i < tt.from && (places[i] != int32(i) || w != 0) || i > 0 && places[i] <= places[i-1] || places[i] >= FullWindow {
				t.Fatalf("%+v: position %d is heard at %d and weighs %v", tt, i, places[i], w)
			}
		}
		if math.Abs(sum-FullWindow) > 0.01 {
			t.Errorf("%+v: all weigh %v, want %d", tt, sum, FullWindow)
		}
	}
	for _, tt := range []struct{ from, window int }{{192, 192}, {300, 192}, {100, FullWindow}} {
		if places, weights := spread(tt.from, tt.window); places != nil || weights != nil {
			t.Errorf("%+v: spread", tt)
		}
	}
}

func TestCut(t *testing.T) {
	second := audio.SpeechRate
	paused := tone(25)
	for _, at := range []int{5, 9, 24} {
		clear(paused[at*second : at*second+second/2])
	}
	longer := slices.Clone(paused)
	clear(longer[5*second : 5*second+second*3/4])
	brief := tone(13)
	clear(brief[6*second : 6*second+second/5])
	for _, tt := range []struct {
		name    string
		samples []float32
		want    float64 // Seconds.
	}{
		{"little is not cut", paused[:12*second], 12}, {"the last pause", paused[:13*second], 9.25}, {"a pause at the end is none yet", paused, 9.25},
		{"the longest pause", longer, 5.375}, {"a breath is no pause", brief, 13}, {"no pause, one window", tone(30), 30}, {"no pause, more", tone(31), 25},
	} {
		got := cut(tt.samples, comfortable)
		if math.Abs(float64(got)/float64(second)-tt.want) > 0.05 {
			t.Errorf("%s: cut at %.2f s, want %v", tt.name, float64(got)/float64(second), tt.want)
		}
		if got != len(tt.samples) && got%mel.Hop != 0 {
			t.Errorf("%s: cut at %d, within a frame", tt.name, got)
		}
	}
}

func TestAgreed(t *testing.T) {
	for _, tt := range []struct {
		before, text, want string
	}{
		{"", "ask", ""}, {"ask", "ask not", "ask"}, {"ask not", "ask not", "ask"}, {"ask no", "ask not what", "ask"}, {"ask not what", "ask not that you", "ask not"},
		{"Ask not.", "Ask not what", "Ask"}, {"so", "no", ""}, {"ask not what you", "ask", ""},
	} {
		if got := tt.text[:stt.Agreed(tt.before, tt.text)]; got != tt.want {
			t.Errorf("%q and %q agree in %q, want %q", tt.before, tt.text, got, tt.want)
		}
	}
}

func TestLevel(t *testing.T) {
	var l level
	p := tone(1)
	l.step(p)
	if l.voiced != len(p) {
		t.Errorf("a tone is voiced up to %d, want %d", l.voiced, len(p))
	}
	quiet := make([]float32, audio.SpeechRate) // 45 dB down, at -70 dBFS.
	for i, x := range p {
		quiet[i] = x / 178
	}
	p = append(p, quiet...)
	l.step(p)
	if l.voiced != audio.SpeechRate {
		t.Errorf("with a murmur behind it up to %d, want %d", l.voiced, audio.SpeechRate)
	}
	l.step(append(p, tone(0.02)...))
	if want := 2*audio.SpeechRate + levelFrame; l.voiced != want {
		t.Errorf("with a click behind it up to %d, want %d", l.voiced, want)
	}
	l.drop(audio.SpeechRate)
	if want := audio.SpeechRate + levelFrame; l.voiced != want || l.seen != want {
		t.Errorf("a second is dropped, and it is voiced up to %d and seen up to %d, want %d", l.voiced, l.seen, want)
	}
}

func TestWords(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""}, {" Yes.", "Yes."}, {" [BLANK_AUDIO]", ""}, {" (crowd chattering)", ""}, {" *sighs*", ""}, {" ♪", ""}, {" ♪ la la la ♪", ""},
		{" [Music] Hello (laughs) there.", "Hello there."}, {" (drumm", ""}, {" ...", ""}, {" - !", ""}, {" 5", "5"}, {" 你好", "你好"},
		{" a [b (c) d] e", "a e"}, {" {noise}  two   spaces ", "two spaces"}, {" half \xe4\xbd", "half"},
	} {
		if got := words([]token{{text: tt.in}}); got != tt.want {
			t.Errorf("words of %q = %q, want %q", tt.in, got, tt.want)
		}
	}
	if got := words([]token{{text: " \xe4\xbd"}, {text: "\xa0"}}); got != "你" {
		t.Errorf("a letter in two tokens became %q", got)
	}
}

func TestUnlooped(t *testing.T) {
	for _, tt := range []struct {
		words  string
		period int
		want   int
	}{
		{"a b b b b", 1, 2}, {"a b c b c b c", 2, 3}, {"a b c a b c a b c", 3, 3}, {"x a b a b a", 2, 3},
	} {
		if got := unlooped(text(tt.words).tokens, tt.period); got != tt.want {
			t.Errorf("%q with a loop of %d: %d tokens stay, want %d", tt.words, tt.period, got, tt.want)
		}
	}
}

func TestSilent(t *testing.T) {
	loud := make([]float32, audio.SpeechRate)
	copy(loud[audio.SpeechRate/2:], tone(0.05))
	for name, tt := range map[string]struct {
		p    []float32
		want bool
	}{
		"none": {nil, true}, "zeros": {make([]float32, 1000), true}, "rounding": {noise(1000, 1).AppendFloats(nil), true},
		"a click of 50 ms": {loud, false}, "a quiet voice": {noise(1000, 60).AppendFloats(nil), false},
	} {
		if got := silent(tt.p); got != tt.want {
			t.Errorf("%s: silent is %v", name, got)
		}
	}
}
