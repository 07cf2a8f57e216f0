package store

import (
	"slices"
	"strings"
	"unicode"
)

// where is the condition of a query. It names the table turns t and the table calls c.
type where struct {
	terms []string
	args  []any
	match string // What to ask the index of words for; empty for nothing.
}

func (w *where) and(term string, args ...any) {
	w.terms = append(w.terms, term)
	w.args = append(w.args, args...)
}

// sql returns the clause.
func (w *where) sql() string {
	if len(w.terms) == 0 {
		return ""
	}
	return "WHERE " + strings.Join(w.terms, " AND ")
}

// order returns what a list is ordered by: the rows' own order in the table that leads.
func (w *where) order() string {
	if w.match != "" {
		return "words.rowid"
	}
	return "t.id"
}

// within makes the search for words a condition on t like the others.
func (w *where) within() *where {
	if w.match != "" {
		w.and("t.id IN (SELECT rowid FROM words WHERE words MATCH ?)", w.match)
		w.match = ""
	}
	return w
}

// turns returns the condition on turns t. The call is looked up, so a query needs no other table for it.
func (f Filter) turns(known map[int64]name) *where {
	w := new(where)
	if !f.Since.IsZero() {
		w.and("t.id >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		w.and("t.id < ?", f.Until.UnixMicro())
	}
	if f.Call != "" {
		w.and("t.call IN (SELECT id FROM calls WHERE call >= ? AND call < ?)", f.Call, after(f.Call))
	}
	w.one(known, routeName, f.Route, "t.route")
	w.one(known, versionName, f.Version, "t.version")
	w.one(known, modelName, f.Model, "t.stt", "t.llm", "t.tts")
	w.one(known, verdictName, texts(f.Verdict), "t.verdict")
	w.one(known, stageName, texts(f.Blame), "t.blame")
	w.one(known, originName, texts(f.Origin), "t.origin")
	w.one(known, statusName, f.Status, "t.status")
	if f.Gap > 0 {
		w.and("t.gap >= ?", f.Gap.Microseconds())
	}
	if w.match = f.match(); w.match == "" && f.Text != "" {
		w.and("0") // no word is like that
	}
	return w
}

// calls returns the condition on calls c: what the filter says of a call itself, and, where it says something of turns, that
// one of its turns is like that.
func (f Filter) calls(known map[int64]name) *where {
	own := Filter{Since: f.Since, Until: f.Until, Call: f.Call, Route: f.Route, Version: f.Version}
	if f.String() != own.String() {
		return f.callsOf(known)
	}
	w := new(where)
	if !f.Since.IsZero() {
		w.and("c.id >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		w.and("c.id < ?", f.Until.UnixMicro())
	}
	if f.Call != "" {
		w.and("c.call >= ? AND c.call < ?", f.Call, after(f.Call))
	}
	w.one(known, routeName, f.Route, "c.route")
	w.one(known, versionName, f.Version, "c.version")
	return w
}

// callsOf returns the condition on calls c that one of their turns is taken.
func (f Filter) callsOf(known map[int64]name) *where {
	w, t := new(where), f.turns(known).within()
	w.and("c.id IN (SELECT t.call FROM turns t "+t.sql()+")", t.args...)
	return w
}

// one demands that one of the columns has one of the names; without names it demands nothing.
func (w *where) one(known map[int64]name, k kind, wanted []string, columns ...string) {
	if len(wanted) == 0 {
		return
	}
	numbers, none := numbersOf(known, k, wanted)
	var ids []any
	for _, n := range numbers {
		ids = append(ids, n)
	}
	var any []string
	for _, c := range columns {
		if len(ids) > 0 {
			any = append(any, c+" IN (?"+strings.Repeat(", ?", len(ids)-1)+")")
			w.args = append(w.args, ids...)
		}
		if none {
			any = append(any, c+" IS NULL")
		}
	}
	if len(any) == 0 {
		any = []string{"0"} // a name that nothing has
	}
	w.terms = append(w.terms, "("+strings.Join(any, " OR ")+")")
}

// numbersOf returns the numbers of those names that there are, and whether having none is wanted as well.
func numbersOf(known map[int64]name, k kind, wanted []string) (ids []int64, none bool) {
	for id, n := range known {
		if n.kind == k && slices.Contains(wanted, n.text) {
			ids = append(ids, id)
		}
	}
	none = k == verdictName && slices.Contains(wanted, string(NoVerdict)) || k == originName && slices.Contains(wanted, string(Aloud))
	return ids, none
}

// match returns the query for the index of words: all of them, each the beginning of a word. It is empty where there is no word in the text.
func (f Filter) match() string {
	words := strings.FieldsFunc(f.Text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) })
	words = slices.DeleteFunc(words, func(word string) bool { // marks alone are no word
		return !strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
	})
	for i, word := range words {
		words[i] = `"` + word + `"*`
	}
	return strings.Join(words, " AND ")
}

// after returns the least text that is above all that begin with prefix.
func after(prefix string) string { return prefix + "\U0010FFFF" }

// texts returns names as plain text.
func texts[S ~string](names []S) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = string(n)
	}
	return out
}
