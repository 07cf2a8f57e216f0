package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"riposte/budget"
	"riposte/llm"
	"riposte/pipeline"
	"riposte/tool"
	"riposte/transport"
)

// The tools that do something to the call itself. They find it in their context, and wait until the words before them have been said.

// target is somebody to whom the model may transfer a call.
type target struct{ name, number string }

// targetName is what one may be called: the model reads it.
var targetName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$`)

// targets returns those that the settings name.
func (s *phoneSettings) targets() (all []target, err error) {
	var errs []error
	for _, t := range s.Transfer {
		name, number, ok := strings.Cut(t, "=")
		name, number = strings.TrimSpace(name), strings.TrimSpace(number)
		switch {
		case !ok || number == "" || !targetName.MatchString(name):
			errs = append(errs, fmt.Errorf("phone-transfer holds %q: it must be NAME=NUMBER, such as sales=+493012345", t))
		case slices.ContainsFunc(all, func(other target) bool { return other.name == name }):
			errs = append(errs, fmt.Errorf("phone-transfer has %q twice", name))
		default:
			all = append(all, target{name, number})
		}
	}
	return all, errors.Join(errs...)
}

// handsOff reports whether the settings have tools that do something to the call.
func (s *phoneSettings) handsOff() bool { return len(s.Transfer) > 0 || s.HangUp || s.Keys }

// tools makes those that the settings switch on.
func (s *phoneSettings) tools() (out tool.List, err error) {
	targets, err := s.targets()
	if err != nil {
		return nil, err
	}
	add := func(name, about, properties, required string, timeout time.Duration, run func(context.Context, *record, json.RawMessage) (string, error)) error {
		t, err := tool.New(tool.Tool{
			Tool: llm.Tool{Name: name, Description: about, Parameters: json.RawMessage(
				`{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`)},
			Timeout: timeout,
			Run: func(ctx context.Context, arguments json.RawMessage) (string, error) {
				r := recordIn(ctx)
				if r == nil || r.phone == nil {
					return "", tool.Errorf(tool.Failed, "This is no telephone call, so that cannot be done. Tell the caller, and help in another way.")
				}
				return run(ctx, r, arguments)
			},
		})
		out = append(out, t)
		return err
	}
	var errs []error
	if len(targets) > 0 {
		var names []string
		for _, t := range targets {
			names = append(names, t.name)
		}
		to, _ := json.Marshal(names) // texts always can be
		required := `"to","reason"`
		if len(targets) == 1 {
			required = `"reason"`
		}
		errs = append(errs, add("transfer_call", "Transfer the caller to a person. Tell the caller first, in the same answer.",
			`"to":{"type":"string","enum":`+string(to)+`},"reason":{"type":"string","description":"Why, in a few words."},`+
				`"summary":{"type":"string","description":"What the person has to know."}`, required, longestTransfer,
			func(ctx context.Context, r *record, arguments json.RawMessage) (string, error) {
				return s.transfer(ctx, r, targets, arguments)
			}))
	}
	if s.HangUp {
		errs = append(errs, add("hang_up", "End the call, when the caller wants no more. Say goodbye first, in the same answer.",
			`"reason":{"type":"string","description":"Why, in a few words."}`, `"reason"`, tool.DefaultTimeout, hangUp))
	}
	if s.Keys {
		errs = append(errs, add("press_keys", "Press keys of the telephone, such as in a menu of the other side.",
			`"keys":{"type":"string","description":"0 to 9, *, #, A to D, and w for a wait of half a second."}`, `"keys"`, tool.DefaultTimeout, pressKeys))
	}
	return out, errors.Join(errs...)
}

// longestTransfer is how long a transfer may take, the words before it included.
const longestTransfer = time.Minute

// recordKey is under what the context of a call has its record.
type recordKey struct{}

// recordIn returns the record of the call for which a context is; nil where that is none.
func recordIn(ctx context.Context) *record {
	r, _ := ctx.Value(recordKey{}).(*record)
	return r
}

// transfer leads the caller to somebody, once the words so far have been said.
func (s *phoneSettings) transfer(ctx context.Context, r *record, targets []target, arguments json.RawMessage) (string, error) {
	var in struct{ To, Reason, Summary string }
	if err := json.Unmarshal(arguments, &in); err != nil {
		return "", err
	}
	i := slices.IndexFunc(targets, func(t target) bool { return t.name == cmp.Or(in.To, targets[0].name) })
	if i < 0 {
		return "", tool.Errorf(tool.WrongArguments, "There is nobody called %.64q.", in.To) // its schema has refused that
	}
	written := make(chan string, 1)
	go func() { written <- r.summary(ctx, s.Summary, in.Summary, in.Reason) }() // while the words are said
	if _, err := pipeline.AnswerOf(ctx).Said(ctx); err != nil {
		return "", err
	}
	note := <-written
	undo := r.leaves(targets[i].name, in.Reason, note) // the call may end before Transfer returns
	if err := r.phone.Transfer(ctx, targets[i].number, note); err != nil && !errors.Is(err, transport.ErrTransferred) {
		undo()
		return "", cannot(err, "The call could not be transferred")
	}
	return "The caller is being connected.", nil
}

// hangUp ends the call once the words so far have been said. Where there were none the model may still say goodbye.
func hangUp(ctx context.Context, r *record, arguments json.RawMessage) (string, error) {
	var in struct{ Reason string }
	if err := json.Unmarshal(arguments, &in); err != nil {
		return "", err
	}
	answer := pipeline.AnswerOf(ctx)
	words, err := answer.Said(ctx)
	if err != nil {
		return "", err
	}
	end := func(ctx context.Context) error {
		undo := r.leaves("", in.Reason, "")
		err := r.phone.HangUp(ctx)
		if err != nil && !errors.Is(err, transport.ErrEnded) {
			undo()
			return err
		}
		return nil
	}
	if words {
		if err := end(ctx); err != nil {
			return "", cannot(err, "The call could not be ended")
		}
		return "The call has ended.", nil
	}
	go func() {
		if answer.Heard(r.ctx) {
			_ = end(r.ctx) // a line that cannot goes on
		}
	}()
	return "The call ends when the caller has heard you. Say goodbye now, in a few words.", nil
}

// pressKeys presses keys behind the words so far.
func pressKeys(ctx context.Context, r *record, arguments json.RawMessage) (string, error) {
	var in struct{ Keys string }
	if err := json.Unmarshal(arguments, &in); err != nil {
		return "", err
	}
	if in.Keys == "" || len(in.Keys) > mostKeys || strings.Trim(in.Keys, "0123456789*#ABCDw") != "" {
		return "", tool.Errorf(tool.WrongArguments, "The keys are %.40q: they must be 1 to %d of 0 to 9, *, #, A to D and w.", in.Keys, mostKeys)
	}
	if _, err := pipeline.AnswerOf(ctx).Said(ctx); err != nil {
		return "", err
	}
	if err := r.phone.Press(ctx, in.Keys); err != nil {
		return "", cannot(err, "The keys could not be pressed")
	}
	return "The keys are pressed.", nil
}

// mostKeys is how many keys may be pressed at once: some ten seconds of tones.
const mostKeys = 32

// cannot is what the model reads where a line has not done what it was to do.
func cannot(err error, what string) error {
	if errors.Is(err, transport.ErrCannot) {
		return tool.Errorf(tool.Failed, "%s: the line has no means for that. Tell the caller, and help in another way.", what)
	}
	return tool.Errorf(tool.Failed, "%s: %.200v. Tell the caller, and help in another way.", what, err)
}

// leaves notes how the call is about to end; undo takes that back.
func (r *record) leaves(to, why, note string) (undo func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sum.Transferred, r.sum.Why, r.sum.Note = to, cut(why, mostWhy), cut(note, mostNote)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sum.Transferred, r.sum.Why, r.sum.Note = "", "", ""
	}
}

// How much of what the model writes is kept, in bytes.
const (
	mostWhy  = 300
	mostNote = 2000
)

// cut returns a text that has no more bytes than most.
func cut(text string, most int) string {
	if text = strings.TrimSpace(text); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// summary returns what whoever takes over is told: what the model has written already, or what it writes now, in the time that it has for that.
func (r *record) summary(ctx context.Context, within time.Duration, written, reason string) string {
	if written = strings.TrimSpace(written); written != "" || within == 0 || r.model == nil {
		return cmp.Or(written, reason)
	}
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	request := llm.Request{
		Messages: []llm.Message{
			{Role: llm.System, Text: "You hand a telephone call over to a person. Write what they have to know, in at most three short sentences, in the language of the call: who calls, what they want, and what was settled. Write nothing that was not said."},
			{Role: llm.User, Text: r.talk() + "\nReason for handing over: " + reason},
		},
		MaxTokens: 160,
		Urgency:   budget.Urgency{Class: budget.Background},
	}
	var b strings.Builder
	for piece, err := range r.model.Generate(ctx, request) {
		if err != nil {
			break // what there is has to do
		}
		b.WriteString(piece.Text)
	}
	return cmp.Or(strings.TrimSpace(b.String()), reason)
}
