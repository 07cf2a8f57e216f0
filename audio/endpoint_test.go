package audio

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// script feeds e one frame of 32 ms for each letter and returns what happened, as "event@frame". S is loud speech, s
// faint speech below the gate, ~ speech that is less likely than the threshold but more than the hysteresis, b speech
// that is as soft as breath, and . is silence.
func script(e *Endpointer, s string) []string {
	frames := map[rune]struct {
		speech float32
		level  float64
	}{'S': {0.9, -20}, 's': {0.9, -70}, '~': {0.4, -20}, 'b': {0.9, -52}, '.': {0.1, -80}}
	var events []string
	for i, c := range strings.ReplaceAll(s, " ", "") {
		f := frames[c]
		if event := e.Step(f.speech, rms(VADFrame, f.level)); event != None {
			events = append(events, fmt.Sprintf("%v@%d", event, i))
		}
	}
	return events
}

func TestEndpointer(t *testing.T) {
	// 160 ms are 5 frames; 500 ms are 15.6 frames, so the 16th of silence ends the turn.
	const quiet16 = "................"
	for _, c := range []struct {
		name   string
		script string
		want   []string
		start  int // Frames.
		last   int
	}{
		{"silence", quiet16 + quiet16, nil, 0, 0},
		{"a turn", "..SSSS" + quiet16, []string{"onset@3", "maybe@10", "done@21"}, 2, 6},
		{"a click is no turn", "..S..S..S....", nil, 0, 0},
		{"two clicks in a row are one word", "..SS" + quiet16, []string{"onset@3", "maybe@8", "done@19"}, 2, 4},
		{"less likely frames begin nothing", "..~~~~~~", nil, 0, 0},
		{"less likely frames go on with speech", "SS~~~~~~" + quiet16, []string{"onset@1", "maybe@12", "done@23"}, 0, 8},
		{"less likely frames after silence do not", "SS..~~~~~~~~~~~~~~", []string{"onset@1", "maybe@6", "done@17"}, 0, 2},
		{"a flicker within a word", "SSS..S...SS" + quiet16, []string{"onset@1", "maybe@15", "done@26"}, 0, 11},
		{"resumed", "SS......SS" + quiet16, []string{"onset@1", "maybe@6", "resumed@9", "maybe@14", "done@25"}, 0, 10},
		{"a click after maybe does not resume", "SS......S......." + "...", []string{"onset@1", "maybe@6", "done@17"}, 0, 2},
		{"a click at the end is heard out", "SS" + "..............." + "S" + ".", []string{"onset@1", "maybe@6", "done@18"}, 0, 2},
		{"speech just before the end is heard out", "SS" + "..............." + "SS" + "...", []string{"onset@1", "maybe@6", "resumed@18"}, 0, 19},
		{"faint noise is never speech", "ssssssssssssssss", nil, 0, 0},
		{"faint noise does not hold a turn open", "SSssssssssssssssssss", []string{"onset@1", "maybe@6", "done@17"}, 0, 2},
		{"a breath at the end does not move the clock", "SSSbb" + quiet16, []string{"onset@1", "maybe@9", "done@20"}, 0, 3},
		{"a faint talker is timed by the VAD", "bbbb" + quiet16, []string{"onset@1", "maybe@8", "done@19"}, 0, 4},
		{"a second turn", "SS" + quiet16 + "SSS" + quiet16, []string{"onset@1", "maybe@6", "done@17", "onset@19", "maybe@25", "done@36"}, 18, 21},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e Endpointer
			if got := script(&e, c.script); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
			if got := e.Start(); got != int64(c.start*VADFrame) {
				t.Errorf("start = %v frames, want %d", float64(got)/VADFrame, c.start)
			}
			// Three frames end within a window of 10 ms, which counts whole.
			if got := e.LastVoiced(); got < int64(c.last*VADFrame) || got >= int64(c.last*VADFrame)+160 {
				t.Errorf("last voiced = %v frames, want %d", float64(got)/VADFrame, c.last)
			}
		})
	}
}

// What may be the soft beginning of a voice is told at once, and for three frames: a noise that sounds a little like a voice goes on.
func TestEndpointerStirs(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"speech", "..SS..", "..##.."},
		{"a soft beginning", "..~~SS..", "..####.."},
		{"a noise", "..~~~~~~~~..", "..###......."},
		{"again after silence", "..~~~~.~..", "..###..#.."},
		{"a soft end is none", "..SS..~.", "..##..#."},
		{"what follows a click", "..S~~~~~", "..######"}, // by the hysteresis these are voiced
		{"faint noise", "..ssss..", "........"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e Endpointer
			got := ""
			for _, frame := range c.script {
				script(&e, string(frame))
				got += map[bool]string{true: "#", false: "."}[e.Stirring()]
			}
			if got != c.want {
				t.Errorf("%s stirs at\n%s, want\n%s", c.script, got, c.want)
			}
		})
	}
	t.Run("by its own threshold", func(t *testing.T) {
		e := Endpointer{Threshold: 1}
		e.Step(0.3, rms(VADFrame, -20))
		if e.Stirring() {
			t.Error("0.3 stirs at a threshold of 1")
		}
		e.Step(0.45, rms(VADFrame, -20))
		if !e.Stirring() {
			t.Error("0.45 does not stir at a threshold of 1")
		}
	})
}

func TestEndpointerSettings(t *testing.T) {
	e := Endpointer{Rate: 16000, Threshold: 0.3, MinSpeech: 32 * ms, Eager: 64 * ms, Silence: 96 * ms, Gate: -75}
	if got, want := script(&e, ".~..s..~...."), []string{"onset@1", "maybe@3", "resumed@4", "maybe@6", "resumed@7", "maybe@9", "done@10"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// Where the turn is over before it may be over, there is no Maybe.
	e = Endpointer{Eager: 500 * ms, Silence: 200 * ms}
	if got, want := script(&e, "SS........."), []string{"onset@1", "done@8"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestEndpointerWaitsLongerWhenTold(t *testing.T) {
	var e Endpointer
	script(&e, "SS..........") // 320 ms of silence.
	e.Silence = time.Second
	if got, want := script(&e, "......................"), []string{"done@21"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v: 32 frames in all", got, want)
	}
}

// Who goes on after a silence has paused.
func TestEndpointerPaused(t *testing.T) {
	var e Endpointer
	script(&e, "SS..........SS") // 320 ms of silence, two frames of voice until that is certain
	if got := e.Paused(); got != 320*ms {
		t.Errorf("paused for %v, want 320ms", got)
	}
}

func TestEndpointerReset(t *testing.T) {
	var e Endpointer
	script(&e, "SSSS")
	e.Reset()
	if e.Talking() {
		t.Error("it is still talking after Reset")
	}
	if got, want := script(&e, "...................SS"), []string{"onset@20"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := e.Start(); got != 23*VADFrame {
		t.Errorf("start = %d, want %d: positions go on", got, 23*VADFrame)
	}
}

func TestEndpointerRefinesTheEndByEnergy(t *testing.T) {
	var e Endpointer
	word := rms(3*VADFrame, -20)
	copy(word[2*VADFrame+200:], rms(VADFrame-200, -65)) // The VAD still says speech, but it ended 200 samples in.
	for i := range 3 {
		e.Step(0.9, word[i*VADFrame:(i+1)*VADFrame])
	}
	// The windows of 160 samples count from the beginning of the word: the last that is loud ends at 8 * 160.
	if got := e.LastVoiced(); got != 1280 {
		t.Errorf("last voiced = %d, want 1280", got)
	}
}

func TestEndpointerIsBounded(t *testing.T) {
	var e Endpointer
	for range 2000 {
		e.Step(1, rms(VADFrame, -20))
	}
	if cap(e.run) > 4*SpeechRate {
		t.Errorf("it holds %d samples of a long turn", cap(e.run))
	}
	if got := e.LastVoiced(); got != 2000*VADFrame {
		t.Errorf("last voiced = %d, want %d", got, 2000*VADFrame)
	}
}
