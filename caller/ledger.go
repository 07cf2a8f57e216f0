package caller

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"riposte/audio"
)

const (
	// settle is how long after the caller's last voiced sample an answer that the server decided on earlier may still be
	// withdrawn: it may not have noticed yet that the caller went on.
	settle = 1500 * time.Millisecond
	// lateWords is how long after an answer the transcript of what it answers may come: some servers transcribe apart.
	lateWords = 3 * time.Second
	// lateReport is how long after an answer has been played the server's account of it may come.
	lateReport = 2 * time.Second
	// maxAnswer bounds the sound that is kept of one answer.
	maxAnswer = 10 * time.Minute
)

// ledger is all that a server has sent so far. It is a step function of events and times, without clocks or goroutines.
type ledger struct {
	format Format

	created bool              // The session.
	updated int               // How often the session was.
	refused map[string]string // Why the server refused one of the caller's events, by the event's id.
	reports bool              // Whether the server will account for turns.
	fault   string            // The last error that belongs to none of the caller's events.

	speaking  bool          // Whether the server hears the caller.
	onsets    []time.Time   // When it said that it does.
	stopped   time.Duration // How much of the caller's sound it had heard when it said last that it does no more; 0 where it did not tell.
	items     []*item
	responses []*response
	accounts  []account
	player    player
	last      time.Time // When the server last did anything towards an answer.
	stream    stream
}

// item is something that the caller said.
type item struct {
	id          string
	committed   time.Time
	stopped     time.Duration // How much of the caller's sound the server had heard when it took this to be over; 0 where it did not tell.
	transcript  string
	transcribed bool // Or never will be.
	deleted     bool // A later item says it all again.
}

// response is an answer.
type response struct {
	id        string
	answers   int // How many items there were when it began.
	done      time.Time
	status    string
	why       string
	words     strings.Builder
	item      string // That the newest of them are part of.
	clauses   []Clause
	sound     audio.PCM
	stretches []*stretch // Where the sound is played.
	begins    int        // The first audible sample and one more; 0 while there is none.

	sounding bool      // Sound of it leaves the server, beside the events.
	left     time.Time // When all of that had left; zero before, and where sound comes within events.
}

// account is a riposte.turn event.
type account struct {
	response string
	items    []string
	said     string
	heard    string
	goesOn   bool // The caller went on: the next answer answers this too.
	report   Report
}

// newLedger returns an empty one. streams tells whether sound comes beside the events.
func newLedger(f Format, now time.Time, streams bool) ledger {
	return ledger{format: f, player: player{rate: f.Rate(), epoch: now, live: streams}}
}

// take notes one event. The error is ErrGarbage, wrapped, when it makes no sense.
func (l *ledger) take(e serverEvent, now time.Time) error {
	switch e.Type {
	case "session.created":
		l.created = true
	case "session.updated":
		l.updated++
		l.reports = e.Session != nil && slices.Contains(e.Session.Include, "riposte.turn")
	case "error":
		l.complain(e.Error)
	case "input_audio_buffer.speech_started":
		l.speaking = true
		l.onsets = append(l.onsets, now)
		l.player.empty(now) // as every client does
	case "input_audio_buffer.speech_stopped":
		l.speaking, l.stopped = false, milliseconds(e.AudioEndMS)
	case "input_audio_buffer.committed":
		l.speaking = false
		l.items = append(l.items, &item{id: e.ItemID, committed: now, stopped: l.stopped})
		l.stopped = 0
	case "conversation.item.input_audio_transcription.completed":
		l.transcribe(e.ItemID, e.Transcript)
	case "conversation.item.input_audio_transcription.failed":
		l.transcribe(e.ItemID, "")
	case "conversation.item.deleted":
		l.remove(e.ItemID)
	case "response.created":
		l.begin(e.Response)
	case "response.output_audio.delta", "response.audio.delta": // The second is the protocol's older name.
		if err := l.hear(e, now); err != nil {
			return err
		}
	case "response.output_audio_transcript.delta", "response.audio_transcript.delta", "response.output_text.delta":
		if r := l.response(e.ResponseID); r != nil {
			if r.words.Len() > 0 && r.item != e.ItemID && !strings.HasSuffix(r.words.String(), " ") {
				r.words.WriteString(" ") // after a tool, words go on in another item
			}
			r.item = e.ItemID
			r.words.WriteString(e.Delta)
			r.clauses = append(r.clauses, Clause{Text: e.Delta, From: len(r.sound)})
		}
	case "output_audio_buffer.started":
		l.starts(e.ResponseID)
	case "output_audio_buffer.stopped":
		l.leaves(e.ResponseID, now)
	case "output_audio_buffer.cleared":
		l.player.empty(now)
		l.leaves(e.ResponseID, now)
	case "riposte.hold":
		l.player.hold(now)
	case "riposte.release":
		l.player.release(now)
	case "response.done":
		l.finish(e.Response, now)
	case "riposte.turn":
		l.accounts = append(l.accounts, newAccount(e))
	default:
		return nil
	}
	l.last = now
	return nil
}

// complain notes an error event.
func (l *ledger) complain(e *serverError) {
	if e == nil || e.EventID == "" {
		l.fault = e.String()
		return
	}
	if l.refused == nil {
		l.refused = map[string]string{}
	}
	l.refused[e.EventID] = e.String()
}

// transcribe notes what an item says.
func (l *ledger) transcribe(id, text string) {
	for _, it := range l.items {
		if it.id == id {
			it.transcript, it.transcribed = strings.TrimSpace(text), true
		}
	}
}

// remove notes that an item is no longer part of the conversation.
func (l *ledger) remove(id string) {
	for _, it := range l.items {
		if it.id == id {
			it.deleted = true
		}
	}
}

// removed returns whether an item was part of the conversation and is no longer.
func (l *ledger) removed(id string) bool {
	return slices.ContainsFunc(l.items, func(it *item) bool { return it.id == id && it.deleted })
}

// begin notes a new answer.
func (l *ledger) begin(r *serverResponse) {
	if r != nil {
		l.responses = append(l.responses, &response{id: r.ID, answers: len(l.items)})
	}
}

// hear notes a piece of an answer's sound.
func (l *ledger) hear(e serverEvent, now time.Time) error {
	r := l.response(e.ResponseID)
	if r == nil {
		return fmt.Errorf("%w: sound of the response %q, which has not begun", ErrGarbage, e.ResponseID)
	}
	b, err := base64.StdEncoding.DecodeString(e.Delta)
	if err != nil {
		return fmt.Errorf("%w: sound in broken base64", ErrGarbage)
	}
	p, err := l.format.decode(b)
	if err != nil || len(p) == 0 {
		return err
	}
	return l.add(r, p, now)
}

// add plays the next sound of an answer.
func (l *ledger) add(r *response, p audio.PCM, now time.Time) error {
	l.player.play(r, len(r.sound), len(p), now)
	r.sound = append(r.sound, p...)
	if d := r.sound.Duration(l.format.Rate()); d > maxAnswer {
		return fmt.Errorf("%w: an answer of %v", ErrGarbage, d.Round(time.Second))
	}
	return nil
}

// finish notes the end of an answer.
func (l *ledger) finish(e *serverResponse, now time.Time) {
	if e == nil {
		return
	}
	r := l.response(e.ID)
	if r == nil { // A server that did not say that it began.
		l.begin(e)
		r = l.response(e.ID)
	}
	r.done, r.status = now, e.Status
	if d := e.Details; d != nil {
		r.why = d.Reason
		if d.Error != nil {
			r.why = d.Error.String()
		}
	}
}

// response returns the answer of that name, or nil. Answers hardly ever overlap, so it is the last one or nearly.
func (l *ledger) response(id string) *response {
	for _, r := range slices.Backward(l.responses) {
		if r.id == id {
			return r
		}
	}
	return nil
}

// saying returns for how long, at least, something is still being said; 0 when nothing is.
func (l *ledger) saying(now time.Time) time.Duration {
	if rest := l.player.ends(now).Sub(now); rest > 0 {
		return rest
	}
	if n := len(l.responses); n > 0 && (l.responses[n-1].done.IsZero() || l.responses[n-1].onItsWay(now)) {
		return time.Second // it will be looked at when something changes
	}
	return 0
}

// newAccount reads a riposte.turn event.
func newAccount(e serverEvent) account {
	var actions []Action
	for _, a := range e.Actions {
		actions = append(actions, Action{Stage: a.Stage, Kind: a.Kind, At: milliseconds(a.At)})
	}
	return account{
		response: e.ResponseID, items: e.ItemIDs, said: strings.TrimSpace(e.Transcript), heard: strings.TrimSpace(e.Answer), goesOn: e.Continued,
		report: Report{
			Stages: durations(e.Stages), Shares: durations(e.Shares), Marks: durations(e.Marks),
			Total: milliseconds(e.Total), Verdict: e.Verdict, Blame: e.Blame, Guesses: e.Guesses, Actions: actions,
		},
	}
}
