// Package piper speaks with Piper voices, behind tts.Synthesizer: espeak-ng turns text into phonemes, a neural network on
// ONNX Runtime turns these into sound, and the sound leaves window by window while the rest is still being made.
package piper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"riposte/budget"
	"riposte/native/onnx"
	"riposte/tts"
)

// Engine is one voice. Set the fields that differ from their defaults, call Open, speak, and Close.
type Engine struct {
	Model   string        // The path of the voice's .onnx file; its description lies beside it as .onnx.json.
	Runtime *onnx.Runtime // What runs it.

	// Executor says when a part of the network may run. Nil runs everything at once.
	Executor *budget.Executor
	// Threads work inside one operator, whatever the executor has free: the runtime fixes their number when a voice is
	// opened. It defaults to 1, which never takes more than was granted.
	Threads    int
	Speaker    string        // Name or number, for voices of many speakers. It defaults to the first.
	Whole      bool          // Speak each unit in one piece, as the graph comes: slow to be heard, and there to compare with.
	Pause      time.Duration // Silence between sentences. It defaults to 150 ms.
	CacheBytes int           // How much sound of what was spoken is kept, to be spoken again. It defaults to 16 MiB; negative keeps none.
	Espeak     string        // The folder that holds espeak-ng-data. It defaults to where the library looks itself.
	Log        *slog.Logger  // It defaults to slog.Default.

	// NoiseScale, LengthScale and NoiseWidth are how lively the sound, how slow the speech and how varied its rhythm are.
	// 0 means the voice's own value, and a negative noise means none, which makes speech repeatable. With noise a text
	// sounds a little different each time, but for what the cache holds: that sounds as it did.
	NoiseScale, LengthScale, NoiseWidth float32

	voice   *voice
	net     *network
	scales  [3]float32
	speaker int64
	spoken  cache
	unknown atomic.Int64 // Phonemes left out since the voice does not know them.

	mu       sync.Mutex
	speaking sync.WaitGroup
	closed   bool
}

var _ tts.Synthesizer = (*Engine)(nil)

// ErrClosed reports the use of an engine that is not open.
var ErrClosed = errors.New("piper: not open")

// warmUp is what a voice says to itself when it is opened: long enough for windows with neighbours on both sides.
const warmUp = "Good morning, how can I help you?"

// Open reads the voice, cuts its graph, tries it and warms it up. It takes about a second and is called once.
func (e *Engine) Open(ctx context.Context) error {
	begin := time.Now()
	if e.Log == nil {
		e.Log = slog.Default()
	}
	v, err := readVoice(e.Model + ".json")
	if err != nil {
		return err
	}
	speaker, err := v.speaker(e.Speaker)
	if err != nil {
		return err
	}
	if err := openEspeak(e.Espeak); err != nil {
		return err
	}
	// Any voice can read the warm-up, be it with an accent.
	said, err := units(v.Espeak.Voice, tts.Normalize(warmUp, v.language()))
	if err != nil {
		return err
	}
	e.voice, e.speaker = v, speaker
	e.scales = v.scales(e.NoiseScale, e.LengthScale, e.NoiseWidth)
	e.spoken.limit = cacheBytes(e.CacheBytes)

	model, err := os.ReadFile(e.Model)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrVoice, err)
	}
	first := request{scales: e.scales, speaker: speaker}
	if first.ids, _, _ = v.ids(said[0].phonemes); first.ids == nil {
		return fmt.Errorf("%w: %s.json: phoneme_id_map holds none of espeak's phonemes", ErrVoice, e.Model)
	}
	n, err := e.openNetwork(ctx, model, first)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrVoice, e.Model, err)
	}
	e.net = n
	if !n.timed {
		e.Log.Warn("the voice does not say where its words lie", "model", e.Model)
	}
	debug.FreeOSMemory() // The file and its parts, which the runtime holds copies of, are twice what a voice weighs.
	e.Log.Info("voice is ready", "model", e.Model, "rate", e.Rate(), "windows", n.decoder != nil, "flow_windows", n.flow != nil,
		"overlap", n.overlap, "words", n.timed, "threads", n.threads, "took", time.Since(begin).Round(time.Millisecond))
	return nil
}

// openNetwork opens the graph in as many parts as give the same sound as the whole.
func (e *Engine) openNetwork(ctx context.Context, model []byte, first request) (*network, error) {
	g, err := onnx.ParseGraph(model)
	if err != nil {
		return nil, fmt.Errorf("fetch the voice again: %w", err)
	}
	o := onnx.Options{Threads: max(1, e.Threads)}
	try := func(n *network, err error) (*network, error) {
		if err != nil {
			return nil, err
		}
		n.executor, n.threads = e.Executor, o.Threads
		err = n.work(ctx, workOpen, 1, nil, func(ctx context.Context) error { return n.check(ctx, first) })
		if err != nil {
			n.close()
			return nil, err
		}
		return n, nil
	}

	if e.Whole {
		return try(openWhole(e.Runtime, g, model, o))
	}
	c, why := findCuts(g)
	if why == nil && c.prior != "" {
		n, err := try(openCut(e.Runtime, g, c, o))
		if !errors.Is(err, errUncut) {
			return n, err
		}
		why = err
		c.prior, c.beside = "", nil
	}
	if c.latent != "" {
		n, err := try(openCut(e.Runtime, g, c, o))
		if !errors.Is(err, errUncut) {
			return n, err
		}
		why = err
	}
	e.Log.Warn("the voice is spoken whole, so that its first sound comes late", "model", e.Model, "why", why)
	return try(openWhole(e.Runtime, g, model, o))
}

// Rate implements tts.Synthesizer. It is 0 before Open.
func (e *Engine) Rate() int {
	if e.voice == nil {
		return 0
	}
	return e.voice.Audio.SampleRate
}

// Unknown returns how many phonemes were left out so far since the voice does not know them.
func (e *Engine) Unknown() int64 { return e.unknown.Load() }

// enter counts a caller in. It reports ErrClosed before Open and after Close.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.net == nil || e.closed {
		return ErrClosed
	}
	e.speaking.Add(1)
	return nil
}

// Close waits for those who speak and frees the voice. Closing twice does nothing.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.net == nil || e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.mu.Unlock()
	e.speaking.Wait()
	return e.net.close()
}
