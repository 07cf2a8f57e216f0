package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"riposte/llm"
	"riposte/transport"
)

// maxHistory bounds the text of one conversation, in bytes. An hour of talk has some 60 kB.
const maxHistory = 1 << 20

// maxItems is how many items a conversation may have before nothing more is written into it. An hour of talk has a thousand.
const maxItems = 4096

// errNoItem says that an item is not in the conversation.
var errNoItem = errors.New("no such item in the conversation")

// history is the conversation as both sides heard it. Its items are in the order in which they are to be read; an item whose
// text is not known yet, or of which nothing was heard, is passed over. Calls of tools are in calls.go. It is safe for use by
// several goroutines.
type history struct {
	mu    sync.Mutex
	items []*entry
}

// entry is one item with, for answers, what of it sounded when.
type entry struct {
	id     string
	role   llm.Role
	text   string
	spoken []span
	heard  time.Duration // So much of that was.
	cut    bool          // It was interrupted: text is what was heard of it.
	answer string        // The answer that it is part of; empty for what is not the model's,
	step   int           // and after how many of its calls' results.
	untold bool          // The caller's side does not know of it yet, and it may come to nothing.
	aloud  bool          // It is speech, and not writing.
	call   *call         // A call of a tool, or the result of one; nil for what is said.
}

// span is a clause of an answer, how long its sound is, and where in that its words are, if the voice knows.
type span struct {
	item  string // That it is part of.
	text  string
	sound time.Duration // That was sent.
	pause time.Duration // How much of that, at its end, is the silence between two sentences.
	lasts time.Duration // How long its sound would have been in all, where not all of it was sent; 0 elsewhere.
	words []word
	ours  bool // It is an opener or an apology, and not the model's.
}

// word is the place of a word: the byte behind it in the clause's text, and when in the clause's sound it has been said.
type word struct {
	end int
	at  time.Duration
}

// add puts an item that the caller's side is told of behind the item named after; empty means behind the last one. It returns
// the ID of the item before it.
func (h *history) add(it transport.Item) (previous string, err error) { return h.addOf("", 0, it) }

// addOf is add for an item that is part of an answer, at a step of it.
func (h *history) addOf(answer string, step int, it transport.Item) (previous string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := &entry{id: it.ID, role: it.Role, text: it.Text, answer: answer, step: step}
	e.aloud = it.Role == llm.User && it.Call == nil && it.Text == "" // words of speech are not known at first
	if e.call, err = h.newCall(it); err != nil {
		return "", err
	}
	if answer == "" && !e.aloud { // what is said has to be kept, whatever has been written
		if err := h.holds(e); err != nil {
			return "", err
		}
	}
	if previous, err = h.insert(e, it.After); err == nil && e.call != nil && !e.makes() {
		e.call.result = e.id
	}
	return previous, err
}

// addRecording is add for what was said, and not into this call: it need not be kept where there is no room.
func (h *history) addRecording(it transport.Item) (previous string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := &entry{id: it.ID, role: llm.User, aloud: true}
	if err := h.holds(e); err != nil {
		return "", err
	}
	return h.insert(e, it.After)
}

// holds says why there is no room for an entry that need not be kept.
func (h *history) holds(e *entry) error {
	size := e.size()
	for _, e := range h.items {
		size += e.size()
	}
	if size > maxHistory {
		return fmt.Errorf("the conversation would have %d bytes of text; it may have %d", size, maxHistory)
	}
	if len(h.items) >= maxItems {
		return fmt.Errorf("the conversation has %d items already, which is the most that can be written", len(h.items))
	}
	return nil
}

// addAnswer makes room behind the last item for the words of a step of an answer, of which the caller's side is not told yet. What is
// there already stays.
func (h *history) addAnswer(id, answer string, step int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.find(id) != nil {
		return nil
	}
	_, err := h.insert(&entry{id: id, role: llm.Assistant, answer: answer, step: step, untold: true}, "")
	return err
}

// tell notes that the caller's side is told of an item now. It returns the ID of the item before it.
func (h *history) tell(id string) (previous string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, e := range h.items {
		if e.id == id {
			e.untold = false
			return h.before(i)
		}
	}
	return ""
}

// insert puts an entry behind the item named after.
func (h *history) insert(e *entry, after string) (previous string, err error) {
	if h.find(e.id) != nil {
		return "", wrongPart(transport.PartItem, "item %q is already in the conversation", e.id)
	}
	at := len(h.items)
	switch after {
	case "":
	case transport.Root:
		at = 0
	default:
		i := slices.IndexFunc(h.items, func(e *entry) bool { return e.id == after })
		if i < 0 {
			return "", wrongPart(transport.PartAfter, "previous item %q: %w", after, errNoItem)
		}
		at = i + 1
	}
	h.items = slices.Insert(h.items, at, e)
	return h.before(at), nil
}

// before returns the ID of the last item before a place that the caller's side knows of.
func (h *history) before(at int) string {
	for _, e := range slices.Backward(h.items[:at]) {
		if !e.untold {
			return e.id
		}
	}
	return ""
}

// size is how many bytes of text the entry holds.
func (e *entry) size() int {
	n := len(e.id) + len(e.text)
	if e.call != nil {
		n += len(e.call.ID) + len(e.call.Name) + len(e.call.Arguments) + len(e.call.text)
	}
	return n
}

// remove takes an item out. It reports false when it is not there any more.
func (h *history) remove(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(h.items)
	h.items = slices.DeleteFunc(h.items, func(e *entry) bool { return e.id == id })
	return len(h.items) < before
}

// forget takes out what there is of an answer of which the caller's side was never told.
func (h *history) forget(answer string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.items = slices.DeleteFunc(h.items, func(e *entry) bool { return e.untold && e.answer == answer })
}

// has reports whether an item is part of the conversation.
func (h *history) has(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.find(id) != nil
}

// setText says what an item is, once that is known. It reports false when the item is not there any more.
func (h *history) setText(id, text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.find(id)
	if e != nil {
		e.text = text
	}
	return e != nil
}

// setSpoken says what was heard of an answer: the clauses with their sound, of which the caller heard the given length.
// cut says that the caller interrupted it. It returns the text that was heard.
func (h *history) setSpoken(id string, spoken []span, heard time.Duration, cut bool) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := heardText(spoken, heard)
	if e := h.find(id); e != nil {
		e.text, e.spoken, e.heard, e.cut, e.aloud = text, spoken, heard, cut, true
	}
	return text
}

// truncate corrects what was heard of an answer.
func (h *history) truncate(id string, heard time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.find(id)
	if e == nil {
		return fmt.Errorf("item %q: %w", id, errNoItem)
	}
	if e.role != llm.Assistant || e.call != nil {
		return fmt.Errorf("item %q is not an answer: only answers can be truncated", id)
	}
	if len(e.spoken) == 0 {
		return fmt.Errorf("item %q was not spoken: there is no sound to truncate", id)
	}
	var all time.Duration
	for _, s := range e.spoken {
		all += s.sound
	}
	if heard > all {
		return fmt.Errorf("audio_end_ms is %d, but only %d ms of item %q have been sent", heard.Milliseconds(), all.Milliseconds(), id)
	}
	if e.heard > 0 { // an answer that counts as not heard, since the caller went on, stays so
		e.text, e.heard = heardText(e.spoken, heard), heard
	}
	return nil
}

// read returns what the model reads of an item: what was said but for openers and apologies, which a small model, once it has read
// them, would say itself. Where nothing else was said, nothing is.
func (e *entry) read() string {
	if !slices.ContainsFunc(e.spoken, func(s span) bool { return s.ours }) {
		return e.text
	}
	var own []span
	heard, rest := time.Duration(0), e.heard // of the model's clauses; of all
	for _, s := range e.spoken {
		part := min(s.sound, max(rest, 0))
		if rest -= s.sound; !s.ours {
			own, heard = append(own, s), heard+part
		}
	}
	return heardText(own, heard)
}

// unanswered reports whether the last thing said was the caller's, and no tool was called for it.
func (h *history) unanswered() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range slices.Backward(h.items) {
		if e.makes() || e.text != "" && (e.role == llm.User || e.role == llm.Assistant) {
			return e.role == llm.User
		}
	}
	return false
}

// written returns what the caller's side wrote since the last words that were not its own; empty where the last of them was said aloud.
func (h *history) written() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var texts []string
	for _, e := range slices.Backward(h.items) {
		if e.call != nil || e.text == "" {
			continue // the answer to a tool's result still is one to what was asked before
		}
		if e.role == llm.Assistant || e.aloud {
			break
		}
		if e.role == llm.User {
			texts = append(texts, e.text)
		}
	}
	slices.Reverse(texts)
	return strings.Join(texts, " ")
}

// interruption stands, for the model, behind an answer that was interrupted, so that it knows. Writers mark it so.
const interruption = " —"

// messages returns the conversation for the model, under the given instructions and without the item named except. Each item
// is a message of its own, so that a model whose context is full can do without the oldest, but that calls belong to the words
// before them, and every call is followed by its result.
func (h *history) messages(instructions, except string) []llm.Message {
	return h.conversation(instructions, except, (*entry).read)
}

// conversation is messages, with that of each item that is said which text returns.
func (h *history) conversation(instructions, except string, text func(*entry) string) []llm.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out prompt
	if instructions != "" {
		out.say(llm.Message{Role: llm.System, Text: instructions}, "")
	}
	for i, e := range h.items {
		switch {
		case e.id == except:
		case e.call != nil:
			if made, result, ok := h.calledAt(i); ok {
				out.call(made.call.ToolCall, made.part(), result)
			}
		case e.text != "":
			said := text(e)
			if said == "" {
				continue
			}
			if e.cut {
				said += interruption
			}
			out.say(llm.Message{Role: e.role, Text: said}, e.part())
		}
	}
	return out.messages
}

func (h *history) find(id string) *entry {
	for _, e := range h.items {
		if e.id == id {
			return e
		}
	}
	return nil
}

// heardText returns the words that had sounded to their end after the given length of sound. Where the voice does not know
// where they are, a word is placed by its share of the clause's letters.
func heardText(spoken []span, heard time.Duration) string {
	var b strings.Builder
	for _, s := range spoken {
		said := s.saidBy(min(heard, s.sound))
		if b.Len() > 0 && !strings.HasSuffix(b.String(), " ") && !strings.HasPrefix(said, " ") {
			b.WriteString(" ") // the clause before broke off
		}
		b.WriteString(said)
		if heard -= s.sound; heard < 0 {
			break
		}
	}
	return strings.TrimSpace(b.String())
}

// saidBy returns the part of the text that had been said after a length of the sound that was sent.
func (s span) saidBy(heard time.Duration) string {
	if len(s.words) == 0 {
		length := max(s.sound, s.lasts) - s.pause
		if heard >= length {
			return s.text
		}
		return firstWords(s.text, float64(heard)/float64(length))
	}
	const rounding = 5 * time.Millisecond // by the resampler, of where a word ends
	end := 0
	for _, w := range s.words {
		if w.at <= heard+rounding {
			end = max(end, w.end)
		}
	}
	end = min(end, len(s.text))
	if heard >= s.sound-s.pause && strings.TrimSpace(s.text[end:]) == "" {
		return s.text
	}
	return s.text[:end]
}

// guess says how long the sound of a clause would have been that was cut off, unless that is known.
func (s *span) guess() {
	if s.lasts == 0 {
		s.lasts = max(s.sound, time.Duration(len(s.text))*letterLasts)
	}
}

// firstWords returns the words of text that end within the given share of its letters.
func firstWords(text string, share float64) string {
	limit := share * float64(len(text))
	end := 0
	for i, r := range text + " " {
		if (r == ' ' || r == '\n') && float64(i) <= limit {
			end = i
		}
	}
	return text[:min(end, len(text))]
}
