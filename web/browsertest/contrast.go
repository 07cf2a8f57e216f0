package browsertest

import (
	"strings"

	"github.com/chromedp/chromedp"
)

// Focus puts the focus on an element.
func Focus(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void]("void document.querySelector('" + selector + "').focus()")
}

// Contrasts fails the test if a text stands out less from what is behind it than WCAG's level AA demands.
func Contrasts(b *Browser) {
	b.t.Helper()
	weak := Ask[[]string](b, `(() => {
		const parse = (c) => (c.match(/[\d.]+/g) ?? []).map(Number)
		const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0)
		const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0.9) return c } return [255, 255, 255] }
		const out = []
		for (const e of document.body.querySelectorAll('*')) {
			if (!e.offsetParent && !(e instanceof SVGElement) || e.closest('.hidden, .skip, defs, title, [hidden]')) continue
			const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())
			if (!own) continue
			const style = getComputedStyle(e), ink = parse(e instanceof SVGElement ? style.fill : style.color), paper = behind(e)
			const [a, c] = [light(ink), light(paper)].sort((x, y) => y - x)
			if ((a + 0.05) / (c + 0.05) < 4.5) out.push(((a + 0.05) / (c + 0.05)).toFixed(2) + ' ' + e.tagName + '.' + (e.getAttribute('class') ?? '') + ' ' + e.textContent.slice(0, 20))
		}
		return [...new Set(out)]
	})()`)
	if len(weak) > 0 {
		b.t.Errorf("texts too weak to be read: %s", strings.Join(weak[:min(len(weak), 8)], "; "))
	}
}
