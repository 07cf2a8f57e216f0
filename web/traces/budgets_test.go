package traces

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// mixed returns turns of which some answer what nobody asked for aloud, and those of the route sales have a budget of their own.
func mixed() []trace.Turn {
	turns := talks(40)
	for i := range turns {
		turns[i].Route = "default"
		if i < 10 {
			turns[i].Route, turns[i].Report.Plan = "sales", budget.Plan{Mic: 40 * time.Millisecond, STT: 300 * time.Millisecond, LLM: 710 * time.Millisecond, TTS: 150 * time.Millisecond}
		}
	}
	for i, origin := range []trace.Origin{trace.Greeting, trace.Prompt, trace.Written} {
		t := &turns[39-i]
		t.Origin, t.Said, t.Words = origin, "", nil
		t.Report.Verdict, t.Report.Blame, t.Report.Total = "", "", 83*time.Millisecond
		if origin == trace.Written {
			t.Said = "How are you?"
		}
	}
	return turns
}

// The percentiles and shares are of the turns that have a verdict, in every view, and are held against the budget of those turns.
func TestBudgets(t *testing.T) {
	p := shown(t, kept(t, mixed()))
	for query, want := range map[string]budgetsObject{
		"route=sales":   {[]float64{1200}, map[string]float64{"mic": 40, "stt": 300, "llm": 710, "tts": 150}},
		"route=default": {[]float64{890}, map[string]float64{"mic": 40, "stt": 300, "llm": 400, "tts": 150}},
		"":              {[]float64{890, 1200}, nil},
		"route=nowhere": {[]float64{890}, map[string]float64{"mic": 40, "stt": 300, "llm": 400, "tts": 150}},
	} {
		got := answer[statsObject](t, p, "/traces/api/stats?every=all&"+query)
		if !slices.Equal(got.Plans, want.Plans) || fmt.Sprint(got.Plan) != fmt.Sprint(want.Plan) {
			t.Errorf("%q: judged by %v, %v", query, got.Plans, got.Plan)
		}
	}
	all := answer[statsObject](t, p, "/traces/api/stats?every=all").Groups[0]
	if all.Turns != 40 || all.Judged != 37 || all.Gap.N != 37 || all.Verdicts["none"] != 0 || all.Unasked["greeting"] != 1 || all.Unasked["written"] != 1 {
		t.Errorf("of all it is %+v", all)
	}
	both := answer[comparisonObject](t, p, "/traces/api/compare?a.route=sales&b.route=default")
	if both.A.Judged != 10 || both.B.Judged != 27 || both.Plan != nil || len(both.Plans) != 2 {
		t.Errorf("side by side it is %+v", both)
	}
	if rows := answer[rowsObject](t, p, "/traces/api/turns?origin=prompt&origin=written").Turns; len(rows) != 2 || rows[0].Origin != "prompt" || rows[1].Said != "How are you?" {
		t.Errorf("by origin: %+v", rows)
	}
}

// The page says what a turn was that nobody asked for aloud, and of what budget a gap is.
func TestBrowserOfBudgets(t *testing.T) {
	turns := mixed()
	p, _ := shownLive(t, turns)
	b := browse(t, p)
	b.Look(1440, 900, "light", "reduce")
	met := 0
	for _, turn := range turns {
		if turn.Report.Verdict == budget.Met {
			met++
		}
	}
	share := fmt.Sprintf("%.1f %%", 100*float64(met)/37)
	b.Step("list", func(t *testing.T) {
		b.Open("/traces", "document.querySelectorAll('.turns tr[data-id]').length === 40 && document.querySelector('.figures')")
		b.Is("rows say what they were", "['(the greeting', '(a prompt', '(written) How are you?'].every((s, i) => document.querySelectorAll('.turns .c-said a')[i].textContent.startsWith(s))")
		b.Is("others are counted apart", "document.querySelector('.figures').textContent.includes('37 judged; 3 unasked: 1 greeting, 1 prompt, 1 written')")
		b.Is("the share is of the judged", fmt.Sprintf("document.querySelector('.figures').textContent.includes(%q)", share))
		b.Is("there is no one budget", "document.querySelector('.figures').textContent.includes('budgets differ, from 890 ms to 1,200 ms') && !document.querySelector('.figures').textContent.includes(' left')")
		b.Open("/traces?route=sales", "document.querySelectorAll('.turns tr[data-id]').length === 10 && document.querySelector('.figures')")
		b.Is("the budget is the route's", "document.querySelector('.figures').textContent.includes('of 1,200 ms')")
		b.Open("/traces?turn="+turns[39].ID, "document.querySelector('.side .waterfall')")
		b.Is("a greeting is said to be one", "document.querySelector('.side .said').textContent === 'Caller(the greeting: a call began)' && document.querySelector('.head .big').textContent === '83 ms, not judged'")
		b.Fits("list")
	})
	b.Step("percentiles", func(t *testing.T) {
		b.Open("/traces?view=stats", "document.querySelectorAll('.chart').length === 5")
		b.Is("there is no line", "!document.querySelector('.chart .budget') && document.querySelector('main').textContent.includes('There is no line for the budget')")
		b.Is("the share is the same", fmt.Sprintf("document.querySelector('.panel .plain tbody').textContent.includes(%q)", share))
		b.Open("/traces?view=stats&route=sales", "document.querySelectorAll('.chart .budget').length === 5")
		b.Is("lines are the route's", "document.querySelectorAll('.chart .limit')[0].textContent === '1,200 ms' && document.querySelectorAll('.chart .limit')[3].textContent === '710 ms'")
		b.Fits("percentiles")
	})
	b.Step("compare", func(t *testing.T) {
		b.Open("/traces?view=compare", "document.querySelector('.dumbbells')")
		b.Is("the bars and the table agree", fmt.Sprintf("document.querySelector('.verdicts').textContent.includes('met ' + %q) && document.querySelector('.panel .plain').textContent.includes(%[1]q)", share))
		b.Is("there is no line", "!document.querySelector('.dumbbells .share')")
		b.Fits("compare")
	})
	b.Step("calls", func(t *testing.T) {
		b.Open("/traces?view=calls", "document.querySelectorAll('.calls tbody tr').length === 4")
		b.Is("others are counted apart", "document.querySelector('.calls tbody tr .c-verdicts').textContent.includes('3 unasked: 1 greeting, 1 prompt, 1 written')")
		b.Fits("calls")
	})
	b.Calm()
}
