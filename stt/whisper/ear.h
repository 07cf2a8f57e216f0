// What the Go bindings of whisper.cpp lack: a state per stream, a stop that takes effect at once, the end of loops, and a
// log that keeps still. Only native.go includes this file.

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
