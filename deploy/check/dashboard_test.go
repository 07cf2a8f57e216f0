package check

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// dashboard is what is checked of Grafana's form.
type dashboard struct {
	Title      string `json:"title"`
	UID        string `json:"uid"`
	Templating struct {
		List []struct {
			Name       string `json:"name"`
			Definition string `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		ID      int    `json:"id"`
		Type    string `json:"type"`
		Title   string `json:"title"`
		GridPos struct{ X, Y, W, H int }
		Targets []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	b, err := os.ReadFile("../grafana/riposte.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d
}

// filled puts in an expression what Grafana does.
var filled = strings.NewReplacer("$__rate_interval", "5m", "$__range", "30m", "$job", ".*", "$instance", ".*", "$route", ".*")

// Every panel shows something, whether Prometheus collects native histograms or not.
func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	for format, accept := range formats {
		t.Run(format, func(t *testing.T) {
			recorded, now := record(t, accept)
			s := newService()
			s.live()
			served := names(scrape(t, s.Handler(), formats["native"]))
			exprs := 0
			for _, p := range d.Panels {
				if p.Type != "row" && len(p.Targets) == 0 {
					t.Errorf("%q asks for nothing", p.Title)
				}
				for _, target := range p.Targets {
					exprs++
					expr := filled.Replace(target.Expr)
					for _, name := range asks(t, expr) {
						if !known(name, served) {
							t.Errorf("%q asks for %s, which /metrics has not", p.Title, name)
						}
					}
					v := evaluate(t, recorded, expr, now)
					if len(v) == 0 {
						t.Errorf("%q shows nothing: %s", p.Title, expr)
					}
					for _, s := range v {
						if math.IsNaN(s.F) {
							t.Errorf("%q shows no number: %s", p.Title, expr)
						}
					}
				}
			}
			if exprs < 20 {
				t.Errorf("there are %d expressions", exprs)
			}
			for name, want := range map[string][2]float64{"Gap, p95": {1, 1.5}, "Turns met": {0.49, 0.51}, "Calls": {3, 3}} {
				for _, p := range d.Panels {
					if p.Title != name || p.Type != "stat" {
						continue
					}
					if v := evaluate(t, recorded, filled.Replace(p.Targets[0].Expr), now); len(v) != 1 || v[0].F < want[0] || v[0].F > want[1] {
						t.Errorf("%s is %v, want %v", name, v, want)
					}
				}
			}
		})
	}
}

// Panels stand beside each other, have numbers of their own, and lists to choose from name what there is.
func TestDashboardForm(t *testing.T) {
	d := readDashboard(t)
	s := newService()
	s.live()
	served := names(scrape(t, s.Handler(), formats["native"]))
	if d.Title == "" || d.UID == "" {
		t.Error("it has no title or no UID")
	}
	for _, v := range d.Templating.List {
		if v.Definition == "" {
			continue
		}
		inner, ok := strings.CutPrefix(v.Definition, "label_values(")
		selector := inner[:strings.LastIndex(inner, ",")]
		if !ok || !known(asks(t, filled.Replace(selector))[0], served) {
			t.Errorf("the list %s is of %s", v.Name, v.Definition)
		}
	}
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%q has a number that another has: %d", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok {
					t.Fatalf("%q lies over %q", p.Title, other)
				}
				if taken[[2]int{x, y}] = p.Title; x >= 24 {
					t.Fatalf("%q is wider than the page", p.Title)
				}
			}
		}
	}
}
