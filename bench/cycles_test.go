package bench

import "testing"

func TestLeaks(t *testing.T) {
	before := Usage{RSS: 50 << 20, Goroutines: 14, Threads: 8, Files: 18, Sockets: 3}
	for name, tt := range map[string]struct {
		change func(*Usage)
		want   int
	}{
		"nothing":             {func(*Usage) {}, 0},
		"less":                {func(u *Usage) { u.RSS, u.Files = u.RSS/2, 5 }, 0},
		"some memory":         {func(u *Usage) { u.RSS += 7 << 20 }, 0},
		"a call's memory":     {func(u *Usage) { u.RSS += 1000 * 400e3 }, 1},
		"a thread":            {func(u *Usage) { u.Threads++ }, 0},
		"a socket":            {func(u *Usage) { u.Sockets++; u.Files++ }, 2},
		"a goroutine a call":  {func(u *Usage) { u.Goroutines += 1000 }, 1},
		"one that lasts long": {func(u *Usage) { u.Goroutines++ }, 0},
	} {
		after := before
		tt.change(&after)
		if got := leaks(before, after, 1000); len(got) != tt.want {
			t.Errorf("%s: %q, want %d", name, got, tt.want)
		}
	}
}
