package asterisk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"riposte/audio"
	"riposte/audio/audiotest"
	"riposte/transport"
	"riposte/transport/phone"
)

// exchange is an Asterisk as Debian packs it, unpacked in a folder, with the files of examples/asterisk and a caller who dials in there.
type exchange struct {
	t      *testing.T
	folder string
	binary []string // The command, and what goes before its arguments.
}

// places are what the examples say where things are.
type places struct{ web, audioSocket, asterisk, manager string }

// root is where `make test-clients` unpacks Asterisk.
func root(t *testing.T) string {
	t.Helper()
	if os.Getenv("RIPOSTE_TEST_CLIENTS") != "required" {
		t.Skip("make test-clients provides an Asterisk, and runs this")
	}
	p, err := filepath.Abs("../../build/clients/asterisk")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// callerPlan is who calls: a tone is heard from them, then a key, then they record what they hear. 17 is who takes over.
// The context of the examples goes on first: with the other language, and with other formats.
const callerPlan = `
[riposte](+)
exten => 2001,1,Dial(WebSocket/riposte/c(ulaw)v(to=2001,channel=${URIENCODE(${CHANNEL})}))
exten => 2002,1,Dial(WebSocket/riposte/c(alaw)f(json)v(to=2002))
exten => 2003,1,Dial(WebSocket/riposte/c(slin48)f(plain-text)nv(to=2003))
exten => 2004,1,Dial(AudioSocket/${RIPOSTE_AUDIOSOCKET}/${UUID()}/c(slin44))

[caller]
exten => s,1,Answer()
 same => n,Playback(FOLDER/asks)
 same => n,SendDTMF(5)
 same => n,Record(FOLDER/heard.wav,0,SECONDS,qk)
 same => n,Hangup()

[riposte-transfer]
exten => 17,1,Verbose(1,Transferred to ${EXTEN}: ${RIPOSTE_NOTE})
 same => n,Playback(FOLDER/takes-over)
 same => n,Hangup()
`

// startExchange starts an Asterisk, which ends with the test.
func startExchange(t *testing.T, at places) *exchange {
	t.Helper()
	root := root(t)
	e := &exchange{t: t, folder: t.TempDir()}
	libraries := filepath.Join(root, "usr/lib/x86_64-linux-gnu")
	e.binary = []string{filepath.Join(root, "usr/lib64/ld-linux-x86-64.so.2"), "--library-path", libraries, filepath.Join(root, "usr/sbin/asterisk"), "-C", filepath.Join(e.folder, "asterisk.conf")}
	e.write("asterisk.conf", strings.NewReplacer("FOLDER", e.folder, "ROOT", root).Replace(`[directories]
astetcdir => FOLDER
astmoddir => ROOT/usr/lib/x86_64-linux-gnu/asterisk/modules
astvarlibdir => FOLDER
astdatadir => ROOT/usr/share/asterisk
astdbdir => FOLDER
astkeydir => FOLDER
astspooldir => FOLDER
astrundir => FOLDER
astlogdir => FOLDER
[options]
transmit_silence = yes
verbose = 3
`))
	for _, empty := range []string{"stasis", "cdr", "cel", "features", "acl", "udptl", "ccss", "indications", "chan_websocket"} {
		e.write(empty+".conf", "")
	}
	e.write("logger.conf", "[logfiles]\nmessages.log => notice,warning,error,verbose\n")
	modules := "[modules]\nautoload = no\n"
	for m := range strings.FieldsSeq(`res_sorcery_config res_sorcery_memory res_sorcery_astdb res_timing_timerfd res_http_websocket res_websocket_client res_audiosocket
		app_audiosocket chan_audiosocket chan_websocket pbx_config res_curl func_curl func_uri func_json func_callerid func_channel func_uuid func_logic func_strings
		app_dial app_playback app_record app_senddtmf app_stack app_verbose format_pcm format_wav format_sln codec_ulaw codec_alaw codec_resample bridge_simple bridge_builtin_features res_clioriginate`) {
		modules += "load = " + m + ".so\n"
	}
	e.write("modules.conf", modules)
	for _, name := range []string{"extensions.conf", "http.conf", "manager.conf", "websocket_client.conf"} {
		b, err := os.ReadFile(filepath.Join("../../examples/asterisk", name))
		if err != nil {
			t.Fatal(err)
		}
		asterisk, manager := strings.TrimPrefix(at.asterisk, "127.0.0.1:"), strings.TrimPrefix(at.manager, "127.0.0.1:")
		text := strings.NewReplacer("127.0.0.1:8080", at.web, "127.0.0.1:9092", at.audioSocket, "bindport = 8088", "bindport = "+asterisk, "port = 5038", "port = "+manager).Replace(string(b))
		if name == "extensions.conf" {
			plan, _, _ := strings.Cut(text, "[riposte-transfer]")
			text = plan + strings.NewReplacer("FOLDER", e.folder, "SECONDS", "7").Replace(callerPlan)
		}
		e.write(name, text)
	}
	e.tone("asks", asked)
	e.tone("takes-over", takenOver)

	ctx, end := context.WithCancel(context.Background())
	run := exec.CommandContext(ctx, e.binary[0], append(e.binary[1:], "-f")...)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = run.Wait(); close(ended) }()
	t.Cleanup(func() {
		end()
		<-ended
		if t.Failed() {
			b, _ := os.ReadFile(filepath.Join(e.folder, "messages.log"))
			t.Logf("Asterisk's log:\n%s", b[max(0, len(b)-8000):])
		}
	})
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if out, err := e.say("core waitfullybooted"); err == nil && strings.Contains(out, "fully booted") {
			return e
		}
		if time.Now().After(until) {
			t.Fatal("Asterisk did not start")
		}
	}
}

// The tones by which is told who is heard, in hertz.
const (
	asked     = 600
	answered  = 1000
	takenOver = 1700
)

func (e *exchange) write(name, text string) {
	if err := os.WriteFile(filepath.Join(e.folder, name), []byte(text), 0o600); err != nil {
		e.t.Fatal(err)
	}
}

// tone writes a file of 1.5 s of a tone, in telephone quality.
func (e *exchange) tone(name string, frequency float64) {
	format := phone.Format{Encoding: phone.Linear, Rate: 8000}
	e.write(name+".sln", string(format.Append(nil, audiotest.Tone(12_000, 8000, frequency, -20))))
}

// say has Asterisk do a command of its console.
func (e *exchange) say(command string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, e.binary[0], append(slices.Clone(e.binary[1:]), "-rx", command)...).CombinedOutput()
	return string(out), err
}

// heard returns how the tones of what the caller has recorded are, one for every 100 ms, once the recording is there, and grows no more: its end is
// written after the call's.
func (e *exchange) heard() (tones []int) {
	before := 0
	for until := time.Now().Add(15 * time.Second); time.Now().Before(until); time.Sleep(500 * time.Millisecond) {
		p, rate, err := audio.ReadFile(filepath.Join(e.folder, "heard.wav"))
		grown := len(p) > before
		before = len(p)
		if err == nil && before > 0 && !grown {
			if out, err := e.say("core show channels count"); err == nil && strings.Contains(out, "0 active channels") {
				for part := range slices.Chunk(p, rate/10) {
					tones = append(tones, toneOf(part, rate))
				}
				return tones
			}
		}
	}
	e.t.Error("the caller has recorded nothing")
	return nil
}

// toneOf returns which of the tones a sound mostly is; 0 for none.
func toneOf(p audio.PCM, rate int) int {
	whole := 0.0
	for _, s := range p {
		whole += float64(s) * float64(s)
	}
	if whole < float64(len(p))*100*100 {
		return 0
	}
	for _, frequency := range []int{asked, answered, takenOver} {
		re, im := 0.0, 0.0
		for i, s := range p {
			sin, cos := math.Sincos(2 * math.Pi * float64(frequency) * float64(i) / float64(rate))
			re, im = re+float64(s)*cos, im+float64(s)*sin
		}
		if 2*(re*re+im*im)/float64(len(p)) > whole/2 {
			return frequency
		}
	}
	return 0
}

// agent is whom callers reach: it hears a tone and a key, and then does something.
type agent struct {
	status transport.Status // Of the answer: Cancelled is an interruption, a second before its end.
	before func(ctx context.Context, c transport.Telephone) error
	then   func(ctx context.Context, c transport.Telephone) error

	mu      sync.Mutex
	cut     []transport.Truncate
	tones   []int // One for every 100 ms of sound.
	keys    string
	parties transport.Parties
	ended   chan error
}

func (a *agent) hold(ctx context.Context, c transport.Call, s transport.Settings) (err error) {
	defer func() { a.ended <- err }()
	line := c.(transport.Telephone)
	a.mu.Lock()
	a.parties = line.Parties()
	a.mu.Unlock()
	var sound audio.PCM
	acted := make(chan error, 1)
	for begun := false; ; {
		in, err := c.Receive(ctx)
		if err != nil {
			return err
		}
		switch in := in.(type) {
		case transport.Sound:
			for sound = append(sound, in.PCM...); len(sound) >= in.Rate/10; sound = sound[in.Rate/10:] {
				a.mu.Lock()
				a.tones = append(a.tones, toneOf(sound[:in.Rate/10], in.Rate))
				a.mu.Unlock()
			}
		case transport.Truncate:
			a.mu.Lock()
			a.cut = append(a.cut, in)
			a.mu.Unlock()
		case transport.Key:
			a.mu.Lock()
			a.keys += string(in.Digit)
			a.mu.Unlock()
			if !begun {
				begun = true
				go func() { acted <- a.say(ctx, line, s.Rate) }()
			}
		}
	}
}

// say answers with 2 s of a tone, as the pipeline would, and then does what is to be done.
func (a *agent) say(ctx context.Context, c transport.Telephone, rate int) error {
	time.Sleep(600 * time.Millisecond) // until the caller, who has let go of the key, records
	r := transport.Response{ID: "r1", Item: "i1"}
	out := []transport.Outbound{transport.ResponseStarted{Response: r}, transport.MessageStarted{Response: r}, transport.Words{Response: r, Text: "Beep."}}
	for part := range slices.Chunk(audiotest.Tone(2*rate, rate, answered, -20), rate/10) {
		out = append(out, transport.Voice{Response: r, PCM: part})
	}
	for _, o := range out {
		if err := c.Send(ctx, o); err != nil {
			return err
		}
	}
	if a.before != nil {
		if err := a.before(ctx, c); err != nil {
			return err
		}
	}
	if err := c.Send(ctx, transport.ResponseDone{Response: r, Status: a.status, Text: "Beep.", Voice: 2 * time.Second}); err != nil {
		return err
	}
	if a.then == nil {
		return nil
	}
	time.Sleep(2 * time.Second) // what Asterisk has in its queues is lost with the channel
	return a.then(ctx, c)
}

// agents are whom callers reach, one after the other.
type agents struct {
	mu  sync.Mutex
	now *agent
}

// next has callers reach an agent.
func (a *agents) next(to *agent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = to
}

func (a *agents) hold(ctx context.Context, c transport.Call, s transport.Settings) error {
	a.mu.Lock()
	now := a.now
	a.mu.Unlock()
	return now.hold(ctx, c, s)
}

// count returns how many of some tones are one.
func count(tones []int, tone int) (n int) {
	for _, t := range tones {
		if t == tone {
			n++
		}
	}
	return n
}

// free returns an address of this machine where nobody listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// What is heard of an answer of 2 s, at least and at most, in tenths of a second. Of one that is interrupted it is about half.
var whole, half = [2]int{19, 21}, [2]int{6, 15}

// A caller of a real Asterisk comes by each way of examples/asterisk: both sides hear each other, keys come, and who hangs up or leads the
// caller elsewhere does so.
func TestExchange(t *testing.T) {
	root(t)
	const key = "a-key-of-the-service"
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	var all agents
	calls := &phone.Server{
		Hold:   all.hold,
		Admit:  func() (func(), error) { return func() {}, nil },
		Choose: func(o phone.Opening) (transport.Settings, error) { return transport.Settings{Route: o.Route}, nil },
		Log:    log,
	}
	at := places{web: free(t), audioSocket: free(t), asterisk: free(t), manager: free(t)}
	s := &Server{
		Phone: calls, Keys: []string{key}, Answer: true, Exchanges: []string{"ws://" + at.asterisk}, Log: log,
		Manager: &Manager{Address: at.manager, User: "riposte", Secret: "another-secret"},
	}
	ctx, end := context.WithCancel(context.Background())
	listener, err := net.Listen("tcp", at.audioSocket)
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Addr: at.web, Handler: routes(ctx, s)}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.ServeAudioSocket(ctx, listener) })
	serving.Go(func() { _ = web.ListenAndServe() })
	defer serving.Wait()
	defer s.Close()
	defer web.Close()
	defer end()
	e := startExchange(t, at)

	hangUp := func(ctx context.Context, c transport.Telephone) error { return c.HangUp(ctx) }
	transfer := func(ctx context.Context, c transport.Telephone) error { return c.Transfer(ctx, "17", "wants a refund") }
	pause := func(ctx context.Context, c transport.Telephone) error {
		if err := c.Send(ctx, transport.Held{}); err != nil {
			return err
		}
		time.Sleep(500 * time.Millisecond)
		return c.Send(ctx, transport.Released{})
	}
	for name, c := range map[string]struct {
		number  string
		agent   *agent
		parties bool // What was dialled is known.
		why     error
		heard   [2]int // Least and most of the answer that the caller hears, in tenths of a second.
		after   int    // The tone that is heard after the answer.
	}{
		"application, the caller hangs up":          {"1001", &agent{}, false, transport.ErrHungUp, whole, 0},
		"application, we hang up":                   {"1001", &agent{then: hangUp}, false, transport.ErrEnded, whole, 0},
		"application, held and let go on":           {"1001", &agent{before: pause, then: hangUp}, false, transport.ErrEnded, whole, 0},
		"application, interrupted":                  {"1001", &agent{status: transport.Cancelled, then: hangUp}, false, transport.ErrEnded, half, 0},
		"announced, transferred":                    {"1002", &agent{then: transfer}, true, transport.ErrTransferred, whole, takenOver},
		"channel, the caller hangs up":              {"1003", &agent{}, false, transport.ErrHungUp, whole, 0},
		"channel, we hang up":                       {"1003", &agent{then: hangUp}, false, transport.ErrEnded, whole, 0},
		"chan_websocket, the caller hangs up":       {"1004", &agent{}, true, transport.ErrHungUp, whole, 0},
		"chan_websocket, we hang up":                {"1004", &agent{then: hangUp}, true, transport.ErrEnded, whole, 0},
		"chan_websocket, held and let go on":        {"1004", &agent{before: pause, then: hangUp}, true, transport.ErrEnded, whole, 0},
		"chan_websocket, interrupted":               {"1004", &agent{status: transport.Cancelled, then: hangUp}, true, transport.ErrEnded, half, 0},
		"chan_websocket, transferred":               {"1004", &agent{then: transfer}, true, transport.ErrTransferred, whole, takenOver},
		"chan_websocket, ulaw, plain, interrupted":  {"2001", &agent{status: transport.Cancelled, then: hangUp}, true, transport.ErrEnded, half, 0},
		"chan_websocket, ulaw, plain, transferred":  {"2001", &agent{then: transfer}, true, transport.ErrTransferred, whole, takenOver},
		"chan_websocket, alaw, held and let go on":  {"2002", &agent{before: pause, then: hangUp}, true, transport.ErrEnded, whole, 0},
		"chan_websocket, 48 kHz, plain, we hang up": {"2003", &agent{then: hangUp}, true, transport.ErrEnded, whole, 0},
		"channel, 44.1 kHz, the caller hangs up":    {"2004", &agent{}, false, transport.ErrHungUp, whole, 0},
		"chan_websocket, INCOMING, we hang up":      {"1005", &agent{then: hangUp}, true, transport.ErrEnded, whole, 0},
		"chan_websocket, INCOMING, transferred":     {"1005", &agent{then: transfer}, true, transport.ErrTransferred, whole, takenOver},
	} {
		t.Run(name, func(t *testing.T) {
			e.t = t
			_ = os.Remove(filepath.Join(e.folder, "heard.wav"))
			a := c.agent
			a.status, a.ended = cmp.Or(a.status, transport.Completed), make(chan error, 1)
			all.next(a)
			if out, err := e.say(fmt.Sprintf("channel originate Local/%s@riposte/n extension s@caller", c.number)); err != nil || strings.TrimSpace(out) != "" {
				t.Fatal(out, err)
			}
			select {
			case err := <-a.ended:
				if why := cmp.Or(err, errNone); !errors.Is(why, c.why) {
					t.Errorf("the call ended since %v", why)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("the call did not end")
			}
			heard := e.heard()
			a.mu.Lock()
			defer a.mu.Unlock()
			if n := count(a.tones, asked); n < 12 || n > 16 {
				t.Errorf("of the caller's 1.5 s so many tenths of a second were heard: %d (%v)", n, a.tones)
			}
			if a.keys != "5" {
				t.Errorf("the keys %q came", a.keys)
			}
			n := count(heard, answered)
			if n < c.heard[0] || n > c.heard[1] {
				t.Errorf("of the answer's 2 s the caller heard so many tenths: %d (%v)", n, heard)
			}
			for _, cut := range a.cut {
				t.Logf("%v of the answer is said to have been heard, and %d tenths of a second were", cut.Heard, n)
				if difference := cut.Heard - time.Duration(n)*100*time.Millisecond; difference.Abs() > 250*time.Millisecond {
					t.Error("which is wrong")
				}
			}
			if cancelled := a.status == transport.Cancelled; cancelled != (len(a.cut) == 1) {
				t.Errorf("how much was heard was told %d times", len(a.cut))
			}
			if n := count(heard, takenOver); c.after == takenOver && n < 8 || c.after == 0 && n > 0 {
				t.Errorf("of who takes over the caller heard so many tenths of a second: %d (%v)", n, heard)
			}
			if c.after == takenOver {
				b, err := os.ReadFile(filepath.Join(e.folder, "messages.log"))
				if err != nil || !strings.Contains(string(b), "Transferred to 17: wants a refund") {
					t.Errorf("whoever takes over has no note, %v", err)
				}
			}
			if c.parties && a.parties.To != c.number {
				t.Errorf("the parties are %+v", a.parties)
			}
		})
	}
}

// errNone stands for no error.
var errNone = errors.New("nothing")
