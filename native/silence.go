package native

// silenceEdits let Whisper hear a small window as if it were whole. The models are trained on 30 s; speech in a small window,
// without the silence up to there, is often heard over and over again or only in part. But that silence is everywhere
// the same but for its place: a few positions of it, spread over all its places and each counted as often as it
// stands for others, do the same to the attention as all of it.
//
// Each edit is a place in whisper.cpp, which must be there exactly once, and what is put in front of it.
var silenceEdits = []insertion{
	{ // In whisper_state.
		"\n    whisper_vad_context * vad_context = nullptr;\n",
		`
    std::vector<int32_t> places;  // For each position of the window, where in the 30 s it is heard;
    std::vector<float>   weights; // and the logarithm of how many positions it stands for. Empty: all are what they are.
`,
	}, { // In the encoder's graph.
		"    // ===================================================================\n\n    // original:\n",
		`    struct ggml_tensor * weights = nullptr;
    if ((int) wstate.places.size() == n_ctx) {
        struct ggml_tensor * places = ggml_new_tensor_1d(ctx0, GGML_TYPE_I32, n_ctx);
        ggml_set_name(places, "places");
        ggml_set_input(places);
        weights = ggml_new_tensor_1d(ctx0, GGML_TYPE_F32, n_ctx);
        ggml_set_name(weights, "weights");
        ggml_set_input(weights);
        cur = ggml_add(ctx0, ggml_cont(ctx0, ggml_transpose(ctx0, ggml_view_tensor(ctx0, wstate.embd_conv))), ggml_get_rows(ctx0, model.e_pe, places));
    }

`,
	}, {
		"                struct ggml_tensor * KQ_soft_max = ggml_soft_max_ext(ctx0, KQ, nullptr, KQscale, 0.0f);\n\n                struct ggml_tensor * V =\n                    ggml_cast(ctx0,\n",
		`                if (weights) {
                    KQ = ggml_add_inplace(ctx0, KQ, weights);
                }

`,
	}, { // Before the encoder's graph is computed.
		"\n        if (!ggml_graph_compute_helper(sched, gf, n_threads)) {\n            return false;\n        }\n    }\n\n    // cross\n",
		`
        if (struct ggml_tensor * places = ggml_graph_get_tensor(gf, "places")) {
            ggml_backend_tensor_set(places, wstate.places.data(), 0, ggml_nbytes(places));
        }
        whisper_set_weights(gf, wstate, sqrtf(float(wctx.model.hparams.n_audio_state/wctx.model.hparams.n_audio_head)));
`,
	}, {
		"static bool whisper_encode_internal(\n",
		`// whisper_set_weights fills in the weights, multiplied by what the logits of a graph are divided by later.
static void whisper_set_weights(struct ggml_cgraph * gf, const whisper_state & wstate, float scale) {
    struct ggml_tensor * weights = ggml_graph_get_tensor(gf, "weights");
    if (!weights) {
        return;
    }
    std::vector<float> scaled(wstate.weights);
    for (float & w : scaled) {
        w *= scale;
    }
    ggml_backend_tensor_set(weights, scaled.data(), 0, ggml_nbytes(weights));
}

`,
	}, { // In the decoder's graph.
		"    struct ggml_tensor * KQ_mask = ggml_new_tensor_3d(ctx0, GGML_TYPE_F32, n_kv, n_tokens, 1);\n",
		`    struct ggml_tensor * weights = nullptr;
    if (!worst_case && (int) wstate.places.size() == n_audio_ctx) {
        weights = ggml_new_tensor_1d(ctx0, GGML_TYPE_F32, n_audio_ctx);
        ggml_set_name(weights, "weights");
        ggml_set_input(weights);
    }

`,
	}, {
		"                struct ggml_tensor * KQ_soft_max = ggml_soft_max_ext(ctx0, KQ, nullptr, KQscale, 0.0f);\n\n                // [EXPERIMENTAL] Token-level timestamps with DTW\n",
		`                if (weights) {
                    KQ = ggml_add_inplace(ctx0, KQ, weights);
                }

`,
	}, { // Before the decoder's graph is computed.
		"        {\n            struct ggml_tensor * KQ_mask = ggml_graph_get_tensor(gf, \"KQ_mask\");\n",
		`        whisper_set_weights(gf, wstate, powf(float(hparams.n_text_state/hparams.n_text_head), 0.25f));

`,
	}, {
		"int whisper_encode_with_state(struct whisper_context * ctx, struct whisper_state * state, int offset, int n_threads) {\n",
		`extern "C" WHISPER_API void whisper_set_places(struct whisper_state * state, const int32_t * places, const float * weights, int n);

// whisper_set_places says for a window of n positions where each is heard and how much it weighs, or with 0 that all are what
// they are.
void whisper_set_places(struct whisper_state * state, const int32_t * places, const float * weights, int n) {
    state->places.assign(places, places + n);
    state->weights.assign(weights, weights + n);
}

`,
	},
}

func silencePatch() patch { return inserting("small windows", "src/whisper.cpp", silenceEdits) }
