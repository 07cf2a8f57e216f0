package live

import (
	"slices"
	"time"

	"riposte/audio"
)

// phone is the caller's loudspeaker. It plays what comes, one piece behind the other, and knows which samples were played when. It
// is a step function of what comes and of times.
type phone struct {
	playing []chunk       // What has been played and is to be, in order. They do not overlap.
	kept    []chunk       // What is left to be played while it pauses,
	paused  bool          // which it does when the service holds an answer.
	most    time.Duration // The most that was in hand as something came.
	came    map[string]int
}

// chunk is a piece of an answer's sound.
type chunk struct {
	answer string
	from   time.Time // When it begins to be played.
	pcm    audio.PCM
}

func (c chunk) end() time.Time { return c.from.Add(c.pcm.Duration(Rate)) }

// take plays a piece behind those before it. It returns when it begins to be played; zero where the phone pauses.
func (p *phone) take(c chunk, now time.Time) time.Time {
	if p.came == nil {
		p.came = map[string]int{}
	}
	p.came[c.answer] += len(c.pcm)
	return p.put(c, now)
}

func (p *phone) put(c chunk, now time.Time) time.Time {
	if p.paused {
		p.kept = append(p.kept, c)
		return time.Time{}
	}
	c.from = now
	if end := p.until(); end.After(now) {
		c.from = end
		p.most = max(p.most, end.Sub(now))
	}
	p.playing = append(p.playing, c)
	return c.from
}

// until returns when all that is in hand has been played, unless the phone pauses.
func (p *phone) until() time.Time {
	if n := len(p.playing); n > 0 {
		return p.playing[n-1].end()
	}
	return time.Time{}
}

// pause keeps what has not been played by now.
func (p *phone) pause(now time.Time) {
	p.paused = true
	p.kept = append(p.cut(now), p.kept...)
}

// resume goes on with what was kept.
func (p *phone) resume(now time.Time) {
	kept := p.kept
	p.kept, p.paused = nil, false
	for _, c := range kept {
		p.put(c, now)
	}
}

// empty throws away what has not been played by now.
func (p *phone) empty(now time.Time) {
	p.cut(now)
	p.kept, p.paused = nil, false
}

// cut takes back what has not been played by now.
func (p *phone) cut(now time.Time) (rest []chunk) {
	for i, c := range p.playing {
		if !c.end().After(now) {
			continue
		}
		played := max(0, audio.Samples(now.Sub(c.from), Rate))
		rest = append(rest, chunk{c.answer, time.Time{}, c.pcm[played:]})
		for _, c := range p.playing[i+1:] {
			rest = append(rest, chunk{c.answer, time.Time{}, c.pcm})
		}
		p.playing = slices.Clip(p.playing[:i])
		if played > 0 {
			p.playing = append(p.playing, chunk{c.answer, c.from, c.pcm[:played]})
		}
		break
	}
	return rest
}

// played returns what was played of an answer by now, and whether that is all that came of it.
func (p *phone) played(answer string, now time.Time) (pcm audio.PCM, all bool) {
	for _, c := range p.playing {
		if c.answer == answer {
			pcm = append(pcm, c.pcm[:min(len(c.pcm), max(0, audio.Samples(now.Sub(c.from), Rate)))]...)
		}
	}
	return pcm, len(pcm) == p.came[answer]
}

// between returns what the loudspeaker played between two times, the second not included.
func (p *phone) between(from, to time.Time) audio.PCM {
	pcm := make(audio.PCM, audio.Samples(to.Sub(from), Rate))
	for _, c := range slices.Backward(p.playing) {
		if !c.end().After(from) {
			break
		}
		at := int(c.from.Sub(from) * Rate / time.Second) // of the chunk in what is returned
		for i := max(0, at); i < min(len(pcm), at+len(c.pcm)); i++ {
			pcm[i] = c.pcm[i-at]
		}
	}
	return pcm
}
