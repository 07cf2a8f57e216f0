package main

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"riposte/budget/trace"
	"riposte/budget/trace/store"
)

// consent is how a caller who was told of recording says no to it.
type consent struct {
	key   string    // Pressed
	until time.Time // before then.
	words [][]string
}

// consentOf returns it for a call that begins now; nil where the caller is not told.
func consentOf(set *settings) *consent {
	if !set.records() || set.Talk.Consent == "" {
		return nil
	}
	c := &consent{key: set.Talk.ConsentKey, until: time.Now().Add(set.Talk.ConsentTime)}
	for _, phrase := range lines(set.Talk.ConsentWords) {
		if words := wordsOf(phrase); len(words) > 0 {
			c.words = append(c.words, words)
		}
	}
	return c
}

// notice returns what the caller is told of recording before all else.
func (r *record) notice(set *settings) string {
	if r.consent == nil {
		return ""
	}
	return set.Talk.Consent
}

// pressed reports whether a key says no.
func (c *consent) pressed(digit rune) bool {
	return c != nil && c.key == string(digit) && time.Now().Before(c.until)
}

// said reports whether words say no.
func (c *consent) said(text string) bool {
	if c == nil {
		return false
	}
	words := wordsOf(text)
	return slices.ContainsFunc(c.words, func(phrase []string) bool {
		for i := 0; i+len(phrase) <= len(words); i++ {
			if slices.Equal(words[i:i+len(phrase)], phrase) {
				return true
			}
		}
		return false
	})
}

// wordsOf returns the words of a text, without case and marks: don't and dont are the same.
func wordsOf(text string) []string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\'' || r == '’':
			return -1
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return ' '
	}, text)
	return strings.Fields(text)
}

// refuse stops recording, and has what was kept of the call's sound thrown away.
func (r *record) refuse() {
	r.mu.Lock()
	again := r.sum.Consent == trace.Refused
	r.sum.Consent, r.sum.Recorded, r.sum.Recording = trace.Refused, false, ""
	r.mu.Unlock()
	if again {
		return
	}
	if r.file != nil {
		go func() { _ = r.file.Discard() }() // the call does not wait for the disk
	}
	for _, sink := range r.Sinks {
		if kept, ok := sink.(*store.Recorder); ok {
			kept.ForgetSound(r.call.ID)
		}
	}
}

// refused reports whether the caller does not want to be recorded. mu is held.
func (r *record) refused() bool { return r.sum.Consent == trace.Refused }
