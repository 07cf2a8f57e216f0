package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/llm"
	"riposte/scenario"
	"riposte/transport"
	"riposte/transport/realtime"
)

// whistle speaks 100 ms of a tone for each word.
type whistle struct{}

func (whistle) Say(_ context.Context, s scenario.Speech, _ time.Duration) (Sound, error) {
	var pcm audio.PCM
	for _, u := range s {
		if u.Word == "" {
			pcm = append(pcm, make(audio.PCM, audio.Samples(u.Pause, Rate))...)
		} else {
			pcm = append(pcm, tone(tenth)...)
		}
	}
	return Sound{PCM: pcm, Of: "whistle"}, nil
}

func (whistle) Cough(_ context.Context, d time.Duration) (Sound, error) {
	return Sound{PCM: tone(d), Of: "cough"}, nil
}

func (whistle) Noise(string, time.Duration) (Sound, error) {
	return Sound{}, errors.New("there is no noise")
}

func tone(d time.Duration) audio.PCM {
	pcm := make(audio.PCM, audio.Samples(d, Rate))
	for i := range pcm {
		pcm[i] = int16(8000 * math.Sin(float64(i)/5))
	}
	return pcm
}

// butler is a service of the simplest kind: what is loud is speech, 200 ms of silence end a turn, and its words are known. A deaf one
// goes on with its answer, whatever is said over it.
type butler struct {
	hears []string
	says  string
	deaf  bool

	call     transport.Call
	turns    int
	speaking bool
	loud     time.Time
	answer   context.CancelFunc
	ended    chan struct{}
}

// serve lets butlers answer calls, and returns where.
func serve(t *testing.T, of func() *butler) *Stage {
	s := httptest.NewServer(&realtime.Server{
		Hold: func(ctx context.Context, c transport.Call, _ transport.Settings) error {
			b := of()
			b.call = c
			return b.hold(ctx)
		},
		Admit:    func() (func(), error) { return func() {}, nil },
		Defaults: transport.Settings{Rate: Rate, Detection: &transport.Detection{Threshold: 0.5, Silence: 200 * time.Millisecond, Respond: true, Interrupt: true}},
		Log:      slog.New(slog.DiscardHandler),
	})
	t.Cleanup(s.Close)
	return &Stage{URL: "ws" + strings.TrimPrefix(s.URL, "http") + "/v1/realtime", Mouth: whistle{}}
}

func (b *butler) hold(ctx context.Context) error {
	for {
		in, err := b.call.Receive(ctx)
		if err != nil {
			b.stop()
			return err
		}
		switch in := in.(type) {
		case transport.Add:
			in.Item.ID = fmt.Sprint("added", time.Now().UnixNano())
			_ = b.call.Send(ctx, transport.Added{Item: in.Item})
		case transport.Cancel:
			b.stop()
		case transport.Sound:
			b.hear(ctx, in.PCM)
		}
	}
}

func (b *butler) hear(ctx context.Context, pcm audio.PCM) {
	item := fmt.Sprint("item", b.turns)
	switch {
	case pcm.Level() > -40:
		if b.loud = time.Now(); !b.speaking {
			b.speaking = true
			if !b.deaf {
				b.stop()
			}
			_ = b.call.Send(ctx, transport.SpeechStarted{Item: item})
		}
	case b.speaking && time.Since(b.loud) > 200*time.Millisecond:
		b.speaking = false
		text := b.hears[min(b.turns, len(b.hears)-1)]
		b.turns++
		for _, out := range []transport.Outbound{transport.SpeechStopped{Item: item}, transport.Committed{Item: item}, transport.Transcribed{Item: item, Text: text}} {
			_ = b.call.Send(ctx, out)
		}
		b.stop()
		answering, stop := context.WithCancel(ctx)
		b.answer, b.ended = stop, make(chan struct{})
		go b.speak(ctx, answering, item, b.ended)
	}
}

// stop ends the answer.
func (b *butler) stop() {
	if b.answer != nil {
		b.answer()
		<-b.ended
		b.answer = nil
	}
}

// speak gives an answer, 100 ms a word.
func (b *butler) speak(ctx, answering context.Context, item string, ended chan struct{}) {
	defer close(ended)
	r := transport.Response{ID: "answer_" + item, Item: "words_" + item, Encoding: "audio/pcm"}
	send := func(out transport.Outbound) { _ = b.call.Send(ctx, out) }
	send(transport.ResponseStarted{Response: r})
	send(transport.MessageStarted{Response: r})
	status, reason, heard := transport.Completed, "", []string{}
	for _, word := range strings.Fields(b.says) {
		send(transport.Words{Response: r, Text: word + " "})
		send(transport.Voice{Response: r, PCM: tone(tenth)})
		select {
		case <-time.After(tenth):
			heard = append(heard, word)
			continue
		case <-answering.Done():
			status, reason = transport.Cancelled, "turn_detected"
		}
		break
	}
	send(transport.ResponseDone{Response: r, Status: status, Reason: reason, Text: b.says, Usage: llm.Usage{}})
	send(transport.TurnReport{Response: r.ID, Items: []string{item}, Answer: strings.Join(heard, " "), Report: budget.Report{Verdict: budget.Met}})
}

const interrupts = `
model says "One two three four five six seven eight nine ten."
caller says "count for me"
expect turn "count for me" within 250ms
expect sound within 250ms
caller waits for sound
caller waits 300ms
caller says "stop it now"
expect quiet within 50ms of onset
expect done cancelled within 50ms of onset
expect turn "stop it now"
caller waits for done completed
now 2 turns
now history user "count for me", assistant "One two three", user "stop it now", assistant "One two three four five six seven eight nine ten."
now played "One two three four five six seven eight nine ten."
`

// A script passes where the service does as it says, and fails where it does not, with what came instead.
func TestAct(t *testing.T) {
	t.Parallel()
	act := func(b butler, text string) Result {
		t.Helper()
		r, err := serve(t, func() *butler { c := b; return &c }).Act(t.Context(), parse(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	polite := butler{hears: []string{"Count for me.", "Stop it now."}, says: "One two three four five six seven eight nine ten."}
	if r := act(polite, interrupts); r.Outcome != Passed || len(r.Sounds) != 2 {
		t.Errorf("%s with %q:\n%s\n%s", r.Outcome, r.Sounds, r.Seen(), r.Happened)
	}
	deaf := polite
	deaf.deaf = true
	r := act(deaf, interrupts)
	if r.Outcome != Failed || !strings.Contains(r.Seen(), "sound came") || !strings.Contains(r.Seen(), "done cancelled did not come") || !strings.Contains(r.Happened, "(says)") {
		t.Errorf("%s: %s\n%s", r.Outcome, r.Seen(), r.Happened)
	}
	wrong := polite
	wrong.hears = []string{"Come to me.", "Stop it now."}
	if r := act(wrong, interrupts); r.Outcome != Failed || !strings.Contains(r.Seen(), `of its kind came: `) {
		t.Errorf("%s: %s\n%s", r.Outcome, r.Seen(), r.Happened)
	}
	if r := act(polite, "stt fails\ncaller says \"stop\""); r.Outcome != Skipped || len(r.Problems) != 1 {
		t.Errorf("%s: %s", r.Outcome, r.Seen())
	}
	if r := act(polite, "pending \"it is not so\"\ncaller waits 100ms\nnow 0 turns"); r.Outcome != Failed {
		t.Errorf("what is said to be pending and is not: %s", r.Outcome)
	}
	if r := act(polite, "caller says \"count for me\"\ncaller waits for sound\ncaller hangs up\nexpect end hung-up within 0s\nnow 1 answer"); r.Outcome != Passed {
		t.Errorf("%s: %s\n%s", r.Outcome, r.Seen(), r.Happened)
	}
}

// What was played of an answer that was cut off is listened to.
func TestHeardText(t *testing.T) {
	t.Parallel()
	for heard, want := range map[string]Outcome{"One two three.": Passed, "": Passed, "One two three four five six seven eight nine.": Failed} {
		s := serve(t, func() *butler {
			return &butler{hears: []string{"Count for me.", "Stop it now."}, says: "One two three four five six seven eight nine ten."}
		})
		var listened []time.Duration
		s.Ear = func(_ context.Context, pcm audio.PCM) (string, error) {
			listened = append(listened, pcm.Duration(Rate))
			return heard, nil
		}
		r, err := s.Act(t.Context(), parse(t, interrupts))
		if err != nil || r.Outcome != want {
			t.Errorf("heard %q: %s, %v: %s", heard, r.Outcome, err, r.Seen())
		}
		if len(listened) != 1 || listened[0] < 200*time.Millisecond || listened[0] > 600*time.Millisecond {
			t.Errorf("listened to %v", listened)
		}
	}
}

// A service that is not there is no script's fault.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	s := &Stage{URL: "ws://127.0.0.1:1/v1/realtime", Mouth: whistle{}}
	if _, err := s.Act(t.Context(), parse(t, `caller says "hello"`)); err == nil || !strings.Contains(err.Error(), "x:1: call ws://127.0.0.1:1") {
		t.Errorf("error %v", err)
	}
	if _, err := s.Act(t.Context(), parse(t, `room brings "dog" 1s`)); err == nil || !strings.Contains(err.Error(), "x:1: there is no noise") {
		t.Errorf("error %v", err)
	}
}

// The ear of the judge: where voice begins and ends in a sound.
func TestVoiced(t *testing.T) {
	silence := make(audio.PCM, audio.Samples(tenth, Rate))
	first, last := voiced(slices.Concat(silence, tone(tenth), silence))
	if first != len(silence) || last != 2*len(silence) {
		t.Errorf("voice from %d to %d, want %d to %d", first, last, len(silence), 2*len(silence))
	}
	if first, last := voiced(silence); first != 0 || last != len(silence) {
		t.Errorf("silence from %d to %d", first, last)
	}
}
