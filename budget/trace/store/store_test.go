package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/sample"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fresh returns a new store in a file of its own.
func fresh(t testing.TB) *Store {
	t.Helper()
	s, err := Open(context.Background(), filepath.Join(t.TempDir(), "deep", "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// filled returns a store that keeps the turns.
func filled(t testing.TB, turns []trace.Turn) *Store {
	t.Helper()
	s := fresh(t)
	for part := range slices.Chunk(turns, 1000) {
		if err := s.WriteTurns(context.Background(), part...); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// full is a turn that has everything.
func full() trace.Turn {
	end := time.UnixMicro(1_800_000_000_123_456)
	return trace.Turn{
		ID: "resp_full", Call: "sess_a", Number: 3, Route: "default", Version: "v1", Said: "Can you book a table?", Answer: "Of course, für zwei?",
		Report: budget.Report{
			Plan: budget.Plan{Mic: 40 * time.Millisecond, STT: 300 * time.Millisecond, LLM: 400 * time.Millisecond, TTS: 150 * time.Millisecond, Observe: true}, SpeechEnd: end, Total: 910 * time.Millisecond, Verdict: budget.Masked, Blame: budget.LLM,
			Stages: map[budget.Stage]time.Duration{
				budget.Mic: 20 * time.Millisecond, budget.STT: 240 * time.Millisecond, budget.LLM: 500 * time.Millisecond, budget.TTS: 150 * time.Millisecond,
			},
			Marks:   map[budget.Mark]time.Duration{budget.SpeechEnd: 0, budget.Received: 20 * time.Millisecond, budget.Done: 3 * time.Second},
			Actions: []budget.Action{{Stage: budget.LLM, Kind: budget.Opener, At: 700 * time.Millisecond}},
		},
		Words:   []trace.Heard{{At: -time.Second, Text: "Can you", Stable: 3}, {At: 10 * time.Millisecond, Text: "Can you book a table"}},
		Models:  map[budget.Stage]string{budget.Mic: "silero", budget.STT: "whisper", budget.LLM: "smol", budget.TTS: "joe"},
		Tokens:  trace.Tokens{Input: 100, Cached: 90, Output: 12},
		Work:    map[budget.Stage]trace.Work{budget.LLM: {Runs: 3, Waited: time.Millisecond, Ran: 300 * time.Millisecond}},
		Guesses: trace.Guesses{Tries: 2, Stood: true, Wasted: 7}, Status: "cancelled", Reason: "turn_detected", Tools: []string{"book"},
		Events: []trace.Event{{At: -time.Millisecond, Kind: trace.KindGuess, Detail: "a \"draft\""}, {At: time.Second, Kind: trace.KindBargeIn}},
	}
}

// equal fails the test unless the two are the same.
func equal(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestTurnIsKeptWhole(t *testing.T) {
	s, want := fresh(t), full()
	want.Sound = &trace.Sound{Rate: 16000, Caller: []int16{1, -2, 32767}, Answer: []int16{-32768, 5}, Offset: 40 * time.Millisecond, Begins: -1234 * time.Millisecond}
	bare := trace.Turn{ID: "resp_bare", Call: "sess_a", Number: 4}
	if err := s.WriteTurns(t.Context(), want, bare); err != nil {
		t.Fatal(err)
	}
	sound, err := s.Sound(t.Context(), want.ID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, sound, want.Sound)
	if _, err := s.Sound(t.Context(), bare.ID); !errors.Is(err, ErrNoSound) {
		t.Errorf("the sound of a turn without is %v", err)
	}

	want.Sound = nil
	for _, id := range []string{"resp_full", "resp_f", "sess_a/3"} {
		got, err := s.Turn(t.Context(), id)
		if err != nil {
			t.Fatal(id, err)
		}
		equal(t, got, want)
	}
	got, err := s.Turn(t.Context(), bare.ID)
	if err != nil {
		t.Fatal(err)
	}
	bare.Models, bare.Report.Stages, bare.Report.Marks = map[budget.Stage]string{}, map[budget.Stage]time.Duration{}, map[budget.Mark]time.Duration{}
	equal(t, got, bare)
}

// What is written again takes the place of what was there.
func TestTurnIsReplaced(t *testing.T) {
	s, turn := fresh(t), full()
	for _, said := range []string{"first words", "other words"} {
		turn.Said = said
		if err := s.WriteTurns(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]int{"first": 0, "other": 1, "words": 1} {
		page, err := s.Turns(t.Context(), Filter{Text: text}, 0, 10)
		if err != nil || len(page.Turns) != want {
			t.Errorf("%q is found %d times, want %d; %v", text, len(page.Turns), want, err)
		}
	}
}

func TestUnknownTurn(t *testing.T) {
	s := fresh(t)
	unknown := func(id string, want ...string) {
		t.Helper()
		_, err := s.Turn(t.Context(), id)
		var u *UnknownError
		if !errors.As(err, &u) || !slices.Equal(u.Nearest, want) {
			t.Errorf("%s: got %v, want %q as the nearest", id, err, want)
		}
	}
	unknown("resp_1")
	a, b, c := full(), full(), full()
	a.ID, b.ID, c.ID = "resp_abc1", "resp_abd2", "resp_same"
	d := c
	d.Call, d.Number = "sess_b", 1
	if err := s.WriteTurns(t.Context(), a, b, c, d); err != nil {
		t.Fatal(err)
	}
	unknown("resp_abc2", "resp_abc1")
	unknown("resp_abda", "resp_abd2")
	unknown("resp_ab", "resp_abc1", "resp_abd2")
	unknown("resp_same", "sess_a/3", "sess_b/1")
	unknown("sess_b/7")
	unknown("abc2", "resp_abc1") // by what is behind the prefix
	unknown("ab", "resp_abc1", "resp_abd2")
	for _, id := range []string{"abd2", "abc"} { // which may be left out
		if turn, err := s.Turn(t.Context(), id); err != nil || turn.ID[5:8] != id[:3] {
			t.Errorf("%s: got %q, %v", id, turn.ID, err)
		}
	}
}

func TestCalls(t *testing.T) {
	s := fresh(t)
	began := time.UnixMicro(1_800_000_000_000_000)
	a := trace.Call{ID: "sess_a", Route: "default", Wire: "websocket", Version: "v1", Parent: "00-1-2-01", Began: began}
	b := trace.Call{ID: "sess_b", Route: "sales", Wire: "webrtc", Version: "v1", Began: began}
	met := full()
	met.ID, met.Number, met.Report.Verdict, met.Report.Total = "resp_met", 4, budget.Met, 500*time.Millisecond
	hello := full() // what nobody asked for is nobody's longest gap
	hello.ID, hello.Number, hello.Origin, hello.Report.Verdict, hello.Report.Total, hello.Said = "resp_hello", 1, trace.Greeting, "", 5*time.Second, ""
	hello.Answer = "Hello."
	older := hello
	older.ID, older.Number, older.Origin = "resp_older", 2, ""
	for _, err := range []error{s.WriteCall(t.Context(), a), s.WriteCall(t.Context(), b), s.WriteTurns(t.Context(), full(), met, hello, older)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	open := a
	open.Record = &trace.Record{From: "+4930", Verdicts: trace.Verdicts{}}
	a.Ended, a.Reason, a.Turns = began.Add(time.Minute), "hung_up", 4
	a.Record = &trace.Record{From: "+4930", To: "100", Verdicts: trace.Verdicts{budget.Met: 1}, Cost: 0.5, Note: "It is about a chair."}
	for _, c := range []trace.Call{a, open} { // that it began comes late
		if err := s.WriteCall(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	page, err := s.Calls(t.Context(), Filter{}, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	b.Began = began.Add(time.Microsecond) // the moment was taken
	equal(t, page, CallPage{Calls: []CallRow{
		{Call: b, Verdicts: map[budget.Verdict]int{}, Unasked: map[trace.Origin]int{}},
		{Call: a, Kept: 4, Worst: 910 * time.Millisecond, Verdicts: map[budget.Verdict]int{budget.Masked: 1, budget.Met: 1}, Unasked: map[trace.Origin]int{trace.Greeting: 1, Unknown: 1}},
	}})
	for text, want := range map[string]string{
		"route=sales": "sess_b", "verdict=met": "sess_a", "verdict=over": "", "call=sess": "sess_b sess_a", "table": "sess_a", "gap=6s": "", "origin=greeting": "sess_a", "origin=prompt": "",
		"until=2027-01-15T08:00:00.000001Z": "sess_a", "version=v2": "",
	} {
		f, err := ParseFilter(text, began)
		if err != nil {
			t.Fatal(err)
		}
		page, err := s.Calls(t.Context(), f, 0, 10)
		var ids []string
		for _, c := range page.Calls {
			ids = append(ids, c.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != want {
			t.Errorf("%s: got calls %q, want %q; %v", text, got, want, err)
		}
	}
	first, err := s.Calls(t.Context(), Filter{}, 0, 1)
	if err != nil || len(first.Calls) != 1 || first.Next == 0 {
		t.Fatalf("the first page is %v, %v", first, err)
	}
	second, err := s.Calls(t.Context(), Filter{}, first.Next, 1)
	if err != nil || len(second.Calls) != 1 || second.Calls[0].ID != "sess_a" || second.Next != 0 {
		t.Errorf("the second page is %v, %v", second, err)
	}
	var u *UnknownError
	if _, err := s.Call(t.Context(), "sess_c"); !errors.As(err, &u) || len(u.Nearest) != 0 {
		t.Errorf("the error for an unknown call is %v", err)
	}
	if c, err := s.Call(t.Context(), "b"); err != nil || c.ID != "sess_b" {
		t.Errorf("call b without its prefix is %v, %v", c, err)
	}
	if c, err := s.Call(t.Context(), "sess_b"); err != nil || c.Wire != "webrtc" {
		t.Errorf("call b is %v, %v", c, err)
	}
}

// takes says in plain Go whether f takes t.
func takes(f Filter, t *trace.Turn) bool {
	in := func(list []string, v string) bool { return len(list) == 0 || slices.Contains(list, v) }
	verdict := t.Report.Verdict
	if verdict == "" {
		verdict = NoVerdict
	}
	model := len(f.Model) == 0
	for _, m := range t.Models {
		model = model || slices.Contains(f.Model, m)
	}
	for _, word := range strings.Fields(strings.ToLower(f.Text)) {
		if !strings.Contains(" "+strings.ToLower(t.Said+" "+t.Answer), " "+word) {
			return false
		}
	}
	return model && in(f.Route, t.Route) && in(f.Version, t.Version) && in(texts(f.Verdict), string(verdict)) && in(f.Status, t.Status) &&
		in(texts(f.Blame), string(t.Report.Blame)) && t.Report.Total >= f.Gap && strings.HasPrefix(t.Call, f.Call) &&
		(f.Since.IsZero() || !t.Report.SpeechEnd.Before(f.Since)) && (f.Until.IsZero() || t.Report.SpeechEnd.Before(f.Until))
}

// chosen are filters over sample turns.
func chosen(turns []trace.Turn) []string {
	return []string{
		"", "verdict=over", "verdict=masked,failed", "route=sales", "route=sales,support version=v1.5.0", "model=whisper-tiny.en-q8_0", "model=nothing",
		"model=qwen2.5-0.5b-instruct-q4_k_m blame=llm", "status=cancelled gap=700ms", "the", "the order", "ba verdict=over", "verdict=none",
		"since=" + turns[100].Report.SpeechEnd.UTC().Format(time.RFC3339Nano) + " until=" + turns[400].Report.SpeechEnd.UTC().Format(time.RFC3339Nano),
		"call=" + turns[55].Call, `"the the" version=v1.4.0`,
	}
}

// Every filter takes what plain Go takes, in pages of any size, and Each the same.
func TestFilters(t *testing.T) {
	turns := sample.New(1, noon).Turns(700)
	turns[17].Report = budget.Report{SpeechEnd: turns[17].Report.SpeechEnd}
	s := filled(t, turns)
	for _, text := range append(chosen(turns), "verdict=none,met") {
		f, err := ParseFilter(text, noon)
		if err != nil {
			t.Fatal(err)
		}
		var want, paged, each []string
		for _, turn := range slices.Backward(turns) {
			if takes(f, &turn) {
				want = append(want, turn.ID)
			}
		}
		for next, first := Cursor(0), true; first || next != 0; first = false {
			page, err := s.Turns(t.Context(), f, next, 37)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			for _, r := range page.Turns {
				paged = append(paged, r.ID)
			}
			next = page.Next
		}
		for turn, err := range s.Each(t.Context(), f) {
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			each = append(each, turn.ID)
		}
		if !slices.Equal(paged, want) || !slices.Equal(each, want) {
			t.Errorf("%q: pages hold %d turns and Each %d, want %d", text, len(paged), len(each), len(want))
		}
	}
}

// The statistics are those that plain Go makes of the turns.
func TestStats(t *testing.T) {
	turns := sample.New(2, noon).Turns(500)
	turns[17].Report = budget.Report{SpeechEnd: turns[17].Report.SpeechEnd}
	for i, origin := range []trace.Origin{trace.Greeting, trace.Prompt, trace.Written, trace.Greeting, ""} { // heard, but nobody's to judge
		turns[40+i].Origin, turns[40+i].Report.Verdict, turns[40+i].Report.Blame = origin, "", ""
	}
	turns[50].Origin, turns[50].Report.Verdict = trace.Written, budget.Failed
	turns[60].Report.Plan.LLM += 500 * time.Millisecond
	s := filled(t, turns)
	for _, split := range []Split{{}, {By: ByModel}, {By: ByVersion, Every: 10 * time.Minute}, {By: ByRoute}, {Every: time.Minute}} {
		want := map[string]*Group{}
		times := map[string]map[budget.Stage][]time.Duration{}
		for _, turn := range turns {
			var name string
			switch split.By {
			case ByModel:
				name = turn.Models[budget.LLM]
			case ByVersion:
				name = turn.Version
			case ByRoute:
				name = turn.Route
			}
			var at time.Time
			if split.Every > 0 {
				at = turn.Report.SpeechEnd.Truncate(split.Every)
			}
			k := at.UTC().String() + name
			if want[k] == nil {
				want[k] = &Group{At: at, Name: name, Verdicts: map[budget.Verdict]int{}, Unasked: map[trace.Origin]int{}, Plans: map[time.Duration]int{}, Blamed: map[budget.Stage]int{}, Stages: map[budget.Stage]Percentiles{}}
				times[k] = map[budget.Stage][]time.Duration{}
			}
			g := want[k]
			g.Turns++
			switch {
			case turn.Report.Verdict == "" && turn.Origin != "":
				g.Unasked[turn.Origin]++
				continue
			case turn.Report.Verdict == "" && turn.Report.Total > 0: // as older versions kept it
				g.Unasked[Unknown]++
				continue
			case turn.Report.Verdict == "":
				g.Verdicts[NoVerdict]++
				continue
			}
			g.Plans[turn.Report.Plan.Total()]++
			g.Verdicts[turn.Report.Verdict]++
			if turn.Report.Blame != "" {
				g.Blamed[turn.Report.Blame]++
			}
			times[k][""] = append(times[k][""], turn.Report.Total)
			for stage, took := range turn.Report.Stages {
				times[k][stage] = append(times[k][stage], took)
			}
		}
		for k, g := range want {
			for stage, list := range times[k] {
				slices.Sort(list)
				n := len(list)
				at := func(percent int) time.Duration { return list[(n*percent+99)/100-1] }
				p := Percentiles{N: n, P50: at(50), P90: at(90), P95: at(95), P99: at(99)}
				if stage == "" {
					g.Gap = p
				} else {
					g.Stages[stage] = p
				}
			}
		}
		got, err := s.Stats(t.Context(), Filter{}, split)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%v: got %d groups, want %d; %v", split, len(got), len(want), err)
		}
		for _, g := range got {
			at := ""
			if at = g.At.UTC().String(); split.Every == 0 {
				at = time.Time{}.UTC().String()
			}
			equal(t, g, *want[at+g.Name])
		}
	}
	all, err := s.Stats(t.Context(), Filter{}, Split{})
	if err != nil || len(all) != 1 || all[0].Judged() != 500-6 || all[0].Gap.N != 500-6 || all[0].Unasked[trace.Greeting] != 2 {
		t.Errorf("of all it is %+v, %v", all, err)
	}
	if _, err := s.Stats(t.Context(), Filter{}, Split{By: "colour"}); err == nil {
		t.Error("there are statistics by colour")
	}
}

func TestCompare(t *testing.T) {
	turns := sample.New(3, noon).Turns(400)
	s := filled(t, turns)
	c, err := s.Compare(t.Context(), Filter{Version: []string{"v1.4.0"}}, Filter{Version: []string{"nothing"}})
	if err != nil || c.A.Turns != 200 || c.A.Gap.N != 200 || c.B.Turns != 0 || c.B.Gap.N != 0 {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestNames(t *testing.T) {
	s := filled(t, []trace.Turn{full()})
	n, err := s.Names(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, n, Names{
		Routes: []string{"default"}, Versions: []string{"v1"}, Models: []string{"joe", "smol", "whisper"}, Verdicts: []string{"masked"}, Stages: []string{"llm"},
		Statuses: []string{"cancelled"},
	})
}

func TestRise(t *testing.T) {
	m := sample.New(4, noon)
	for n := range 200 {
		var v []uint32
		for _, turn := range m.Turns(n) {
			v = append(v, uint32(turn.Tokens.Output)) // many are equal
		}
		sorted := slices.Sorted(slices.Values(v))
		for k := range v {
			rise(v, k)
			if v[k] != sorted[k] || k > 0 && slices.Max(v[:k]) > v[k] || slices.Min(v[k:]) < v[k] {
				t.Fatalf("of %d numbers, the one at %d is %d, want %d", n, k, v[k], sorted[k])
			}
		}
	}
}

func TestOpenRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenReader(t.Context(), filepath.Join(dir, "none.db")); !errors.Is(err, ErrNone) {
		t.Errorf("no file: got %v", err)
	}
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), text); err == nil || !strings.Contains(err.Error(), "no file of traces") {
		t.Errorf("a text: got %v", err)
	}
	if _, err := OpenReader(t.Context(), text); err == nil || !strings.Contains(err.Error(), "no file of traces") {
		t.Errorf("reading a text: got %v", err)
	}
	for _, open := range []func(context.Context, string) (*Store, error){Open, OpenReader} {
		if _, err := open(t.Context(), dir); !errors.Is(err, ErrNoFile) || !strings.Contains(err.Error(), dir) {
			t.Errorf("a folder: got %v", err)
		}
	}
	empty := filepath.Join(dir, "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReader(t.Context(), empty); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty file: got %v", err)
	}
	s := fresh(t)
	alone, err := os.ReadFile(s.Path())
	if err == nil {
		err = os.WriteFile(empty, alone, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReader(t.Context(), empty); !errors.Is(err, ErrEmpty) {
		t.Errorf("the main file alone: got %v", err)
	}
	for _, version := range []int{len(migrations) + 1, 1, 0} {
		want := map[int]error{1: ErrOlder, 0: ErrEmpty}[version]
		if want == nil {
			want = ErrNewer
		}
		if _, err := s.db.Exec(fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenReader(t.Context(), s.Path()); !errors.Is(err, want) {
			t.Errorf("reading version %d: got %v, want %v", version, err, want)
		}
		if version > 1 {
			if _, err := Open(t.Context(), s.Path()); !errors.Is(err, want) {
				t.Errorf("opening version %d: got %v, want %v", version, err, want)
			}
		}
	}
	// A step that fails leaves the file as it was: this one finds its tables already there.
	if _, err := Open(t.Context(), s.Path()); err == nil || !strings.Contains(err.Error(), "bringing version 0 up to date") {
		t.Errorf("a step that fails: got %v", err)
	}
	if info, err := os.Stat(s.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the file: %v, %v", info.Mode(), err)
	}
}

// A reader sees what another store writes meanwhile, and keeps what it began to read.
func TestReadWhileWriting(t *testing.T) {
	turns := sample.New(5, noon).Turns(300)
	s := filled(t, turns[:100])
	r, err := OpenReader(t.Context(), s.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	for _, err := range r.Each(t.Context(), Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			if err := s.WriteTurns(t.Context(), turns[100:]...); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 100 {
		t.Errorf("it went through %d turns, 100 were there when it began", n)
	}
	if z, err := r.Size(t.Context()); err != nil || z.Turns != 300 || z.Calls != 30 || z.Bytes < 100_000 {
		t.Errorf("the size is %v, %v", z, err)
	}
	if err := r.WriteTurns(t.Context(), turns[0]); err == nil {
		t.Error("a reader may write")
	}
}

// Two processes may open a new file at the same time.
func TestOpenTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.db")
	errs := make(chan error)
	for range 4 {
		go func() {
			s, err := Open(context.Background(), path)
			if err == nil {
				err = s.Close()
			}
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
