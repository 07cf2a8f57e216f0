// A program around attention.inc that compares it with plain sums in double precision, for many shapes, and the numbers of
// each token with those it has when it is computed alone. It prints what is wrong and ends with 1 if anything is.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>
#include <immintrin.h>

// What attention.inc uses of ggml.
typedef uint16_t ggml_fp16_t;
enum ggml_type { GGML_TYPE_F32, GGML_TYPE_F16 };
struct ggml_tensor { ggml_type type; int64_t ne[4]; size_t nb[4]; ggml_tensor * src[10]; int32_t op_params[16]; void * data; };
struct ggml_compute_params { int ith, nth; void * threadpool; };
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static float half(ggml_fp16_t x) { return _cvtsh_ss(x); }
#define GGML_CPU_FP16_TO_FP32(x) half(x)
static void ggml_cpu_fp16_to_fp32(const ggml_fp16_t * x, float * y, int64_t n) { for (int64_t i = 0; i < n; i++) y[i] = half(x[i]); }
static int chunk;
static void ggml_threadpool_chunk_set(void *, int n) { chunk = n; }
static int ggml_threadpool_chunk_add(void *, int n) { chunk += n; return chunk - n; }
static void ggml_barrier(void *) {}

#include "attention.inc"

static uint32_t state = 1;
static float noise() { state = state*1664525 + 1013904223; return (int32_t) state/2147483648.0f; }

struct shape { int DK, DV, tokens, keys, heads, group, streams; bool masked; };

static ggml_tensor tensor(ggml_type type, std::initializer_list<int64_t> ne, void * data) {
    ggml_tensor t = {type, {1, 1, 1, 1}, {}, {}, {}, data};
    std::copy(ne.begin(), ne.end(), t.ne);
    t.nb[0] = type == GGML_TYPE_F32 ? 4 : 2;
    for (int i = 1; i < 4; i++) t.nb[i] = t.nb[i - 1]*t.ne[i - 1];
    return t;
}

// Exchanges dimensions 1 and 2, as llama.cpp does before attention.
static void permute(ggml_tensor & t) { std::swap(t.ne[1], t.ne[2]); std::swap(t.nb[1], t.nb[2]); }

static int wrong(const shape & s) {
    const int heads = s.heads*s.group, mine = s.keys - s.tokens; // Keys before the first token.
    std::vector<float> Q((size_t) s.DK*heads*s.tokens*s.streams), O((size_t) s.DV*heads*s.tokens*s.streams), one(O.size());
    std::vector<ggml_fp16_t> K((size_t) s.DK*s.heads*s.keys*s.streams), V((size_t) s.DV*s.heads*s.keys*s.streams), M((size_t) s.keys*s.tokens*s.streams);
    for (auto & x : Q) x = 4*noise();
    for (auto & x : K) x = _cvtss_sh(2*noise(), 0);
    for (auto & x : V) x = _cvtss_sh(noise(), 0);
    for (int t = 0; t < s.tokens*s.streams; t++)
        for (int i = 0; i < s.keys; i++) M[(size_t) t*s.keys + i] = i <= mine + t%s.tokens && i%97 != 3 ? 0 : 0xFC00;
    ggml_tensor q = tensor(GGML_TYPE_F32, {s.DK, heads, s.tokens, s.streams}, Q.data()), k = tensor(GGML_TYPE_F16, {s.DK, s.heads, s.keys, s.streams}, K.data());
    ggml_tensor v = tensor(GGML_TYPE_F16, {s.DV, s.heads, s.keys, s.streams}, V.data()), m = tensor(GGML_TYPE_F16, {s.keys, s.tokens, 1, s.streams}, M.data());
    permute(q), permute(k), permute(v);
    ggml_tensor d = tensor(GGML_TYPE_F32, {s.DV, heads, s.tokens, s.streams}, O.data());
    const float scale = 1/sqrtf(s.DK);
    memcpy(d.op_params, &scale, sizeof(scale));
    d.src[0] = &q, d.src[1] = &k, d.src[2] = &v, d.src[3] = s.masked ? &m : nullptr;
    ggml_compute_params params = {0, 1, nullptr};
    if (!rp_attention(&params, &d)) return printf("refused: %d %d\n", s.DK, s.DV), 1;

    double worst = 0;
    std::vector<double> w(s.keys), want(s.DV);
    for (int x = 0; x < s.streams; x++) for (int t = 0; t < s.tokens; t++) for (int h = 0; h < heads; h++) {
        double all = 0;
        std::fill(want.begin(), want.end(), 0);
        for (int i = 0; i < s.keys; i++) {
            if (s.masked && M[((size_t) x*s.tokens + t)*s.keys + i]) continue;
            double dot = 0;
            for (int e = 0; e < s.DK; e++)
                dot += (double) Q[(((size_t) x*s.tokens + t)*heads + h)*s.DK + e]*half(K[(((size_t) x*s.keys + i)*s.heads + h/s.group)*s.DK + e]);
            const double weight = exp(dot*scale);
            all += weight;
            for (int e = 0; e < s.DV; e++) want[e] += weight*half(V[(((size_t) x*s.keys + i)*s.heads + h/s.group)*s.DV + e]);
        }
        for (int e = 0; e < s.DV; e++) worst = std::max(worst, fabs((all ? want[e]/all : 0) - O[(((size_t) x*s.tokens + t)*heads + h)*s.DV + e]));
    }
    int bad = 0;
    if (!(worst < 1e-5)) bad = 1, printf("off by %g: keys %d x %d, %d tokens\n", worst, s.keys, s.DK, s.tokens);

    // Each token alone, without the keys that it does not see.
    for (int t = 0; t < s.tokens && s.masked; t++) {
        ggml_tensor q1 = q, k1 = k, v1 = v, m1 = m, d1 = d;
        q1.ne[1] = m1.ne[1] = d1.ne[2] = 1;
        k1.ne[1] = v1.ne[1] = m1.ne[0] = mine + t + 1;
        q1.data = (char *) q.data + t*q.nb[1], m1.data = (char *) m.data + t*m.nb[1], d1.data = (char *) one.data() + t*d.nb[2];
        d1.src[0] = &q1, d1.src[1] = &k1, d1.src[2] = &v1, d1.src[3] = &m1;
        rp_attention(&params, &d1);
    }
    if (s.masked && memcmp(one.data(), O.data(), O.size()*sizeof(float))) bad = 1, printf("another number alone: keys %d x %d, %d tokens\n", s.keys, s.DK, s.tokens);
    return bad;
}

int main() {
    int bad = 0;
    const shape shapes[] = {
        {64, 64, 1, 1, 3, 3, 1, true}, {64, 64, 7, 300, 3, 3, 1, true}, {64, 64, 50, 1600, 3, 3, 1, true}, {64, 64, 3, 131, 2, 1, 4, true},
        {128, 128, 40, 257, 2, 8, 1, true}, {80, 80, 9, 100, 2, 2, 2, true}, {96, 96, 33, 64, 1, 1, 1, true}, {256, 256, 5, 70, 1, 4, 1, true},
        {192, 128, 6, 129, 2, 2, 1, true}, {64, 64, 20, 190, 3, 1, 1, false},
    };
    for (const shape & s : shapes) bad |= wrong(s);
    ggml_tensor q = tensor(GGML_TYPE_F32, {72, 1, 1, 1}, nullptr), k = tensor(GGML_TYPE_F16, {72, 1, 1, 1}, nullptr), d = tensor(GGML_TYPE_F32, {72, 1, 1, 1}, nullptr);
    d.src[0] = &q, d.src[1] = d.src[2] = &k;
    ggml_compute_params params = {0, 1, nullptr};
    if (rp_attention(&params, &d)) bad = 1, printf("took a shape that it cannot do\n");
    return bad;
}
