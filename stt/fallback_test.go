package stt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/budget"
)

var errDeaf = errors.New("deaf")

// hears returns a recogniser that takes its time to bring a text or an error.
func hears(text string, takes time.Duration, err error) Whole {
	return func(ctx context.Context, speech audio.PCM, _ Options) (Transcript, error) {
		select {
		case <-time.After(takes):
			return Transcript{Text: text, Speech: speech.Duration(audio.SpeechRate)}, err
		case <-ctx.Done():
			return Transcript{}, context.Cause(ctx)
		}
	}
}

func TestFallback(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name          string
		first, second Whole
		want          string
		after         time.Duration
		acts          int
		err           error
	}{
		{"the first is in time", hears("one", 90*ms, nil), hears("two", 50*ms, nil), "one", 90 * ms, 0, nil},
		{"the first is late", hears("one", time.Hour, nil), hears("two", 50*ms, nil), "two", 150 * ms, 1, nil},
		{"the first is late, and first all the same", hears("one", 120*ms, nil), hears("two", 50*ms, nil), "one", 120 * ms, 1, nil},
		{"the first fails", hears("", 10*ms, errDeaf), hears("two", 50*ms, nil), "two", 60 * ms, 1, nil},
		{"the second fails", hears("one", 190*ms, nil), hears("", 50*ms, errDeaf), "one", 190 * ms, 1, nil},
		{"both fail", hears("", 10*ms, errDeaf), hears("", 50*ms, errDeaf), "", 60 * ms, 1, errDeaf},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var bill budget.Bill
				began := time.Now()
				s := (&Fallback{First: tt.first, Second: tt.second, Late: 100 * ms}).Listen(Options{})
				defer s.Close()
				s.Write(make(audio.PCM, audio.SpeechRate))
				got, err := s.Finish(budget.WithBill(t.Context(), &bill), budget.Urgency{Deadline: began.Add(200 * ms)})
				if took := time.Since(began); got.Text != tt.want || !errors.Is(err, tt.err) || took != tt.after {
					t.Errorf("%q, %v after %v; want %q after %v", got.Text, err, took, tt.want, tt.after)
				}
				if err == nil && got.Speech != time.Second {
					t.Errorf("it heard %v of a second", got.Speech)
				}
				if d := bill.Detours(); len(d) != tt.acts || len(d) > 0 && (d[0].Act != budget.Substitute || d[0].Stage != budget.STT) {
					t.Errorf("the bill has %+v", d)
				}
			})
		})
	}
}

// Who is interrupted stops both.
func TestFallbackStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := (&Fallback{First: hears("", time.Hour, nil), Second: hears("", time.Hour, nil), Late: time.Millisecond}).Listen(Options{})
		ctx, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { end(errDeaf) })
		if _, err := s.Finish(ctx, budget.Urgency{Deadline: time.Now()}); !errors.Is(err, errDeaf) {
			t.Errorf("it ended with %v", err)
		}
		s.Close()
		synctest.Wait()
	})
}
