// What the Go bindings of whisper.cpp lack: a state per stream, a stop that takes effect at once, the end of loops, and a
// log that keeps still. Only native.go includes this file.

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <whisper.h>

// Ours, put into the library when it is built.
void whisper_set_places(struct whisper_state *state, const int32_t *places, const float *weights, int n);

// How many marks end a sentence.
enum { STOPS = 6 };

// One whisper_state and what its callbacks read. It lives in C memory so that whisper may keep pointers to it.
typedef struct {
	struct whisper_state *state;
	whisper_token eot;  // The token that ends a text.
	int n_vocab;        // How many logits there are.
	int stop;           // Set by any thread: stop at the next graph node.
	int period;         // The length in tokens of a loop that was seen, or 0.
	const float *rows;  // The logits of the last batch, a row for each of its tokens, until the next batch.
	int n_rows;
	whisper_token blank; // A single space, or -1.
	whisper_token stops[STOPS]; // The marks that end a sentence, or -1.
	int n_true;         // So many tokens of the draft were what was heard.
	float no_speech;    // How likely it is, by the model's own word, that nobody speaks.
	bool ended;         // The text came to its end by itself.
	int n_heard;        // How many tokens were heard,
	whisper_token_data heard[256]; // and those, of which id and plog are set.
	float closed[257];  // How likely, where each of them stands and behind the last, a mark ends the sentence, if the text goes on at all.
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
	return !ear_stopped(user);
}

static bool ear_never(struct whisper_context *ctx, struct whisper_state *state, void *user) {
	(void)ctx; (void)state; (void)user;
	return false;
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

static __thread ear *ear_reading;

#ifdef __linux__
ggml_backend_t __real_ggml_backend_init_by_type(enum ggml_backend_dev_type type, const char *params);

ggml_backend_t __wrap_ggml_backend_init_by_type(enum ggml_backend_dev_type type, const char *params) {
	ggml_backend_t b = __real_ggml_backend_init_by_type(type, params);
	if (b && ear_opening && type == GGML_BACKEND_DEVICE_TYPE_CPU) ggml_backend_cpu_set_abort_callback(b, ear_stopped, ear_opening);
	return b;
}

// whisper computes the logits of all tokens of a batch and copies out the last row alone, with the one call that reads
// from its decoder's graph. Whoever verifies a text wants all of them, and needs no copy.
void __real_ggml_backend_tensor_get(const struct ggml_tensor *t, void *data, size_t offset, size_t size);

void __wrap_ggml_backend_tensor_get(const struct ggml_tensor *t, void *data, size_t offset, size_t size) {
	if (ear_reading && t->ne[0] == ear_reading->n_vocab) {
		ear_reading->rows = t->data;
		ear_reading->n_rows = (int)t->ne[1];
		return;
	}
	__real_ggml_backend_tensor_get(t, data, offset, size);
}
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

static ear *ear_open(struct whisper_context *ctx) {
	ear *e = calloc(1, sizeof *e);
	if (!e) return NULL;
	e->eot = whisper_token_eot(ctx);
	e->n_vocab = whisper_n_vocab(ctx);
	if (whisper_tokenize(ctx, " ", &e->blank, 1) != 1) e->blank = -1;
	const char *stops[STOPS] = {".", "?", "!", "。", "？", "！"};
	for (int i = 0; i < STOPS; i++) if (whisper_tokenize(ctx, stops[i], &e->stops[i], 1) != 1) e->stops[i] = -1;
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

// ear_whole hears samples by whisper's own loop. It is what ours is measured against.
static int ear_whole(struct whisper_context *ctx, ear *e, const struct whisper_full_params *given, const char *prompt,
		const float *samples, int n) {
	struct whisper_full_params p = *given;
	p.no_timestamps = true;
	p.suppress_blank = true;
	p.suppress_nst = false;
	p.greedy.best_of = 1;
	p.no_speech_thold = 2; // Never.
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
	whisper_set_places(e->state, NULL, NULL, 0);
	return whisper_full_with_state(ctx, e->state, p, samples, n);
}

// ear_encode listens to a spectrogram of two frames for each position of the window. n positions are heard where places
// says and as often as weights says; n is 0 or all of the window.
static int ear_encode(struct whisper_context *ctx, ear *e, const struct whisper_full_params *given, const float *mel, int window, int bands,
		const int32_t *places, const float *weights, int n) {
	whisper_set_places(e->state, places, weights, n);
	int rc = whisper_set_mel_with_state(ctx, e->state, mel, 2 * window, bands);
	if (rc != 0) return rc;
	// Nothing but a run sets the window. One that is stopped before its encoder costs next to nothing.
	struct whisper_full_params p = *given;
	p.audio_ctx = window;
	p.encoder_begin_callback = ear_never;
	p.new_segment_callback = NULL;
	p.progress_callback = NULL;
	p.abort_callback = NULL;
	p.logits_filter_callback = NULL;
	int kept = log_len;
	rc = whisper_full_with_state(ctx, e->state, p, NULL, 0);
	if (rc != 0) return rc;
	log_len = kept; // It complains of being stopped.
	return whisper_encode_with_state(ctx, e->state, 0, p.n_threads);
}

// ear_feed puts n tokens behind the first past ones and leaves a row of logits for each.
static int ear_feed(struct whisper_context *ctx, ear *e, const whisper_token *tokens, int n, int past, int threads) {
	e->rows = NULL;
	ear_reading = e;
	int rc = whisper_decode_with_state(ctx, e->state, tokens, n, past, threads);
	ear_reading = NULL;
#ifndef __linux__
	e->rows = whisper_get_logits_from_state(e->state); // All but the last row are missing.
	e->n_rows = n;
#endif
	if (rc == 0 && (!e->rows || e->n_rows != n)) return -100;
	return rc;
}

// note_no_speech reads, from the logits behind the token that starts a transcript, how likely the model finds silence.
static void note_no_speech(struct whisper_context *ctx, ear *e, const float *row) {
	float top = row[0];
	for (int i = 1; i < e->n_vocab; i++) if (row[i] > top) top = row[i];
	double sum = 0;
	for (int i = 0; i < e->n_vocab; i++) if (row[i] > top - 20) sum += expf(row[i] - top);
	e->no_speech = (float)(exp(row[whisper_token_nosp(ctx)] - top) / sum);
}

// ear_language feeds tokens up to that which starts a transcript, and returns the language that the model hears.
static int ear_language(struct whisper_context *ctx, ear *e, const whisper_token *tokens, int n, int threads) {
	if (ear_feed(ctx, e, tokens, n, 0, threads) != 0) return -1;
	const float *row = e->rows + (size_t)(n - 1) * e->n_vocab;
	note_no_speech(ctx, e, row);
	int best = 0;
	for (int i = 1; i <= whisper_lang_max_id(); i++)
		if (row[whisper_token_lang(ctx, i)] > row[whisper_token_lang(ctx, best)]) best = i;
	return best;
}

// ear_pick appends the likeliest token of a row, by the rules of whisper's own greedy loop without timestamps: a text does
// not begin with its end or with a blank, and no special token but the end is text. In a loop there is nothing left to
// choose but the end. It returns whether the text goes on.
static bool ear_pick(ear *e, const float *row, int most) {
	int n = e->n_heard, best = -1;
	if (e->period == 0) e->period = loop_period(e->heard, n);
	if (e->period != 0) {
		e->ended = true;
		return false;
	}
	for (int i = 0; i <= e->eot; i++) {
		if (best >= 0 && !(row[i] > row[best])) continue;
		if (n == 0 && (i == e->eot || i == e->blank)) continue;
		best = i;
	}
	double sum = 0, end = n == 0 ? 0 : expf(row[e->eot] - row[best]), stop = 0;
	for (int i = 0; i <= e->eot; i++)
		if (row[i] > row[best] - 20 && !(n == 0 && (i == e->eot || i == e->blank))) sum += expf(row[i] - row[best]);
	for (int i = 0; i < STOPS; i++) if (e->stops[i] >= 0) stop += expf(row[e->stops[i]] - row[best]);
	e->closed[n] = sum > end ? (float)fmin(1, stop / (sum - end)) : 0;
	if (best == e->eot) {
		e->ended = true;
		return false;
	}
	e->heard[n] = (whisper_token_data){.id = best, .plog = -(float)log(sum)};
	e->n_heard = ++n;
	return n < most;
}

// ear_decode finds the likeliest text token by token, as whisper's greedy loop does. It begins behind the first n tokens,
// of which past are fed already. Behind them stand n_draft more, which the text may turn out to be: they are fed at once,
// and each counts as long as it is what would have been chosen there. sot is where the token stands that starts a
// transcript.
static int ear_decode(struct whisper_context *ctx, ear *e, const whisper_token *tokens, int n, int past, int n_draft, int sot,
		int most, int threads) {
#ifndef __linux__
	n_draft = 0; // Only the last row is there.
	sot = -1;
#endif
	e->n_heard = 0;
	e->period = 0;
	e->ended = false;
	int rc = ear_feed(ctx, e, tokens + past, n + n_draft - past, past, threads);
	if (rc != 0) return rc;
	if (sot >= past) note_no_speech(ctx, e, e->rows + (size_t)(sot - past) * e->n_vocab);
	const float *row = e->rows + (size_t)(n - 1 - past) * e->n_vocab;
	e->n_true = 0;
	while (ear_pick(e, row, most)) {
		whisper_token id = e->heard[e->n_heard - 1].id;
		if (e->n_true < n_draft && tokens[n + e->n_true] == id) {
			e->n_true++;
			row += e->n_vocab;
			continue;
		}
		n_draft = 0;
		if ((rc = ear_feed(ctx, e, &id, 1, n + e->n_heard - 1, threads)) != 0) return rc;
		row = e->rows;
	}
	return 0;
}

// ear_ends feeds a text of n_text tokens behind n others that ask for times, and leaves, for each of its tokens, the logarithms of how
// likely it ends at each of so many steps, among these.
static int ear_ends(struct whisper_context *ctx, ear *e, const whisper_token *tokens, int n, int n_text, int steps, float *out, int threads) {
	int rc = ear_feed(ctx, e, tokens, n + n_text, 0, threads);
	if (rc != 0) return rc;
	const int from = whisper_token_beg(ctx);
	if (steps > e->n_vocab - from) return -101;
#ifndef __linux__
	return -102; // Only the last row is there.
#endif
	for (int i = 0; i < n_text; i++) {
		const float *row = e->rows + (size_t)(n + i) * e->n_vocab + from;
		float top = row[0];
		for (int k = 1; k < steps; k++) if (row[k] > top) top = row[k];
		double sum = 0;
		for (int k = 0; k < steps; k++) sum += expf(row[k] - top);
		for (int k = 0; k < steps; k++) out[(size_t)i * steps + k] = row[k] - top - (float)log(sum);
	}
	return 0;
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
