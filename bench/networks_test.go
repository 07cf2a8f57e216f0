package bench

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"riposte/caller"
	"riposte/caller/lossy"
)

// What has become of packets is read where it is told, and asked for before anybody calls.
func TestFates(t *testing.T) {
	said := "# TYPE riposte_webrtc_packets_total counter\nriposte_webrtc_packets_total{fate=\"received\"} 500\nriposte_webrtc_packets_total{fate=\"late\"} 3\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			w.Write([]byte(said))
			return
		}
		http.Error(w, "not today", http.StatusForbidden)
	}))
	defer server.Close()
	address, err := metricsAt(strings.Replace(server.URL, "http://", "ws://", 1) + "/v1/realtime")
	if err != nil {
		t.Fatal(err)
	}
	got, err := fates(t.Context(), address)
	if err != nil || got["received"] != 500 || got["late"] != 3 || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	b := Networks{Turns: Turns{Caller: caller.Caller{URL: server.URL}, Turns: 1, Clips: []Clip{{}}}, Network: lossy.Network{Loss: 0.1}}
	if _, err := b.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "not today") {
		t.Errorf("a call that is not taken: %v", err)
	}
	said = "# TYPE up gauge\nup 1\n"
	if _, err := b.Run(context.Background()); !errors.Is(err, errNoPackets) {
		t.Errorf("a service that does not tell: %v", err)
	}
}

// The way is what a turn takes beyond what the service says, where it says that.
func TestWay(t *testing.T) {
	tally := newTally(1)
	tally.add(0, Clip{}, caller.Turn{Gap: 700e6, Report: &caller.Report{Total: 650e6}}, nil)
	tally.add(1, Clip{}, caller.Turn{Gap: 900e6}, nil)
	if got := tally.sum().Way; got != (Percentiles{50, 50, 50}) {
		t.Errorf("the way takes %v", got)
	}
}
