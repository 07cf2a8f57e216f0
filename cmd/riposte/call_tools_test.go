package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"riposte/audio"
	"riposte/budget/trace"
	"riposte/budget/trace/store"
	"riposte/llm"
	"riposte/transport"
)

// obeying is a model that is told what to say and what to call: words, a bar, the name of a tool, and its arguments. Behind the result it says that.
// Asked for a summary it tells how long what it read is.
type obeying struct{}

func (obeying) Read(context.Context, llm.Request) (llm.Reading, error) { return llm.Reading{}, nil }

func (obeying) Generate(ctx context.Context, r llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) {
		last := r.Messages[len(r.Messages)-1]
		words, call, ok := strings.Cut(last.Text, "|")
		name, arguments, _ := strings.Cut(call, " ")
		switch {
		case strings.Contains(last.Text, "Reason for handing over"):
			if strings.Contains(last.Text, "so slow") {
				_ = yield(llm.Piece{Text: "The beginning "}, nil)
				<-ctx.Done()
				yield(llm.Piece{}, context.Cause(ctx))
				return
			}
			_ = yield(llm.Piece{Text: fmt.Sprintf("A summary of %d lines.", strings.Count(last.Text, "\n"))}, nil)
		case !ok || last.Role == llm.ToolRole:
			_ = yield(llm.Piece{Text: last.Text}, nil)
		default:
			if words != "" && !yield(llm.Piece{Text: words}, nil) {
				return
			}
			if !yield(llm.Piece{Call: &llm.ToolCall{ID: "call_" + name, Name: name, Arguments: json.RawMessage(arguments)}}, nil) {
				return
			}
		}
		yield(llm.Piece{Usage: &llm.Usage{Prompt: 10, Output: 1}}, nil)
	}
}

// onPhone holds a call by telephone, to whose model the lines are written, one after the other, and returns why it ended.
func onPhone(t *testing.T, s *service, phone transport.Call, line *telephone, texts ...string) error {
	t.Helper()
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	line.end, line.in = end, make(chan transport.Inbound, 10)
	settings := s.settings.call()
	settings.Written, settings.Rate, settings.Detection = true, 8000, nil
	done := make(chan error)
	go func() { done <- s.hold(ctx, phone, settings) }()
	for i, text := range texts {
		line.in <- transport.Add{Item: transport.Item{Role: llm.User, Text: text}}
		line.in <- transport.Respond{}
		for len(line.told()) <= i {
			select {
			case err := <-done:
				return err
			case <-time.After(time.Millisecond):
			}
		}
	}
	select {
	case err := <-done:
		return err
	case <-time.After(200 * time.Millisecond):
	}
	end(transport.ErrHungUp)
	return <-done
}

// told returns the words of the answers that have ended.
func (t *telephone) told() (all []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, out := range t.sent {
		if d, ok := out.(transport.ResponseDone); ok {
			all = append(all, d.Text)
		}
	}
	return all
}

// The model ends calls, leads callers elsewhere and presses keys, where its route lets it; what came of that is in the record.
func TestModelHandlesCall(t *testing.T) {
	settings := []string{"--phone-transfer=sales=+49301", "--phone-transfer=front desk=100", "--phone-hang-up", "--phone-keys", "--phone-summary=200ms"}
	type want struct {
		did    []string
		says   string // In the last answer.
		reason string
		record trace.Record
	}
	for _, tt := range []struct {
		name   string
		args   []string
		cannot bool
		texts  []string
		want   want
	}{
		{"hang up behind words", settings, false, []string{`Goodbye.|hang_up {"reason":"All is done."}`},
			want{[]string{"hang up"}, "", trace.Agent, trace.Record{Why: "All is done."}}},
		{"hang up, and then words", settings, false, []string{`|hang_up {"reason":"All is done."}`},
			want{[]string{"hang up"}, "The call ends when the caller has heard you. Say goodbye now, in a few words.", trace.Agent, trace.Record{Why: "All is done."}}},
		{"transfer, with a summary", settings, false, []string{"Hello.", `I connect you.|transfer_call {"to":"front desk","reason":"A chair.","summary":"It is about a chair."}`},
			want{[]string{"transfer 100: It is about a chair."}, "", trace.Transferred, trace.Record{Transferred: "front desk", Why: "A chair.", Note: "It is about a chair."}}},
		{"transfer, and the summary is made", settings, false, []string{"Hello.", `|transfer_call {"to":"sales","reason":"A chair."}`},
			want{[]string{"transfer +49301: A summary of 2 lines."}, "", trace.Transferred, trace.Record{Transferred: "sales", Why: "A chair.", Note: "A summary of 2 lines."}}},
		{"transfer, and the summary takes too long", settings, false, []string{`|transfer_call {"to":"sales","reason":"It is so slow."}`},
			want{[]string{"transfer +49301: The beginning"}, "", trace.Transferred, trace.Record{Transferred: "sales", Why: "It is so slow.", Note: "The beginning"}}},
		{"the only one there is", []string{"--phone-transfer=sales=+49301", "--phone-summary=0s"}, false, []string{`|transfer_call {"reason":"A chair."}`},
			want{[]string{"transfer +49301: A chair."}, "", trace.Transferred, trace.Record{Transferred: "sales", Why: "A chair.", Note: "A chair."}}},
		{"keys", settings, false, []string{`|press_keys {"keys":"12w#"}`}, want{[]string{"press 12w#"}, "The keys are pressed.", trace.HungUp, trace.Record{}}},
		{"keys that are none", settings, false, []string{`|press_keys {"keys":"12x"}`},
			want{nil, `The keys are "12x": they must be 1 to 32 of 0 to 9, *, #, A to D and w.`, trace.HungUp, trace.Record{}}},
		{"nobody else", settings, false, []string{`|transfer_call {"to":"+4900","reason":"x"}`}, want{nil, "Wrong arguments", trace.HungUp, trace.Record{}}},
		{"a line that cannot", settings, true, []string{`|transfer_call {"to":"sales","reason":"x","summary":"y"}`},
			want{nil, "The call could not be transferred: the line has no means for that.", trace.HungUp, trace.Record{}}},
		{"not switched on", nil, false, []string{`|hang_up {"reason":"x"}`}, want{nil, "", trace.HungUp, trace.Record{}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := withTools(t, "", obeying{}, tt.args...)
			var sink told
			s.traces = append(s.traces, &sink)
			line := &telephone{cannot: tt.cannot}
			err := onPhone(t, s, line, line, tt.texts...)
			if len(sink.ended) != 1 {
				t.Fatalf("%d calls ended: %v", len(sink.ended), err)
			}
			c := sink.ended[0]
			got := trace.Record{Transferred: c.Record.Transferred, Why: c.Record.Why, Note: c.Record.Note}
			if c.Reason != tt.want.reason || got.Transferred != tt.want.record.Transferred || got.Why != tt.want.record.Why || got.Note != tt.want.record.Note {
				t.Errorf("it ended as %s, %v: %+v", c.Reason, err, got)
			}
			if !slices.Equal(line.did, tt.want.did) {
				t.Errorf("the line did %q, want %q", line.did, tt.want.did)
			}
			for _, turn := range sink.turns { // those that have ended the call as well
				var events []string
				for _, e := range turn.Events {
					if e.Kind == trace.KindTool {
						name, _, _ := strings.Cut(e.Detail, ":")
						events = append(events, name)
					}
				}
				if !slices.Equal(events, turn.Tools) {
					t.Errorf("the tools %q were called, and traced are %q", turn.Tools, events)
				}
			}
			says := line.told()
			if tt.want.says != "" && (len(says) == 0 || !strings.Contains(says[len(says)-1], tt.want.says)) {
				t.Errorf("the model read %q, want %q", says, tt.want.says)
			}
		})
	}
}

// In a call that is none by telephone the model is told that it cannot.
func TestNoTelephone(t *testing.T) {
	s, url := withTools(t, "", obeying{}, "--phone-hang-up")
	c := writing(t, url, "")
	c.ask(`Goodbye.|hang_up {"reason":"x"}`)
	if call, says := c.outcome(); call["name"] != "hang_up" || !strings.Contains(says, "This is no telephone call") {
		t.Errorf("%v, and it says %q", call, says)
	}
	c.hangUp()
	s.calls.Wait()
}

// Whom the model may call is refused where it makes no sense.
func TestTransferRefused(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{"phone:\n  transfer: [sales]\n", `phone-transfer holds "sales": it must be NAME=NUMBER`},
		{"phone:\n  transfer: [a=1, a=2]\n", `phone-transfer has "a" twice`},
		{"talk:\n  consent-key: x\n", `talk-consent-key is "x": it must be one of 0 to 9`},
		{"phone:\n  summary: 1h\n", "phone-summary is 1h0m0s: it must be 0 to 30s"},
	} {
		if _, err := parse(t, tt.file); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v", tt.file, err)
		}
	}
}

// A caller says no to recording by words and by a key: what was kept of the sound goes, and no more is kept.
func TestConsent(t *testing.T) {
	for _, tt := range []struct {
		name   string
		args   []string
		do     func(r *record, line *telephone)
		want   trace.Consent
		sounds int
		key    bool // It reaches the conversation.
	}{
		{"says nothing of it", nil, func(*record, *telephone) {}, trace.Announced, 2, false},
		{"says no", nil, func(r *record, _ *telephone) {
			_ = r.Send(context.Background(), transport.Transcribed{Text: "Oh, please don’t record!"})
		}, trace.Refused, 0, false},
		{"says something like it", nil, func(r *record, _ *telephone) {
			_ = r.Send(context.Background(), transport.Transcribed{Text: "I do not recordings."})
		}, trace.Announced, 2, false},
		{"presses the key", nil, func(_ *record, line *telephone) { line.in <- transport.Key{Digit: '9'} }, trace.Refused, 0, false},
		{"presses another", nil, func(_ *record, line *telephone) { line.in <- transport.Key{Digit: '8'} }, trace.Announced, 2, true},
		{"presses it too late", []string{"--talk-consent-time=0s"}, func(_ *record, line *telephone) { line.in <- transport.Key{Digit: '9'} }, trace.Announced, 2, true},
		{"was not asked", []string{"--talk-consent="}, func(_ *record, line *telephone) { line.in <- transport.Key{Digit: '9'} }, trace.NotAsked, 2, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "traces.db")
			s, _ := telling(t, append([]string{"--trace-file=" + path, "--trace-record", "--talk-consent=This call is recorded."}, tt.args...)...)
			stop := s.keepTraces()
			line := &telephone{in: make(chan transport.Inbound, 2)}
			_, r := s.begin(t.Context(), line, defaultRoute, s.settings)
			if got := r.notice(s.settings); (got == "This call is recorded.") != (tt.want != trace.NotAsked) {
				t.Errorf("the caller is told %q", got)
			}
			turn := func(n int) trace.Turn {
				return trace.Turn{ID: fmt.Sprint("resp_", n), Number: n, Status: "completed", Sound: &trace.Sound{Rate: 16000, Caller: make([]int16, 100)}}
			}
			r.TurnEnded(turn(1))
			tt.do(r, line)
			line.in <- transport.Clear{}
			var got []transport.Inbound
			for range 2 {
				in, err := r.Receive(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, last := in.(transport.Clear); last {
					break
				}
				got = append(got, in)
			}
			if (len(got) == 1) != tt.key {
				t.Errorf("the conversation got %v", got)
			}
			r.TurnEnded(turn(2))
			r.end(transport.ErrHungUp)
			stop()
			kept, err := store.OpenReader(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer kept.Close()
			sounds := 0
			for n := range 2 {
				switch _, err := kept.Sound(t.Context(), fmt.Sprint("resp_", n+1)); {
				case err == nil:
					sounds++
				case !errors.Is(err, store.ErrNoSound):
					t.Fatal(err)
				}
			}
			c, err := kept.Call(t.Context(), "tel_1")
			if err != nil {
				t.Fatal(err)
			}
			if sounds != tt.sounds || c.Record.Consent != tt.want || c.Record.Recorded != (tt.sounds > 0) {
				t.Errorf("%d sounds are kept, and the record says %s, recorded %v", sounds, c.Record.Consent, c.Record.Recorded)
			}
		})
	}
}

// A whole call is recorded, both sides of it, unless the caller says no or nothing was to be heard.
func TestRecordedWhole(t *testing.T) {
	for _, tt := range []struct {
		name          string
		sound, refuse bool
	}{{"both sides", true, false}, {"refused", true, true}, {"no sound", false, false}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "calls")
			s, _ := telling(t, "--record-dir="+dir, "--talk-consent=This call is recorded.")
			s.routes = map[string]*route{defaultRoute: {settings: s.settings}}
			if err := openFolders(s.routes); err != nil {
				t.Fatal(err)
			}
			var sink told
			s.traces = append(s.traces, &sink)
			line := &telephone{in: make(chan transport.Inbound, 2)}
			_, r := s.begin(t.Context(), line, defaultRoute, s.settings)
			if tt.sound {
				line.in <- transport.Sound{PCM: make(audio.PCM, 8000), Rate: 8000}
				if _, err := r.Receive(t.Context()); err != nil {
					t.Fatal(err)
				}
				_ = r.Send(t.Context(), transport.Voice{PCM: make(audio.PCM, 4000), Rate: 8000})
				_ = r.Send(t.Context(), transport.ResponseDone{Status: transport.Completed, Voice: 500 * time.Millisecond})
			}
			if tt.refuse {
				r.refuse()
			}
			r.end(transport.ErrHungUp)
			got := sink.ended[0].Record
			b, err := os.ReadFile(filepath.Join(dir, "tel_1.wav"))
			for tt.refuse && err == nil { // it is removed behind the call
				time.Sleep(time.Millisecond)
				b, err = os.ReadFile(filepath.Join(dir, "tel_1.wav"))
			}
			if want := tt.sound && !tt.refuse; got.Recorded != want || (got.Recording == filepath.Join(dir, "tel_1.wav")) != want || (err == nil) != want {
				t.Errorf("recorded %v, %q: %v", got.Recorded, got.Recording, err)
			}
			if err == nil && len(b) != 44+4*12000 {
				t.Errorf("it has %d bytes", len(b))
			}
			if tt.sound && (got.Heard != 1 || got.Spoken != 0.5 || got.Answered == nil) {
				t.Errorf("it came to %+v", got)
			}
		})
	}
	s, _ := telling(t, "--record-dir=/dev/null/calls")
	if err := openFolders(map[string]*route{defaultRoute: {settings: s.settings}}); err == nil || !strings.Contains(err.Error(), "record.dir") {
		t.Errorf("a folder that cannot be: %v", err)
	}
}

// Routes that record calls and do not say so to the caller are known at the start.
func TestRecordedUntold(t *testing.T) {
	set := func(dir, consent string) *route {
		s := &settings{}
		s.Record.Dir, s.Talk.Consent = dir, consent
		return &route{settings: s}
	}
	routes := map[string]*route{defaultRoute: set("calls", "This call is recorded."), "sales": set("calls", ""), "help": set("", "")}
	if got := untold(routes); !slices.Equal(got, []string{"sales"}) {
		t.Errorf("callers are not told by %q", got)
	}
}
