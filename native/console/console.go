// Package console shows the progress of set-up to people: as a bar on a terminal, as a line now and then elsewhere.
package console

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"

	"riposte/native"
)

// New returns a native.Progress that writes to f.
func New(f *os.File) native.Progress {
	if isatty.IsTerminal(f.Fd()) {
		return terminal{f}
	}
	return lines{f, time.Now}
}

// terminal shows bars.
type terminal struct{ w io.Writer }

func (t terminal) Say(line string) { fmt.Fprintln(t.w, line) }

func (t terminal) Begin(title string, unit native.Unit) native.Step {
	bar := progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(t.w),
		progressbar.OptionSetDescription(title),
		progressbar.OptionShowBytes(unit == native.Bytes),
		progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(20),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSpinnerType(14),
		progressbar.OptionUseANSICodes(true),
	)
	return &barStep{w: t.w, title: title, bar: bar, began: time.Now()}
}

// barStep is one bar. A drawing that fails, as on a terminal that is gone, must not stop the set-up.
type barStep struct {
	w     io.Writer
	title string
	bar   *progressbar.ProgressBar
	began time.Time
}

func (s *barStep) Set(done, total int64) {
	if total > 0 && s.bar.GetMax64() != total {
		s.bar.ChangeMax64(total)
	}
	_ = s.bar.Set64(done)
}

func (s *barStep) End(err error) {
	_ = s.bar.Clear()
	fmt.Fprintln(s.w, ending(s.title, time.Since(s.began), err))
}

// quiet is how long a step may take before lines tell of it, and pause how long it is from one line to the next.
const (
	quiet = 2 * time.Second
	pause = 5 * time.Second
)

// lines tells of steps in plain lines.
type lines struct {
	w   io.Writer
	now func() time.Time
}

func (l lines) Say(line string) { fmt.Fprintln(l.w, line) }

func (l lines) Begin(title string, unit native.Unit) native.Step {
	return &lineStep{lines: l, title: title, unit: unit, began: l.now()}
}

type lineStep struct {
	lines
	title string
	unit  native.Unit
	began time.Time
	told  time.Time // When the last line was written; zero before the first.
}

func (s *lineStep) Set(done, total int64) {
	now := s.now()
	if now.Sub(s.began) < quiet || now.Sub(s.told) < pause {
		return
	}
	s.told = now
	fmt.Fprintf(s.w, "%s: %s\n", s.title, amount(done, total, s.unit))
}

func (s *lineStep) End(err error) {
	if took := s.now().Sub(s.began); took >= quiet || err != nil {
		fmt.Fprintln(s.w, ending(s.title, took, err))
	}
}

func ending(title string, took time.Duration, err error) string {
	if err != nil {
		return fmt.Sprintf("%s: failed after %.1f s", title, took.Seconds())
	}
	return fmt.Sprintf("%s: %.1f s", title, took.Seconds())
}

func amount(done, total int64, unit native.Unit) string {
	switch {
	case total <= 0 && unit == native.Bytes:
		return fmt.Sprintf("%.1f MB", float64(done)/1e6)
	case total <= 0:
		return fmt.Sprint(done)
	case unit == native.Bytes:
		return fmt.Sprintf("%.1f of %.1f MB", float64(done)/1e6, float64(total)/1e6)
	}
	return fmt.Sprintf("%d of %d", done, total)
}
