package bench

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riposte/budget"
	"riposte/caller"
	"riposte/llm"
)

// A seed draws the same lives again, and all that there is to do is among them.
func TestDrawLife(t *testing.T) {
	ways := []Way{{Name: "ws"}, {Name: "webrtc", Caller: caller.Caller{Wire: caller.WebRTC}}, {Name: "twilio", Telephone: &Telephone{}}}
	lives := func(seed uint64) (all []life) {
		for rnd := rand.New(rand.NewPCG(seed, 1)); len(all) < 300; {
			all = append(all, drawLife(rnd, ways, 5))
		}
		return all
	}
	all := lives(1)
	if !reflect.DeepEqual(all, lives(1)) {
		t.Error("the same seed has other lives")
	}
	if reflect.DeepEqual(all, lives(2)) {
		t.Error("another seed has the same lives")
	}
	deeds, deaf, hungUp, lost := map[deedKind]int{}, 0, 0, 0
	for _, l := range all {
		if l.deaf {
			deaf++
			if l.way.Name != "ws" {
				t.Errorf("by %s one can stop to read", l.way.Name)
			}
		}
		if l.hangUp > 0 {
			hungUp++
		}
		if l.network.Loss > 0 {
			lost++
			if l.way.Name != "webrtc" {
				t.Errorf("%s loses packets", l.way.Name)
			}
		}
		for _, d := range l.deeds {
			deeds[d.kind]++
			if (d.keys != "") != (d.kind == presses) || d.kind == presses && (l.way.Telephone == nil || !strings.HasSuffix(d.keys, "#")) {
				t.Errorf("by %s: %+v", l.way.Name, d)
			}
			if d.clip > 4 || d.next > 4 || d.wait > longestSilence {
				t.Errorf("out of bounds: %+v", d)
			}
		}
	}
	if len(deeds) != 4 || deaf == 0 || hungUp < 80 || hungUp > 160 || lost == 0 {
		t.Errorf("%v; %d do not read, %d hang up, %d lose packets", deeds, deaf, hungUp, lost)
	}
}

// Callers come and go at a service that does well, in fake time; all that fails is that it keeps who does not read.
func TestSoak(t *testing.T) {
	clips := said(t)
	(&service{voice: newFakeVoice()}).run(t, func(t *testing.T, c caller.Caller) {
		looks := 0
		b := Soak{
			Ways: []Way{{Name: "ws", Caller: c}}, Clips: clips, Calls: 3, For: 6 * time.Minute, Wait: 30 * time.Second, Plan: budget.DefaultPlan, Seed: 1,
			Usage: func(context.Context) (Usage, error) {
				return Usage{RSS: 100e6, Goroutines: 10, Threads: 5, Files: 7, Sockets: 2}, nil
			},
			Settle: func(context.Context) error { return nil },
			Each: func(e SoakEvent) {
				if e.Failure == nil {
					looks++
				}
			},
		}
		r, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Failures {
			if f.Doing != "reading nothing" || !strings.Contains(f.Why, errHeld.Error()) {
				t.Errorf("%+v", f)
			}
		}
		if r.Turns < 20 || r.Outcomes[string(unsaid)] < 10 || r.Outcomes[string(leftOff)] == 0 || r.Deeds[string(poses)] == 0 || r.Deeds[string(interrupts)] == 0 {
			t.Errorf("%d turns, %v, %v", r.Turns, r.Outcomes, r.Deeds)
		}
		if r.NotInjected == 0 || r.NotInjected != len(r.Failures) || !r.Bad() {
			t.Errorf("a service that keeps who does not read: %d failed, %v", r.NotInjected, r.Failures)
		}
		if looks != len(r.Series) || looks < 60 || math.Abs(r.RSSSlope)+math.Abs(r.GoroutineSlope) > 1e-3 || r.After.Files != 7 || math.Abs(r.Took-360) > 120 {
			t.Errorf("%d looks, %d samples, %v bytes an hour, %+v after %v s", looks, len(r.Series), r.RSSSlope, r.After, r.Took)
		}
	})
}

func TestSoakWithoutClips(t *testing.T) {
	if _, err := (&Soak{}).Run(t.Context()); !errors.Is(err, ErrCorpus) {
		t.Error(err)
	}
}

func TestSoakJudges(t *testing.T) {
	s := soaking{Soak: &Soak{Plan: budget.DefaultPlan}}
	report := func(verdict string) caller.Turn { return caller.Turn{Report: &caller.Report{Verdict: verdict}} }
	for _, c := range []struct {
		turn caller.Turn
		err  error
		want outcome
	}{
		{report("met"), nil, "met"}, {report("masked"), nil, "masked"}, {report("over"), nil, "over"},
		{report("failed"), nil, gaveUp}, {report("met"), caller.ErrNoAnswer, gaveUp}, {report(""), nil, unsaid},
		{caller.Turn{Gap: 800 * time.Millisecond}, nil, heardInTime}, {caller.Turn{Gap: 900 * time.Millisecond}, nil, heardLate},
	} {
		if got := s.judge(c.turn, c.err); got != c.want {
			t.Errorf("%+v, %v: %s, want %s", c.turn, c.err, got, c.want)
		}
	}
}

// A fault excuses one failure that it lies within, and no other.
func TestStrikes(t *testing.T) {
	at := time.Unix(1000, 0)
	var s Strikes
	s.Add("llm.hang", at)
	s.Add("llm.hang", at.Add(time.Minute))
	for _, c := range []struct {
		from, to time.Duration
		want     bool
	}{{-time.Minute, -time.Second, false}, {-time.Second, time.Second, true}, {-time.Second, time.Second, false}, {time.Second, time.Hour, true}} {
		if got := s.claim(at.Add(c.from), at.Add(c.to)); got != c.want {
			t.Errorf("%v to %v: %t", c.from, c.to, got)
		}
	}
	if n := s.Counts()["llm.hang"]; n != 2 {
		t.Errorf("%d are counted", n)
	}
	for range 2 * mostStrikes {
		s.Add("stt.delay", at)
	}
	if len(s.at) != mostStrikes {
		t.Errorf("%d are kept", len(s.at))
	}
}

// Faults strike one request each, in an order that the seed draws.
func TestDrip(t *testing.T) {
	fall := func(seed uint64) (order []string, failed int) {
		synctest.Test(t, func(t *testing.T) {
			var i Injector
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
			defer stop()
			d := Drip{Injector: &i, Every: 10 * time.Second, Seed: seed, Struck: func(f Fault, _ Rubbish) { order = append(order, f.String()) }}
			model := i.Model(soundModel{})
			var work sync.WaitGroup
			work.Go(func() {
				for ctx.Err() == nil {
					patient, cancel := context.WithTimeout(ctx, 5*time.Second)
					for _, err := range model.Generate(patient, llm.Request{}) {
						if errors.Is(err, errInjected) {
							failed++
						}
					}
					cancel()
					time.Sleep(100 * time.Millisecond)
				}
			})
			d.Run(ctx)
			if i.Struck() {
				t.Error("there is a fault when nobody wants one any more")
			}
			work.Wait()
		})
		return order, failed
	}
	order, failed := fall(1)
	again, _ := fall(1)
	errs := 0
	for _, f := range order {
		if !strings.HasPrefix(f, "llm.") {
			t.Errorf("%s strikes a model", f)
		}
		if f == "llm.error" {
			errs++
		}
	}
	if len(order) == 0 || !reflect.DeepEqual(order, again) || errs != failed {
		t.Errorf("%v, then %v; %d failed", order, again, failed)
	}
}

// A line is found in what lies about one, with an error that takes in that neighbours are alike.
func TestTrend(t *testing.T) {
	series := func(y func(i int) float64) (all []SoakSample) {
		for i := range 720 {
			all = append(all, SoakSample{At: 5 * float64(i), Usage: Usage{RSS: int64(y(i))}})
		}
		return all
	}
	rss := func(u Usage) float64 { return float64(u.RSS) }
	if l := trendOf(series(func(i int) float64 { return 1e8 + 1e4*float64(i) }), rss); math.Abs(l.slope-7.2e6) > 1 || l.err > 1 || l.over != 719*5*time.Second {
		t.Errorf("a line: %+v", l)
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	apart := trendOf(series(func(int) float64 { return 1e8 + 1e6*rnd.NormFloat64() }), rss)
	walk := 0.0
	alike := trendOf(series(func(int) float64 { walk += 0.05*(-walk) + 0.3e6*rnd.NormFloat64(); return 1e8 + walk }), rss)
	if math.Abs(apart.slope) > 3*apart.err || math.Abs(alike.slope) > 3*alike.err || alike.err < 3*apart.err {
		t.Errorf("noise: %+v; such that goes on: %+v", apart, alike)
	}
	if l := trendOf(nil, rss); l != (trend{}) {
		t.Errorf("of nothing: %+v", l)
	}
}

func TestSoakVerdict(t *testing.T) {
	good := SoakResult{
		First: SoakPart{Turns: 50, Gap: Percentiles{P50: 600}, Most: Usage{Threads: 9}}, Last: SoakPart{Turns: 50, Gap: Percentiles{P50: 700}, Most: Usage{Threads: 11}},
		Before: Usage{Goroutines: 12, Files: 18, Sockets: 3}, After: Usage{Goroutines: 13, Files: 18, Sockets: 3},
	}
	flat := trend{slope: 2e6, err: 1e6, mean: 1e8, over: time.Hour}
	for name, c := range map[string]struct {
		change func(*SoakResult, *trend)
		bad    string
	}{
		"all is well":          {func(*SoakResult, *trend) {}, ""},
		"a failure":            {func(r *SoakResult, _ *trend) { r.NotInjected = 1 }, "failures without a reason"},
		"memory grows":         {func(_ *SoakResult, l *trend) { l.slope = 4e6 }, "memory"},
		"not for long":         {func(_ *SoakResult, l *trend) { l.slope, l.over = 4e6, 5*time.Minute }, ""},
		"goroutines stay":      {func(r *SoakResult, _ *trend) { r.After.Goroutines = 30 }, "goroutines when all have hung up"},
		"a socket stays":       {func(r *SoakResult, _ *trend) { r.After.Sockets = 4 }, "sockets when all have hung up"},
		"more and more thread": {func(r *SoakResult, _ *trend) { r.Last.Most.Threads = 20 }, "threads in the last sixth"},
		"slower":               {func(r *SoakResult, _ *trend) { r.Last.Gap.P50 = 900 }, "gap p50 in the last sixth"},
		"slower, two turns":    {func(r *SoakResult, _ *trend) { r.Last.Gap.P50, r.Last.Turns = 900, 2 }, ""},
		"ended early":          {func(r *SoakResult, _ *trend) { r.After = Usage{} }, ""},
	} {
		r, l := good, flat
		c.change(&r, &l)
		var bad []string
		for _, v := range r.verdict(l) {
			if v.Bad {
				bad = append(bad, v.What)
			}
		}
		if strings.Join(bad, ", ") != c.bad {
			t.Errorf("%s: %q is bad, want %q", name, bad, c.bad)
		}
	}
}

// Of a connection that has gone deaf nothing comes any more, until it is closed.
func TestDeafConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		deaf := make(chan struct{})
		c := &deafConn{Conn: ours, deaf: deaf, closed: make(chan struct{})}
		go theirs.Write([]byte("ab"))
		b := make([]byte, 1)
		if n, err := c.Read(b); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		close(deaf)
		ended := make(chan error, 1)
		go func() { _, err := c.Read(b); ended <- err }()
		synctest.Wait()
		if len(ended) != 0 {
			t.Error("it reads on")
		}
		if err := errors.Join(c.Close(), c.Conn.Close()); err != nil {
			t.Error(err)
		}
		if err := <-ended; err == nil {
			t.Error("it reads when it is closed")
		}
	})
}
