package traces

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/http"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/budget/trace"
)

// sound writes what was recorded of a turn as WAV: the caller on the left, the answer on the right, as they were heard together.
func (p *Page) sound(w http.ResponseWriter, r *http.Request) {
	id, err := idOf(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	s, done, err := p.shelf.take(ctx)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	defer done()
	recorded, err := s.Sound(ctx, id)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "audio/wav")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(wav(recorded))) // it knows how players ask for parts
}

// length returns how long the recording is.
func length(s *trace.Sound) time.Duration { return spanOf(frames(s), s.Rate) }

// frames returns how many samples the longer of both sides reaches to.
func frames(s *trace.Sound) int { return max(len(s.Caller), offset(s)+len(s.Answer)) }

// offset returns the sample at which the answer begins.
func offset(s *trace.Sound) int {
	return max(int(int64(s.Offset)*int64(s.Rate)/int64(time.Second)), 0)
}

// begins returns when the recording begins, since the end of the caller's speech. Older files do not say it. Then it follows from what is in the
// recording and in the marks alike: the first audible sound of the answer, or the last voiced sample of the caller where nothing was answered.
func begins(s *trace.Sound, r budget.Report) time.Duration {
	if s.Begins != 0 {
		return s.Begins
	}
	heard, ok := r.Marks[budget.FirstAudible]
	if first, audible := audio.FirstAudible(audio.PCM(s.Answer), s.Rate); ok && audible {
		return heard - spanOf(offset(s)+first, s.Rate)
	}
	return -spanOf(audio.LastVoiced(audio.PCM(s.Caller), s.Rate), s.Rate)
}

// spanOf returns how long so many samples are.
func spanOf(samples, rate int) time.Duration {
	if rate <= 0 {
		return 0
	}
	return time.Duration(int64(samples) * int64(time.Second) / int64(rate))
}

// wav returns the recording as a file: 16-bit PCM, two channels.
func wav(s *trace.Sound) []byte {
	n, late := frames(s), offset(s)
	b := make([]byte, 44, 44+4*n)
	put := binary.LittleEndian
	copy(b, "RIFF")
	put.PutUint32(b[4:], uint32(36+4*n))
	copy(b[8:], "WAVEfmt ")
	put.PutUint32(b[16:], 16)
	put.PutUint16(b[20:], 1)
	put.PutUint16(b[22:], 2)
	put.PutUint32(b[24:], uint32(s.Rate))
	put.PutUint32(b[28:], uint32(4*s.Rate))
	put.PutUint16(b[32:], 4)
	put.PutUint16(b[34:], 16)
	copy(b[36:], "data")
	put.PutUint32(b[40:], uint32(4*n))
	at := func(side []int16, i int) uint16 {
		if i < 0 || i >= len(side) {
			return 0
		}
		return uint16(side[i])
	}
	for i := range n {
		b = put.AppendUint16(put.AppendUint16(b, at(s.Caller, i)), at(s.Answer, i-late))
	}
	return b
}
