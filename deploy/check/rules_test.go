package check

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
)

// rules reads the alerts as Prometheus does. In their expressions, what is recorded stands in for its name.
func rules(t *testing.T) (alerts map[string]rulefmt.Rule, all []rulefmt.Rule) {
	t.Helper()
	groups, errs := rulefmt.ParseFile("../prometheus/riposte.rules.yml", false, model.UTF8Validation, language, slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if len(errs) > 0 {
		t.FailNow()
	}
	recorded := map[string]string{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			all = append(all, r)
			if r.Record != "" {
				recorded[r.Record] = r.Expr
			}
		}
	}
	alerts = map[string]rulefmt.Rule{}
	for _, r := range all {
		if r.Alert == "" {
			continue
		}
		for name, expr := range recorded {
			r.Expr = strings.ReplaceAll(r.Expr, name, "("+expr+")")
		}
		alerts[r.Alert] = r
	}
	return alerts, all
}

// Alerts name metrics that there are, and say what to do.
func TestRules(t *testing.T) {
	s := newService()
	s.live()
	served := names(scrape(t, s.Handler(), formats["text"]))
	alerts, all := rules(t)
	for _, r := range all {
		served[r.Record] = true
	}
	for _, r := range all {
		for _, name := range asks(t, r.Expr) {
			if !known(name, served) {
				t.Errorf("%s%s asks for %s, which /metrics has not", r.Alert, r.Record, name)
			}
		}
	}
	for name, r := range alerts {
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" {
			t.Errorf("%s does not say what is wrong, or how badly", name)
		}
	}
}

// burn is what is recorded of four days: 10 turns a minute, of which in the last minutes a part is missed.
func burn(missed float64, minutes int) []string {
	const days = 4 * 24 * 60
	good, bad := 10*(1-missed), 10*missed
	series := func(verdict string, before, after float64) string {
		steady := days - minutes
		return fmt.Sprintf("riposte_turns_total{job=\"riposte\",instance=\"one\",verdict=%q} 0+%gx%d %g+%gx%d",
			verdict, before, steady, before*float64(steady)+after, after, minutes-1)
	}
	return []string{
		series("met", 10, good), series("over", 0, bad), series("none", 5, 5),
		fmt.Sprintf(`riposte_build_info{job="riposte",instance="one"} 1x%d`, days),
	}
}

// Which alerts are told, by what happens. The burn rates are those of a 95 % objective.
func TestAlerts(t *testing.T) {
	alerts, _ := rules(t)
	const one = `{job="riposte",instance="one"`
	hour := func(series ...string) []string { return append(series, `riposte_build_info`+one+`} 1x60`) }
	for _, tt := range []struct {
		name   string
		series []string // The last value is now.
		want   []string
	}{
		{"all is well", burn(0, 60), nil},
		{"the objective is just kept", burn(0.04, 4*24*60-1), nil},
		{"everything is missed, for an hour", burn(1, 60), []string{"RiposteBudgetBurnsFast"}},
		{"everything is missed, for two minutes", burn(1, 2), nil},
		{"a third is missed, for seven hours", burn(1.0/3, 7*60), []string{"RiposteBudgetBurns"}},
		{"a fifth is missed, for a day", burn(0.2, 25*60), []string{"RiposteBudgetBurnsForADay", "RiposteBudgetBurnsSlowly"}},
		{"8 % are missed, for days", burn(0.08, 4*24*60-1), []string{"RiposteBudgetBurnsSlowly"}},
		{"nobody is there", []string{"other 1x60"}, []string{"RiposteGone"}},
		{"a few turns only", hour(`riposte_turns_total`+one+`,verdict="over"} 0 0 1+0x58`, `riposte_turns_total`+one+`,verdict="met"} 0x60`), nil},
		{"work waits", hour(`riposte_executor_queue_seconds`+one+`} 0.3x60`, `riposte_turn_budget_seconds`+one+`} 0.89x60`), []string{"RiposteExecutorQueueLong"}},
		{"work hardly waits", hour(`riposte_executor_queue_seconds`+one+`} 0.1x60`, `riposte_turn_budget_seconds`+one+`} 0.89x60`), nil},
		{"callers are refused", hour(`riposte_calls_refused_total`+one+`,reason="too_many_calls"} 0+1x60`, `riposte_calls_begun_total`+one+`} 0+5x60`), []string{"RiposteCallsRefused"}},
		{"all callers are refused", hour(`riposte_calls_refused_total`+one+`,reason="loading"} 0+1x60`, `riposte_calls_begun_total`+one+`} 0x60`), []string{"RiposteCallsRefused"}},
		{"all callers are refused from the first on", hour(`riposte_calls_refused_total` + one + `,reason="loading"} 0+1x60`), []string{"RiposteCallsRefused"}},
		{"a caller is refused", hour(`riposte_calls_refused_total`+one+`,reason="too_many_calls"} 0+1x60`, `riposte_calls_begun_total`+one+`} 0+100x60`), nil},
		{"sound is dropped", hour(`riposte_turn_events_total`+one+`,kind="dropped"} 0+1x60`, `riposte_turns_total`+one+`,verdict="met"} 0+10x60`), []string{"RiposteSoundDropped"}},
		{"engines fail", hour(`riposte_turn_events_total`+one+`,kind="fault"} 0+1x60`, `riposte_turns_total`+one+`,verdict="met"} 0+10x60`), []string{"RiposteEnginesFail"}},
		{"spans are lost", hour(`riposte_trace_drops_total` + one + `,sink="otlp",reason="not_taken"} 0+5x60`), []string{"RiposteTracesLost"}},
		{"a client hardly reads", hour(`riposte_queue_high_items`+one+`,queue="events"} 256x60`, `riposte_queue_limit_items`+one+`,queue="events"} 256x60`), []string{"RiposteClientReadsSlowly"}},
		{"clients read, and speech is made ahead", hour(`riposte_queue_high_items`+one+`,queue="events"} 12x60`, `riposte_queue_limit_items`+one+`,queue="events"} 256x60`,
			`riposte_queue_high_items`+one+`,queue="clauses"} 3x60`, `riposte_queue_limit_items`+one+`,queue="clauses"} 3x60`), nil},
		{"turns get no answer", hour(`riposte_queue_dropped_items_total` + one + `,queue="turns",reason="full"} 0+1x60`), []string{"RiposteTurnsUnanswered"}},
		{"hypotheses are overtaken", hour(`riposte_queue_dropped_items_total` + one + `,queue="hypotheses",reason="full"} 0+1x60`), nil},
		{"no spans are lost", hour(`riposte_trace_drops_total` + one + `,sink="otlp",reason="not_taken"} 7x60`), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			recorded := load(t, tt.series...)
			var now time.Time
			for _, k := range recorded.series {
				now = time.UnixMilli(k.samples[len(k.samples)-1].T())
			}
			var told []string
			for name, r := range alerts {
				if len(evaluate(t, recorded, r.Expr, now)) > 0 {
					told = append(told, name)
				}
			}
			if slices.Sort(told); !slices.Equal(told, tt.want) {
				t.Errorf("%v are told, want %v", told, tt.want)
			}
		})
	}
}
