package realtime

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"riposte/transport"
)

// A call comes by the route that its address names, or else by the one that has the model's name.
func TestRoutes(t *testing.T) {
	sales, help := defaults(), defaults()
	sales.Route, sales.Instructions = "sales", "Sell."
	help.Route, help.Instructions = "help", "Help."
	s := &Server{
		Defaults: defaults(), Routes: map[string]transport.Settings{"sales": sales, "help": help}, Model: "m", Voice: "joe",
		Limits: Limits{}, Log: slog.New(slog.DiscardHandler),
	}
	for _, tt := range []struct{ query, session, route, model, instructions string }{
		{"", ``, "", "m", "Be brief."},
		{"?route=", ``, "", "m", "Be brief."},
		{"?route=sales", ``, "sales", "m", "Sell."},
		{"?model=sales", ``, "sales", "sales", "Sell."},
		{"?model=gpt", ``, "", "gpt", "Be brief."},
		{"?route=sales&model=help", ``, "sales", "help", "Sell."},
		{"?route=default&model=help", ``, "", "help", "Be brief."},
		{"", `{"model": "help"}`, "help", "help", "Help."},
		{"?route=sales", `{"model": "help", "instructions": "Sing."}`, "sales", "help", "Sing."},
	} {
		r := httptest.NewRequest(http.MethodGet, "/v1/realtime"+tt.query, nil)
		guest, err := s.Enter(httptest.NewRecorder(), r)
		if err != nil {
			t.Fatalf("%s: %v", tt.query, err)
		}
		o, err := s.Open(guest, r.URL.Query().Get("model"), json.RawMessage(tt.session))
		if err != nil {
			t.Fatalf("%s, %s: %v", tt.query, tt.session, err)
		}
		got := newCall(&pipe{}, s, o).settings(o.session)
		if got.Route != tt.route || o.session.Model != tt.model || got.Instructions != tt.instructions {
			t.Errorf("%s, %s: by %q, model %q, %q", tt.query, tt.session, got.Route, o.session.Model, got.Instructions)
		}
	}
}

// In a call a model may get any name but that of another route.
func TestRouteStays(t *testing.T) {
	s := &Server{Routes: map[string]transport.Settings{"sales": {Route: "sales"}, "help": {Route: "help"}}}
	for _, tt := range []struct {
		route, before, after string
		taken                bool
	}{
		{"", "m", "gpt-realtime", true}, {"sales", "sales", "gpt-realtime", true}, {"sales", "gpt-realtime", "sales", true}, {"sales", "help", "help", true},
		{"", "m", "sales", false}, {"sales", "sales", "help", false},
	} {
		if err := s.stays(transport.Settings{Route: tt.route}, session{Model: tt.before}, session{Model: tt.after}); (err == nil) != tt.taken {
			t.Errorf("by the route %q, from %s to %s: %v", tt.route, tt.before, tt.after, err)
		}
	}
}

// A route that there is not is refused before anything else is done for the call, and those that there are are named.
func TestUnknownRoute(t *testing.T) {
	s := &Server{
		Routes: map[string]transport.Settings{"sales": {}, "help": {}}, Log: slog.New(slog.DiscardHandler),
		Admit: func() (func(), error) { t.Error("a place was taken"); return func() {}, nil },
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/realtime?route=nowhere", nil)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var refused struct {
		Error struct{ Code, Message string }
	}
	if err := json.NewDecoder(w.Body).Decode(&refused); err != nil {
		t.Fatal(err)
	}
	if e := refused.Error; w.Code != http.StatusNotFound || e.Code != "unknown_route" || e.Message != `There is no route "nowhere". There are: default, help, sales.` {
		t.Errorf("refused with %d, %+v", w.Code, e)
	}
}

// A query that cannot be read whole is refused, and not read in part: what is left out may have been the route.
func TestQueries(t *testing.T) {
	s := &Server{Routes: map[string]transport.Settings{"sales": {Route: "sales"}}, Log: slog.New(slog.DiscardHandler)}
	for _, tt := range []struct {
		query, route string
		code         int // Of the refusal; 0 for none.
	}{
		{"", "", 0},
		{"model=m&route=sales", "sales", 0},
		{"route=%73ales", "sales", 0},
		{"route=nope;x", "", http.StatusBadRequest},
		{"route=sales;model=m", "", http.StatusBadRequest},
		{"model=%zz&route=sales", "", http.StatusBadRequest},
		{"route=nope%3Bx", "", http.StatusNotFound},
		{"model=" + strings.Repeat("x", 3000), "", http.StatusBadRequest},
		{"model=" + strings.Repeat("x", maxID), "", 0},
	} {
		w := httptest.NewRecorder()
		guest, err := s.Enter(w, httptest.NewRequest(http.MethodGet, "/v1/realtime?"+tt.query, nil))
		if err != nil {
			s.Refuse(w, err)
		}
		if (err != nil) != (tt.code != 0) || err != nil && w.Code != tt.code || guest.Route != tt.route {
			t.Errorf("%.40s: the route %q, %d %s", tt.query, guest.Route, w.Code, w.Body)
		}
	}
}
