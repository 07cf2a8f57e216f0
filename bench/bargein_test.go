package bench

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/audio"
	"riposte/caller"
	"riposte/tts"
)

const msec = time.Millisecond

// measure holds some trials with a service.
func measure(t *testing.T, s *service, times int, parts ...Part) (r BargeInResult) {
	t.Helper()
	voice := newFakeVoice()
	s.voice = voice
	clips := said(t)
	s.run(t, func(t *testing.T, c caller.Caller) {
		b := BargeIn{
			Caller: c, Clips: clips, Times: times, Parts: parts, Seed: 1, Voiced: loud, Voice: voice,
			Each: func(x Trial) { t.Log(x.Part, x.N, x.What, "-", x.Came) },
		}
		var err error
		if r, err = b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

func TestBargeInOfAGoodService(t *testing.T) {
	s := &service{}
	r := measure(t, s, 3)
	i := r.Interruptions
	if i.Times != 3 || i.Taken != 3 || i.Missed+i.Unheld+i.EarlyHolds+i.SelfInterruptions+i.Failed != 0 {
		t.Errorf("interruptions: %+v", i)
	}
	// The voice begins 5 frames into the clip, whose sixth frame is sent 20 ms later.
	if want := (Percentiles{20, 20, 20}); i.Hold != want || i.Silence != want || r.Hold != want || r.Silence != want {
		t.Errorf("held after %v and silent after %v, want %v", i.Hold, i.Silence, want)
	}
	if want := (Percentiles{0, 0, 0}); i.HoldArrived != want {
		t.Errorf("held %v after the voice arrived", i.HoldArrived)
	}
	if want := (Percentiles{500, 500, 500}); i.Commit != want {
		t.Errorf("taken after %v, want %v", i.Commit, want)
	}
	if i.HeardTextWrong+i.HeardTextUnchecked+i.Continued != 0 || i.WER != 0 {
		t.Errorf("heard text: %+v", i)
	}
	c := r.Coughs
	if c.Times != 3 || c.Kinds["cough"] != 3 || c.False["cough"]+c.LostSamples+c.Uncompared+c.Failed != 0 || c.Held["cough"] == 0 || c.Compared == 0 {
		t.Errorf("coughs: %+v", c)
	}
	// It gives back after 200 ms of silence, in whole frames.
	if c.Resumed.P50 < 180 || c.Resumed.P95 > 220 {
		t.Errorf("it goes on %v after a cough, want 200 ms", c.Resumed)
	}
	// Its threshold lies above the echo.
	if e := r.Echo; e.Answers != 3 || e.SelfInterruptions+e.SelfTurns+e.Failed != 0 {
		t.Errorf("echo: %+v", e)
	}
	if o := r.OverEcho; o.Times != 3 || o.Taken != 3 || o.Missed+o.Failed != 0 {
		t.Errorf("over echo: %+v", o)
	}
	if r.Missed+r.SelfInterruptions+r.HeardTextWrong+r.FalseCommits+r.LostSamples+r.Failed != 0 {
		t.Errorf("the sum is %+v", r)
	}
	if s.calls != 4 {
		t.Errorf("%d calls", s.calls)
	}
}

func TestBargeInOfBadServices(t *testing.T) {
	for _, tt := range []struct {
		name    string
		service *service
		part    Part
		check   func(r BargeInResult) bool
	}{
		{"it does not listen while it speaks", &service{ignores: true}, Interruptions, func(r BargeInResult) bool {
			return r.Interruptions.Missed == 3 && r.Missed == 3 && r.Interruptions.Taken == 0
		}},
		{"it does not hold", &service{unheld: true}, Interruptions, func(r BargeInResult) bool {
			i := r.Interruptions
			return i.Unheld == 3 && i.Hold == Percentiles{} && i.Silence.P50 >= 500 && i.Silence.P99 <= 520 && i.HeardTextWrong == 0 // as the frame falls
		}},
		{"it believes that more was heard", &service{sloppy: 1}, Interruptions, func(r BargeInResult) bool {
			return r.Interruptions.HeardTextWrong+r.Interruptions.HeardTextNear > 1 && r.HeardTextWrong > 0 // one may lie at the very end of a word
		}},
		{"it is slow to hold", &service{slow: 60 * msec}, Interruptions, func(r BargeInResult) bool {
			return r.Hold.P50 == 80 && r.Silence.P95 == 80
		}},
		{"it is full", &service{full: 2}, Interruptions, func(r BargeInResult) bool {
			return r.Refused == 2 && r.Interruptions.Taken == 3
		}},
		{"it loses sound", &service{drops: 2}, Coughs, func(r BargeInResult) bool {
			n := r.Coughs.Held["cough"] * 2 * wireFrame // some of them in a silence
			return r.LostSamples > 0 && r.LostSamples <= n && r.Coughs.False["cough"] == 0
		}},
		{"it hears too well", &service{deafness: -58, commit: 200 * msec}, Echo, func(r BargeInResult) bool {
			return r.SelfInterruptions == 3 && r.Echo.Answers == 3 && r.Echo.SelfHolds > 2
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if r := measure(t, tt.service, 3, tt.part); !tt.check(r) {
				if r.Interruptions != nil {
					r.Interruptions.told = nil // the sound
				}
				t.Errorf("%+v; %+v; %+v", r.Interruptions, r.Coughs, r.Echo)
			}
		})
	}
}

func TestBargeInNeedsSpeech(t *testing.T) {
	b := BargeIn{Clips: []Clip{{Kinds: []string{"read", "pause"}}}, Times: 1}
	if _, err := b.Run(t.Context()); err == nil {
		t.Error("a corpus of nothing but pauses was taken")
	}
}

// spokenBy lets the fake voice speak clauses, and returns the answer that a caller has received of them and played so many words of.
func spokenBy(t *testing.T, v *Overheard, played int, clauses ...string) (a caller.Answer) {
	t.Helper()
	for _, text := range clauses {
		a.Clauses = append(a.Clauses, caller.Clause{Text: text, From: len(a.Sound)})
		for pcm, err := range v.Speak(context.Background(), text, tts.Options{Words: func(tts.Word) {}}) {
			if err != nil {
				t.Fatal(err)
			}
			a.Sound = append(a.Sound, pcm...)
		}
	}
	a.Played = played
	return a
}

func TestWords(t *testing.T) {
	word, rest := audio.Samples(wordLength, wireRate), audio.Samples(wordRest, wireRate)
	frame := wireFrame
	for _, tt := range []struct {
		played             int
		least, exact, most int
	}{
		{0, 0, 0, 0},
		{word - rest - frame - 1, 0, 0, 0},
		{word - rest - frame, 0, 0, 1}, // the first word ends a frame later
		{word - rest, 0, 1, 1},
		{word - rest + frame, 1, 1, 1},
		{3*word + 10, 3, 3, 3},             // in the second clause
		{5*word - rest, 4, 5, 5},           // at the end of the second clause's last word
		{5 * word, 5, 5, 5},                // all of it
		{4*word - rest + frame/2, 3, 4, 4}, // the fourth word has just ended
	} {
		v := newFakeVoice()
		a := spokenBy(t, v, tt.played, "good morning, ", "how are you?")
		got, known, err := words(a, wireRate, v, closeBy)
		if err != nil || !known || got.least != tt.least || got.exact != tt.exact || got.most != tt.most {
			t.Errorf("%d samples: %+v %v %v, want %d, %d, %d", tt.played, got, known, err, tt.least, tt.exact, tt.most)
		}
	}
	a := spokenBy(t, newFakeVoice(), word, "hello")
	if _, known, err := words(a, wireRate, newFakeVoice(), closeBy); known || err != nil {
		t.Errorf("the words of another voice are known: %v, %v", known, err)
	}
	// The second word of an utterance that was broken off.
	v := newFakeVoice()
	for range v.Speak(context.Background(), "one two", tts.Options{Words: func(tts.Word) {}}) {
		break
	}
	a = caller.Answer{Clauses: []caller.Clause{{Text: "one two"}}, Sound: slices.Clone(v.spoke[0].sound), Played: word}
	if got, known, err := words(a, wireRate, v, closeBy); got.exact != 1 || !known || err != nil {
		t.Errorf("of one word spoken: %+v, %v, %v", got, known, err)
	}
}

func TestVerdict(t *testing.T) {
	const text = "I can help you, of course."
	for _, tt := range []struct {
		heard string
		words span
		known bool
		want  verdict
	}{
		{"I can help", span{3, 3, 3, nil}, true, right},
		{"I can help", span{2, 2, 3, nil}, true, near},
		{"I can help", span{3, 4, 4, nil}, true, near},
		{"I can help", span{4, 4, 4, nil}, true, wrong},
		{"I can help", span{2, 2, 2, nil}, true, wrong},
		{"", span{0, 0, 0, nil}, true, right},
		{"I can", span{1, 2, 2, nil}, false, unknown},
		{"You can", span{2, 2, 2, nil}, true, wrong},
		{"I can help you, of course. Or not.", span{6, 6, 6, nil}, true, wrong},
	} {
		if got := (told{text: text, heard: tt.heard, words: tt.words, known: tt.known}).verdict(); got != tt.want {
			t.Errorf("%q, %+v: %v, want %v", tt.heard, tt.words, got, tt.want)
		}
	}
}

func TestContradicts(t *testing.T) {
	const text = "I'm sorry, but I can't help you with your 2 bags of tea."
	for _, tt := range []struct {
		heard, read string
		want        bool
	}{
		{"I'm sorry, but", "I'm sorry but.", false},
		{"I'm sorry, but", "I'm sorry but I", false}, // a word that was begun
		{"I'm sorry, but", "I'm sorry", false},       // one that the recogniser took for cut off
		{"I'm sorry, but", "I'm sorry but I can't help", true},
		{"I'm sorry, but I can't help you", "I'm sorry but I", true},
		{"I'm sorry, but I can't help you with your 2 bags", "I'm sorry, but I can't help you with your two bags", false},
		{"", "", false},
		{"", "I'm sorry but I can", true},
		{"I'm sorry, but I can't", "I'm surly, but I can't", false},
	} {
		if got := (told{text: text, heard: tt.heard}).contradicts(tt.read); got != tt.want {
			t.Errorf("%q and %q: %v, want %v", tt.heard, tt.read, got, tt.want)
		}
	}
}

func TestCompare(t *testing.T) {
	v := newFakeVoice()
	a := spokenBy(t, v, 0, "one two three four")
	spoken, err := v.as("one two three four", wireRate)
	if err != nil {
		t.Fatal(err)
	}
	late := append(make(audio.PCM, 30), a.Sound...)
	second := spokenBy(t, v, 0, "one two three four").Sound // once more, not quite the same
	both, err := v.as("one two three four", wireRate)
	if err != nil {
		t.Fatal(err)
	}
	half := len(a.Sound) / 2
	for _, tt := range []struct {
		name     string
		received audio.PCM
		spoken   []utterance
		any      bool
		lost     int
	}{
		{"as it was spoken", a.Sound, spoken, true, 0},
		{"behind a filter", late, spoken, true, 0},
		{"without the silence at its beginning", a.Sound[500:], []utterance{{rate: wireRate, sound: slices.Concat(make(audio.PCM, 1440), a.Sound[500:])}}, true, 0},
		{"a frame is missing", slices.Concat(a.Sound[:half], a.Sound[half+wireFrame:]), spoken, true, wireFrame},
		{"ten frames are missing", slices.Concat(a.Sound[:half], a.Sound[half+10*wireFrame:]), spoken, true, 10 * wireFrame},
		{"the end is missing", a.Sound[:half], spoken, true, half - 2*audio.Samples(wordRest, wireRate)},
		{"begun again in the middle", slices.Concat(a.Sound[:half], second[half:]), both, true, 0},
		{"something else", spokenBy(t, v, 0, "five six seven eight").Sound, spoken, false, 0},
		{"nothing", nil, spoken, false, 0},
		{"by nobody", a.Sound, nil, false, 0},
	} {
		if got := compare(tt.received, tt.spoken); got.any != tt.any || got.lost < tt.lost-wireFrame || got.lost > tt.lost+wireFrame {
			t.Errorf("%s: any %v, %d lost", tt.name, got.any, got.lost)
		}
	}
}

func TestInterjections(t *testing.T) {
	clips := said(t)
	hum := newFakeVoice()
	all, err := interjections(t.Context(), 9, clips, hum, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, x := range all {
		kinds[x.kind]++
		from, to, ok := audio.Audible(x.pcm, x.rate)
		if d := audio.Duration(to-from, x.rate); !ok || d < 80*msec || d > 1500*msec {
			t.Errorf("%s %s: %v to be heard", x.kind, x.name, d)
		}
		if l := x.pcm[from:to].Level(); l > interjectionLevel+3 || l < interjectionLevel-12 {
			t.Errorf("%s %s: %.1f dBFS", x.kind, x.name, l)
		}
	}
	if diff := cmp.Diff(map[string]int{"cough": 3, "hum": 3, "noise": 3}, kinds); diff != "" {
		t.Error(diff)
	}
	again, err := interjections(t.Context(), 9, clips, nil, rand.New(rand.NewPCG(1, 1)))
	if err != nil || slices.ContainsFunc(again, func(x interjection) bool { return x.kind == "hum" }) {
		t.Errorf("without a voice somebody hums: %v", err)
	}
}

func TestAsks(t *testing.T) {
	a := caller.Answer{Clauses: []caller.Clause{{Text: "Do you like it? ", From: 0}, {Text: "I do.", From: 100}}}
	for played, want := range map[int]bool{0: true, 99: true, 100: false, 200: false} {
		a.Played = played
		if got := asks(a); got != want {
			t.Errorf("after %d samples: %v, want %v", played, got, want)
		}
	}
}

func TestHoldBelongsToItsVoice(t *testing.T) {
	at := func(n int) time.Time { return time.UnixMilli(int64(n)) }
	for _, tt := range []struct {
		name  string
		holds []caller.Hold
		want  int
		ok    bool
	}{
		{"at once", []caller.Hold{{From: at(1040), Until: at(1300), Taken: true}}, 1040, true},
		{"by a breath before the voice", []caller.Hold{{From: at(950), Until: at(1300), Taken: true}}, 950, true},
		{"it was held already", []caller.Hold{{From: at(800), Until: at(1300), Taken: true}}, 1000, true},
		{"one that was given back, and another", []caller.Hold{{From: at(500), Until: at(700)}, {From: at(1050), Until: at(1300), Taken: true}}, 1050, true},
		{"one for what was said later", []caller.Hold{{From: at(3000), Until: at(3300)}}, 0, false},
		{"none", nil, 0, false},
	} {
		x := interruption{from: at(1000), answer: caller.Answer{Ends: at(1100)}, moment: caller.Moment{Holds: tt.holds}}
		got, ok := x.hold()
		if ok != tt.ok || ok && !got.Equal(at(tt.want)) {
			t.Errorf("%s: %v %v", tt.name, got.UnixMilli(), ok)
		}
	}
}

func TestFirstVoiced(t *testing.T) {
	p := make(audio.PCM, 3*16000)
	for i := 16000; i < 32000; i++ {
		p[i] = int16(3000 * (1 - 2*(i%2)))
	}
	if got := firstVoiced(p, 16000); got != 16000 {
		t.Errorf("voice from sample %d on, want 16000", got)
	}
}
