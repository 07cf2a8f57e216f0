package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"riposte/audio"
	"riposte/audio/lame"
	"riposte/audio/opus"
	"riposte/native"
	"riposte/remote"
)

// doctorCmd checks everything that the service needs.
type doctorCmd struct {
	settings
}

// errUnwell says that a check failed.
var errUnwell = errors.New("something is missing: see above for how to mend it")

// finding is the result of one check.
type finding struct {
	what   string
	detail string // What was found.
	err    error  // What is wrong, with the mend.
	note   bool   // It is no failure, only worth knowing.
}

// Run prints a line for each check and fails when one of them did.
func (c *doctorCmd) Run(ctx context.Context, k *kong.Context) error {
	failed := false
	for f := range c.examine(ctx) {
		mark, text := "ok  ", f.detail
		switch {
		case f.err != nil && f.note:
			mark, text = "note", f.err.Error()
		case f.err != nil:
			mark, text, failed = "FAIL", f.err.Error(), true
		}
		fmt.Fprintf(k.Stdout, "%s  %-18s %s\n", mark, f.what, strings.ReplaceAll(text, "\n", "\n                         "))
	}
	if failed {
		return errUnwell
	}
	return nil
}

// examine yields the findings, the cheap ones first.
func (c *doctorCmd) examine(ctx context.Context) func(yield func(finding) bool) {
	return func(yield func(finding) bool) {
		store, err := c.store()
		if err != nil {
			yield(finding{what: "cache", err: err})
			return
		}
		gpu, err := native.ParseGPU(c.LLM.GPU)
		if err != nil {
			yield(finding{what: "gpu", err: err})
			return
		}
		checks := []func() finding{
			func() finding {
				return finding{what: "machine", detail: fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())}
			},
			cpuFinding,
			func() finding { return portFinding(c.Listen) },
			func() finding { return routesFinding(&c.settings) },
			func() finding { return toolsFinding(ctx, &c.settings) },
			func() finding { return pathFinding("whisper.cpp", store.Whisper) },
			func() finding {
				if remote.Named(c.LLM.Model) && (c.LLM.Hedge == "" || remote.Named(c.LLM.Hedge)) {
					return finding{what: "llama.cpp", detail: "is not needed: the model is served elsewhere"}
				}
				return pathFinding("llama.cpp", func() (string, error) { return store.LlamaDir(gpu) })
			},
			func() finding { return pathFinding("onnx runtime", store.ONNXRuntime) },
			resamplerFinding,
			opusFinding,
			lameFinding,
			func() finding { return gpuBuilds(store, gpu) },
			func() finding { return c.gpuDevices(store, gpu) },
		}
		for _, m := range []struct{ what, name string }{
			{"stt model", c.STT.Model}, {"stt fallback", c.STT.Fallback}, {"llm model", c.LLM.Model}, {"llm hedge", c.LLM.Hedge},
			{"tts voice", c.TTS.Voice}, {"tts fallback", c.TTS.Fallback}, {"vad model", c.VAD.Model}, {"turn model", c.VAD.Turn},
		} {
			if m.name == "" || remote.Named(m.name) {
				continue // it is optional, or looked for below
			}
			checks = append(checks, func() finding {
				return pathFinding(m.what, func() (string, error) { return modelFile(store, m.name) })
			})
		}
		checks = append(checks, c.remoteFindings(ctx)...)
		well := true
		for _, check := range checks {
			f := check()
			well = well && (f.err == nil || f.note)
			if !yield(f) {
				return
			}
		}
		if well {
			yield(c.trial(ctx))
		}
	}
}

// trial loads the engines as the service would: what opens there, opens here.
func (c *doctorCmd) trial(ctx context.Context) finding {
	began := time.Now()
	routes, err := c.openRoutes()
	if err != nil {
		return finding{what: "engines", err: err}
	}
	e, err := openEngines(ctx, &c.settings, routes, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return finding{what: "engines", err: err}
	}
	defer e.close()
	if err := hears(routes, e.crew(defaultRoute).knows); err != nil {
		return finding{what: "engines", err: err}
	}
	return finding{what: "engines", detail: fmt.Sprintf("all of them load and warm up, in %v", time.Since(began).Round(time.Millisecond))}
}

func cpuFinding() finding {
	f := finding{what: "cpu", detail: "good vector instructions"}
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil || runtime.GOARCH != "amd64" {
		return finding{what: "cpu", note: true, err: errors.New("only amd64 on Linux was tried")}
	}
	flags := string(b)
	var have, lack []string
	for _, want := range []string{"avx2", "fma", "f16c", "avx512f", "avx512_vnni"} {
		if strings.Contains(flags, " "+want) {
			have = append(have, want)
		} else {
			lack = append(lack, want)
		}
	}
	f.detail = strings.Join(have, ", ")
	if len(lack) > 0 && lack[0] == "avx2" {
		f.note, f.err = true, errors.New("no AVX2: the engines work, but far too slowly for the budget")
	}
	return f
}

func portFinding(address string) finding {
	l, err := net.Listen("tcp", address)
	var wrong *net.AddrError
	if errors.As(err, &wrong) {
		return finding{what: "port", err: fmt.Errorf("%w (write listen as HOST:PORT, such as 127.0.0.1:8080, or :8080 for all addresses)", err)}
	}
	if err != nil {
		return finding{what: "port", err: fmt.Errorf("%w (stop what uses it, or set another with --listen)", err)}
	}
	l.Close()
	return finding{what: "port", detail: address + " is free"}
}

func resamplerFinding() finding {
	r, err := audio.OpenResampler(24000, audio.SpeechRate)
	if err != nil {
		return finding{what: "resampler", err: err}
	}
	r.Close()
	return finding{what: "resampler", detail: "libspeexdsp loads"}
}

func opusFinding() finding {
	if err := opus.Check(); err != nil {
		return finding{what: "opus", note: true, err: fmt.Errorf("no calls over WebRTC: %w", err)}
	}
	return finding{what: "opus", detail: "libopus loads"}
}

func lameFinding() finding {
	if err := lame.Check(); err != nil {
		return finding{what: "lame", note: true, err: fmt.Errorf("no speech as MP3: %w", err)}
	}
	return finding{what: "lame", detail: "libmp3lame loads"}
}

func pathFinding(what string, find func() (string, error)) finding {
	path, err := find()
	return finding{what: what, detail: path, err: err}
}

// routesFinding says whether the routes' files can be used.
func routesFinding(s *settings) finding {
	routes, err := s.openRoutes()
	return finding{what: "routes", detail: strings.Join(slices.Sorted(maps.Keys(routes)), ", "), err: err}
}

// remoteFindings returns checks of the servers that the settings and their routes name: whether each can be reached, takes the key and has
// the model.
func (c *doctorCmd) remoteFindings(ctx context.Context) (checks []func() finding) {
	routes, err := c.openRoutes()
	if err != nil {
		return nil // another check says so
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		set := routes[name].settings
		for _, n := range set.namings() {
			key := fmt.Sprint(n.stage, n.model, n.access.Key, n.access.Headers)
			if !remote.Named(n.model) || seen[key] {
				continue
			}
			seen[key] = true
			what := strings.ReplaceAll(n.flag, "-", " ")
			if name != defaultRoute {
				what = name + ": " + what
			}
			checks = append(checks, func() finding { return set.remoteFinding(ctx, what, n) })
		}
	}
	return checks
}

// remoteFinding checks one server.
func (s *settings) remoteFinding(ctx context.Context, what string, n naming) finding {
	server, err := s.server(n.model, n.stage, n.access, nil)
	if err == nil {
		err = server.Open(ctx)
	}
	if err != nil {
		return finding{what: what, err: err}
	}
	defer server.Close()
	unsure, err := server.Check(ctx)
	if err == nil && unsure != nil {
		return finding{what: what, note: true, err: unsure}
	}
	return finding{what: what, detail: server.Address.String() + " answers, and has the model", err: err}
}
