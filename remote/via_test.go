package remote

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// Who asks itself, also by way of others, is told so, and does not ask again.
func TestVia(t *testing.T) {
	asked, before, me := 0, "", NewName()
	s := open(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		before = r.Header.Get("Via")
		if _, ok := me.Follow(r.Context(), r.Header); !ok {
			http.Error(w, "in a circle", http.StatusLoopDetected)
			return
		}
		t.Error("it does not know itself")
	}, func(s *Server) { s.From = me })
	ctx, ok := NewName().Follow(t.Context(), http.Header{"Via": {"1.1 one", "1.0 two"}})
	if !ok {
		t.Fatal("others are taken for it")
	}
	err := s.Ask(ctx, Want{}, func(r *Request) error {
		req, _ := http.NewRequestWithContext(r.Context(), "POST", s.Base.String(), nil)
		_, err := s.client.Do(req)
		return err
	})
	refused, ok := errors.AsType[*Refused](err)
	if !ok || refused.Status != http.StatusLoopDetected || asked != 1 || !strings.HasPrefix(before, "1.1 one, 1.0 two, 1.1 "+string(me)) {
		t.Errorf("asked %d times, through %q: %v", asked, before, err)
	}
	if _, ok := NewName().Follow(t.Context(), http.Header{"Via": {strings.Repeat("1.1 another, ", 100)}}); ok {
		t.Error("there is no end to it")
	}
}
