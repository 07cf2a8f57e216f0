package pipeline

import (
	"fmt"
	"time"

	"riposte/audio"
	"riposte/audio/echo"
	"riposte/transport"
)

// ear listens to one caller: it brings the sound to the recogniser's rate, keeps it, knows when each sample was captured,
// and notices when somebody speaks. Positions are samples of the call at audio.SpeechRate. It is used by one goroutine.
type ear struct {
	vad  audio.VAD
	ends audio.Endpointer
	tape *audio.Tape

	clock     *audio.Clock
	resampler *audio.Resampler
	rate      int           // Of the sound that comes in now.
	came      time.Duration // How much came in before the present rate began,
	samples   int64         // and how many samples since.
	taken     int64         // Samples at audio.SpeechRate that were taken in.

	frames []echo.Frame                                             // What has been taken in and not listened to yet,
	frame  audio.PCM                                                // and what does not fill a VAD frame yet.
	first  func(speech float32, frame audio.PCM) error              // Is told of each frame, as it came, before it is listened to; nil is nobody.
	part   audio.PCM                                                // What was taken in last.
	deaf   bool                                                     // Nothing that is said now counts.
	echo   *echo.Canceller                                          // Takes the agent's voice out; nil leaves the sound as it is.
	played func(from time.Time, n int) (pcm audio.PCM, broken bool) // What the caller's side plays; see monitor.
	level  *audio.Leveller                                          // Brings the caller's voice to one level for the VAD; nil leaves it as it is.

	next time.Time // When that is played which belongs to the next sample.

	since int64 // Where the sound begins that belongs to no turn yet.
	from  int64 // Where the speech begins that is being listened to, the padding before it included.

	voiced   int64     // The last voiced sample so far,
	received time.Time // and when its frame got here.
	trail    int64     // How many samples of the last voiced frames lie behind it, once the turn may be over.
}

func newEar(vad audio.VAD, keep time.Duration) *ear {
	return &ear{
		vad:   &audio.Sleeper{VAD: vad},
		ends:  audio.Endpointer{Eager: audio.Eager},
		tape:  audio.NewTape(audio.SpeechRate, keep),
		clock: audio.NewClock(audio.SpeechRate),
	}
}

// arrive notes that sound has come. Its parts are then taken in, one after the other.
func (e *ear) arrive(snd transport.Sound) error {
	if e.rate != snd.Rate {
		r, err := audio.OpenResampler(snd.Rate, audio.SpeechRate)
		if err != nil {
			return err
		}
		e.close()
		e.came += audio.Duration(int(e.samples), max(e.rate, 1))
		e.rate, e.samples, e.resampler = snd.Rate, 0, r
	}
	e.samples += int64(len(snd.PCM))
	// What arrived is counted at the rate at which it came: the resampler holds some back, but that has arrived as well.
	arrived := audio.Samples(e.came+audio.Duration(int(e.samples), e.rate), audio.SpeechRate)
	e.clock.Arrived(arrived-int(e.clock.Position()), snd.At)
	return nil
}

// take takes in a part of what has come: it brings it to audio.SpeechRate, takes the agent's own voice out of it, and keeps it.
func (e *ear) take(part audio.PCM) {
	pcm := e.resampler.Append(e.part[:0], part)
	e.part = pcm
	if e.echo != nil {
		far, broken := e.far(len(pcm))
		if broken {
			e.echo.Break()
		}
		for _, f := range e.echo.Step(pcm, far) {
			e.tape.Write(f.Sound)
			e.frames = append(e.frames, f)
		}
		e.taken += int64(len(pcm))
		return
	}
	e.tape.Write(pcm)
	e.frame = append(e.frame, pcm...)
	for len(e.frame) >= audio.VADFrame {
		e.frames = append(e.frames, echo.Frame{Sound: append(audio.PCM(nil), e.frame[:audio.VADFrame]...)})
		e.frame = append(e.frame[:0], e.frame[audio.VADFrame:]...) // parts are short, so this moves little
	}
}

// steady is by how much the line that says when sound was captured may move before what is played is followed along it. On a busy
// machine it moves by a part of a millisecond again and again, and each time the canceller would have to learn the room anew.
const steady = 5 * time.Millisecond

// far returns what the caller's side played while the next n samples were captured. broken reports that it does not go on exactly
// where it ended before.
func (e *ear) far(n int) (pcm audio.PCM, broken bool) {
	at := e.clock.TimeOf(e.taken)
	if off := at.Sub(e.next); off < -steady || off > steady {
		e.next, broken = at, true
	}
	pcm, paused := e.played(e.next, n)
	e.next = e.next.Add(audio.Duration(n, audio.SpeechRate))
	return pcm, broken || paused
}

// flush keeps what does not fill a frame yet as well.
func (e *ear) flush() {
	if e.echo != nil {
		e.tape.Write(e.echo.Rest())
	}
}

// listen steps through the frames that were taken in, and calls on for each, with what has happened in it.
func (e *ear) listen(d *transport.Detection, now time.Time, on func(audio.Event) error) error {
	e.ends.Threshold = d.Threshold
	for len(e.frames) > 0 {
		f := e.frames[0]
		e.frames = e.frames[1:]
		heard := e.levelled(f)
		p, err := e.vad.Speech(heard)
		if err != nil {
			return fmt.Errorf("voice activity: %w", err)
		}
		if f.Own {
			p = 0
		}
		if e.first != nil {
			if err := e.first(p, f.Sound); err != nil {
				return err
			}
		}
		if e.deaf {
			p = 0
		}
		event := e.ends.Step(p, heard)
		if v := e.ends.LastVoiced(); v != e.voiced {
			e.voiced, e.received = v, now
		}
		if event == audio.Maybe {
			e.trail = max(0, e.ends.Position()-e.voiced-int64(audio.Samples(audio.Eager, audio.SpeechRate)))
		}
		if err := on(event); err != nil {
			return err
		}
	}
	return nil
}

// levelled returns a frame's sound as the VAD hears it. What the agent's own voice left in it does not move the level, and comes before it: the
// canceller knows the way from the loudspeaker to the microphone, and a gain in front of it would be a part of that which changes. The tape has the
// sound as it came: the recogniser gains nothing by a level, and a recording that has another than the call had would not be one of it.
func (e *ear) levelled(f echo.Frame) audio.PCM {
	if e.level == nil {
		return f.Sound
	}
	speech := float32(1)
	if f.Own {
		speech = 0
	}
	return e.level.Step(speech, f.Sound)
}

// begin notes that speech has begun, which takes in the given length of sound before it.
func (e *ear) begin(padding time.Duration) {
	e.from = max(e.since, e.ends.Start()-int64(audio.Samples(padding, audio.SpeechRate)), 0)
}

// speech returns the sound of the present turn so far.
func (e *ear) speech() audio.PCM {
	pcm, _ := e.tape.Slice(e.from, e.tape.End())
	return pcm
}

// silence returns how many samples lie behind the last voiced one.
func (e *ear) silence() int { return int(max(0, e.tape.End()-e.voiced)) }

// uncommitted returns the sound that belongs to no turn yet.
func (e *ear) uncommitted() audio.PCM {
	pcm, _ := e.tape.Slice(e.since, e.tape.End())
	return pcm
}

// commit makes what was heard so far part of a turn, or forgets it.
func (e *ear) commit() {
	e.ends.Reset()
	e.since = e.tape.End()
}

// endOfSpeech returns when the caller's last voiced sample was captured and when it got here, for a turn that the service
// has noticed.
func (e *ear) endOfSpeech() (captured, received time.Time) {
	return e.clock.TimeOf(e.voiced), e.received
}

// endOf returns when the last voiced sample of pcm, the newest sound, was captured.
func (e *ear) endOf(pcm audio.PCM) time.Time {
	n := audio.LastVoiced(pcm, audio.SpeechRate)
	return e.clock.TimeOf(e.tape.End() - int64(len(pcm)-n))
}

// at returns a position as a time since the call's first sample.
func (e *ear) at(position int64) time.Duration {
	return audio.Duration(int(position), audio.SpeechRate)
}

// close frees the resampler.
func (e *ear) close() {
	if e.resampler != nil {
		e.resampler.Close()
	}
}
