//go:build cgo

package whisper

/*
#cgo CFLAGS: -O2
#cgo linux LDFLAGS: -Wl,--wrap=ggml_backend_init_by_type -Wl,--wrap=ggml_backend_tensor_get

#include "ear.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	binding "github.com/ggerganov/whisper.cpp/bindings/go"
)

// available reports whether there is a recogniser in this binary.
const available = true

// model is a loaded model: weights and vocabulary, shared by any number of ears. It is freed by free, once.
type model struct {
	ctx       *binding.Context
	languages map[string]int // The ids that whisper gives to ISO 639-1 codes; only English for an English-only model.
	eot       binding.Token
	mels      int
}

// loadModel reads the model from a file that checkFile has approved: whisper trusts what it reads. The second result is
// what whisper had to say.
func loadModel(path string) (*model, string, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	// The bindings' own loader also makes a whisper_state, which no stream of ours would use.
	ctx := (*binding.Context)(unsafe.Pointer(C.ear_load(cpath)))
	said := takeLog()
	if ctx == nil {
		return nil, said, errors.New(lastLine(said))
	}
	m := &model{ctx: ctx, eot: ctx.Whisper_token_eot(), mels: int(C.whisper_model_n_mels((*C.struct_whisper_context)(unsafe.Pointer(ctx)))), languages: map[string]int{"en": 0}}
	if ctx.Whisper_is_multilingual() != 0 {
		for id := range binding.Whisper_lang_max_id() + 1 {
			m.languages[binding.Whisper_lang_str(id)] = id
		}
	}
	return m, said, nil
}

func (m *model) free() {
	m.ctx.Whisper_free()
	m.ctx = nil
}

// knows reports whether the model can be told to hear the language.
func (m *model) knows(language string) bool {
	_, ok := m.languages[language]
	return ok
}

// translates reports whether the model can write in English what is said in other languages.
func (m *model) translates() bool { return len(m.languages) > 1 }

func (m *model) native() *C.struct_whisper_context {
	return (*C.struct_whisper_context)(unsafe.Pointer(m.ctx))
}

// ear is one recogniser on a shared model. All calls but stop come from one goroutine that is locked to its thread.
type ear struct {
	m *model
	c *C.ear
}

// newEar makes an ear. It must be closed before the model is freed. The second result is what whisper had to say.
func (m *model) newEar() (*ear, string, error) {
	c := C.ear_open(m.native())
	said := takeLog()
	if c == nil {
		return nil, said, fmt.Errorf("whisper state: %s", lastLine(said))
	}
	return &ear{m: m, c: c}, said, nil
}

func (e *ear) close() {
	C.ear_close(e.c)
	e.c = nil
}

// stop makes a running or coming decode end early with errStopped, until the ear is readied. Any goroutine may call it.
func (e *ear) stop() {
	atomic.StoreInt32((*int32)(unsafe.Pointer(&e.c.stop)), 1)
}

// ready takes a stop back.
func (e *ear) ready() {
	atomic.StoreInt32((*int32)(unsafe.Pointer(&e.c.stop)), 0)
}

// decode hears once. Nothing of the request is kept.
func (e *ear) decode(r request) (heard, error) {
	if e.stopped() {
		return heard{}, errStopped
	}
	p := e.params(r)
	if rc := C.ear_encode(e.m.native(), e.c, p.c(), (*C.float)(unsafe.SliceData(r.mel)), C.int(r.window), C.int(e.m.mels),
		(*C.int32_t)(unsafe.SliceData(r.places)), (*C.float)(unsafe.SliceData(r.weights)), C.int(len(r.places))); rc != 0 || e.stopped() {
		return heard{}, e.failed("encode", int(rc))
	}
	return e.write(r)
}

// write finds the text of what was encoded.
func (e *ear) write(r request) (heard, error) {
	ctx, threads := e.m.native(), C.int(r.threads)
	tokens, sot, past := e.opening(r), 0, 0
	sot = len(tokens) - 1
	language := r.language
	if len(e.m.languages) > 1 {
		if language == "" {
			id := int(C.ear_language(ctx, e.c, unsafe.SliceData(tokens), C.int(len(tokens)), threads))
			if id < 0 || e.stopped() {
				return heard{}, e.failed("detect language", id)
			}
			language, past = binding.Whisper_lang_str(id), len(tokens)
		}
		id, ok := e.m.languages[language]
		if !ok {
			return heard{}, fmt.Errorf("%w: %q", ErrLanguage, language)
		}
		tokens = append(tokens, C.whisper_token_lang(ctx, C.int(id)), e.m.task(r.english))
	} else if language = "en"; r.language != "" && r.language != language {
		return heard{}, fmt.Errorf("%w: %q", ErrLanguage, r.language)
	}
	tokens = append(tokens, C.whisper_token_not(ctx))
	n := len(tokens)
	for _, id := range r.draft[:min(len(r.draft), r.tokens)] {
		tokens = append(tokens, C.whisper_token(id))
	}
	rc := C.ear_decode(ctx, e.c, unsafe.SliceData(tokens), C.int(n), C.int(past), C.int(len(tokens)-n), C.int(sot), C.int(r.tokens), threads)
	if rc != 0 || e.stopped() {
		return heard{}, e.failed("decode", int(rc))
	}
	h := heard{
		language: language, ended: bool(e.c.ended), period: int(e.c.period), confirmed: int(e.c.n_true), noSpeech: float32(e.c.no_speech),
		tokens: make([]token, e.c.n_heard),
	}
	for i := range h.tokens {
		t := &e.c.heard[i]
		h.tokens[i] = token{id: int32(t.id), logProb: float32(t.plog), text: e.m.ctx.Whisper_token_to_str(binding.Token(t.id))}
	}
	if last := lastWord(h.tokens); h.ended && h.period == 0 && last >= 0 {
		h.closed = float32(e.c.closed[last+1])
	}
	return h, nil
}

// opening returns what stands before a text: the prompt, and the token that starts a transcript.
func (e *ear) opening(r request) []C.whisper_token {
	ctx := e.m.native()
	tokens := make([]C.whisper_token, 0, 512)
	if r.prompt != "" {
		tokens = append(tokens, C.whisper_token_prev(ctx))
		tokens = append(tokens, e.m.tokens(r.prompt)...)
	}
	return append(tokens, C.whisper_token_sot(ctx))
}

// task returns the token that says what is to be written.
func (m *model) task(english bool) C.whisper_token {
	if english {
		return C.whisper_token_translate(m.native())
	}
	return C.whisper_token_transcribe(m.native())
}

// ends finds where in the sound of the last decode each of its tokens ends: by the logarithm of the probability, among steps of 20 ms from
// its beginning on, that what is said up to a token and with it ends there. There are steps values for each token.
func (e *ear) ends(r request, h heard, steps int) ([]float32, error) {
	ctx := e.m.native()
	tokens := e.opening(r)
	if id, ok := e.m.languages[h.language]; ok && len(e.m.languages) > 1 {
		tokens = append(tokens, C.whisper_token_lang(ctx, C.int(id)), e.m.task(r.english))
	}
	tokens = append(tokens, C.whisper_token_beg(ctx)) // it begins with the sound
	n := len(tokens)
	for _, t := range h.tokens {
		tokens = append(tokens, C.whisper_token(t.id))
	}
	out := make([]float32, len(h.tokens)*steps)
	if len(out) == 0 {
		return nil, nil
	}
	rc := C.ear_ends(ctx, e.c, unsafe.SliceData(tokens), C.int(n), C.int(len(h.tokens)), C.int(steps), (*C.float)(unsafe.SliceData(out)), C.int(r.threads))
	if rc != 0 || e.stopped() {
		return nil, e.failed("place words", int(rc))
	}
	return out, nil
}

// tokens returns the tokens of a prompt, the last of them if there are more than whisper takes.
func (m *model) tokens(prompt string) []C.whisper_token {
	// What begins like a control token would become one.
	text := C.CString(strings.NewReplacer("\x00", " ", "[_", " ").Replace(prompt))
	defer C.free(unsafe.Pointer(text))
	t := make([]C.whisper_token, len(prompt)+1)
	n := max(0, int(C.whisper_tokenize(m.native(), text, unsafe.SliceData(t), C.int(len(t)))))
	return t[max(0, n-maxPrompt):n]
}

// whole hears samples by whisper's own loop and spectrogram, slower: what decode brings is measured against it.
func (e *ear) whole(samples []float32, r request) (heard, error) {
	p := e.params(r)
	if err := p.SetLanguage(e.m.languages[r.language]); err != nil {
		return heard{}, err
	}
	var prompt *C.char
	if r.prompt != "" {
		prompt = C.CString(r.prompt)
		defer C.free(unsafe.Pointer(prompt))
	}
	rc := C.ear_whole(e.m.native(), e.c, p.c(), prompt, (*C.float)(unsafe.SliceData(samples)), C.int(len(samples)))
	if rc != 0 || e.stopped() {
		return heard{}, e.failed("decode", int(rc))
	}
	return e.result(r.language), nil
}

// params are whisper's, by the bindings; Params of ours only lends them a way to C.
type params struct{ binding.Params }

func (p *params) c() *C.struct_whisper_full_params {
	return (*C.struct_whisper_full_params)(unsafe.Pointer(&p.Params))
}

func (e *ear) params(r request) *params {
	p := &params{e.m.ctx.Whisper_full_default_params(binding.SAMPLING_GREEDY)}
	p.SetThreads(r.threads)
	p.SetAudioCtx(r.window)
	p.SetMaxTokensPerSegment(r.tokens)
	p.SetNoContext(true)
	p.SetSingleSegment(true)
	p.SetTemperature(0)
	p.SetTemperatureFallback(0)
	p.SetPrintProgress(false)
	p.SetPrintRealtime(false)
	p.SetPrintTimestamps(false)
	p.SetPrintSpecial(false)
	return p
}

func (e *ear) stopped() bool {
	return atomic.LoadInt32((*int32)(unsafe.Pointer(&e.c.stop))) != 0
}

func (e *ear) failed(what string, code int) error {
	said := takeLog()
	if e.stopped() {
		return errStopped
	}
	return fmt.Errorf("%s: whisper code %d: %s", what, code, lastLine(said))
}

// result copies out what the last run left in the state.
func (e *ear) result(language string) heard {
	h := heard{language: language, period: int(e.c.period)}
	for i := range C.whisper_full_n_segments_from_state(e.c.state) {
		for k := range C.whisper_full_n_tokens_from_state(e.c.state, i) {
			t := C.whisper_full_get_token_data_from_state(e.c.state, i, k)
			id := binding.Token(t.id)
			if id >= e.m.eot {
				h.ended = h.ended || id == e.m.eot
				continue
			}
			h.tokens = append(h.tokens, token{id: int32(id), logProb: float32(t.plog), text: e.m.ctx.Whisper_token_to_str(id)})
		}
	}
	return h
}

// takeLog returns what whisper logged on this thread since the last call.
func takeLog() string {
	var n C.int
	text := C.log_take(&n)
	return C.GoStringN(text, n)
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// loopPeriod returns the length of the loop at the end of ids, or 0.
func loopPeriod(ids []int32) int {
	t := make([]C.whisper_token_data, len(ids))
	for i, id := range ids {
		t[i].id = C.whisper_token(id)
	}
	return int(C.loop_period(unsafe.SliceData(t), C.int(len(t))))
}
