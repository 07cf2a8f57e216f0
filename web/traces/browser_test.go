package traces

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/object"
	"riposte/web/browsertest"
)

// One visit, as an engineer makes it: from the list to a turn, to percentiles, to a comparison, on a desk and on a phone, by mouse and by
// keyboard, in the light and in the dark.
func TestBrowser(t *testing.T) {
	turns := talks(1500)
	late := len(turns) - 4 // A turn to look at: masked, for its model was slow, and recorded.
	turns[late] = recorded(turns[late])
	evil := len(turns) - 30
	turns[evil].Said = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script> tea & "cake"`
	turns[evil].Words = []trace.Heard{{At: -time.Second, Text: turns[evil].Said}}
	p, writer := shownLive(t, turns)
	b := browse(t, p)

	b.Look(1440, 900, "light", "no-preference")
	b.Step("list", func(t *testing.T) {
		b.Open("/traces", "document.querySelectorAll('.turns tr[data-id]').length === 50 && document.querySelector('.figures')")
		b.Is("the newest is first", fmt.Sprintf("document.querySelector('.turns tr[data-id]').dataset.id === %q", turns[len(turns)-1].ID))
		b.Is("there are landmarks", "['header', 'nav[aria-label]', 'main', 'form[role=search]'].every((s) => document.querySelector(s))")
		b.Is("every field has a label", "[...document.querySelectorAll('input, select')].every((e) => e.labels.length === 1)")
		b.Is("tables have heads", "[...document.querySelectorAll('table')].every((e) => e.querySelector('thead th[scope=col]') && e.querySelector('tbody th[scope=row]'))")
		b.Is("words of callers are text", "!document.querySelector('main img, main script') && document.title.startsWith('Turns')")
		b.Is("the count is right", "document.querySelector('.figures dd').textContent === '1,500'")
		b.Fits("list")
		b.Shoot("traces-list.png")
	})

	b.Step("live", func(t *testing.T) {
		browsertest.Ask[bool](b, "(() => { window.second = document.querySelectorAll('.turns tr[data-id]')[1]; window.second.querySelector('a').focus(); return true })()")
		fresh := turns[0]
		fresh.ID, fresh.Call, fresh.Said = "resp_fresh", "sess_fresh", "Is this live"
		fresh.Report.SpeechEnd = noon.Add(time.Second)
		if err := writer.WriteTurns(t.Context(), fresh); err != nil {
			t.Fatal(err)
		}
		b.Until("document.querySelector('.turns tr[data-id]').dataset.id === 'resp_fresh'")
		b.Is("what is read stays", "document.querySelectorAll('.turns tr[data-id]')[2] === window.second && document.activeElement === window.second.querySelector('a') && document.querySelectorAll('.turns tr[data-id]').length === 50")
		b.Is("nobody is told of every turn", "document.getElementById('said').textContent === '50 turns listed'")
		browsertest.Ask[bool](b, "document.getElementById('live').click() ?? true")
		b.Is("it can be stopped, by the address", "location.search === '?live=off' && document.getElementById('live').getAttribute('aria-pressed') === 'false'")
		browsertest.Ask[bool](b, "document.getElementById('live').click() ?? true")
	})

	id := turns[late].ID
	b.Step("keyboard", func(t *testing.T) {
		b.Open("/traces", "document.querySelectorAll('.turns tr[data-id]').length === 50")
		for range 40 { // Tab leads to the list, and in it to one row only
			b.Keys(kb.Tab)
			if browsertest.Ask[bool](b, "Boolean(document.activeElement.closest('tbody'))") {
				break
			}
		}
		b.Is("focus is seen", "getComputedStyle(document.activeElement.closest('tr')).outlineStyle === 'solid'")
		b.Keys(kb.ArrowDown, kb.ArrowDown, kb.ArrowUp)
		b.Is("arrows lead through the list", "document.activeElement.closest('tr') === document.querySelectorAll('.turns tr[data-id]')[1]")
		b.Keys(kb.End)
		b.Is("End leads to its end", "document.activeElement.closest('tr') === document.querySelectorAll('.turns tr[data-id]')[49]")
		b.Keys(kb.Home, kb.ArrowDown, kb.Enter)
		b.Until("document.querySelector('.side .waterfall')")
		b.Is("the open turn is in the address", fmt.Sprintf("new URLSearchParams(location.search).get('turn') === %q", turns[len(turns)-1].ID))
		b.Keys(kb.ArrowDown)
		b.Until(fmt.Sprintf("document.querySelector('.side .said q')?.textContent === %q", turns[len(turns)-2].Said))
		b.Is("focus stays in the list", "document.activeElement.closest('tbody')")
		b.Keys(kb.Escape)
		b.Is("Escape closes it", "!document.querySelector('.side .waterfall') && !location.search.includes('turn') && document.activeElement.closest('tbody')")
	})

	b.Step("waterfall", func(t *testing.T) {
		b.Open("/traces?turn="+id, "document.querySelector('.waterfall .wave[d]') && document.querySelectorAll('.turns tr[data-id]').length")
		want := turns[late]
		b.Is("the gap is said", fmt.Sprintf("document.querySelector('.head .big').textContent.startsWith('%d ms'.replace(/(\\d)(\\d{3}) /, '$1,$2 '))", (want.Report.Total+500*time.Microsecond).Milliseconds()))
		for _, stage := range budget.Stages {
			b.Is("a bar is as long as its stage", fmt.Sprintf(`(() => {
				const line = document.querySelector('.waterfall .line line').x1.baseVal.value, zero = document.querySelector('.waterfall .zero').x1.baseVal.value
				const bar = document.querySelector('.waterfall .s-%s')
				return Math.abs(bar.width.baseVal.value - (line - zero) * %v / 890) < 1.6
			})()`, stage, object.Millis(want.Report.Stages[stage])))
		}
		b.Is("there are the opener and the marks", "document.querySelector('.waterfall .action') && document.querySelectorAll('.waterfall .mark').length === 9")
		b.Is("there are the words as they came", fmt.Sprintf("document.querySelectorAll('.heard tbody tr').length === %d", len(want.Words)))
		b.Is("the answer is drawn where it was heard", `(() => {
			const d = document.querySelectorAll('.waterfall .wave')[1].getAttribute('d').slice(1).split('L').map((s) => s.split(' ').map(Number))
			const middle = d[0][1] + 0.4
			const first = d.find(([, y]) => Math.abs(y - middle) > 1.5)[0]
			const diamonds = [...document.querySelectorAll('.waterfall .mark')].find((m) => m.textContent.includes('first audible at'))
			return Math.abs(diamonds.querySelector('path').getBBox().x + 5 - first) < 6
		})()`)
		b.Is("sound can be sought", `(() => {
			const w = document.querySelector('.waterfall'), r = w.getBoundingClientRect()
			w.dispatchEvent(new MouseEvent('click', { clientX: r.left + document.querySelector('.waterfall .zero').x1.baseVal.value, clientY: r.top + 50, bubbles: true }))
			return Math.abs(document.querySelector('audio').currentTime - 2) < 0.05 && document.querySelector('.playhead').x1.baseVal.value > 0
		})()`)
		browsertest.Ask[bool](b, "document.querySelector('audio').play().then(() => true) && true")
		b.Until("document.querySelector('audio').currentTime > 2.2")
		browsertest.Ask[bool](b, "document.querySelector('audio').pause() ?? true")
		b.Is("the line follows the sound", "document.querySelector('.playhead').x1.baseVal.value > document.querySelector('.waterfall .zero').x1.baseVal.value + 20")
		b.Fits("turn")
		b.Shoot("traces-turn.png")
		browsertest.Ask[bool](b, "document.getElementById('zoom-whole').click() ?? true")
		b.Until("location.search.includes('zoom=whole') && document.querySelectorAll('.waterfall .heard').length > 3")
		b.Fits("whole turn")
		b.Open("/traces?turn="+turns[evil].ID, "document.querySelector('.side .waterfall')")
		b.Is("words of callers are text", fmt.Sprintf("document.querySelector('.side .said q').textContent === %q && !document.querySelector('main img, main script')", turns[evil].Said))
	})

	b.Step("filter and share", func(t *testing.T) {
		b.Open("/traces", "document.querySelectorAll('select[name=verdict] option').length > 4 && document.querySelectorAll('.turns tr[data-id]').length")
		browsertest.Ask[bool](b, "(() => { const s = document.querySelector('select[name=verdict]'); s.value = 'over'; s.dispatchEvent(new Event('change', { bubbles: true })); return true })()")
		b.Until("[...document.querySelectorAll('.turns .verdict')].every((v) => v.classList.contains('v-over')) && document.querySelector('.v-over')")
		b.Do(browsertest.Focus("input[name=text]"))
		b.Keys("table window")
		b.Until("location.search.includes('text=table+window') && document.querySelectorAll('.turns tr[data-id]').length && [...document.querySelectorAll('.turns .c-said a')].every((a) => /by the window/.test(a.textContent) || /half past/.test(a.textContent))")
		b.Is("typing keeps the focus", "document.activeElement.name === 'text'")
		rows := browsertest.Ask[string](b, "[...document.querySelectorAll('.turns tr[data-id]')].map((r) => r.dataset.id).join()")
		address := strings.TrimPrefix(browsertest.Ask[string](b, "location.href"), b.Base)
		b.Open(address, "document.querySelectorAll('.turns tr[data-id]').length && document.querySelector('select[name=verdict]').value === 'over' && document.querySelector('#exports a')")
		b.Is("the address says all", fmt.Sprintf("document.querySelector('input[name=text]').value === 'table window' && [...document.querySelectorAll('.turns tr[data-id]')].map((r) => r.dataset.id).join() === %q", rows))
		b.Is("exports have the filter", "document.querySelectorAll('#exports a').length === 3 && [...document.querySelectorAll('#exports a')].every((a) => a.href.includes('verdict=over') && a.href.includes('text=table'))")
		b.Open("/traces?text=zzzz", "document.querySelector('.note h2')")
		b.Is("nothing is said to be nothing", "document.querySelector('.note h2').textContent === 'No turns match'")
		browsertest.Ask[bool](b, "document.getElementById('clear').click() ?? true")
		b.Until("location.search === '' && document.querySelectorAll('.turns tr[data-id]').length === 50")
	})

	b.Step("calls", func(t *testing.T) {
		b.Open("/traces?view=calls", "document.querySelectorAll('.calls tbody tr').length === 50")
		b.Fits("calls")
		b.Shoot("traces-calls.png")
		browsertest.Ask[bool](b, "document.querySelectorAll('.calls tbody a')[2].click() ?? true")
		b.Until("document.querySelectorAll('.turns tr[data-id]').length === 10 && document.querySelector('input[name=call]').value.startsWith('sess_')")
	})

	b.Step("percentiles", func(t *testing.T) {
		b.Open("/traces?view=stats", "document.querySelectorAll('.chart').length === 5")
		b.Is("median and percentile are drawn", "document.querySelectorAll('.chart')[0].querySelectorAll('.curve').length === 2")
		b.Shoot("traces-stages.png")
		b.Open("/traces?view=stats&by=version", "document.querySelectorAll('.chart').length === 5")
		b.Is("there is a line for each version", "document.querySelectorAll('.chart')[0].querySelectorAll('.curve').length === 2")
		b.Is("there is a point for each hour", "document.querySelectorAll('.chart')[0].querySelectorAll('circle').length > 20")
		b.Is("there is a budget line", "[...document.querySelectorAll('.chart')].every((c) => c.querySelector('.budget'))")
		b.Fits("percentiles")
		b.Shoot("traces-percentiles.png")
		browsertest.Ask[bool](b, "(() => { document.querySelector('details.panel').open = true; document.querySelector('details.panel tbody a').click(); return true })()")
		b.Until("location.search.includes('since=') && location.search.includes('until=') && document.querySelectorAll('.turns tr[data-id]').length")
		b.Is("the times stand in the filter", "document.querySelector('input[name=from-time]').value !== '' && document.querySelector('select[name=since]').value === 'custom'")
	})

	b.Step("compare", func(t *testing.T) {
		b.Open("/traces?view=compare", "document.querySelectorAll('.presets a').length === 4")
		browsertest.Ask[bool](b, "document.querySelector('.presets a').click() ?? true")
		b.Until("location.search.includes('a.version=v1.4.0') && document.querySelectorAll('.dumbbells .dot-a').length === 10")
		b.Until("document.querySelector('.panel .plain tbody tr').textContent.includes('750')")
		b.Until("document.querySelectorAll('.dumbbells .better').length >= 4") // the second is faster
		b.Fits("compare")
		b.Shoot("traces-compare.png")
	})

	b.Step("dark", func(t *testing.T) {
		b.Look(1440, 900, "dark", "reduce")
		b.Open("/traces?turn="+id, "document.querySelector('.waterfall .wave[d]') && document.querySelectorAll('.turns tr[data-id]').length")
		b.Is("paper is dark", "getComputedStyle(document.documentElement).backgroundColor === 'rgb(21, 20, 18)'")
		b.Is("nothing moves", "[...document.querySelectorAll('*')].every((e) => getComputedStyle(e).animationName === 'none')")
		browsertest.Contrasts(b)
		b.Shoot("traces-dark.png")
		b.Look(1440, 900, "light", "reduce")
		browsertest.Contrasts(b)
	})

	b.Step("phone", func(t *testing.T) {
		b.Look(390, 844, "light", "reduce")
		for path, ready := range map[string]string{
			"/traces": "document.querySelectorAll('.turns tr[data-id]').length", "/traces?view=calls": "document.querySelectorAll('.calls tbody tr').length",
			"/traces?view=stats&by=model": "document.querySelectorAll('.chart').length === 5", "/traces?view=compare&a.version=v1.4.0&b.version=v1.5.0": "document.querySelector('.dumbbells')",
			"/traces?zoom=whole&turn=" + id: "document.querySelector('.waterfall')", "/traces?turn=" + turns[evil].ID: "document.querySelector('.waterfall')",
			"/traces?gap=500ms&since=2026-11-30T00%3A00%3A00Z": "document.querySelectorAll('.turns tr[data-id]').length",
		} {
			b.Open(path, ready)
			b.Fits("phone, " + path)
			b.Is("fingers can hit what is there, at "+path, "[...document.querySelectorAll('button, select, input, summary, #views a')].every((e) => !e.offsetParent || e.offsetHeight >= 30)")
		}
		b.Open("/traces", "document.querySelectorAll('.turns tr[data-id]').length")
		b.Shoot("traces-phone-list.png")
		b.Open("/traces?turn="+id, "document.querySelector('.waterfall .wave[d]')")
		b.Shoot("traces-phone-turn.png")
		browsertest.Ask[bool](b, "document.getElementById('close').click() ?? true")
		b.Until("document.querySelector('.left').offsetParent && document.activeElement.closest('tbody')")
	})
	b.Calm()
}

// Where there is nothing, or nothing to be had, the page says so and how to mend it.
func TestBrowserWithoutTraces(t *testing.T) {
	p := shown(t, t.TempDir()+"/none.db")
	b := browse(t, p)
	b.Look(390, 844, "light", "reduce")
	b.Open("/traces", "document.querySelector('.note h2')?.textContent === 'No traces yet'")
	b.Open("/traces?turn=resp_gone", "document.querySelector('.side .note')")
	b.Open("/traces?view=stats", "document.querySelector('.note h2')?.textContent === 'No traces yet'")
	b.Fits("no traces")
}
