package hook

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// far answers requests without a network.
type far func(r *http.Request, body []byte) (int, error)

func (f far) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	code, err := f(r, body)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: code, Status: strconv.Itoa(code), Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

func open(t *testing.T, f far) *Hook {
	t.Helper()
	h := &Hook{URL: "http://crm.example/calls", Secret: "whatever", Client: &http.Client{Transport: f}, Log: slog.New(slog.DiscardHandler)}
	return h
}

func ended(id string) trace.Call {
	now := time.Now()
	return trace.Call{ID: id, Began: now.Add(-time.Minute), Ended: now, Reason: trace.Agent, Turns: 2, Record: &trace.Record{
		From: "+493012345", To: "100", Verdicts: trace.Verdicts{budget.Met: 2}, Cost: 0.25, Transferred: "desk",
	}}
}

// A record is sent whole, and signed so that whoever knows the secret can tell that it is ours.
func TestSigned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []byte
		h := open(t, func(r *http.Request, body []byte) (int, error) {
			got = body
			at, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get(SignatureHeader), "t="), ",")
			unix, err := strconv.ParseInt(at, 10, 64)
			if err != nil || r.Header.Get(SignatureHeader) != Sign("whatever", time.Unix(unix, 0), body) || unix != time.Now().Unix() {
				t.Errorf("it is signed %q", r.Header.Get(SignatureHeader))
			}
			if r.Header.Get("Content-Type") != "application/json" || r.Method != http.MethodPost || r.Header.Get(DeliveryHeader) == "" {
				t.Errorf("it is %s with %v", r.Method, r.Header)
			}
			return 204, nil
		})
		h.Start()
		h.Send(ended("tel_a"))
		synctest.Wait()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		var m struct {
			Event, ID string
			Call      struct {
				ID     string
				Ended  string `json:"ended_by"`
				Reason string
				Record map[string]any
			}
		}
		if err := json.Unmarshal(got, &m); err != nil {
			t.Fatal(err)
		}
		if m.Event != "call.ended" || m.Call.ID != "tel_a" || m.Call.Ended != "agent" || m.Call.Record["from"] != "+493012345" || m.Call.Record["cost"] != 0.25 || m.Call.Record["transferred_to"] != "desk" {
			t.Errorf("it is %s", got)
		}
	})
}

// What is not taken is tried again, later each time; another record does not wait for it.
func TestTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var tries []time.Duration
		ids := map[string]bool{}
		others := 0
		h := open(t, func(r *http.Request, body []byte) (int, error) {
			if strings.Contains(string(body), "tel_b") {
				others++
				return 200, nil
			}
			tries = append(tries, time.Since(began))
			ids[r.Header.Get(DeliveryHeader)] = true
			switch len(tries) {
			case 1:
				return 0, errors.New("nobody is there")
			case 2, 3:
				return 503, nil
			}
			return 200, nil
		})
		h.Start()
		h.Send(ended("tel_a"))
		synctest.Wait()
		h.Send(ended("tel_b"))
		synctest.Wait()
		if others != 1 {
			t.Error("another record waits for the first")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(tries) != 4 || tries[1] != time.Second || tries[2] != 3*time.Second || tries[3] != 7*time.Second || len(ids) != 1 {
			t.Errorf("it was tried at %v, as %v", tries, ids)
		}
		if err := h.Close(); err != nil || h.Lost() != (Lost{}) {
			t.Errorf("%v, lost %+v", err, h.Lost())
		}
	})
}

// What will not be taken is not tried again, and what is never taken for no longer than Patience.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		h := open(t, func(_ *http.Request, body []byte) (int, error) {
			if strings.Contains(string(body), "tel_bad") {
				return 400, nil
			}
			tries++
			return 500, nil
		})
		h.Patience = 10 * time.Minute
		h.Start()
		h.Send(ended("tel_bad"))
		synctest.Wait()
		if h.Lost() != (Lost{Failed: 1}) {
			t.Errorf("lost %+v", h.Lost())
		}
		h.Send(ended("tel_a"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if h.Lost() != (Lost{Failed: 2}) || tries < 8 || tries > 14 {
			t.Errorf("lost %+v after %d tries", h.Lost(), tries)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}

// No more wait than may, and who hands one over goes on at once. At the end each is tried once more.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(r *http.Request, _ []byte) (int, error) {
			<-r.Context().Done()
			return 0, r.Context().Err()
		})
		h.Most = 3
		h.Start()
		began := time.Now()
		for range 5 {
			h.Send(ended("tel_a"))
		}
		if took := time.Since(began); took != 0 || h.Lost().Full != 2 {
			t.Errorf("it took %v, and %+v were lost", took, h.Lost())
		}
		if err := h.Close(); err == nil || !strings.Contains(err.Error(), "3 records") {
			t.Errorf("closing: %v", err)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("closing took %v", took)
		}
	})
}
