package pipeline

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"riposte/audio"
	"riposte/transport"
)

// phone is the caller's side of a script: a line with a microphone, and a loudspeaker that plays what comes. Unlike the
// service it knows which samples were played when.
type phone struct {
	*line
	lexicon *lexicon
	holds   bool // It pauses when it is told Held.
	yields  bool // It throws away what it has in hand when it is told that the caller speaks.

	side    sync.Mutex
	playing []chunk // What has been played and is to be, in order. They do not overlap.
	kept    []chunk // What is left to be played while it pauses,
	paused  bool
	most    time.Duration // The most that was in hand as something came.
	stalled time.Time     // Until then nothing is taken from the line.
	broken  bool          // It takes nothing any more.
	echo    time.Duration // After so long the microphone hears what is played; 0 hears nothing of it.
}

// chunk is a piece of an answer's sound.
type chunk struct {
	response string
	from     time.Time // When it begins to be played.
	pcm      audio.PCM
}

func (c chunk) end() time.Time { return c.from.Add(c.pcm.Duration(rate)) }

// roomForFrames is how many frames wait on the way when the service does not take them: five minutes of sound.
const roomForFrames = 15000

func newPhone(t *testing.T, x *lexicon) *phone {
	l := newLine(t)
	l.in = make(chan transport.Inbound, roomForFrames)
	return &phone{line: l, lexicon: x}
}

// Send takes what the service sends, when it does.
func (p *phone) Send(ctx context.Context, out transport.Outbound) error {
	p.side.Lock()
	stalled, broken := p.stalled, p.broken
	p.side.Unlock()
	if broken {
		return transport.ErrSlowReader
	}
	if d := time.Until(stalled); d > 0 {
		if err := elapse(ctx, d); err != nil {
			return err
		}
	}
	if err := p.line.Send(ctx, out); err != nil {
		return err
	}
	p.side.Lock()
	defer p.side.Unlock()
	switch out := out.(type) {
	case transport.Voice:
		p.take(chunk{response: out.Response.ID, pcm: slices.Clone(out.PCM)})
	case transport.Held:
		if p.holds {
			p.paused = true
			p.kept = append(p.kept, p.cut()...)
		}
	case transport.Released:
		p.resume()
	case transport.SpeechStarted:
		if p.yields {
			p.empty()
		}
	case transport.ResponseDone:
		if out.Status == transport.Cancelled {
			p.empty()
		}
	}
	return nil
}

// empty throws away what has not been played by now.
func (p *phone) empty() {
	p.cut()
	p.kept, p.paused = nil, false
}

// take plays a chunk behind those before it.
func (p *phone) take(c chunk) {
	if p.paused {
		p.kept = append(p.kept, c)
		return
	}
	c.from = time.Now()
	if n := len(p.playing); n > 0 && p.playing[n-1].end().After(c.from) {
		c.from = p.playing[n-1].end()
		p.most = max(p.most, time.Until(c.from))
	}
	p.playing = append(p.playing, c)
}

// cut takes back what has not been played by now.
func (p *phone) cut() (rest []chunk) {
	now := time.Now()
	for i, c := range p.playing {
		if !c.end().After(now) {
			continue
		}
		played := max(0, audio.Samples(now.Sub(c.from), rate))
		rest = append(rest, chunk{c.response, time.Time{}, c.pcm[played:]})
		for _, c := range p.playing[i+1:] {
			rest = append(rest, chunk{c.response, time.Time{}, c.pcm})
		}
		p.playing = slices.Clip(p.playing[:i])
		if played > 0 {
			p.playing = append(p.playing, chunk{c.response, c.from, c.pcm[:played]})
		}
		break
	}
	return rest
}

// resume plays what is left.
func (p *phone) resume() {
	p.paused = false
	kept := p.kept
	p.kept = nil
	for _, c := range kept {
		p.take(c)
	}
}

// played returns the words of an answer that were played from their first sample to their last.
func (p *phone) played(response string) []string {
	p.side.Lock()
	defer p.side.Unlock()
	t := p.lexicon.tally()
	for _, c := range p.playing {
		if c.response == response {
			t.add(c.pcm[:min(len(c.pcm), max(0, audio.Samples(time.Since(c.from), rate)))])
		}
	}
	return t.words(1)
}

// echoed returns what the microphone hears of the loudspeaker in the frame that ends now.
func (p *phone) echoed() audio.PCM {
	p.side.Lock()
	defer p.side.Unlock()
	pcm := make(audio.PCM, audio.Samples(frameLength, rate))
	if p.echo == 0 {
		return pcm
	}
	from := time.Now().Add(-p.echo - frameLength)
	for _, c := range slices.Backward(p.playing) {
		if c.end().Before(from) {
			break
		}
		at := int(c.from.Sub(from) * rate / time.Second) // of the chunk in the frame
		for i := max(0, at); i < min(len(pcm), at+len(c.pcm)); i++ {
			pcm[i] = c.pcm[i-at]
		}
	}
	return pcm
}

// speak says sound in real time, as frames that leave when they are full, until it has all been said or the call ends.
func (p *phone) speak(pcm audio.PCM, over <-chan struct{}) {
	for frame := range slices.Chunk(pcm, audio.Samples(frameLength, rate)) {
		select {
		case <-time.After(frameLength):
		case <-over:
			return
		}
		heard := p.echoed()
		for i, s := range frame {
			if s != 0 { // who talks is closer to the microphone than the loudspeaker is
				heard[i] = s
			}
		}
		p.in <- transport.Sound{PCM: heard, Rate: rate, At: time.Now()}
	}
}
