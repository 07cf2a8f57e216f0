//go:build cgo

package whisper

/*
#cgo CFLAGS: -O2
#cgo linux LDFLAGS: -Wl,--wrap=ggml_backend_init_by_type

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <whisper.h>

// One whisper_state and what its callbacks read. It lives in C memory so that whisper may keep pointers to it.
typedef struct {
	struct whisper_state *state;
	whisper_token eot;  // The token that ends a text.
	int n_vocab;        // How many logits there are.
	int stop;           // Set by any thread: stop at the next graph node.
	int hold;           // The encoder must not begin: only parameters and mel are wanted.
	int period;         // The length in tokens of a loop that was seen, or 0.
} ear;

// A loop is a tail that repeats itself three times over, 12 tokens at the least: nobody says "no" that often, whereas
// "no no no no" and a sentence said twice are speech. Longer periods than 24 tokens do not come back three times
// within the token limit of one window.
enum { LOOP_TURNS = 3, LOOP_TOKENS = 12, LOOP_PERIOD = 24 };

static int loop_period(const whisper_token_data *t, int n) {
	for (int p = 1; p <= LOOP_PERIOD && p * LOOP_TURNS <= n; p++) {
		int same = 0;
		while (same + p < n && t[n - 1 - same].id == t[n - 1 - same - p].id) same++;
		if (same + p >= p * LOOP_TURNS && same + p >= LOOP_TOKENS) return p;
	}
	return 0;
}

static bool ear_stopped(void *user) {
	return __atomic_load_n(&((ear *)user)->stop, __ATOMIC_RELAXED) != 0;
}

static bool ear_begin(struct whisper_context *ctx, struct whisper_state *state, void *user) {
	(void)ctx; (void)state;
	return !((ear *)user)->hold && !ear_stopped(user);
}

// The filter sees the tokens so far before each new one: in a loop it leaves nothing to choose but the end of the text.
static void ear_filter(struct whisper_context *ctx, struct whisper_state *state,
		const whisper_token_data *tokens, int n, float *logits, void *user) {
	(void)ctx; (void)state;
	ear *e = user;
	if (e->period == 0) e->period = loop_period(tokens, n);
	if (e->period == 0) return;
	for (int i = 0; i < e->n_vocab; i++) if (i != e->eot) logits[i] = -INFINITY;
}

// whisper hands its abort callback to the decoder's loop but not to the backend, so an encoder pass, the longest step by
// far, would run to its end. The state's backend is private and made by this call, which the linker sends through here.
static __thread ear *ear_opening;

#ifdef __linux__
ggml_backend_t __real_ggml_backend_init_by_type(enum ggml_backend_dev_type type, const char *params);

ggml_backend_t __wrap_ggml_backend_init_by_type(enum ggml_backend_dev_type type, const char *params) {
	ggml_backend_t b = __real_ggml_backend_init_by_type(type, params);
	if (b && ear_opening && type == GGML_BACKEND_DEVICE_TYPE_CPU) ggml_backend_cpu_set_abort_callback(b, ear_stopped, ear_opening);
	return b;
}
#endif

static ear *ear_open(struct whisper_context *ctx) {
	ear *e = calloc(1, sizeof *e);
	if (!e) return NULL;
	e->eot = whisper_token_eot(ctx);
	e->n_vocab = whisper_n_vocab(ctx);
	ear_opening = e;
	e->state = whisper_init_state(ctx);
	ear_opening = NULL;
	if (!e->state) { free(e); return NULL; }
	return e;
}

static void ear_close(ear *e) {
	whisper_free_state(e->state);
	free(e);
}

// Without samples the mel spectrogram of the call before is heard again.
static int ear_run(struct whisper_context *ctx, ear *e, const struct whisper_full_params *given, const char *prompt,
		const float *samples, int n) {
	struct whisper_full_params p = *given;
	p.no_timestamps = true;
	p.suppress_blank = true;
	p.suppress_nst = false; // Kept from writing "(drumming)", which is taken out later, the model makes up words instead.
	p.greedy.best_of = 1;
	p.no_speech_thold = 2; // Never: whisper takes that probability at the wrong token, where it is always 0.
	p.initial_prompt = prompt;
	p.new_segment_callback = NULL;
	p.progress_callback = NULL;
	p.encoder_begin_callback = ear_begin;
	p.encoder_begin_callback_user_data = e;
	p.abort_callback = ear_stopped;
	p.abort_callback_user_data = e;
	p.logits_filter_callback = ear_filter;
	p.logits_filter_callback_user_data = e;
	e->period = 0;
	return whisper_full_with_state(ctx, e->state, p, samples, n);
}

// The language detector has no window of its own: it takes the one that the state was last given. A run that is held
// before its encoder sets the window and the mel, so that the same sound is always judged in the same way.
static int ear_language(struct whisper_context *ctx, ear *e, const struct whisper_full_params *given,
		const float *samples, int n) {
	e->hold = 1;
	int rc = ear_run(ctx, e, given, NULL, samples, n);
	e->hold = 0;
	if (rc != 0) return rc;
	return whisper_lang_auto_detect_with_state(ctx, e->state, 0, given->n_threads, NULL);
}

// OpenMP's threads spin while they wait for each other, for ever if need be, and a machine with anything else to do pays
// tenfold for it. libgomp reads how to wait once, when it is loaded; what stands in this section runs even before that.
#ifdef __linux__
static void wait_passively(void) { setenv("OMP_WAIT_POLICY", "passive", 0); }

__attribute__((section(".preinit_array"), used)) static void (*const wait_first)(void) = wait_passively;
#endif

// whisper logs through one function for the whole process, on the thread that called it. The lines are kept per thread
// until that thread asks for them; what does not fit is lost.
static __thread char log_text[8192];
static __thread int log_len;

static void log_keep(enum ggml_log_level level, const char *text, void *user) {
	(void)level; (void)user;
	int n = (int)strlen(text);
	if (n > (int)sizeof log_text - log_len) n = (int)sizeof log_text - log_len;
	memcpy(log_text + log_len, text, n);
	log_len += n;
}

static void log_install(void) { whisper_log_set(log_keep, NULL); }

static struct whisper_context *ear_load(const char *path) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, log_install);
	struct whisper_context_params p = whisper_context_default_params();
	p.use_gpu = false;
	// whisper's flash attention reads its caches up to a multiple of 256 positions, and so what an earlier speech left in
	// them, or another caller's. Without it the encoder costs the same and a token less.
	p.flash_attn = false;
	return whisper_init_from_file_with_params_no_state(path, p);
}

static const char *log_take(int *n) {
	*n = log_len;
	log_len = 0;
	return log_text;
}
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
	m := &model{ctx: ctx, eot: ctx.Whisper_token_eot(), languages: map[string]int{"en": 0}}
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

// decode hears samples, which are at binding.SampleRate, once. Nothing of samples is kept.
func (e *ear) decode(samples []float32, r request) (heard, error) {
	if e.stopped() {
		return heard{}, errStopped
	}
	p := e.params(r)
	data, n := (*C.float)(unsafe.SliceData(samples)), C.int(len(samples))
	language := r.language
	if language == "" {
		if len(e.m.languages) > 1 {
			id := int(C.ear_language(e.m.native(), e.c, p.c(), data, n))
			if id < 0 {
				return heard{}, e.failed("detect language", id)
			}
			language, n = binding.Whisper_lang_str(id), 0
		} else {
			language = "en"
		}
	}
	id, ok := e.m.languages[language]
	if !ok {
		return heard{}, fmt.Errorf("%w: %q", ErrLanguage, language)
	}
	if err := p.SetLanguage(id); err != nil {
		return heard{}, fmt.Errorf("language %q: %w", language, err)
	}
	var prompt *C.char
	if r.prompt != "" {
		// What begins like a control token would become one.
		prompt = C.CString(strings.NewReplacer("\x00", " ", "[_", " ").Replace(r.prompt))
		defer C.free(unsafe.Pointer(prompt))
	}
	rc := C.ear_run(e.m.native(), e.c, p.c(), prompt, data, n)
	if rc != 0 || e.stopped() {
		return heard{}, e.failed("decode", int(rc))
	}
	return e.result(language), nil
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
