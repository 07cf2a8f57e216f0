package store

import (
	"path/filepath"
	"testing"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// Calls of a service that is gone are lost; those of one that is there, and those that have ended, stay as they are.
func TestLostCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.db")
	open := func() *Store {
		s, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	now := time.Now().Truncate(time.Microsecond)
	beat := func(s *Store, after time.Duration) {
		t.Helper()
		if err := s.beat(t.Context(), now.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	call := func(s *Store, c trace.Call) {
		t.Helper()
		if err := s.WriteCall(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	killed, other := open(), open()
	beat(killed, 0)
	beat(other, 0)
	for i, id := range []string{"talks", "silent", "done", "late"} {
		call(killed, trace.Call{ID: id, Wire: "websocket", Began: now.Add(time.Duration(i) * time.Second)})
	}
	call(killed, trace.Call{ID: "done", Wire: "websocket", Began: now, Ended: now.Add(time.Second), Reason: "hung_up"})
	call(other, trace.Call{ID: "others", Wire: "websocket", Began: now})
	for i := range 2 {
		end := now.Add(time.Duration(20+i) * time.Second)
		if err := killed.WriteTurns(t.Context(), trace.Turn{ID: string(rune('a' + i)), Call: "talks", Number: i + 1, Report: budget.Report{SpeechEnd: end}}); err != nil {
			t.Fatal(err)
		}
	}
	beat(killed, 15*time.Second)
	reasons := func() map[string]string {
		page, err := other.Calls(t.Context(), Filter{}, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, c := range page.Calls {
			if all[c.ID] = c.Reason; c.Reason == "" != c.Ended.IsZero() {
				t.Errorf("call %s has ended at %v for %q", c.ID, c.Ended, c.Reason)
			}
		}
		return all
	}
	again := open()
	beat(other, 70*time.Second)
	beat(again, 75*time.Second) // a minute later: that is still no silence
	equal(t, reasons(), map[string]string{"talks": "", "silent": "", "done": "hung_up", "late": "", "others": ""})
	beat(again, 76*time.Second)
	equal(t, reasons(), map[string]string{"talks": Lost, "silent": Lost, "done": "hung_up", "late": Lost, "others": ""})
	for id, want := range map[string]time.Duration{"talks": 21 * time.Second, "silent": 15 * time.Second} {
		if c, err := again.Call(t.Context(), id); err != nil || c.Ended.Sub(now) != want {
			t.Errorf("call %s ended %v after all began, %v, want %v", id, c.Ended.Sub(now), err, want)
		}
	}
	if c, err := again.Call(t.Context(), "talks"); err != nil || c.Turns != 2 {
		t.Errorf("the call has %d turns, %v", c.Turns, err)
	}

	// Whoever was stopped and goes on has its calls back.
	call(killed, trace.Call{ID: "late", Wire: "websocket", Began: now, Ended: now.Add(80 * time.Second), Reason: "hung_up", Turns: 4})
	beat(killed, 80*time.Second)
	beat(again, 81*time.Second)
	equal(t, reasons(), map[string]string{"talks": "", "silent": "", "done": "hung_up", "late": "hung_up", "others": ""})
	sane(t, other)
}

// In a file of before there were services, a call without an end is of one that is gone.
func TestLostCallsOfOlderFiles(t *testing.T) {
	s := fresh(t)
	if err := s.WriteCall(t.Context(), trace.Call{ID: "old", Began: noon}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("DROP INDEX calls_without_end; ALTER TABLE calls DROP COLUMN service; ALTER TABLE calls DROP COLUMN record; DROP TABLE services; PRAGMA user_version = 3"); err != nil {
		t.Fatal(err)
	}
	path := s.Path()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := &Recorder{Path: path}
	r.Start()
	r.CallBegan(trace.Call{ID: "new", Began: time.Now()})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for id, want := range map[string]string{"old": Lost, "new": ""} {
		if c, err := s.Call(t.Context(), id); err != nil || c.Reason != want || c.Ended.IsZero() != (want == "") {
			t.Errorf("call %s is %+v, %v", id, c, err)
		}
	}
}
