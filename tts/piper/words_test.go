package piper

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"riposte/audio"
	"riposte/native/onnx/onnxtest"
	"riposte/tts"
)

// telling is what a voice says of a text: its sound, its words, and how much sound had been yielded when each was told.
type telling struct {
	sound audio.PCM
	words []tts.Word
	when  []int
}

// tell speaks a text and checks what holds for all texts: every word is told once, in order, ahead of the sound in which it
// ends, and lies in the sound.
func tell(t testing.TB, e *Engine, text string, o tts.Options) telling {
	t.Helper()
	var got telling
	o.Words = func(w tts.Word) { got.words, got.when = append(got.words, w), append(got.when, len(got.sound)) }
	for pcm, err := range e.Speak(t.Context(), text, o) {
		if err != nil {
			t.Fatal(err)
		}
		got.sound = append(got.sound, pcm...)
	}
	var words []string
	last := tts.Word{}
	for i, w := range got.words {
		if w.End <= last.End || w.End > len(text) || w.Heard < last.Heard || w.Heard > len(got.sound) {
			t.Fatalf("%q: word %+v behind %+v, of %d bytes and %d samples", text, w, last, len(text), len(got.sound))
		}
		if w.Heard < got.when[i]-audio.Samples(grain, e.Rate()) && w.Heard != last.Heard {
			t.Errorf("%q: a word that ends at %d was told at %d", text, w.Heard, got.when[i])
		}
		words = append(words, strings.TrimSpace(text[last.End:w.End]))
		last = w
	}
	if want := strings.Fields(text); !slices.Equal(words, want) {
		t.Fatalf("%q has the words %q", text, words)
	}
	return got
}

// falls returns where the sound falls silent for at least so long, in samples.
func falls(sound audio.PCM, rate int, atLeast time.Duration) []int {
	n := audio.Samples(atLeast, rate)
	var all []int
	last := -1
	for i, s := range append(slices.Clone(sound), make(audio.PCM, n+1)...) {
		if isAudible(float32(s) / 32768) {
			last = i
		} else if last >= 0 && i-last == n {
			all = append(all, last+1)
		}
	}
	return all
}

// pausing are texts in which the voice rests behind some words: which ones is in the marks.
var pausing = []string{
	"The train leaves at noon, from platform nine.", "Yes, of course, I can book a table for you.", "It's 12:30. What time is it? I like the kitchen of the house.",
	"Well, that is good to know. Thanks!", "First, go left; then, turn right: it is there.", "I see. So, what shall we do? Nothing, I guess.",
	"He took the bus, the cab, and the boat.", "Sorry, I did not get that. Could you say it again, please?", "No. Stop. Wait. Yes.",
	"**Note:** it costs $5 million, or 3.5% of it. 🎉", "we leave at eight", "and then he left", "please hold the line", "take it or leave it",
}

// TestWordsEndWhereTheVoiceRests compares the words ahead of pauses with where the sound falls silent.
func TestWordsEndWhereTheVoiceRests(t *testing.T) {
	e := shareReal(t, true)
	var off []time.Duration
	var far []string // The voice draws with noise: now and then a word breathes out for longer than its phonemes last.
	for _, text := range pausing {
		got := tell(t, e, text, tts.Options{})
		ends := falls(got.sound, e.Rate(), 80*time.Millisecond)
		from := 0
		for i, w := range got.words {
			word := text[from:w.End]
			from = w.End
			last := i == len(got.words)-1
			if !last && !strings.ContainsAny(word[len(word)-1:], ",.;:?!") || !strings.ContainsFunc(word, func(r rune) bool { return !isMark(r) }) {
				continue
			}
			nearest := slices.MinFunc(ends, func(a, b int) int { return distance(a, w.Heard) - distance(b, w.Heard) })
			d := audio.Duration(distance(nearest, w.Heard), e.Rate())
			off = append(off, d)
			if d > 60*time.Millisecond {
				far = append(far, fmt.Sprintf("%q: %q ends at %v, and the voice falls silent at %v", text, word, audio.Duration(w.Heard, e.Rate()), audio.Duration(nearest, e.Rate())))
			}
		}
	}
	slices.Sort(off)
	if len(far) > len(off)/20 {
		t.Errorf("too many of %d: %s", len(off), strings.Join(far, "; "))
	}
	t.Logf("%d words ahead of pauses end within %v of the sound at the median, %v at p95, %v at most", len(off), off[len(off)/2], off[len(off)*95/100], off[len(off)-1])
}

// closing are texts with words that others follow at once which begin with p, t or k: for these the voice closes its lips, or
// what else it closes, and falls silent for a moment.
var closing = []string{
	"You can see two people who play tennis near the park", "They may come to pay the tall man for two coffees", "We saw ten new cars go past the library tower",
	"Maria can carry four purple cups to the kitchen table", "The key to a happy cat is a slow play time", "He threw two tomatoes over the tree top",
}

// TestWordsEndWhereTheNextBegin compares words that others follow at once with where the sound stops for the next one.
func TestWordsEndWhereTheNextBegin(t *testing.T) {
	e := shareReal(t, true)
	var off []time.Duration
	for _, text := range closing {
		got := tell(t, e, text, tts.Options{})
		closed := falls(got.sound, e.Rate(), 20*time.Millisecond)
		words := strings.Fields(text)
		for i, w := range got.words[:len(words)-1] {
			next := words[i+1]
			if !strings.ContainsAny(next[:1], "ptck") || strings.HasPrefix(next, "th") || !strings.ContainsAny(words[i][len(words[i])-1:], "aeiouywnr") {
				continue
			}
			nearest := slices.MinFunc(closed, func(a, b int) int { return distance(a, w.Heard) - distance(b, w.Heard) })
			off = append(off, audio.Duration(distance(nearest, w.Heard), e.Rate()))
		}
	}
	slices.Sort(off)
	p90 := off[len(off)*9/10]
	t.Logf("%d words end within %v of where the next one begins at the median, and within %v at p90", len(off), off[len(off)/2], p90)
	if len(off) < 25 || p90 > 40*time.Millisecond { // Not every p is closed.
		t.Errorf("of %d words one in ten ends %v or more from where the next one begins", len(off), p90)
	}
}

func distance(a, b int) int { return max(a-b, b-a) }

func TestWordsOfAllKindsOfTexts(t *testing.T) {
	e := shareReal(t, false) // noise makes the last consonant so soft, now and then, that its end is not heard
	for _, text := range []string{
		"It's 12:30 on 5 March 2024.", "# Menu\n\n- **Soup** $4.50\n- Bread & butter", "See [our site](https://example.com/menu), or call 555-1234!",
		"😀 Great, I'm in 👍", "A B C", "well-known facts", "We won 3-2. U.S. teams rarely do. A+!", "Dr. Smith vs. the N.Y. Times, etc.",
		strings.Repeat("every good boy does fine and all of them go home ", 6), "x = y + 2", "Hm.\n\n\nOk",
	} {
		got := tell(t, e, text, tts.Options{})
		last := got.words[len(got.words)-1]
		end := slices.Max(falls(got.sound, e.Rate(), 40*time.Millisecond))
		if d := audio.Duration(distance(end, last.Heard), e.Rate()); d > 60*time.Millisecond {
			t.Errorf("%q: the last word ends %v from the end of the sound", text, d)
		}
		if got.words[0].Heard == 0 && !isMark([]rune(text)[0]) {
			t.Errorf("%q: the first word takes no time", text)
		}
	}
}

func TestWordsWithoutSound(t *testing.T) {
	e := shareReal(t, false)
	if got := tell(t, e, " 🎉  👍 ", tts.Options{}); len(got.words) != 2 || got.words[1].Heard != 0 || len(got.sound) > 0 {
		t.Errorf("%+v", got)
	}
	if got := tell(t, e, "", tts.Options{}); len(got.words) > 0 {
		t.Errorf("%+v", got)
	}
}

// The cache tells the same words as the voice did, and those of another text that is spoken alike by their own ends.
func TestKeptTextsTellTheirWords(t *testing.T) {
	e := openReal(t, true)
	const text = "Good morning, it is done. How are you"
	tell(t, e, text, tts.Options{})
	kept := tell(t, e, text, tts.Options{})
	if s := e.Cache(); s.Hits != 1 {
		t.Fatalf("%+v", s)
	}
	marked := tell(t, e, "**Good morning**, it is *done*. How are you", tts.Options{})
	for i, w := range kept.words {
		if w.Heard != marked.words[i].Heard || w.Heard == 0 {
			t.Errorf("word %d is heard at %d and at %d", i, w.Heard, marked.words[i].Heard)
		}
	}
	// Without a cache, noise or Words, the sound is the same as with them.
	e = openReal(t, false)
	first := tell(t, e, text, tts.Options{})
	again := tell(t, e, text, tts.Options{})
	if !slices.Equal(first.words, again.words) || e.Cache().Hits != 1 {
		t.Errorf("told %v, and from the cache %v", first.words, again.words)
	}
}

func TestWordsKeepPace(t *testing.T) {
	e := shareReal(t, false)
	const text = "The train leaves at noon, from platform nine."
	own, fast := tell(t, e, text, tts.Options{}), tell(t, e, text, tts.Options{Speed: 2})
	for i, w := range own.words {
		if share := float64(fast.words[i].Heard) / float64(w.Heard); share < 0.3 || share > 0.7 {
			t.Errorf("word %d at twice the pace comes after %.2f of the time", i, share)
		}
	}
	whole := &Engine{Model: e.Model, Runtime: e.Runtime, Whole: true, NoiseScale: -1, NoiseWidth: -1, Log: quiet()}
	openEngine(t, whole)
	if got := tell(t, whole, text, tts.Options{}); !slices.Equal(got.words, own.words) {
		t.Errorf("whole it tells %v, in windows %v", got.words, own.words)
	}
}

// A voice that does not know says so once and tells nothing.
func TestVoicesThatDoNotKnowTheirWords(t *testing.T) {
	var log bytes.Buffer
	e := &Engine{Model: writeVoice(t, tiny().Bytes(), tinyJSON()), Runtime: onnxtest.Runtime(t), Log: slog.New(slog.NewTextHandler(&log, nil))}
	openEngine(t, e)
	for range 2 {
		say(t, e, "Good morning.", tts.Options{Words: func(w tts.Word) { t.Errorf("told %+v", w) }})
	}
	if n := strings.Count(log.String(), "where its words lie"); n != 1 {
		t.Errorf("%d warnings: %s", n, log.String())
	}
}

// The tiny voice that counts its frames has one for every id, so that all places are known.
func TestWordsAreCountedInFrames(t *testing.T) {
	for _, whole := range []bool{false, true} {
		e := &Engine{Model: writeVoice(t, timed().Bytes(), tinyJSON()), Runtime: onnxtest.Runtime(t), Whole: whole, Log: quiet()}
		openEngine(t, e)
		if !e.net.timed {
			t.Fatal("it does not know its words")
		}
		said, err := read("en-us", "Hello there")
		if err != nil {
			t.Fatal(err)
		}
		r := request{scales: e.scales}
		var ids, samples []int
		r.ids, ids, _ = e.voice.ids(said.units[0].phonemes)
		r.timed = func(behind []int) { samples = behind }
		collect(t, e.net, r)
		for i := range ids {
			if samples[ids[i]-1] != ids[i]*tinyHop {
				t.Errorf("character %d ends at %d, want %d", i, samples[ids[i]-1], ids[i]*tinyHop)
			}
		}
	}
}

func BenchmarkWords(b *testing.B) {
	needEspeak(b)
	for name, words := range map[string]func(tts.Word){"without": nil, "with": func(tts.Word) {}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				said, err := read("en-us", sentence)
				if err == nil && words != nil {
					_, err = newTeller(sentence, sentence, "en", "en-us", said, words)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
