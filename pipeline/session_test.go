package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"riposte/audio"
	"riposte/budget"
	"riposte/llm"
	"riposte/stt"
	"riposte/transport"
	"riposte/tts"
)

// A turn's clock starts at the last voiced sample and each stage is charged with its own time.
func TestTurn(t *testing.T) {
	e := quick()
	session(t, e, withoutGuesses, func(l *line) {
		end := l.speak(1000*ms, 6000*ms)

		reports := told[transport.TurnReport](l)
		if len(reports) != 1 {
			t.Fatalf("%d turns were reported, want 1", len(reports))
		}
		r := reports[0]
		if r.Transcript != "what time is it" || r.Answer != strings.TrimSpace(e.says) {
			t.Errorf("heard %q and answered %q", r.Transcript, r.Answer)
		}
		late := r.Report.SpeechEnd.Sub(end)
		if late < 0 || late >= 10*ms {
			t.Errorf("the turn's clock began %v after the last voiced sample, want less than the 10ms of a window", late)
		}
		// The closing pass ran beside the waiting for silence: 300 ms, and what the frames of 32 ms add.
		if stt := r.Report.Stages[budget.STT]; stt < 280*ms || stt > 360*ms {
			t.Errorf("stt took %v, want the silence of 300 ms and no more than two frames", stt)
		}
		// "It is noon, as" is what the model needs for the first clause: 80 ms and three tokens more.
		if got := r.Report.Stages[budget.LLM]; got != 110*ms {
			t.Errorf("llm took %v, want 110ms", got)
		}
		if got := r.Report.Stages[budget.TTS]; got != 90*ms {
			t.Errorf("tts took %v, want 90ms", got)
		}
		audible := toldAt[transport.Voice](l).Sub(end)
		if r.Report.Total != audible-late {
			t.Errorf("the gap is said to be %v, the caller's was %v", r.Report.Total, audible-late)
		}
		if r.Report.Verdict != budget.Met {
			t.Errorf("the verdict is %q, want met", r.Report.Verdict)
		}

		var sound time.Duration
		for _, v := range told[transport.Voice](l) {
			sound += v.PCM.Duration(rate)
		}
		if want := time.Duration(len(e.says))*letter + sentencePause; sound != want {
			t.Errorf("the answer sounded for %v, want %v", sound, want)
		}
		done := told[transport.ResponseDone](l)
		if len(done) != 1 || done[0].Status != transport.Completed || done[0].Voice != sound || done[0].Text != e.says {
			t.Errorf("the answer ended as %+v", done)
		}
	})
	want := []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "what time is it"}}
	if diff := cmp.Diff([][]llm.Message{want}, e.prompts); diff != "" {
		t.Errorf("what the model read (-want +got):\n%s", diff)
	}
}

// Sound leaves at the pace at which it is heard: never more than the lead ahead.
func TestPace(t *testing.T) {
	session(t, quick(), nil, func(l *line) {
		l.speak(1000*ms, 6000*ms)
		first := toldAt[transport.Voice](l)
		var sent time.Duration
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, s := range l.out {
			if v, ok := s.Outbound.(transport.Voice); ok {
				if ahead := sent - s.at.Sub(first); ahead > 200*ms {
					t.Fatalf("a frame left %v before it was due, want at most 200ms", ahead)
				}
				sent += v.PCM.Duration(rate)
			}
		}
	})
}

// Sentences that are spoken one by one have a pause between them, and it counts as sound of the first.
func TestSentencePause(t *testing.T) {
	e := quick()
	e.says = "This is the first whole sentence. And this is the second one of them."
	session(t, e, nil, func(l *line) {
		l.speak(600*ms, 7000*ms)
		done := told[transport.ResponseDone](l)
		if len(done) != 1 {
			t.Fatalf("the answers ended as %+v", done)
		}
		if want := time.Duration(len(e.says))*letter + sentencePause; done[0].Voice != want {
			t.Errorf("the answer sounded for %v, want %v", done[0].Voice, want)
		}
	})
}

// The model stops when the voice has enough to speak, and the voice when the caller has enough to hear.
func TestBackPressure(t *testing.T) {
	e := quick()
	e.says = strings.Repeat("This is one whole sentence of it. ", 50)
	session(t, e, nil, func(l *line) {
		l.speak(500*ms, 3000*ms)
		e.mu.Lock()
		defer e.mu.Unlock()
		// 3 s of silence make some 2.3 s of sound: two sentences. One is being spoken, two wait, one is in hand.
		if words := e.tokens; words > 6*7 {
			t.Errorf("the model ran ahead: %d words after 3 s", words)
		}
	})
}

// Who speaks over an answer ends it, and the conversation keeps what was heard of it.
func TestBargeIn(t *testing.T) {
	e := quick()
	e.hears = []string{"what time is it", "no stop"}
	e.says = "One two three four five, six seven eight nine ten eleven twelve."
	session(t, e, nil, func(l *line) {
		l.speak(1000*ms, 2000*ms)
		onset := time.Now()
		l.speak(900*ms, 5000*ms)

		if took := toldAt[transport.Held](l).Sub(onset); took > 60*ms {
			t.Errorf("the answer was held %v after the caller began to speak, want at most 60ms", took)
		}
		done := told[transport.ResponseDone](l)
		if len(done) != 2 || done[0].Status != transport.Cancelled || done[0].Reason != "turn_detected" || done[1].Status != transport.Completed {
			t.Fatalf("the answers ended as %+v", done)
		}
		l.mu.Lock()
		var stopped, silent time.Time
		for _, s := range l.out {
			if _, ok := s.Outbound.(transport.Voice); ok && stopped.IsZero() {
				silent = s.at
			}
			if d, ok := s.Outbound.(transport.ResponseDone); ok && d.Status == transport.Cancelled {
				stopped = s.at
			}
		}
		l.mu.Unlock()
		if took := silent.Sub(onset); took > 60*ms {
			t.Errorf("sound left until %v after the caller began to speak, want at most 60ms", took)
		}
		if took := stopped.Sub(onset); took > 1300*ms { // this recogniser does not say what it hears before it has heard all
			t.Errorf("the answer ended %v after the caller began to speak", took)
		}
	})
	if len(e.prompts) != 2 {
		t.Fatalf("the model was asked %d times, want 2", len(e.prompts))
	}
	got := e.prompts[1][2]
	if !strings.HasSuffix(got.Text, interruption) {
		t.Errorf("the model is told %q, and not that it was interrupted", got.Text)
	}
	got.Text = strings.TrimSuffix(got.Text, interruption)
	if got.Role != llm.Assistant || got.Text == "" || !strings.HasPrefix(e.says, got.Text) || len(got.Text) > len(e.says)/2 {
		t.Errorf("the conversation holds %q of an answer that was cut off early", got.Text)
	}
	if last := e.prompts[1][3]; last.Role != llm.User || last.Text != "no stop" {
		t.Errorf("the last message is %+v", last)
	}
}

// Who goes on before anything was heard is answered once, to all of it.
func TestContinued(t *testing.T) {
	e := quick()
	e.hears = []string{"my number is", "my number is four two"}
	session(t, e, nil, func(l *line) {
		l.speak(1000*ms, 440*ms) // decided, but nothing is audible yet
		l.speak(600*ms, 6000*ms)

		reports := told[transport.TurnReport](l)
		if len(reports) != 2 || !reports[0].Continued || reports[1].Continued {
			t.Fatalf("the turns were reported as %+v", reports)
		}
		if len(reports[1].Items) != 1 || reports[1].Transcript != "my number is four two" {
			t.Errorf("the answer is to %v %q, want both things said as one", reports[1].Items, reports[1].Transcript)
		}
		if removed := told[transport.Removed](l); len(removed) != 1 || removed[0].Item != reports[0].Items[0] {
			t.Errorf("removed %v, want the first part's item", removed)
		}
		if heard := told[transport.Transcribed](l); heard[len(heard)-1].Speech < 2*time.Second {
			t.Errorf("the recogniser heard %v, want both parts at once", heard[len(heard)-1].Speech)
		}
	})
	last := e.prompts[len(e.prompts)-1]
	want := []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "my number is four two"}}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Errorf("what the model read (-want +got):\n%s", diff)
	}
}

// A noise that cut an answer off before it was heard does not leave the caller without one.
func TestNoiseAfterSpeech(t *testing.T) {
	e := quick()
	session(t, e, nil, func(l *line) {
		l.speak(1000*ms, 440*ms)
		l.speak(200*ms, 6000*ms)
		done := told[transport.ResponseDone](l)
		if n := len(done); n == 0 || done[n-1].Status != transport.Completed {
			t.Errorf("the answers ended as %+v, want the last one completed", done)
		}
	})
}

// A noise alone is answered with nothing.
func TestNoWords(t *testing.T) {
	e := quick()
	e.hears = []string{""}
	session(t, e, nil, func(l *line) {
		l.speak(500*ms, 3000*ms)
		if n := len(told[transport.ResponseStarted](l)); n != 0 {
			t.Errorf("%d answers to nothing", n)
		}
	})
}

// A closing pass that was begun too early is stopped.
func TestResumed(t *testing.T) {
	e := quick()
	e.stt = 400 * ms
	session(t, e, nil, func(l *line) {
		l.speak(600*ms, 240*ms) // long enough to seem over, not long enough to be
		l.speak(600*ms, 4000*ms)
		if n := len(told[transport.Committed](l)); n != 1 {
			t.Errorf("%d turns, want 1", n)
		}
	})
	if e.canceled != 1 {
		t.Errorf("%d transcriptions were stopped, want the early one", e.canceled)
	}
}

// When a stage fails the caller hears an apology, not silence, and the next turn is answered.
func TestFailures(t *testing.T) {
	for _, stage := range []string{"stt", "llm", "tts"} {
		t.Run(stage, func(t *testing.T) {
			e := quick()
			e.fail = map[string]error{stage: errors.New("broken")}
			session(t, e, nil, func(l *line) {
				l.speak(600*ms, 4000*ms)
				done := told[transport.ResponseDone](l)
				if len(done) != 1 || done[0].Status != transport.Failed || done[0].Err == nil {
					t.Fatalf("the answer ended as %+v, want failed", done)
				}
				if voiced := len(told[transport.Voice](l)) > 0; voiced != (stage != "tts") {
					t.Errorf("an apology was spoken: %v", voiced)
				}
				if r := told[transport.TurnReport](l); len(r) != 1 || r[0].Report.Verdict != budget.Failed {
					t.Errorf("the turns were reported as %+v, want failed", r)
				}
				if n := len(told[transport.TranscriptionFailed](l)); (n == 1) != (stage == "stt") {
					t.Errorf("%d transcriptions failed", n)
				}
				e.mu.Lock()
				e.fail = nil
				e.mu.Unlock()
				l.speak(600*ms, 6000*ms)
				if done := told[transport.ResponseDone](l); len(done) != 2 || done[1].Status != transport.Completed {
					t.Errorf("after the failure the answers ended as %+v", done)
				}
			})
		})
	}
}

// A caller who hangs up in the middle of an answer frees everything at once: session checks that.
func TestHangUp(t *testing.T) {
	for _, after := range []time.Duration{0, 100 * ms, 350 * ms, 450 * ms, 600 * ms, 1500 * ms} {
		session(t, quick(), nil, func(l *line) { l.speak(600*ms, after) })
	}
}

// When the service goes down the sentence that is being spoken ends, and no other begins.
func TestDrain(t *testing.T) {
	e := quick()
	e.says = strings.Repeat("This is the one part of a sentence, and this is the other, which comes after it and is long. ", 20)
	var drain chan struct{}
	session(t, e, func(s *Session) { drain = make(chan struct{}); s.Drain = drain }, func(l *line) {
		l.speak(600*ms, 3000*ms)
		close(drain)
		time.Sleep(3900 * ms)
		done := told[transport.ResponseDone](l)
		if len(done) != 1 {
			t.Fatalf("the answers ended as %+v", done)
		}
		text := strings.TrimSpace(done[0].Text)
		if !strings.HasSuffix(text, "long.") || len(text) > len(e.says)/10 {
			t.Errorf("the answer ended with %q", text)
		}
		sentences := strings.Count(done[0].Text, ".")
		want := time.Duration(len(done[0].Text))*letter + time.Duration(sentences-1)*sentencePause
		if more := done[0].Voice - want; more < 0 || more > sentencePause {
			t.Errorf("%v sounded, want the %v of its sentences and at most the pause behind them", done[0].Voice, want)
		}
		close(l.hang)
	})
}

// Without detection the caller says where turns end and when to answer.
func TestPushToTalk(t *testing.T) {
	e := quick()
	session(t, e, func(s *Session) { s.Settings.Detection = nil }, func(l *line) {
		l.in <- transport.Commit{Ref: "early"}
		end := l.speak(1000*ms, 0)
		l.in <- transport.Commit{}
		l.in <- transport.Respond{Ref: "one"}
		l.in <- transport.Respond{Ref: "two"}
		l.speak(0, 5000*ms)

		faults := told[transport.Fault](l)
		if len(faults) != 2 || faults[0].Code != "input_audio_buffer_commit_empty" || faults[0].Ref != "early" ||
			faults[1].Code != "conversation_already_has_active_response" || faults[1].Ref != "two" {
			t.Errorf("the caller was told of %+v", faults)
		}
		reports := told[transport.TurnReport](l)
		if len(reports) != 1 || reports[0].Transcript != "what time is it" || reports[0].Report.SpeechEnd.Sub(end).Abs() >= 10*ms {
			t.Errorf("the turns were reported as %+v", reports)
		}
		if n := len(told[transport.SpeechStarted](l)); n != 0 {
			t.Errorf("speech was detected %d times, with detection off", n)
		}
	})
}

// A caller may fill the buffer, and is told once.
func TestFullBuffer(t *testing.T) {
	e := quick()
	session(t, e, func(s *Session) { s.Settings.Detection = nil; s.Limits.Utterance = time.Second }, func(l *line) {
		l.speak(1500*ms, 0)
		faults := told[transport.Fault](l)
		if len(faults) != 1 || faults[0].Code != "input_audio_buffer_full" {
			t.Errorf("the caller was told of %+v", faults)
		}
		l.in <- transport.Commit{}
		l.speak(0, 1000*ms)
		if heard := told[transport.Transcribed](l); len(heard) != 1 || heard[0].Speech != time.Second {
			t.Errorf("the recogniser heard %+v, want the first second", heard)
		}
	})
}

// Written messages, answers in writing, and cancelling.
func TestWritten(t *testing.T) {
	e := quick()
	session(t, e, nil, func(l *line) {
		written := true
		l.in <- transport.Add{Item: transport.Item{Role: llm.User, Text: "hello"}}
		l.in <- transport.Respond{Written: &written, Metadata: map[string]string{"k": "v"}}
		time.Sleep(time.Second)
		done := told[transport.ResponseDone](l)
		if len(done) != 1 || done[0].Text != e.says || done[0].Voice != 0 || done[0].Response.Metadata["k"] != "v" {
			t.Fatalf("the answer ended as %+v", done)
		}
		l.in <- transport.Respond{Written: &written} // at once after the end of the last
		l.in <- transport.Cancel{}
		l.in <- transport.Cancel{Ref: "again", Maybe: true}
		l.in <- transport.Cancel{Ref: "late"}
		time.Sleep(time.Second)
		if f := told[transport.Fault](l); len(f) != 1 || f[0].Code != "response_cancel_not_active" || f[0].Ref != "late" {
			t.Errorf("the caller was told of %+v", f)
		}
	})
}

// A caller who sends faster than real time is heard whole, and the clock does not start before the sound came.
func TestFasterThanRealTime(t *testing.T) {
	e := quick()
	session(t, e, nil, func(l *line) {
		pcm := make(audio.PCM, audio.Samples(4*time.Second, rate))
		for i := range audio.Samples(3*time.Second, rate) {
			pcm[i] = int16(i % 7000)
		}
		time.Sleep(50 * ms)
		l.in <- transport.Sound{PCM: pcm, Rate: rate, At: time.Now()}
		sentAt := time.Now()
		time.Sleep(5 * time.Second)
		reports := told[transport.TurnReport](l)
		if len(reports) != 1 {
			t.Fatalf("%d turns, want 1", len(reports))
		}
		if early := sentAt.Sub(reports[0].Report.SpeechEnd); early > 4*time.Second {
			t.Errorf("the clock began %v before the sound came", early)
		}
		if heard := told[transport.Transcribed](l); heard[0].Speech < 3*time.Second {
			t.Errorf("only %v were heard", heard[0].Speech)
		}
	})
}

// loud returns voiced sound of the given length, and silence behind it.
func loud(voiced, silence time.Duration) audio.PCM {
	pcm := make(audio.PCM, audio.Samples(voiced+silence, rate))
	for i := range audio.Samples(voiced, rate) {
		pcm[i] = int16(i % 7000)
	}
	return pcm
}

// Several turns that come at once, as after a stall of the network, are all heard and are answered together.
func TestBurst(t *testing.T) {
	e := quick()
	session(t, e, nil, func(l *line) {
		for range 10 {
			l.in <- transport.Sound{PCM: loud(1500*ms, time.Second), Rate: rate, At: time.Now()}
		}
		time.Sleep(15 * time.Second)
		if faults := told[transport.Fault](l); len(faults) > 0 {
			t.Errorf("the caller was told of %+v", faults)
		}
		done := told[transport.ResponseDone](l)
		if len(done) != 1 || done[0].Status != transport.Completed {
			t.Fatalf("the answers ended as %+v", done)
		}
		var heard time.Duration
		gone := map[string]bool{}
		for _, r := range told[transport.Removed](l) {
			gone[r.Item] = true
		}
		for _, h := range told[transport.Transcribed](l) {
			if !gone[h.Item] {
				heard += h.Speech
			}
		}
		if heard < 15*time.Second {
			t.Errorf("only %v of 15 s of speech were heard", heard)
		}
	})
}

// A turn that does not end is cut at the limit, and nothing of it is lost.
func TestEndlessTurn(t *testing.T) {
	e := quick()
	session(t, e, func(s *Session) { s.Limits.Utterance = 10 * time.Second }, func(l *line) {
		l.speak(25*time.Second, 2*time.Second)
		var heard time.Duration
		for _, h := range told[transport.Transcribed](l) {
			heard += h.Speech
			if h.Speech > 11*time.Second {
				t.Errorf("a turn of %v, want at most 10 s", h.Speech)
			}
		}
		if heard < 25*time.Second {
			t.Errorf("only %v of 25 s were heard", heard)
		}
	})
}

// slowVAD takes its time.
type slowVAD struct{ levelVAD }

func (v slowVAD) Speech(frame audio.PCM) (float32, error) {
	time.Sleep(ms)
	return v.levelVAD.Speech(frame)
}

// A call that ends while minutes of sound are being listened to ends at once.
func TestEndInTheMiddleOfABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, l := quick(), newLine(t)
		s := &Session{
			Call: l, VAD: slowVAD{}, STT: stt.Whole(e.transcribe), LLM: e,
			TTS: tts.SynthesizerFunc{Hz: rate, Fn: e.speak}, Log: slog.New(slog.DiscardHandler),
			Settings: transport.Settings{Rate: rate, Detection: &transport.Detection{Threshold: 0.5, Silence: 300 * ms}},
		}
		ctx, end := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		l.in <- transport.Sound{PCM: make(audio.PCM, audio.Samples(20*time.Minute, rate)), Rate: rate, At: time.Now()}
		time.Sleep(time.Second)
		began := time.Now()
		end(transport.ErrHungUp)
		if err := <-done; !errors.Is(err, transport.ErrHungUp) || time.Since(began) > 10*ms {
			t.Errorf("ended after %v with %v", time.Since(began), err)
		}
	})
}

// A caller may say how much of an answer it has heard while the answer is still being given.
func TestTruncateInTheMiddle(t *testing.T) {
	e := quick()
	e.says = "One two three four five, six seven eight nine ten eleven twelve."
	e.hears = []string{"count", "stop"}
	session(t, e, nil, func(l *line) {
		l.speak(600*ms, 2500*ms)
		started := told[transport.ResponseStarted](l)
		l.in <- transport.Truncate{Item: started[0].Response.Item, Heard: 500 * ms}
		l.speak(600*ms, 4000*ms)
		if n := len(told[transport.Truncated](l)); n != 1 || len(told[transport.Fault](l)) != 0 {
			t.Errorf("truncated %d times, faults %+v", n, told[transport.Fault](l))
		}
	})
	if got := strings.TrimSuffix(e.prompts[1][2].Text, interruption); got != "One two" {
		t.Errorf("the conversation holds %q, want what half a second held", got)
	}
}
