package object

import (
	"encoding/json"
	"testing"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/store"
)

// The objects are read by other people's programs, so their keys stay, and what is empty is not null unless it says something.
func TestObjects(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 5000, time.UTC)
	plan := budget.Plan{Mic: 40 * time.Millisecond, STT: 300 * time.Millisecond, LLM: 400 * time.Millisecond, TTS: 150 * time.Millisecond}
	const empty = `"route":"","version":"","models":{},"status":"","verdict":"","blame":""`
	bare := trace.Turn{ID: "a", Call: "c", Number: 2, Report: budget.Report{SpeechEnd: at, Plan: plan}}
	full := bare
	full.Report.Total, full.Report.Stages = 1500*time.Microsecond, map[budget.Stage]time.Duration{budget.LLM: time.Millisecond}
	full.Report.Actions = []budget.Action{{Stage: budget.LLM, Kind: budget.Hedge, At: time.Second}}
	full.Words, full.Events = []trace.Heard{{At: -time.Second, Text: "für", Stable: 2}}, []trace.Event{{At: 2 * time.Second, Kind: "fault", Detail: "x"}}
	full.Work = map[budget.Stage]trace.Work{budget.STT: {Runs: 1, Waited: time.Millisecond, Ran: time.Second}}
	full.Tools, full.Origin = []string{"book"}, trace.Greeting
	for _, tt := range []struct {
		object any
		want   string
	}{
		{TurnOf(bare, false), `{"id":"a","call":"c","number":2,"at":"2026-11-30T12:00:00.000005Z",` + empty + `,"plan_ms":890,"gap_ms":null,"stages_ms":{},"origin":"","said":"","answer":"",` +
			`"recorded":false,"shares_ms":{"llm":400,"mic":40,"stt":300,"tts":150},"marks_ms":{},"actions":[],"words":[],"events":[],"tokens":{"input":0,"cached":0,"output":0},` +
			`"work":{},"guesses":{"tries":0,"stood":false,"wasted":0},"reason":"","tools":[]}`},
		{TurnOf(full, true), `{"id":"a","call":"c","number":2,"at":"2026-11-30T12:00:00.000005Z",` + empty + `,"plan_ms":890,"gap_ms":1.5,"stages_ms":{"llm":1},"origin":"greeting","said":"","answer":"",` +
			`"recorded":true,"shares_ms":{"llm":400,"mic":40,"stt":300,"tts":150},"marks_ms":{},"actions":[{"at_ms":1000,"kind":"hedge","stage":"llm"}],` +
			`"words":[{"at_ms":-1000,"text":"für","stable":2}],"events":[{"at_ms":2000,"kind":"fault","detail":"x"}],"tokens":{"input":0,"cached":0,"output":0},` +
			`"work":{"stt":{"runs":1,"waited_ms":1,"ran_ms":1000}},"guesses":{"tries":0,"stood":false,"wasted":0},"reason":"","tools":["book"]}`},
		{RowsOf(store.TurnPage{}), `[]`},
		{CallsOf(store.CallPage{}), `[]`},
		{CallOf(trace.Call{ID: "c", Began: at, Turns: 2}), // nobody has counted what a list does
			`{"id":"c","route":"","wire":"","version":"","began":"2026-11-30T12:00:00.000005Z","ended":null,"reason":"","turns":2,"ended_by":""}`},
		{CallsOf(store.CallPage{Calls: []store.CallRow{{Call: trace.Call{ID: "c", Began: at}}, {Call: trace.Call{ID: "d", Began: at, Ended: at, Reason: "hung_up"}, Worst: time.Second}}}),
			`[{"id":"c","route":"","wire":"","version":"","began":"2026-11-30T12:00:00.000005Z","ended":null,"reason":"","turns":0,"worst_gap_ms":0,"verdicts":{},"unasked":{},"ended_by":""},` +
				`{"id":"d","route":"","wire":"","version":"","began":"2026-11-30T12:00:00.000005Z","ended":"2026-11-30T12:00:00.000005Z","reason":"hung_up","turns":0,"worst_gap_ms":1000,"verdicts":{},"unasked":{},"ended_by":"caller"}]`},
		{GroupOf(store.Group{}), `{"name":"","turns":0,"judged":0,"verdicts":{},"unasked":{},"plans_ms":[],"blamed":{},"gap_ms":{"n":0,"p50":0,"p90":0,"p95":0,"p99":0},"stages_ms":{}}`},
		{GroupOf(store.Group{At: at, Plans: map[time.Duration]int{time.Second: 1, 890 * time.Millisecond: 2}, Unasked: map[trace.Origin]int{trace.Prompt: 1}, Verdicts: map[budget.Verdict]int{store.NoVerdict: 1, budget.Met: 3}, Stages: map[budget.Stage]store.Percentiles{budget.STT: {N: 1, P50: 1, P90: 1000, P95: 2000, P99: 3000}}}),
			`{"at":"2026-11-30T12:00:00.000005Z","name":"","turns":0,"judged":3,"verdicts":{"met":3,"none":1},"unasked":{"prompt":1},"plans_ms":[890,1000],"blamed":{},"gap_ms":{"n":0,"p50":0,"p90":0,"p95":0,"p99":0},"stages_ms":{"stt":{"n":1,"p50":0,"p90":0.001,"p95":0.002,"p99":0.003}}}`},
	} {
		got, err := json.Marshal(tt.object)
		if err != nil || string(got) != tt.want {
			t.Errorf("it is, %v\n%s\nand not\n%s", err, got, tt.want)
		}
	}
}
