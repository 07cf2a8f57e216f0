package traces

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"riposte/native/nativetest"
)

// picturesAt is the environment variable that names the folder in which the pictures of the documentation are written anew. Without it they
// are made and thrown away.
const picturesAt = "RIPOSTE_TEST_PICTURES"

// browser is a tab in Chromium.
type browser struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu       sync.Mutex
	complain []string // What the console said that is no praise.
}

// browse opens a tab that shows the page.
func browse(t *testing.T, p *Page) *browser {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	alloc, end := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU, // root in a container has no sandbox
		chromedp.Flag("autoplay-policy", "no-user-gesture-required"), chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("lang", "en-GB"))...)
	t.Cleanup(end)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx, base: server.URL}
	messages := chromedp.Console(ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type != "debug" && m.Type != "info" && m.Type != "log" {
				b.mu.Lock()
				b.complain = append(b.complain, fmt.Sprintf("%s: %s (%s)", m.Type, m.Text, m.URL))
				b.mu.Unlock()
			}
		}
	})
	t.Cleanup(func() { cancel(); reading.Wait() })
	b.must(chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
			Source: `addEventListener('securitypolicyviolation', (e) => console.error('policy violated: ' + e.violatedDirective + ' ' + e.blockedURI))`,
		})
		if err == nil {
			_, err = chromedp.Call(ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Berlin"})
		}
		return chromedp.Void{}, err
	}))
	return b
}

// chromium finds the browser. The test is skipped where there is none, unless all that tests need has to be there.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "there is no Chromium (Debian: apt-get install chromium-headless-shell)"
	if os.Getenv(nativetest.Required) == "required" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// step runs a part of the test.
func (b *browser) step(name string, f func(t *testing.T)) {
	whole := b.t
	whole.Run(name, func(t *testing.T) {
		b.t = t
		defer func() { b.t = whole }()
		f(t)
	})
}

// must fails the test on an error.
func (b *browser) must(_ chromedp.Void, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// do acts, for at most 20 s.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// open goes to an address and waits until there is something on the page.
func (b *browser) open(path, until string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + path))
	b.until(until)
}

// ask returns the value of an expression.
func ask[T any](b *browser, js string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js))
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// is fails the test unless an expression is true, at once.
func (b *browser) is(what, js string) {
	b.t.Helper()
	if !ask[bool](b, "Boolean("+js+")") {
		b.t.Errorf("%s: not so: %s", what, js)
	}
}

// until waits for an expression to become true.
func (b *browser) until(js string) {
	b.t.Helper()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if ask[bool](b, "Boolean("+js+")") {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("waited in vain for %s\nat %s\n%.1500s\n%s", js, ask[string](b, "location.href"), ask[string](b, "document.body.innerText"), strings.Join(b.complaints(), "\n"))
		}
	}
}

// keys presses keys.
func (b *browser) keys(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.do(chromedp.KeyEvent(k))
	}
}

// look sets how large the window is and what its owner likes: "dark" or "light", and "reduce" or "no-preference" of motion.
func (b *browser) look(width, height int64, scheme, motion string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
	b.must(chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion}},
		})
		return chromedp.Void{}, err
	}))
	// Two frames: what watches sizes draws anew in the first.
	b.do(chromedp.Evaluate[chromedp.Void](`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 60))))`, chromedp.EvalAwaitPromise))
}

// fits fails the test if anything reaches beyond the window's width, but for what scrolls by itself.
func (b *browser) fits(where string) {
	b.t.Helper()
	wide := ask[[]string](b, `(() => {
		const width = document.documentElement.clientWidth, out = []
		if (document.documentElement.scrollWidth > width) out.push('the page is ' + document.documentElement.scrollWidth + ' px wide')
		for (const e of document.body.querySelectorAll('*')) {
			const r = e.getBoundingClientRect()
			if (r.right > width + 1 && r.width > 2 && !e.closest('.scroll, .hidden, .skip, .c-said, thead, svg *')) out.push(e.tagName + '.' + (e.getAttribute('class') ?? '') + ' reaches to ' + Math.round(r.right))
		}
		for (const e of document.querySelectorAll('button, select, nav a, .figures dd, .verdict')) {
			if (e.scrollWidth > e.clientWidth + 2 && e.clientWidth > 2) out.push(e.tagName + ' "' + e.textContent.slice(0, 30) + '" is cut')
		}
		if (document.body.textContent.includes('[object')) out.push('an object is written as text')
		return out
	})()`)
	if len(wide) > 0 {
		b.t.Errorf("%s: %s", where, strings.Join(wide[:min(len(wide), 8)], "; "))
	}
}

// shoot takes a picture of what the window shows.
func (b *browser) shoot(name string) {
	b.t.Helper()
	shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	dir := os.Getenv(picturesAt)
	if dir == "" {
		return // making a picture small takes its time
	}
	picture, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		b.t.Fatal(err)
	}
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, paletted(picture)); err != nil {
		b.t.Fatal(err)
	}
	if small.Len() > 200_000 {
		b.t.Errorf("%s has %d bytes: at most 200,000 are wanted", name, small.Len())
	}
	if err := os.WriteFile(filepath.Join(dir, name), small.Bytes(), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.complain
}

// calm fails the test if the console complained.
func (b *browser) calm() {
	b.t.Helper()
	for _, c := range b.complaints() {
		b.t.Error(c)
	}
}
