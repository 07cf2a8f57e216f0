package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"riposte/budget"
)

// routeFile writes a route's file and returns its path.
func routeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sales.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A route's file goes over the command line, the environment and the config file; what it leaves out is as they say.
func TestRouteOrder(t *testing.T) {
	t.Setenv("RIPOSTE_TALK_SILENCE", "400ms")
	sales := routeFile(t, "talk:\n  instructions: Sell.\n  silence: 250ms\n  echo: false\nbudget:\n  mode: observe\n  llm: 1s\nllm:\n  max-tokens: 20\n  temperature: 0\ntts:\n  speed: 1.5\n")
	empty := routeFile(t, "")
	s, err := parse(t, "routes: [empty="+empty+"]\ntalk:\n  instructions: Help.\n  greeting: Hello.\nbudget:\n  tts: 200ms\n",
		"--talk-eagerness=high", "--budget-llm=500ms", "--llm-top-k=7", "--routes=sales="+sales, "--routes=empty="+empty)
	if err != nil {
		t.Fatal(err)
	}
	routes, err := s.openRoutes()
	if err != nil {
		t.Fatal(err)
	}
	if len(routes) != 3 {
		t.Fatalf("there are %d routes", len(routes))
	}
	r := routes["sales"]
	if r.Talk.Instructions != "Sell." || r.Talk.Silence != 250*time.Millisecond || r.Talk.Echo || r.LLM.MaxTokens != 20 || r.LLM.Temperature != 0 || r.TTS.Speed != 1.5 {
		t.Errorf("the route's file is not kept to: %+v", r.Talk)
	}
	if r.Talk.Greeting != "Hello." || r.Talk.Eagerness != "high" || r.LLM.TopK != 7 || r.Talk.Steps != 8 {
		t.Errorf("what the route leaves out is not the service's: %+v", r.Talk)
	}
	want := budget.Plan{Mic: 40 * time.Millisecond, STT: 300 * time.Millisecond, LLM: time.Second, TTS: 200 * time.Millisecond, Observe: true}
	if got := r.plan(); got != want {
		t.Errorf("the plan is %+v, want %+v", got, want)
	}
	begin := beginnings(routes)
	if c := begin["sales"]; c.Route != "sales" || c.Instructions != "Sell." || c.Plan != want || c.Sampling.Temperature != 0 || c.MaxTokens != 20 || c.Speed != 1.5 {
		t.Errorf("calls by it begin with %+v", c)
	}
	for _, name := range []string{"empty", defaultRoute} {
		c := begin[name]
		if c.Route != name || c.Instructions != "Help." || c.Plan.LLM != 500*time.Millisecond || c.Detection.Silence != 400*time.Millisecond || c.Plan.Observe {
			t.Errorf("calls by %s begin with %+v", name, c)
		}
	}
	if s.Talk.Instructions != "Help." || s.Budget.Mode != "enforce" || !s.Talk.Echo {
		t.Error("a route has changed the service's own settings")
	}
	sv := &service{settings: s, routes: routes}
	if name, got := sv.route(begin["sales"]); name != "sales" || got != r.settings {
		t.Errorf("a call of sales is held by %s", name)
	}
}

// What is wrong with a route is told, with file and line.
func TestRoutesRefused(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		want       []string
	}{
		{"a setting of the service", "talk:\n  echo: false\ncalls:\n  max: 3\n", []string{"sales.yaml:4: calls.max is the same for all calls: a route may set what is in talk, budget and price, llm.max-tokens,"}},
		{"a setting of an engine", "llm:\n  model: other.gguf\n  seed: 3\n", []string{`sales.yaml:2: llm.model is "other.gguf", which the service has not loaded: a route may name what is served elsewhere (URL#NAME), or smollm2-135m-instruct-q8_0`}},
		{"how an engine of this machine works", "llm:\n  threads: 3\n", []string{"sales.yaml:2: llm.threads is the same for all calls"}},
		{"an address without a name", "llm:\n  model: http://gpu1:8000/v1\n", []string{"sales.yaml:2: llm-model: not the address of a remote model", "does not name the model"}},
		{"a speaker of the service's voice", "tts:\n  speaker: joe\n", []string{"sales.yaml:2: tts.speaker is the same for all calls where the voice is one of this machine"}},
		{"what is no object", "llm:\n  extra: \"[1]\"\n", []string{"sales.yaml:2: llm-extra is no JSON object"}},
		{"another route", "routes: [a=b]\n", []string{"sales.yaml:1: routes is the same for all calls"}},
		{"a list of one text", "talk:\n  openers: [Hm., Well.]\n", []string{`sales.yaml:2: "talk.openers" takes one text and no list`}},
		{"no setting", "talk:\n  instrctions: Sell.\n", []string{`sales.yaml:2: there is no setting "talk.instrctions"; the nearest is "talk.instructions"`}},
		{"no such mode", "budget:\n  mode: strict\n", []string{"sales.yaml:2: budget.mode is strict: it must be one of enforce, observe"}},
		{"no such eagerness", "talk:\n  eagerness: very\n", []string{"sales.yaml:2: talk.eagerness is very: it must be one of low, medium, high"}},
		{"no duration", "talk:\n  silence: soon\n", []string{"sales.yaml:2: --talk-silence"}},
		{"out of bounds", "talk:\n  threshold: 3\n", []string{"sales.yaml:2: talk-threshold is 3"}},
		{"no share", "budget:\n  llm: 0s\n", []string{"sales.yaml:2: the llm share of the budget is 0s"}},
		{"all at once", "calls:\n  max: 1\nvad:\n  turn: x\n", []string{"sales.yaml:2: calls.max", "sales.yaml:4: vad.turn"}},
		{"longer than the model's memory", "llm:\n  max-tokens: 9999\n", []string{"sales.yaml:2: llm-max-tokens is 9999"}},
		{"any language", "stt:\n  language: auto\n", []string{"sales.yaml:2: stt.language is auto: a route may name a language"}},
		{"set twice", "talk:\n  firm: true\ntalk-firm: true\n", []string{"sales.yaml:3: talk-firm is set twice"}},
		{"no YAML", "talk: [\n", []string{"config file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := testSettings(t, "--routes=sales="+routeFile(t, tt.file)).openRoutes()
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, want := range append(tt.want, "route sales: ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
	ok := routeFile(t, "talk:\n  firm: true\n")
	for setting, want := range map[string]string{
		"sales": "is not NAME=FILE", "=" + ok: "is not NAME=FILE", "sales=": "is not NAME=FILE", "a b=" + ok: "is not NAME=FILE",
		"default=" + ok: "has the service's own settings", "sales=nowhere.yaml": "nowhere.yaml: no such file",
		"sales=" + ok + ",sales=" + ok: "is there twice",
	} {
		if _, err := testSettings(t, "--routes="+setting).openRoutes(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", setting, err, want)
		}
	}
}

// A language that the recogniser does not know is told before calls come.
func TestRouteLanguage(t *testing.T) {
	routes, err := testSettings(t, "--routes=german="+routeFile(t, "talk:\n  firm: true\nstt:\n  language: de\n")).openRoutes()
	if err != nil {
		t.Fatal(err)
	}
	if got := beginnings(routes)["german"].Language; got != "de" {
		t.Errorf("calls of it are heard in %q", got)
	}
	english := func(code string) bool { return code == "en" }
	if err := hears(routes, english); err == nil || !strings.Contains(err.Error(), `sales.yaml:4: the model whisper-tiny.en-q8_0 does not know the language "de"`) {
		t.Errorf("got %v", err)
	}
	if err := hears(routes, func(string) bool { return true }); err != nil {
		t.Error(err)
	}
}

// The phrases of all routes are at hand, each once.
func TestRoutePhrases(t *testing.T) {
	s := newService(testSettings(t, "--talk-openers=Well.|Hm.", "--talk-apology=Sorry.", "--talk-waiting=Still.", "--routes=sales="+routeFile(t, "talk:\n  openers: Hm.|Right.\n")), nil)
	var err error
	if s.routes, err = s.settings.openRoutes(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.toLearn(), " "); got != "Well. Hm. Sorry. Still. Right." {
		t.Errorf("learned are %s", got)
	}
}
