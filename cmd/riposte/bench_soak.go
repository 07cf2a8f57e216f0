package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"riposte/bench"
	"riposte/caller"
)

// errSoak says that a service did not stand a long time of random life.
var errSoak = errors.New("the service did not stand it")

// benchSoakCmd lets random life go on for hours.
type benchSoakCmd struct {
	Minutes float64       `default:"60" help:"How long callers come and go: at least an hour tells whether memory grows."`
	Callers int           `name:"calls" default:"0" help:"Callers at once; 0 is 8 with stubs and 2 with real engines."`
	Engines string        `default:"stub" enum:"stub,real" help:"What hears, answers and speaks: stubs that take set times, or real engines."`
	Corpus  string        `placeholder:"DIR" help:"Folder with manifest.tsv and the clips that callers say; without it they all ask the same."`
	Wires   []string      `default:"ws,webrtc,twilio,audiosocket,chanws" enum:"ws,webrtc,twilio,audiosocket,chanws" help:"By which callers come: ws, webrtc, twilio, audiosocket, chanws."`
	Faults  time.Duration `default:"15s" help:"From one fault of an engine to the next, on average: late, hanging, failing or talking rubbish, for one request. 0 is none."`
	Seed    uint64        `default:"1" help:"What callers do, in which order, and the faults."`
	Every   time.Duration `default:"5s" help:"From one look at what the service uses to the next."`
	Wait    time.Duration `default:"30s" help:"How long the service may be silent while it owes an answer."`
	JSON    bool          `name:"json" help:"Print one JSON object instead of a table."`

	Stub     stubFlags `embed:"" prefix:"stub-"`
	settings           // Of the service that is started.
}

// Validate reports what cannot be done. kong calls it.
func (c *benchSoakCmd) Validate() error {
	var errs []error
	if !(c.Minutes > 0 && c.Minutes <= mostMinutes) {
		errs = append(errs, fmt.Errorf("--minutes is %v: it must be more than 0, and at most %d", c.Minutes, mostMinutes))
	}
	if c.Callers < 0 {
		errs = append(errs, fmt.Errorf("--calls is %d: it must not be negative", c.Callers))
	}
	if c.Faults < 0 || c.Every <= 0 || c.Wait <= 0 {
		errs = append(errs, errors.New("--faults must not be negative, and --every and --wait must be more than 0"))
	}
	return errors.Join(append(errs, c.Stub.validate(), c.settings.Validate())...)
}

// mostMinutes is a year: what was seen of the service is kept until the end.
const mostMinutes = 366 * 24 * 60

// soakGreeting is what callers hear first, unless talk-greeting is set: some hang up on it, and some talk over it.
const soakGreeting = "Good morning. What can I do for you?"

// Run lets them come and go, and prints what that did to the service. What it did not stand is an error.
func (c *benchSoakCmd) Run(ctx context.Context, k *kong.Context) (err error) {
	if c.Callers == 0 {
		c.Callers = map[string]int{"stub": 8, "real": 2}[c.Engines]
	}
	b := bench.Soak{
		Calls: c.Callers, For: time.Duration(c.Minutes * float64(time.Minute)), Every: c.Every, Wait: c.Wait, Seed: c.Seed, Plan: c.plan(), Strikes: &bench.Strikes{}, Each: c.progress,
	}
	if b.Clips, err = c.clips(); err != nil {
		return err
	}
	service, stop, err := c.start(ctx, k, &strikeLog{to: b.Strikes, other: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	b.Settle = service.relax
	if b.Usage, err = bench.UsageOf(service.cmd.Process.Pid, service.URL); err != nil {
		return err
	}
	b.Ways = c.ways(service.URL)
	if c.REST.Max > 0 {
		b.REST = &bench.SoakREST{URL: strings.Replace(strings.TrimSuffix(service.URL, "/realtime"), "ws", "http", 1), Model: modelName(c.LLM.Model)}
	}
	r, err := b.Run(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if c.JSON {
		r.Version, r.Models = version, c.subject("")
		err = errors.Join(err, json.NewEncoder(k.Stdout).Encode(r))
	} else {
		err = errors.Join(err, showSoak(k.Stdout, r))
	}
	if r.Bad() {
		err = errors.Join(err, errSoak)
	}
	return err
}

// clips returns what callers say.
func (c *benchSoakCmd) clips() ([]bench.Clip, error) {
	if c.Corpus == "" {
		clip, err := talker()
		return []bench.Clip{clip}, err
	}
	clips, err := bench.ReadCorpus(c.Corpus)
	return bench.Spoken(clips, "en"), err
}

// start starts the service in a process of its own. stop ends it.
func (c *benchSoakCmd) start(ctx context.Context, k *kong.Context, log io.Writer) (service *child, stop func() error, err error) {
	places := 2 * c.Callers // the service may not be done with a call when its caller is
	if c.Engines == "stub" {
		c.Stub.suit(&c.settings, places, k)
	} else {
		c.Calls.Max = max(c.Calls.Max, places)
	}
	if !setByHand(k, "talk-greeting") {
		c.Talk.Greeting = soakGreeting
	}
	for _, wire := range phoneWires {
		if slices.Contains(c.Wires, wire) {
			if err := (&phoneFlags{}).suit(wire, &c.settings); err != nil {
				return nil, nil, err
			}
		}
	}
	command := append([]string{
		"bench", "soak-service", "--engines", c.Engines, "--faults", c.Faults.String(), "--seed", strconv.FormatUint(c.Seed, 10),
	}, c.Stub.args()...)
	child := func() (*child, error) { return startChild(ctx, k.Selected().Flags, log, command...) }
	if c.Engines == "stub" {
		return c.Stub.apart(child)
	}
	if service, err = child(); err != nil {
		return nil, nil, err
	}
	return service, service.stop, nil
}

// ways returns by what callers come to a service.
func (c *benchSoakCmd) ways(url string) (all []bench.Way) {
	for _, wire := range c.Wires {
		w := bench.Way{Name: wire}
		if slices.Contains(phoneWires, wire) {
			w.Telephone = &bench.Telephone{Phone: (&phoneFlags{}).phone(wire, &c.settings, url, c.Seed, c.Wait)}
		} else {
			w.Caller = caller.Caller{URL: url, Wire: wireNamed(wire), Wait: c.Wait}
		}
		all = append(all, w)
	}
	return all
}

// progress says what fails, and every now and then how it goes.
func (c *benchSoakCmd) progress(e bench.SoakEvent) {
	if f := e.Failure; f != nil {
		fmt.Fprintf(os.Stderr, "%.0f s: FAILED: caller %d by %s %s: %s\n", f.At, f.Caller, f.Wire, f.Doing, f.Why)
		return
	}
	if u := e.Sample; int(u.At/c.Every.Seconds())%12 == 0 { // once a minute, as it is by default
		fmt.Fprintf(os.Stderr, "%.0f s: %d turns; %d calls, %.1f MB, %d goroutines, %d threads, %d file handles\n",
			u.At, e.Turns, u.Held, float64(u.RSS)/1e6, u.Goroutines, u.Threads, u.Files)
	}
}

// strikeLog takes what a service logs: the faults that its engines have had go to the strikes, and the rest to other.
type strikeLog struct {
	to    *bench.Strikes
	other io.Writer

	mu   sync.Mutex
	part []byte // Of a line.
}

// faultStruck is what a service logs when an engine has had a fault.
const faultStruck = "an engine has a fault, as was wanted"

// Write takes a piece.
func (l *strikeLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, b...)
	for {
		i := bytes.IndexByte(l.part, '\n')
		if i < 0 {
			return len(b), nil
		}
		line := l.part[:i+1]
		var said struct {
			Time       time.Time
			Msg, Fault string
		}
		_, object, _ := bytes.Cut(line, []byte("service: "))
		if json.Unmarshal(object, &said) == nil && said.Msg == faultStruck {
			l.to.Add(said.Fault, said.Time)
		} else if _, err := l.other.Write(line); err != nil {
			return 0, err
		}
		l.part = l.part[i+1:]
	}
}

func showSoak(out io.Writer, r bench.SoakResult) error {
	fmt.Fprintf(out, "%d calls in %.1f minutes (%s); %d refused, %d hung up before they said anything, %d who did not read let go\n",
		r.Calls, r.Took/60, counts(r.Wires), r.Refused, r.HungUp, r.LetGo)
	fmt.Fprintf(out, "%d turns (%s)\nwhat came of them, and of requests that failed: %s\n", r.Turns, counts(r.Deeds), counts(r.Outcomes))
	fmt.Fprintf(out, "faults of engines: %s\nrequests: %s\n\n", counts(r.Struck), counts(r.REST))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "service\tbefore\tmost, first sixth\tlast sixth\tafter\tan hour\t")
	mb := func(name string, of func(bench.Usage) int64, slope float64) {
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%+.2f\t\n", name, float64(of(r.Before))/1e6, float64(of(r.First.Most))/1e6, float64(of(r.Last.Most))/1e6, float64(of(r.After))/1e6, slope/1e6)
	}
	mb("memory, MB", func(u bench.Usage) int64 { return u.RSS }, r.RSSSlope)
	mb("of that Go's heap", func(u bench.Usage) int64 { return u.Heap }, r.HeapSlope)
	number := func(name string, of func(bench.Usage) int, slope float64) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%+.1f\t\n", name, of(r.Before), of(r.First.Most), of(r.Last.Most), of(r.After), slope)
	}
	number("goroutines", func(u bench.Usage) int { return u.Goroutines }, r.GoroutineSlope)
	number("threads", func(u bench.Usage) int { return u.Threads }, r.ThreadSlope)
	number("file handles", func(u bench.Usage) int { return u.Files }, r.FileSlope)
	number("sockets", func(u bench.Usage) int { return u.Sockets }, r.SocketSlope)
	fmt.Fprintf(w, "gap p50, ms\t\t%.0f\t%.0f\t\t\t\n", r.First.Gap.P50, r.Last.Gap.P50)
	fmt.Fprintf(w, "p95\t\t%.0f\t%.0f\t\t\t\n", r.First.Gap.P95, r.Last.Gap.P95)
	if err := w.Flush(); err != nil {
		return err
	}
	why := map[string]int{}
	for _, f := range r.Failures {
		why[fmt.Sprintf("%s, %s: %s", f.Wire, f.Doing, f.Why)]++
	}
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		fmt.Fprintf(out, "%d times: %s\n", why[reason], reason)
	}
	fmt.Fprintln(out)
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, v := range r.Verdict {
		mark := "good"
		if v.Untold {
			mark = "cannot tell"
		} else if v.Bad {
			mark = "BAD"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t(%s)\n", v.What, mark, v.Was, v.Wanted)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nframes of the callers left %.1f ms late (p95; p99 %.1f)\n%v\n", r.LateMs.P95, r.LateMs.P99, r.Machine)
	return err
}
