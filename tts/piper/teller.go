package piper

import "riposte/tts"

// teller tells the words of a text as soon as their places in the sound are known. A nil teller tells nothing.
type teller struct {
	tell  func(tts.Word)
	words []toldWord
	next  int
	heard int
}

// toldWord is a word of a text: the byte behind it, and where it ends in what is spoken.
type toldWord struct {
	end   int
	place place
}

// newTeller returns a teller of the words of text, which became spoken and was read.
func newTeller(text, spoken, language, espeakVoice string, r reading, tell func(tts.Word)) (*teller, error) {
	there, err := r.places(espeakVoice, spoken)
	if err != nil {
		return nil, err
	}
	t := &teller{tell: tell}
	at, k := place{}, 0
	for _, s := range tts.Sayings(text, spoken, language) {
		for ; k < len(there) && there[k].from < s.Said; k++ {
			at = there[k].place
		}
		t.words = append(t.words, toldWord{s.End, at})
	}
	return t, nil
}

// unit tells the words of a unit that have ended in as much of its sound as is known, and those of units without sound ahead
// of it.
func (t *teller) unit(s *sounding) {
	if t == nil {
		return
	}
	for ; t.next < len(t.words) && t.words[t.next].place.unit <= s.unit; t.next++ {
		w := t.words[t.next]
		if w.place.unit == s.unit && w.place.behind > 0 {
			end, ok := s.end(w.place.behind - 1)
			if !ok {
				return
			}
			t.heard = max(t.heard, end)
		}
		t.tell(tts.Word{End: w.end, Heard: t.heard})
	}
}

// rest tells the words that are left where nothing more is spoken.
func (t *teller) rest() {
	if t == nil {
		return
	}
	for ; t.next < len(t.words); t.next++ {
		t.tell(tts.Word{End: t.words[t.next].end, Heard: t.heard})
	}
}
