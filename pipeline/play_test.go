package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/scenario"
	"riposte/transport"
)

// play is a script being acted: a session with a cast of engines, and a caller with a phone.
type play struct {
	*testing.T
	at       string // The line that is being acted.
	session  *Session
	phone    *phone
	cast     *cast
	tools    *toolbox
	settings transport.Settings
	drain    chan struct{}

	begun   bool
	began   time.Time
	over    chan struct{} // Closed when the session has ended,
	endedAt time.Time     // at this time
	err     error         // and for this reason.

	act      act      // The newest.
	problems []string // What is not as it should be.
	pending  string   // Why something is not, so far; empty where all should be.
	deferred []func() // Expectations, which are judged when it is known what happened.

	// These say what does not hold in this call.
	ends       bool     // The script expects the call to end by itself.
	hungUp     bool     // The script hung up, so not everything came to its end.
	unanswered bool     // Not every turn is to be answered.
	corrected  []string // Answers of which the caller's side said how much was heard.
}

// act is something that the caller does: where expectations count their time from.
type act struct {
	onset, end time.Time // Of the sound of it; the same for what takes no time.
}

// newPlay prepares a call with a patient, well-behaved caller.
func newPlay(t *testing.T) *play {
	p := &play{T: t, cast: newCast(), tools: &toolbox{}, drain: make(chan struct{}), over: make(chan struct{})}
	p.phone = newPhone(t, &p.cast.lexicon)
	p.settings = transport.Settings{
		Instructions: "Be brief.", Rate: rate,
		Detection: &transport.Detection{Threshold: 0.5, Padding: 300 * ms, Silence: 300 * ms, Respond: true, Interrupt: true},
	}
	p.session = &Session{
		Call: p.phone, VAD: &slowEar{cast: p.cast}, Turns: p.cast, STT: p.cast, LLM: p.cast, TTS: p.cast.voice(),
		Log: slog.New(slog.DiscardHandler), Drain: p.drain,
		Apology: "Sorry, please say that again.",
	}
	return p
}

// run acts a script, and checks what holds in every call.
func (p *play) run(s scenario.Script) {
	for _, line := range s.Lines {
		if p.at = line.At; line.With != scenario.Real {
			p.does(line.Statement)
		}
	}
	p.begin()
	p.finish()
	for _, judge := range p.deferred {
		judge()
	}
	p.rules()
	switch problems := strings.Join(p.problems, "\n"); {
	case p.pending != "" && problems == "":
		p.Errorf("all is as it should be: take the line out that says that it is pending")
	case p.pending != "":
		p.Logf("pending, since %s:\n%s", p.pending, problems)
	case problems != "":
		p.Errorf("%s\nwhat happened:\n%s", problems, p.transcript())
	}
}

// wrong says that the line at is not as it should be.
func (p *play) wrong(at, format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf("%s: "+format, append([]any{at}, args...)...))
}

// amiss says that the call is not as every call should be.
func (p *play) amiss(format string, args ...any) { p.wrong(p.at, format, args...) }

// begin begins the call, unless it has begun.
func (p *play) begin() {
	if p.begun {
		return
	}
	p.begun, p.began = true, time.Now()
	p.session.Settings = p.settings
	p.phone.follow(p.settings)
	if p.tools.all != nil {
		p.session.Tools = p.tools
	}
	ctx := p.Context()
	go func() {
		defer close(p.over)
		p.err = p.session.Run(ctx)
		p.endedAt = time.Now()
	}()
	p.instant()
}

// follow has the caller's side behave as the settings say.
func (p *phone) follow(s transport.Settings) {
	p.side.Lock()
	defer p.side.Unlock()
	p.holds, p.yields = s.Holds, s.Detection != nil && s.Detection.Interrupt
}

// longestAnswer is how long a call goes on, after the last line of its script, for the answers to come to their end.
const longestAnswer = 60 * time.Second

// finish lets the answers come to their end, unless the call is over, and hangs up. Nothing takes longer than the silence.
func (p *play) finish() {
	for began := time.Now(); !p.ended() && !p.ends; {
		p.speak(make(audio.PCM, audio.Samples(500*ms, rate)))
		synctest.Wait()
		if len(p.session.live.all()) == 0 {
			p.speak(make(audio.PCM, audio.Samples(time.Second, rate)))
			break
		}
		if time.Since(began) > longestAnswer {
			p.amiss("%d turns have not ended after %v", len(p.session.live.all()), longestAnswer)
			break
		}
	}
	if p.ended() && !p.ends && !p.hungUp {
		p.amiss("the call ended by itself, with: %v", p.err)
	}
	if p.ends {
		select {
		case <-p.over:
		case <-time.After(longestAnswer):
			p.amiss("the call has not ended after %v", longestAnswer)
		}
	}
	p.hangUp()
}

// hangUp ends the call, which has to free everything at once.
func (p *play) hangUp() {
	if p.ended() {
		return
	}
	began := time.Now()
	close(p.phone.hang)
	<-p.over
	if took := time.Since(began); took > 0 {
		p.amiss("the call went on for %v after the caller had hung up", took)
	}
	if !errors.Is(p.err, transport.ErrHungUp) {
		p.amiss("the call ended with: %v", p.err)
	}
}

// ended reports whether the call is over.
func (p *play) ended() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// speak says sound and returns the time of its last voiced sample, or of its end if it has none.
func (p *play) speak(pcm audio.PCM) (end time.Time) {
	began, last := time.Now(), len(pcm)
	if n := audio.LastVoiced(pcm, rate); n > 0 {
		last = n
	}
	if rest := len(pcm) % audio.Samples(frameLength, rate); rest > 0 {
		pcm = append(pcm, make(audio.PCM, audio.Samples(frameLength, rate)-rest)...)
	}
	p.phone.speak(pcm, p.over)
	return began.Add(audio.Duration(last, rate))
}

// say is an act of sound.
func (p *play) say(pcm audio.PCM) {
	p.begin()
	onset := time.Now()
	p.act = act{onset, p.speak(pcm)}
}

// instant is an act that takes no time.
func (p *play) instant() { p.act = act{time.Now(), time.Now()} }

// sends does something else than to speak.
func (p *play) sends(in transport.Inbound) {
	p.begin()
	p.instant()
	p.phone.in <- in
}

// speech returns the sound of what is said.
func (p *play) speech(said scenario.Speech, word time.Duration) (pcm audio.PCM) {
	for _, u := range said {
		if u.Word == "" {
			pcm = append(pcm, make(audio.PCM, audio.Samples(u.Pause, rate))...)
			continue
		}
		pcm = append(pcm, p.cast.lexicon.word(u.Word, word)...)
	}
	return pcm
}

// latest returns the newest answer that has begun.
func (p *play) latest() (transport.Response, bool) {
	synctest.Wait()
	all := told[transport.ResponseStarted](p.phone.line)
	if len(all) == 0 {
		p.amiss("no answer has begun")
		return transport.Response{}, false
	}
	return all[len(all)-1].Response, true
}

// waitFor is silent until something happens.
func (p *play) waitFor(w scenario.Wanted) {
	since := p.act.onset
	for began := time.Now(); ; {
		synctest.Wait()
		if _, ok := w.Find(p.happened(), since, time.Time{}); ok {
			return
		}
		if p.ended() || time.Since(began) > longestAnswer {
			p.amiss("%v has not come", w)
			return
		}
		p.speak(make(audio.PCM, audio.Samples(frameLength, rate)))
	}
}

// stalls is a line that takes nothing for a while.
func (p *play) stalls(d time.Duration) {
	p.begin()
	p.instant()
	p.phone.side.Lock()
	defer p.phone.side.Unlock()
	p.phone.stalled = time.Now().Add(d)
}

// dead is a line that brings nothing for a while.
func (p *play) dead(d time.Duration) {
	p.begin()
	p.instant()
	_ = elapse(context.Background(), d)
}
