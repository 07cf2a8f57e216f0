package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// waterfall draws the stages below each other, from the end of speech to the right, against the line where the budget ends.
func waterfall(c canvas, t trace.Turn) {
	r := t.Report
	const left = 30 // Stage, time, share, excess.
	width := max(c.width-left-1, 20)
	var stages time.Duration // More than the gap, where something else than the answer was heard first.
	for _, took := range r.Stages {
		stages += took
	}
	total := max(r.Total, stages, r.Plan.Total())
	if total <= 0 {
		return
	}
	scale := float64(width) / (1.04 * float64(total))
	at := func(d time.Duration) int { return min(max(int(math.Round(float64(d)*scale)), 0), width) }
	line := min(at(r.Plan.Total()), width-1)

	fmt.Fprintf(c.out, "  %s\n", c.in(faint, fmt.Sprintf("%-5s %5s %5s %6s    %s", "ms", "took", "share", "over", ruler(width, total, at))))
	var begin time.Duration
	for _, s := range budget.Stages {
		d, ok := r.Stages[s]
		from, to := at(begin), at(begin+d)
		if ok && d > 0 && to == from {
			to = min(from+1, width)
		}
		// What a stage took beyond its share is marked.
		share := max(min(at(begin+r.Plan.Share(s)), to), from)
		over := ""
		if excess := d - r.Plan.Share(s); ok && excess > 0 {
			over = fmt.Sprintf("+%.0f", float(excess))
		}
		bar := []rune(strings.Repeat(" ", from) + strings.Repeat("█", share-from) + strings.Repeat("▓", to-share) + strings.Repeat(" ", width-to))
		fmt.Fprintf(c.out, "  %-5s %s %s %s    %s\n", s, whole(d, ok, 5), whole(r.Plan.Share(s), true, 5), c.in(red, fmt.Sprintf("%6s", over)), c.bar(bar, line, stageStyles[s]))
		begin += d
	}
	over := ""
	if r.Total > r.Plan.Total() {
		over = fmt.Sprintf("+%.0f", float(r.Total-r.Plan.Total()))
	}
	const label = "budget "
	fmt.Fprintf(c.out, "  %-5s %s %s %s    %s%s\n", "gap", c.in(bold, whole(r.Total, r.Total > 0, 5)), whole(r.Plan.Total(), true, 5), c.in(red, fmt.Sprintf("%6s", over)),
		c.in(faint, fmt.Sprintf("%*s", line, label)), c.in(yellow, "┊"))
}

// bar returns a bar with the budget's line across it: what is full in a style, what is beyond in red.
func (c canvas) bar(bar []rune, line int, s style) string {
	var b strings.Builder
	for i := 0; i < len(bar); {
		r, end := bar[i], i+1
		if i == line && r == ' ' {
			b.WriteString(c.in(yellow, "┊"))
			i = end
			continue
		}
		for end < len(bar) && bar[end] == r && (end != line || r != ' ') {
			end++
		}
		look := style("")
		switch r {
		case '█':
			look = s
		case '▓':
			look = red
		}
		b.WriteString(c.in(look, string(bar[i:end])))
		i = end
	}
	return strings.TrimRight(b.String(), " ")
}

// ruler returns a scale of milliseconds.
func ruler(width int, total time.Duration, at func(time.Duration) int) string {
	step := 100 * time.Millisecond
	for _, factor := range []time.Duration{2, 5, 10, 20, 50, 100, 200, 500, 1000} {
		if at(step) >= 8 {
			break
		}
		step = factor * 100 * time.Millisecond
	}
	line := []rune(strings.Repeat(" ", width))
	for d := time.Duration(0); d <= total; d += step {
		label := []rune(fmt.Sprintf("%.0f", float(d)))
		if i := at(d); i+len(label) < width {
			copy(line[i:], label)
		}
	}
	return strings.TrimRight(string(line), " ")
}
