package console

import (
	"errors"
	"strings"
	"testing"
	"time"

	"riposte/native"
)

func TestLines(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	l := lines{&out, func() time.Time { return now }}
	wait := func(d time.Duration) { now = now.Add(d) }

	l.Say("hello")
	quick := l.Begin("quick", native.Pieces) // Over before anyone wonders.
	wait(time.Second)
	quick.Set(1, 2)
	quick.End(nil)

	slow := l.Begin("slow", native.Bytes)
	for i := range 9 { // One report a second: the first is told after two, then every five.
		slow.Set(int64(i)*1e6, 8e6)
		wait(time.Second)
	}
	slow.End(nil)

	l.Begin("broken", native.Pieces).End(errors.New("no"))

	want := `hello
slow: 2.0 of 8.0 MB
slow: 7.0 of 8.0 MB
slow: 9.0 s
broken: failed after 0.0 s
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

func TestTerminal(t *testing.T) {
	var out strings.Builder
	step := terminal{&out}.Begin("making it", native.Bytes)
	step.Set(0, 2e6)
	step.Set(2e6, 2e6)
	step.End(nil)
	if got := out.String(); !strings.Contains(got, "making it") || !strings.HasSuffix(got, "making it: 0.0 s\n") {
		t.Errorf("got %q", got)
	}
}

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		unit        native.Unit
		want        string
	}{
		{1500000, 0, native.Bytes, "1.5 MB"},
		{1500000, 3e6, native.Bytes, "1.5 of 3.0 MB"},
		{7, 0, native.Pieces, "7"},
		{7, 9, native.Pieces, "7 of 9"},
	} {
		if got := amount(c.done, c.total, c.unit); got != c.want {
			t.Errorf("amount(%d, %d, %d) = %q, want %q", c.done, c.total, c.unit, got, c.want)
		}
	}
}
