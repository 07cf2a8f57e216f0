package traces

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/web/browsertest"
)

// windows are what the page is looked at in.
var windows = []struct {
	width, height int64
	scheme        string
}{{390, 844, "light"}, {390, 844, "dark"}, {1440, 900, "dark"}}

// endless makes a turn in which somebody talks for two minutes, 10,000 letters, and waits for two minutes for as long an answer, which was recorded.
func endless(t trace.Turn) trace.Turn {
	words := strings.Fields(strings.Repeat("I would like to book a table for two by the window at half past seven ", 145))
	t.ID, t.Said, t.Answer = "resp_endless", strings.Join(words, " ")[:10_000], strings.Repeat("Unbrochen", 1111)
	t.Words = nil
	for i := range 240 {
		text := strings.Join(words[:(i+1)*len(words)/240], " ")
		t.Words = append(t.Words, trace.Heard{At: time.Duration(i-239) * 500 * time.Millisecond, Text: text, Stable: len(text) * 3 / 4})
	}
	retimed := t
	retime(&retimed, map[budget.Stage]float64{budget.LLM: 400})
	t.Report = retimed.Report
	for i := range 60 {
		t.Events = append(t.Events, trace.Event{At: time.Duration(i-59) * 2 * time.Second, Kind: trace.KindGuess, Detail: t.Said})
	}
	const rate = 16000
	t.Sound = &trace.Sound{Rate: rate, Caller: make([]int16, 120*rate), Begins: -120 * time.Second, Offset: 120*time.Second + t.Report.Marks[budget.FirstAudible], Answer: make([]int16, 10*rate)}
	for i := range t.Sound.Caller {
		t.Sound.Caller[i] = int16(i%160*100 - 8000)
	}
	for i := range t.Sound.Answer {
		t.Sound.Answer[i] = int16(i%80*100 - 4000)
	}
	return t
}

// The page is of use where there is nothing yet, and where there is far too much.
func TestBrowserAtExtremes(t *testing.T) {
	turns := talks(30)
	turns[29] = endless(turns[29])
	p, writer := shownLive(t, turns)
	b := browse(t, p)
	for _, w := range windows {
		b.Step(fmt.Sprintf("two minutes, %d px, %s", w.width, w.scheme), func(t *testing.T) {
			b.Look(w.width, w.height, w.scheme, "reduce")
			b.Open("/traces", "document.querySelectorAll('.turns tr[data-id]').length === 30 && document.querySelector('.figures')")
			b.Fits("the list")
			b.Is("rows stay low", "[...document.querySelectorAll('.turns tr[data-id]')].every((e) => e.offsetHeight < 90)")
			browsertest.Contrasts(b)
			for _, zoom := range []string{"", "&zoom=whole"} {
				b.Open("/traces?turn=resp_endless"+zoom, "document.querySelectorAll('.waterfall .wave[d]').length === 2 && document.querySelector('.strip')")
				b.Fits("the turn" + zoom)
				b.Is("the picture is not far below the top", "document.querySelector('.waterfall').getBoundingClientRect().top - document.querySelector('.side').getBoundingClientRect().top < 900")
				b.Is("the picture is not high", "document.querySelector('.waterfall').getBoundingClientRect().height < 820")
				b.Is("ticks do not touch", `(() => {
					const boxes = [...document.querySelectorAll('.waterfall .tick')].map((e) => e.getBoundingClientRect()).sort((a, b) => a.left - b.left)
					return boxes.length > 1 && boxes.every((r, i) => i === 0 || r.left > boxes[i - 1].right)
				})()`)
				b.Is("long tables scroll by themselves", "document.querySelector('table.heard').offsetHeight > 1000 && document.querySelector('.side').scrollHeight < 9000")
				browsertest.Contrasts(b)
			}
			b.Is("it is said how much more there is", "/more letters/.test(document.querySelector('.said button').textContent)")
			b.Do(browsertest.Focus(".said button"))
			b.Keys(kb.Enter)
			b.Is("all of it can be seen", "document.querySelector('.said q span').offsetParent && document.querySelector('.said q').textContent.startsWith('I would') && document.querySelector('.said q').textContent.length > 10000")
			b.Fits("all of the text")
		})
	}

	b.Step("sound is in line with the marks", func(t *testing.T) {
		b.Open("/traces?turn=resp_endless&zoom=whole", "document.querySelectorAll('.waterfall .wave[d]').length === 2 && document.querySelector('audio').readyState > 0")
		browsertest.Ask[bool](b, "(() => { document.querySelector('audio').currentTime = 120; return true })()")
		b.Until("Math.abs(document.querySelector('.playhead').x1.baseVal.value - document.querySelector('.waterfall .zero').x1.baseVal.value) < 0.5")
	})

	b.Step("phone by keyboard", func(t *testing.T) {
		b.Look(390, 844, "light", "reduce")
		b.Open("/traces", "document.querySelectorAll('.turns tr[data-id]').length === 30")
		for range 40 {
			b.Keys(kb.Tab)
			if browsertest.Ask[bool](b, "Boolean(document.activeElement.closest('tbody'))") {
				break
			}
		}
		b.Keys(kb.ArrowDown, kb.Enter)
		b.Until("document.activeElement.id === 'turn-title'")
		b.Keys(kb.Tab)
		b.Is("Tab goes on in the turn", "document.activeElement.closest('.side')")
		b.Keys(kb.Escape)
		b.Until("document.activeElement.closest('tbody') && document.querySelector('.left').offsetParent")
		b.Is("it is the row that was left", "document.activeElement.closest('tr') === document.querySelectorAll('.turns tr[data-id]')[1]")
	})

	b.Step("every view in the dark", func(t *testing.T) {
		for _, w := range windows[1:] {
			b.Look(w.width, w.height, w.scheme, "reduce")
			for path, ready := range map[string]string{
				"/traces?view=calls":                                     "document.querySelectorAll('.calls tbody tr').length",
				"/traces?view=stats&by=model":                            "document.querySelectorAll('.chart').length === 5",
				"/traces?view=compare&a.version=v1.4.0&b.version=v1.5.0": "document.querySelector('.dumbbells')",
				"/traces?text=zzzz&gap=500ms":                            "document.querySelector('.note h2')",
			} {
				b.Open(path, ready)
				browsertest.Contrasts(b)
			}
		}
	})

	b.Step("a call that goes on", func(t *testing.T) {
		call := trace.Call{ID: "sess_running", Route: "default", Wire: "websocket", Began: noon.Add(time.Minute)}
		if err := writer.WriteCall(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		b.Look(390, 844, "light", "reduce")
		b.Open("/traces?view=calls&call=sess_running", "document.querySelectorAll('.calls tbody tr').length === 1")
		b.Is("it has no end yet", "document.querySelector('.calls .c-lasted').textContent.includes('no end yet') && document.querySelector('.calls .c-verdicts').textContent.includes('no turns')")
		b.Fits("a call that goes on")
		browsertest.Ask[bool](b, "document.querySelector('.calls .c-lasted').click() ?? true") // a finger hits the row
		b.Until("document.querySelector('.note h2')?.textContent === 'No turns of this call'")
		turn := turns[0]
		turn.ID, turn.Call = "resp_first", call.ID
		turn.Report.SpeechEnd = noon.Add(2 * time.Minute)
		if err := writer.WriteTurns(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		b.Until("document.querySelectorAll('.turns tr[data-id]').length === 1")
	})
	b.Calm()
}

// A file without a call is not one whose turns no filter takes; and the page comes to life by itself when there is something.
func TestBrowserWithoutCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.db")
	p := shown(t, path)
	b := browse(t, p)
	b.Look(390, 844, "dark", "reduce")
	b.Open("/traces", "document.querySelector('.note h2')?.textContent === 'No traces yet'")
	b.Is("nothing can be exported yet", "document.getElementById('export').hidden")
	rename(t, kept(t, nil), path)
	for view, title := range map[string]string{"": "No turns yet", "calls": "No calls yet", "stats": "No turns yet", "compare": "Both sets are empty"} {
		b.Open("/traces?view="+view, fmt.Sprintf("document.querySelector('.note h2')?.textContent === %q", title))
		b.Fits("no calls, " + view)
		browsertest.Contrasts(b)
	}
	b.Open("/traces", "document.querySelector('.note h2')?.textContent === 'No turns yet'")
	rename(t, kept(t, talks(20)), path)
	b.Until("document.querySelectorAll('.turns tr[data-id]').length === 20")
}
