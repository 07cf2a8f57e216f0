package main

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"riposte/audio"
	"riposte/audio/duplex"
	"riposte/llm"
	"riposte/transport"
)

// ledger is a call that counts what goes either way, for its record.
type ledger struct {
	transport.Call
	consent *consent     // How the caller says no to recording; nil where nobody asks.
	refuse  func()       // Is called then.
	file    *duplex.File // Takes the sound of both sides; nil where that is not recorded.

	mu         sync.Mutex
	heard      time.Duration // The caller's sound,
	spoken     time.Duration // and ours.
	first      time.Time     // When the first of that left; zero before.
	words      int           // What the caller said.
	characters int           // What was given a voice.
	said       []llm.Message // The end of the conversation, with what was said and answered,
	bytes      int           // and how long that is.
}

// mostSaid is how much of a conversation is kept for summaries, in bytes: some ten minutes of talk.
const mostSaid = 16 << 10

// Receive counts what the caller does next.
func (l *ledger) Receive(ctx context.Context) (transport.Inbound, error) {
	for {
		in, err := l.Call.Receive(ctx)
		if err != nil {
			return in, err
		}
		switch in := in.(type) {
		case transport.Sound:
			l.mu.Lock()
			l.heard += audio.Duration(len(in.PCM), max(in.Rate, 1))
			l.mu.Unlock()
			if l.file != nil {
				l.file.Caller(in.PCM, in.Rate)
			}
		case transport.Key:
			if l.consent.pressed(in.Digit) {
				l.refuse()
				continue // it was for us
			}
		}
		return in, nil
	}
}

// Send counts what the caller is told.
func (l *ledger) Send(ctx context.Context, out transport.Outbound) error {
	if t, ok := out.(transport.Transcribed); ok && l.consent.said(t.Text) {
		l.refuse()
	}
	l.count(out)
	if l.file != nil {
		l.record(out)
	}
	return l.Call.Send(ctx, out)
}

// record adds to the recording what the caller is sent.
func (l *ledger) record(out transport.Outbound) {
	switch out := out.(type) {
	case transport.Voice:
		if !out.Response.Aside {
			l.file.Agent(out.PCM, out.Rate)
		}
	case transport.ResponseDone:
		if out.Status == transport.Cancelled && !out.Response.Aside {
			l.file.Cut()
		}
	}
}

func (l *ledger) count(out transport.Outbound) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch out := out.(type) {
	case transport.Voice:
		if l.spoken += audio.Duration(len(out.PCM), max(out.Rate, 1)); l.first.IsZero() && !out.Response.Aside {
			l.first = time.Now()
		}
	case transport.Words:
		if !out.Response.Written {
			l.characters += utf8.RuneCountInString(out.Text)
		}
	case transport.Transcribed:
		l.words += len(strings.Fields(out.Text))
		l.note(llm.User, out.Text)
	case transport.ResponseDone:
		if !out.Response.Aside {
			l.note(llm.Assistant, out.Text)
		}
	}
}

// note keeps something that was said, and forgets the oldest where there is too much of it.
func (l *ledger) note(who llm.Role, text string) {
	text = strings.TrimSpace(text)
	if len(text) > mostSaid/4 {
		text = strings.ToValidUTF8(text[:mostSaid/4], "") + "…"
	}
	if text == "" {
		return
	}
	l.said = append(l.said, llm.Message{Role: who, Text: text})
	for l.bytes += len(text); l.bytes > mostSaid; l.said = l.said[1:] {
		l.bytes -= len(l.said[0].Text)
	}
}

// talk returns the end of the conversation as it was said, a line for each turn.
func (l *ledger) talk() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, m := range l.said {
		who := "Caller"
		if m.Role == llm.Assistant {
			who = "Assistant"
		}
		b.WriteString(who + ": " + strings.Join(strings.Fields(m.Text), " ") + "\n")
	}
	return b.String()
}
