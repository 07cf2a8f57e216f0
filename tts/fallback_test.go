package tts

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/budget"
)

// talker is a voice that takes its time, and may fail behind some words. Each word sounds for a tenth of a second.
type talker struct {
	hz      int
	sound   int16
	takes   time.Duration
	fails   int // Behind so many words; -1 for never.
	tells   bool
	stopped *bool
}

var errBroke = errors.New("broke")

func (v talker) Rate() int { return v.hz }

func (v talker) Speak(ctx context.Context, text string, o Options) iter.Seq2[audio.PCM, error] {
	return func(yield func(audio.PCM, error) bool) {
		select {
		case <-time.After(v.takes):
		case <-ctx.Done():
			if v.stopped != nil {
				*v.stopped = true
			}
			yield(nil, context.Cause(ctx))
			return
		}
		n, heard := 0, 0
		for _, to := range words(text) {
			if n == v.fails {
				yield(nil, errBroke)
				return
			}
			n++
			pcm := make(audio.PCM, v.hz/10)
			for i := range pcm {
				pcm[i] = v.sound
			}
			heard += len(pcm)
			if o.Words != nil && v.tells {
				o.Words(Word{to, heard})
			}
			if !yield(pcm, nil) {
				return
			}
		}
		if n == v.fails {
			yield(nil, errBroke)
		}
	}
}

func TestFallback(t *testing.T) {
	const ms = time.Millisecond
	const text = "one two three four"
	good := func(sound int16, takes time.Duration) talker {
		return talker{hz: 1000 * 8, sound: sound, takes: takes, fails: -1, tells: true}
	}
	broken := func(behind int) talker { v := good(1, 20*ms); v.fails = behind; return v }
	silent := broken(2)
	silent.tells = false
	for _, tt := range []struct {
		name          string
		first, second talker
		want          string // Who speaks each word.
		after         time.Duration
		acts          int
		err           bool
	}{
		{"the first is in time", good(1, 50*ms), good(2, 50*ms), "1111", 50 * ms, 0, false},
		{"the first is late", good(1, 500*ms), good(2, 50*ms), "2222", 150 * ms, 1, false},
		{"the first is late, and first all the same", good(1, 120*ms), good(2, 50*ms), "1111", 120 * ms, 1, false},
		{"the first fails", broken(0), good(2, 50*ms), "2222", 70 * ms, 1, false},
		{"the first fails in the middle", broken(2), good(2, 50*ms), "1122", 20 * ms, 1, false},
		{"the same, without places of words", silent, good(2, 50*ms), "11222", 20 * ms, 1, false}, // by its length, a fifth of a second is a word of three letters
		{"both fail", broken(0), broken(0), "", 0, 1, true},
		{"both fail in the middle", broken(2), broken(1), "111", 20 * ms, 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var bill budget.Bill
				began := time.Now()
				f := &Fallback{First: tt.first, Second: tt.second, Late: 100 * ms}
				got, ends := "", []int{}
				heard, last := 0, 0
				var failed error
				var after time.Duration
				o := Options{Urgency: budget.Urgency{Deadline: began.Add(200 * ms)}, Words: func(w Word) {
					ends = append(ends, w.End)
					if w.Heard < last {
						t.Errorf("word %d ends at %d, before the one ahead of it at %d", len(ends), w.Heard, last)
					}
					last = w.Heard
				}}
				for pcm, err := range f.Speak(budget.WithBill(t.Context(), &bill), text, o) {
					if failed = err; err != nil {
						break
					}
					if got == "" {
						after = time.Since(began)
					}
					got += string(rune('0' + pcm[0]))
					heard += len(pcm)
				}
				if got != tt.want || after != tt.after || (failed != nil) != tt.err {
					t.Errorf("%s after %v, %v; want %s after %v", got, after, failed, tt.want, tt.after)
				}
				if d := bill.Detours(); len(d) != tt.acts || len(d) > 0 && (d[0].Act != budget.FasterVoice || d[0].Stage != budget.TTS) {
					t.Errorf("the bill has %+v", d)
				}
				if !tt.err && len(ends) > 0 && (ends[len(ends)-1] != len(text) || last > heard) {
					t.Errorf("words end at %v, the last at sample %d of %d", ends, last, heard)
				}
				synctest.Wait()
			})
		})
	}
}

// Voices may have rates of their own.
func TestFallbackRate(t *testing.T) {
	f := &Fallback{First: talker{hz: 8000, fails: 0}, Second: talker{hz: 16000, sound: 1000, fails: -1, tells: true}}
	n, last := 0, 0
	for pcm, err := range f.Speak(t.Context(), "one two", Options{Words: func(w Word) { last = w.Heard }}) {
		if err != nil {
			t.Fatal(err)
		}
		n += len(pcm)
	}
	if n != 1600 || last != 1600 {
		t.Errorf("%d samples, the last word ends at %d, want 1600 of both", n, last)
	}
}

// Who has heard enough, or is interrupted, stops both.
func TestFallbackStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first, second bool
		f := &Fallback{
			First: talker{hz: 8000, takes: time.Hour, stopped: &first}, Second: talker{hz: 8000, takes: time.Hour, stopped: &second}, Late: time.Millisecond,
		}
		ctx, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { end(errBroke) })
		for _, err := range f.Speak(ctx, strings.Repeat("word ", 3), Options{Urgency: budget.Urgency{Deadline: time.Now()}}) {
			if !errors.Is(err, errBroke) {
				t.Errorf("it ended with %v", err)
			}
		}
		synctest.Wait()
		if !first || !second {
			t.Errorf("stopped: the first %v, the second %v", first, second)
		}
	})
}
