package main

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode"

	"riposte/budget"
	llmremote "riposte/llm/remote"
	"riposte/remote"
	sttremote "riposte/stt/remote"
	ttsremote "riposte/tts/remote"
)

// access is how a server is got into.
type access struct {
	Key     string   `placeholder:"KEY" help:"Key for the remote engine, sent as Authorization: Bearer KEY. It is never logged."`
	Headers []string `placeholder:"NAME:VALUE" help:"Headers that are sent to the remote engine as well."`
}

// remoteSettings are what engines on other machines have in common.
type remoteSettings struct {
	Connect  time.Duration `default:"2s" help:"How long a connection may take to be made, encryption included." group:"remote"`
	Idle     time.Duration `default:"2s" help:"How long an answer that has begun may bring nothing." group:"remote"`
	Bytes    int64         `default:"16777216" help:"Longest answer, in bytes: some five minutes of sound." group:"remote"`
	Redials  int           `default:"1" help:"How often the same is asked again at once where a connection or a server dies before it has said anything; 0 for never." group:"remote"`
	Failures int           `default:"3" help:"Failures in a row after which a server is not asked for a while: its fallback is, at once." group:"remote"`
	Rest     time.Duration `default:"2s" help:"How long that is the first time; it doubles up to a minute, or is what the server says. Then a probe finds out whether it answers again." group:"remote"`
	Ping     time.Duration `default:"4s" help:"How long a connection may be idle while there are calls before something is sent on it: many servers close theirs after 5s." group:"remote"`
	CA       string        `name:"ca" placeholder:"FILE" help:"Certificates, in PEM, of those who vouch for remote servers, besides the ones that this machine knows." group:"remote"`
}

// limits returns what servers may do to us.
func (r *remoteSettings) limits() remote.Limits {
	return remote.Limits{
		Connect: r.Connect, Idle: r.Idle, Bytes: r.Bytes, Redials: orNone(r.Redials), Failures: r.Failures, Rest: r.Rest, Ping: r.Ping,
	}
}

// roots returns who may vouch for servers; nil are those whom this machine knows.
func (r *remoteSettings) roots() (*x509.CertPool, error) {
	if r.CA == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(r.CA)
	if err != nil {
		return nil, fmt.Errorf("remote-ca: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("remote-ca: there is no certificate in %s: it has to be PEM", r.CA)
	}
	return pool, nil
}

// headerName is what a header can be called.
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// visible reports whether a text can be sent as a header's value.
func visible(text string) bool { return !strings.ContainsFunc(text, unicode.IsControl) }

// header returns the headers.
func (a *access) header() (http.Header, error) {
	h := http.Header{}
	for i, line := range a.Headers {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !headerName.MatchString(name) || !visible(value) { // which may be a secret
			return nil, fmt.Errorf("header %d is not NAME: VALUE, such as X-Team: sales", i+1)
		}
		h.Add(name, value)
	}
	return h, nil
}

// naming is a place where a model can be named that may be served elsewhere.
type naming struct {
	flag, model string
	stage       budget.Stage
	access      *access
	accessFlag  string // What its access's flags begin with.
}

// namings returns all of them.
func (s *settings) namings() []naming {
	return []naming{
		{"stt-model", s.STT.Model, budget.STT, &s.STT.Access, "stt-"},
		{"stt-fallback", s.STT.Fallback, budget.STT, &s.STT.FallbackAccess, "stt-fallback-"},
		{"llm-model", s.LLM.Model, budget.LLM, &s.LLM.Access, "llm-"},
		{"llm-hedge", s.LLM.Hedge, budget.LLM, &s.LLM.HedgeAccess, "llm-hedge-"},
		{"tts-voice", s.TTS.Voice, budget.TTS, &s.TTS.Access, "tts-"},
		{"tts-fallback", s.TTS.Fallback, budget.TTS, &s.TTS.FallbackAccess, "tts-fallback-"},
	}
}

// validateRemotes reports what is wrong with the settings of engines on other machines.
func (s *settings) validateRemotes() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, n := range s.namings() {
		if remote.Named(n.model) {
			_, err := remote.Parse(n.model)
			check(err == nil, "%s: %w", n.flag, err)
		}
		_, err := n.access.header()
		check(err == nil, "%sheaders: %w", n.accessFlag, err)
		check(visible(n.access.Key), "%skey has characters that no key has", n.accessFlag)
	}
	for flag, text := range map[string]string{"llm-extra": s.LLM.Extra, "llm-hedge-extra": s.LLM.HedgeExtra} {
		_, err := fields(text)
		check(err == nil, "%s is no JSON object, such as {\"top_k\":40}: %w", flag, err)
	}
	check(s.STT.Timeout >= 0 && s.LLM.Timeout >= 0 && s.TTS.Timeout >= 0, "stt-timeout, llm-timeout and tts-timeout must not be negative")
	check(s.STT.Every == 0 || s.STT.Every >= 200*time.Millisecond, "stt-every is %v: it must be 200ms or more, or 0 for none", s.STT.Every)
	r := &s.Remote
	check(r.Connect > 0 && r.Idle > 0 && r.Rest > 0, "remote-connect, remote-idle and remote-rest must be more than 0")
	check(r.Ping >= 100*time.Millisecond, "remote-ping is %v: it must be at least 100ms", r.Ping)
	check(r.Bytes >= 64<<10, "remote-bytes is %d: it must be at least 65536", r.Bytes)
	check(r.Redials >= 0 && r.Redials <= 10, "remote-redials is %d: it must be 0 to 10", r.Redials)
	check(r.Failures >= 1, "remote-failures is %d: it must be at least 1", r.Failures)
	return errors.Join(errs...)
}

// fields returns the fields of a JSON object; none of an empty text.
func fields(text string) (out map[string]any, err error) {
	if text == "" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(text), &out)
	return out, err
}

// server returns the server that a setting names.
func (s *settings) server(setting string, stage budget.Stage, a *access, log *slog.Logger) (*remote.Server, error) {
	address, err := remote.Parse(setting)
	if err != nil {
		return nil, err
	}
	header, err := a.header()
	if err != nil {
		return nil, err
	}
	roots, err := s.Remote.roots()
	if err != nil {
		return nil, err
	}
	if a.Key != "" && address.Plain() && log != nil {
		log.Warn("a key is sent to another machine without encryption: use https where the network is not your own", "stage", stage, "server", address.String())
	}
	return &remote.Server{Address: address, Stage: stage, Key: a.Key, Headers: header, Roots: roots, Limits: s.Remote.limits(), Log: log}, nil
}

// patience returns how long a remote engine may take to the first of its answer: what is set, or by default less than the stage's share
// where another engine takes over, and else as long as anybody would wait.
func (s *settings) patience(set, share time.Duration, another bool) time.Duration {
	switch {
	case set > 0:
		return set
	case another && s.Budget.Mode != "observe":
		return share * 3 / 4
	}
	return s.Talk.Stall
}

// remoteEar returns the recogniser of a server.
func (s *settings) remoteEar(server *remote.Server, another bool) *sttremote.Engine {
	return &sttremote.Engine{Server: server, Every: s.STT.Every, First: s.patience(s.STT.Timeout, s.Budget.STT, another)}
}

// remoteModel returns the model of a server.
func (s *settings) remoteModel(server *remote.Server, extra string, another bool) (*llmremote.Engine, error) {
	more, err := fields(extra)
	return &llmremote.Engine{Server: server, ReadAhead: s.LLM.ReadAhead, Extra: more, First: s.patience(s.LLM.Timeout, s.Budget.LLM, another)}, err
}

// remoteVoice returns the voice of a server.
func (s *settings) remoteVoice(server *remote.Server, speaker string, another bool) *ttsremote.Engine {
	return &ttsremote.Engine{
		Server: server, Voice: speaker, Format: s.TTS.Format, Language: s.call().Language, First: s.patience(s.TTS.Timeout, s.Budget.TTS, another),
	}
}

// shown returns a model's name as callers may see it: not where it is served.
func shown(setting string) string {
	if a, err := remote.Parse(setting); err == nil {
		return a.Model
	}
	return setting
}
