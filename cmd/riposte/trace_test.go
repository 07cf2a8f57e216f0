package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/sample"
	"riposte/budget/trace/store"
)

var update = flag.Bool("update", false, "write what the commands print to testdata, instead of comparing")

// kept makes a file of traces, whose first turns are named, and returns them.
func kept(t *testing.T) (path string, turns []trace.Turn) {
	t.Helper()
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
	m := sample.New(7, time.Date(2026, 11, 30, 9, 50, 0, 0, time.UTC))
	m.Every = 20 * time.Second
	turns = m.Turns(60)
	path = filepath.Join(t.TempDir(), "traces.db")
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := 0; i < len(turns); i += 10 {
		first, last := turns[i].Report, turns[i+9].Report
		call := trace.Call{
			ID: turns[i].Call, Route: turns[i].Route, Wire: "websocket", Version: turns[i].Version, Began: first.SpeechEnd.Add(-3 * time.Second),
			Ended: last.SpeechEnd.Add(5 * time.Second), Reason: "hung_up", Turns: 10,
		}
		if i == 50 {
			call.Ended, call.Reason = time.Time{}, ""
		}
		if err := s.WriteCall(t.Context(), call); err != nil {
			t.Fatal(err)
		}
	}
	slow := &turns[40] // an answer that is much too late, which the budget did something about
	slow.ID, slow.Said = "resp_slow", "What is the weather like in Zürich \x1b[31mtoday?"
	slow.Report.Stages[budget.LLM] += 700 * time.Millisecond
	slow.Report.Total, slow.Report.Marks[budget.FirstAudible] = 850*time.Millisecond, 850*time.Millisecond // of the opener
	for _, m := range []budget.Mark{budget.FirstToken, budget.FirstClause, budget.FirstAudio, budget.Answered, budget.Done} {
		slow.Report.Marks[m] += 700 * time.Millisecond
	}
	slow.Report.Verdict, slow.Report.Blame = budget.Masked, budget.LLM
	slow.Report.Actions = []budget.Action{
		{Stage: budget.LLM, Kind: budget.Hedge, At: 500 * time.Millisecond}, {Stage: budget.LLM, Kind: budget.Opener, At: 820 * time.Millisecond},
	}
	slow.Sound = &trace.Sound{Rate: 16000, Caller: make([]int16, 1600)}
	mute := &turns[41] // a turn that was interrupted before anything was heard
	mute.ID, mute.Answer, mute.Status, mute.Reason = "resp_mute", "", "cancelled", "turn_detected"
	mute.Report = budget.NewTurn(mute.Report.SpeechEnd).Report(budget.DefaultPlan)
	hello := trace.Turn{
		ID: "resp_hello", Call: turns[40].Call, Number: 11, Route: turns[40].Route, Version: turns[40].Version, Origin: trace.Greeting, Answer: "Hello.", Status: "completed",
		Report: budget.Report{Plan: budget.DefaultPlan, SpeechEnd: turns[49].Report.SpeechEnd.Add(time.Second), Total: 83 * time.Millisecond},
	}
	wrote := hello
	wrote.ID, wrote.Number, wrote.Origin, wrote.Said = "resp_wrote", 12, trace.Written, "How are you?"
	wrote.Report.SpeechEnd = hello.Report.SpeechEnd.Add(time.Second)
	turns[3].Report.Plan.LLM += 310 * time.Millisecond
	turns = slices.Insert(turns, 50, hello, wrote)
	if err := s.WriteTurns(t.Context(), turns...); err != nil {
		t.Fatal(err)
	}
	return path, turns
}

// traced runs `riposte trace` and returns what it printed.
func traced(t *testing.T, path string, args ...string) (string, error) {
	t.Helper()
	return printed(t, append(append([]string{"trace"}, args...), "--trace-file", path)...)
}

// What the commands print is what testdata/trace says.
func TestTracePrinted(t *testing.T) {
	path, turns := kept(t)
	call := turns[40].Call
	for name, args := range map[string][]string{
		"ls":              {"ls", "-n", "5", "--since=2026-11-30T10:00:00Z", "--until=2026-11-30T10:06:00Z"},
		"ls_masked.json":  {"ls", "--json", "verdict=masked", "zürich"},
		"ls_nothing":      {"ls", "--gap=1m"},
		"ls_calls":        {"ls", "--calls", "-n", "2"},
		"ls_calls.json":   {"ls", "--calls", "--json", "-n", "2", "--blame=llm"},
		"show":            {"show", "resp_slow"},
		"show.json":       {"show", "--json", "resp_slow"},
		"show_mute":       {"show", "resp_m"},
		"show_call":       {"show", call},
		"stats":           {"stats"},
		"stats_model":     {"stats", "--by=model", "--route=default,support"},
		"stats_hour":      {"stats", "--by=hour"},
		"stats_hour.json": {"stats", "--by=hour", "--json", "version=v1.5.0"},
		"stats_nothing":   {"stats", "gap=1m"},
		"diff":            {"diff", "version=v1.4.0", "version=v1.5.0"},
		"show_greeting":   {"show", "hello"},
		"show_written":    {"show", "resp_wrote"},
		"ls_unasked":      {"ls", "origin=greeting,written"},
		"diff.json":       {"diff", "--json", "version=v1.4.0", "version=v1.5.0"},
		"export.csv":      {"export", "--format=csv", "--verdict=masked,none"},
		"export_perfetto": {"export", "--format=perfetto", "--no-text", "zürich"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := traced(t, path, args...)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "trace", name+".golden")
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("it printed\n%s\nand not (go test -run TestTracePrinted -update writes it)\n%s", got, want)
			}
			if strings.Contains(got, "\x1b") && name != "export.csv" { // a table is for programs
				t.Error("it printed an escape to what is no terminal")
			}
		})
	}
}

func TestTraceRefused(t *testing.T) {
	path, _ := kept(t)
	missing := filepath.Join(t.TempDir(), "none.db")
	for _, tt := range []struct {
		path string
		args []string
		want string
	}{
		{missing, []string{"ls"}, "there are no traces yet: " + missing + " (riposte serve makes the file; --trace-file names another)"},
		{"none", []string{"ls"}, "no traces are kept: the setting trace.file is none"},
		{path, []string{"show", "resp_slov"}, `there is no turn or call "resp_slov"; the nearest is "resp_slow"`},
		{path, []string{"show", "sess_"}, `there is no turn or call "sess_"; near are "sess_`},
		{path, []string{"ls", "verdict=late"}, "verdict is \"late\": it must be one of met, masked"},
		{path, []string{"ls", "--since=soon"}, `"soon" is no time`},
		{path, []string{"ls", "--limit=0"}, "--limit is 0"},
		{path, []string{"stats", "--by=colour"}, "--by must be one of"},
		{path, []string{"diff", "colour=red", ""}, `there is no key "colour"`},
		{path, []string{"diff", "version=v1", "version=v1.5.0"}, "A has no turn: version=v1 (riposte trace stats --by=version"},
		{path, []string{"diff", "", "version=nothing"}, "B has no turn: version=nothing"},
		{path, []string{"show", "slov"}, `there is no turn or call "slov"; the nearest is "resp_slow"`},
		{path, []string{"ls", "gap>600"}, "filter: gap>600 is no filter: write gap=600ms for a gap of at least this"},
		{path, []string{"export", "--format=pdf"}, "--format must be one of"},
	} {
		_, err := traced(t, tt.path, tt.args...)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want an error with %q", tt.args, err, tt.want)
		}
	}
}

// The pages of a list hold each turn once.
func TestTracePages(t *testing.T) {
	path, turns := kept(t)
	var ids []string
	from := "0"
	for from != "" {
		out, err := traced(t, path, "ls", "--json", "-n", "7", "--from", from)
		if err != nil {
			t.Fatal(err)
		}
		var page struct {
			Turns []struct{ ID string }
			Next  json.Number
		}
		if err := json.Unmarshal([]byte(out), &page); err != nil {
			t.Fatal(err)
		}
		for _, turn := range page.Turns {
			ids = append(ids, turn.ID)
		}
		from = page.Next.String()
	}
	slices.Reverse(ids)
	var want []string
	for _, turn := range turns {
		want = append(want, turn.ID)
	}
	if !slices.Equal(ids, want) {
		t.Errorf("the pages hold %d turns, want %d", len(ids), len(want))
	}
}

// A terminal gets colours, nothing of what people said that it might obey, and no line that it would break.
func TestTraceOnTerminals(t *testing.T) {
	_, turns := kept(t)
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, width := range []int{40, 60, 80, 120, 200} {
		for _, turn := range turns {
			var plain, coloured bytes.Buffer
			waterfall(canvas{out: &plain, width: width}, turn)
			waterfall(canvas{out: &coloured, width: width, colour: true}, turn)
			for _, on := range []canvas{{out: &plain, width: width}, {out: &coloured, width: width, colour: true}} {
				if err := timeline(on, turn); err != nil {
					t.Fatal(err)
				}
			}
			if got := escapes.ReplaceAllString(coloured.String(), ""); got != plain.String() {
				t.Fatalf("without its colours it is\n%s\nand not\n%s", got, plain.String())
			}
			if turn.Report.Stages[budget.LLM] > 0 && !strings.Contains(coloured.String(), "\x1b[35m█") {
				t.Fatalf("the model's bar has no colour:\n%s", coloured.String())
			}
			for line := range strings.Lines(plain.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(width, 65) {
					t.Fatalf("a line has %d characters where there are %d:\n%s", n, width, line)
				}
			}
		}
	}
}

// What the service is told of is in the file that its setting names, and what is recorded only where that is set.
func TestServiceKeepsTraces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "traces.db")
	set, err := parse(t, "trace:\n  file: "+path+"\n")
	if err != nil {
		t.Fatal(err)
	}
	s := newService(set, set.logger())
	stop := s.keepTraces()
	turn := sample.New(1, time.Now()).Turns(1)[0]
	s.traces.CallBegan(trace.Call{ID: turn.Call, Began: time.Now()})
	s.traces.TurnEnded(turn)
	stop()
	out, err := traced(t, path, "show", turn.ID)
	if err != nil || !strings.Contains(out, "turn 1 of "+turn.Call) || strings.Contains(out, "recorded") {
		t.Errorf("the turn is shown as\n%s%v", out, err)
	}

	set.Trace.File = "none"
	s = newService(set, set.logger())
	s.keepTraces()()
	if len(s.traces) > 0 {
		t.Errorf("with none, turns are told to %d sinks", len(s.traces))
	}
}

func TestTracesAt(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/state")
	if got, err := tracesAt(""); got != "/state/riposte/traces.db" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "/home/ann")
	if got, err := tracesAt(""); got != "/home/ann/.local/state/riposte/traces.db" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := tracesAt("none"); got != "" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
