// Package browsertest shows pages of the service in Chromium, for their tests.
package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// Browser is a tab in Chromium.
type Browser struct {
	Base string // Address below which the pages are.

	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	complain []string // What the console said that is no praise.
}

// Flag is a switch of Chromium's, without dashes, and its value: a text, or true.
type Flag struct {
	Name  string
	Value any
}

// New opens a tab. What Open opens is below the address base. The test is skipped where there is no Chromium, unless all that tests need has
// to be there.
func New(t *testing.T, base string, flags ...Flag) *Browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU, // root in a container has no sandbox
		chromedp.Flag("autoplay-policy", "no-user-gesture-required"), chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("lang", "en-GB"))
	for _, f := range flags {
		options = append(options, chromedp.Flag(f.Name, f.Value))
	}
	alloc, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	b := &Browser{t: t, ctx: ctx, Base: base}
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
	b.Must(chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
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

// chromium finds the browser.
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

// Step runs a part of the test.
func (b *Browser) Step(name string, f func(t *testing.T)) {
	whole := b.t
	whole.Run(name, func(t *testing.T) {
		b.t = t
		defer func() { b.t = whole }()
		f(t)
	})
}

// Must fails the test on an error.
func (b *Browser) Must(_ chromedp.Void, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// patience is how long something on a page may take: a machine may be busy.
const patience = time.Minute

// Do acts.
func (b *Browser) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// Open goes to an address and waits until there is something on the page.
func (b *Browser) Open(path, until string) {
	b.t.Helper()
	b.Do(chromedp.Navigate(b.Base + path))
	b.Until(until)
}

// Ask returns the value of an expression.
func Ask[T any](b *Browser, js string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js))
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// Is fails the test unless an expression is true, at once.
func (b *Browser) Is(what, js string) {
	b.t.Helper()
	if !Ask[bool](b, "Boolean("+js+")") {
		b.t.Errorf("%s: not so: %s", what, js)
	}
}

// Until waits for an expression to become true.
func (b *Browser) Until(js string) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if Ask[bool](b, "Boolean("+js+")") {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("waited in vain for %s\nat %s\n%.1500s\n%s", js, Ask[string](b, "location.href"), Ask[string](b, "document.body.innerText"), strings.Join(b.Complaints(), "\n"))
		}
	}
}

// Keys presses keys.
func (b *Browser) Keys(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.Do(chromedp.KeyEvent(k))
	}
}

// Look sets how large the window is and what its owner likes: "dark" or "light", and "reduce" or "no-preference" of motion.
func (b *Browser) Look(width, height int64, scheme, motion string) {
	b.t.Helper()
	b.Do(chromedp.EmulateViewport(width, height))
	b.Must(chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion}},
		})
		return chromedp.Void{}, err
	}))
	// Two frames: what watches sizes draws anew in the first.
	b.Do(chromedp.Evaluate[chromedp.Void](`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 60))))`, chromedp.EvalAwaitPromise))
}

// Fits fails the test if anything reaches beyond the window's width, but for what scrolls by itself.
func (b *Browser) Fits(where string) {
	b.t.Helper()
	wide := Ask[[]string](b, `(() => {
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

// Shoot takes a picture of what the window shows.
func (b *Browser) Shoot(name string) {
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

// Complaints returns what the console said that is no praise.
func (b *Browser) Complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.complain)
}

// Calm fails the test if the console complained.
func (b *Browser) Calm() {
	b.t.Helper()
	for _, c := range b.Complaints() {
		b.t.Error(c)
	}
}
