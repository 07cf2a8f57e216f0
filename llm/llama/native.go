package llama

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	native "github.com/hybridgroup/yzma/pkg/llama"
	"github.com/hybridgroup/yzma/pkg/loader"
	"github.com/hybridgroup/yzma/pkg/utils"
	"github.com/jupiterrider/ffi"

	"riposte/llm"
	"riposte/llm/grammar"
)

// library is the one copy of llama.cpp that a process can have: the dynamic loader and the binding are global, so this
// is as well.
var library struct {
	sync.Mutex
	dir string // Empty until it is loaded.
	log logSink
}

// loadLibrary loads llama.cpp once for the process.
func loadLibrary(dir string, log *slog.Logger) error {
	library.Lock()
	defer library.Unlock()
	runtime.LockOSThread() // The dynamic loader keeps its error for the thread that made it.
	defer runtime.UnlockOSThread()
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLibrary, err)
	}
	library.log.use(log)
	if library.dir == dir {
		return nil
	}
	if library.dir != "" {
		return fmt.Errorf("%w: it was already loaded from %s, and a process can only load it once", ErrLibrary, library.dir)
	}
	if _, err := os.Stat(loader.GetLibraryFilename(dir, "llama")); err != nil {
		return fmt.Errorf("%w: it is not in %s (%w): run `make native`", ErrLibrary, dir, err)
	}
	if err := checkLibraries(dir); err != nil {
		return err
	}
	if err := checkVersion(dir); err != nil {
		return err
	}
	if err := native.Load(dir); err != nil {
		return fmt.Errorf("%w: %s holds another version than this program was written for (%w): run `make native`", ErrLibrary, dir, err)
	}
	native.LogSet(purego.NewCallback(func(level int32, text *byte, _ uintptr) uintptr {
		kind := logNormal
		switch native.LogLevel(level) {
		case native.LogLevelDebug:
			kind = logDetail
		case native.LogLevelError:
			kind = logFailure
		case native.LogLevelContinue:
			kind = logContinued
		}
		if text != nil {
			library.log.write(kind, utils.BytePtrToString(text))
		}
		return 0
	}))
	native.BackendInit()
	if native.GGMLBackendDeviceCount() == 0 { // Backends that are not linked in lie beside the library.
		if err := native.GGMLBackendLoadAllFromPath(dir); err != nil {
			return fmt.Errorf("%w: %w", ErrLibrary, err)
		}
	}
	if native.GGMLBackendDeviceCount() == 0 {
		return fmt.Errorf("%w: %s has no backend for this machine: run `make native`", ErrLibrary, dir)
	}
	library.dir = dir
	log.Debug("llama.cpp loaded", "dir", dir, "version", native.Version(), "system", native.PrintSystemInfo())
	return nil
}

// checkVersion compares the sizes and some defaults of the two structures that change most often between versions of
// llama.cpp with those of the binding. A binding that writes into the wrong fields would not fail, it would corrupt.
func checkVersion(dir string) error {
	lib, err := loader.LoadLibrary(dir, "llama")
	if err != nil {
		return fmt.Errorf("%w: %s cannot be loaded (%w): run `make native`", ErrLibrary, dir, err)
	}
	var cp native.ContextParams
	var mp native.ModelParams
	for _, s := range []struct {
		function string
		size     uintptr
		into     unsafe.Pointer
	}{
		{"llama_context_default_params", unsafe.Sizeof(cp), unsafe.Pointer(&cp)},
		{"llama_model_default_params", unsafe.Sizeof(mp), unsafe.Pointer(&mp)},
	} {
		written, err := defaults(lib, s.function)
		if err != nil {
			return fmt.Errorf("%w: %s holds another version than this program was written for (%w): run `make native`", ErrLibrary, dir, err)
		}
		// The end of the structure may be padding that is not written, of less than a word.
		if n := lastWritten(written); n > s.size || n+unsafe.Alignof(uintptr(0)) <= s.size {
			return fmt.Errorf("%w: %s holds another version than this program was written for (%s: %d bytes, not %d): run `make native`",
				ErrLibrary, dir, s.function, n, s.size)
		}
		copy(unsafe.Slice((*byte)(s.into), s.size), written)
	}
	if cp.PoolingType != native.PoolingTypeUnspecified || cp.YarnExtFactor != -1 || cp.TypeK != native.GGMLTypeF16 ||
		cp.CtxOther != 0 || mp.NGpuLayers != -1 || mp.SplitMode != native.SplitModeLayer || mp.UseExtraBufts != 1 {
		return fmt.Errorf("%w: %s holds another version than this program was written for (its defaults differ): run `make native`", ErrLibrary, dir)
	}
	return nil
}

const unwritten = 0xAA // What memory holds before a C function has written to it.

// defaults calls a function that returns a structure of unknown size, with room for one much larger than we expect.
func defaults(lib loader.Lib, function string) ([]byte, error) {
	words := make([]*ffi.Type, 128)
	for i := range words {
		words[i] = &ffi.TypePointer
	}
	large := ffi.NewType(words...)
	f, err := lib.Prep(function, &large)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, len(words)*int(unsafe.Sizeof(uintptr(0))))
	for i := range buf {
		buf[i] = unwritten
	}
	f.Call(unsafe.Pointer(&buf[0]))
	return buf, nil
}

func lastWritten(b []byte) uintptr {
	n := len(b)
	for n > 0 && b[n-1] == unwritten {
		n--
	}
	return uintptr(n)
}

// nativeModel is a model's weights and vocabulary.
type nativeModel struct {
	h       native.Model
	words   native.Vocab
	size    int              // Tokens of the vocabulary.
	signs   map[token]string // Control tokens that are text all the same, because they begin calls.
	lexicon func() *lexicon  // Their texts, which are read when they are first needed. It is safe for concurrent use.
}

// modelParams say which processors a model is for.
type modelParams struct {
	gpuLayers   int
	devices     []string
	tensorSplit []float32
}

// loadModel reads a model file that readModelFile has found good. It gives up when wanted becomes false.
func loadModel(path string, o modelParams, wanted func() bool) (*nativeModel, error) {
	if strings.ContainsRune(path, 0) {
		return nil, fmt.Errorf("%w: %q is not a file name", ErrBadModel, path)
	}
	p := native.ModelDefaultParams()
	p.NGpuLayers = int32(o.gpuLayers)
	var devices []native.GGMLBackendDevice
	if o.gpuLayers == 0 {
		p.SetCPUOnly()
	} else {
		var err error
		if devices, err = gpus(o.devices); err != nil {
			return nil, err
		}
		if err := checkSplit(o.tensorSplit, len(devices)-1); err != nil {
			return nil, err
		}
		if err := p.SetDevices(devices); err != nil {
			return nil, err
		}
	}
	var split []float32
	if len(o.tensorSplit) > 0 && o.gpuLayers != 0 {
		split = make([]float32, max(int(native.MaxDevices()), len(o.tensorSplit)))
		copy(split, o.tensorSplit)
		p.TensorSplit = &split[0]
	}
	p.SetProgressCallback(func(float32, uintptr) uint8 {
		if wanted() {
			return 1
		}
		return 0
	})
	defer p.SetProgressCallback(nil)

	library.log.takeFailure()
	h, err := native.ModelLoadFromFile(path, p)
	runtime.KeepAlive(devices)
	runtime.KeepAlive(split)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBadModel, path, because(err))
	}
	m := &nativeModel{h: h, words: native.ModelGetVocab(h)}
	m.size = int(native.VocabNTokens(m.words))
	if m.size == 0 || !native.ModelHasDecoder(h) || native.ModelHasEncoder(h) {
		m.close()
		return nil, fmt.Errorf("%w: %s is not a model that continues text", ErrBadModel, path)
	}
	m.lexicon = sync.OnceValue(m.readLexicon)
	return m, nil
}

// because is what llama.cpp printed about a failure, or err if it printed nothing.
func because(err error) error {
	if why := library.log.takeFailure(); why != "" {
		return errors.New(why)
	}
	return err
}

func (m *nativeModel) close() { _ = native.ModelFree(m.h) } // It only fails for a null, which it then does not free.

// description says what the model is, in a few words.
func (m *nativeModel) description() string { return native.ModelDesc(m.h) }

// tokenize makes tokens of text and knows the texts of control tokens. It is safe for concurrent use.
func (m *nativeModel) tokenize(text string) []token {
	if text == "" {
		return nil
	}
	tokens := native.Tokenize(m.words, text, false, true)
	out := make([]token, len(tokens))
	for i, t := range tokens {
		out[i] = token(t)
	}
	return out
}

// begin returns the token that every document begins with, and the texts of those that begin and end one.
func (m *nativeModel) begin() (first []token, bos, eos string) {
	t := native.VocabBOS(m.words)
	if native.VocabGetAddBOS(m.words) && t != native.TokenNull {
		first = []token{token(t)}
	}
	return first, native.VocabGetText(m.words, t), native.VocabGetText(m.words, native.VocabEOS(m.words))
}

// control returns the texts of all control tokens, and those before which a text may be cut: all but the few that take
// the spaces before them away.
func (m *nativeModel) control() (all, cuts []string) {
	for t := range native.Token(m.size) {
		if !native.VocabIsControl(m.words, t) {
			continue
		}
		text := native.VocabGetText(m.words, t)
		all = append(all, text)
		if native.VocabGetAttr(m.words, t)&native.TokenAttrLstrip == 0 {
			cuts = append(cuts, text)
		}
	}
	return all, cuts
}

// longest returns how many bytes the text of the longest token has.
func (m *nativeModel) longest() (bytes int) {
	for t := range native.Token(m.size) {
		bytes = max(bytes, len(native.VocabGetText(m.words, t)))
	}
	return bytes
}

// readLexicon asks for the text of every token.
func (m *nativeModel) readLexicon() *lexicon {
	l, text := &lexicon{}, map[int32][]byte{}
	words := nativeWords{model: m}
	for t := range token(m.size) {
		if native.VocabIsEOG(m.words, native.Token(t)) {
			l.ends = append(l.ends, int32(t))
		} else if p := words.Piece(t); !words.Ends(t) && !bytes.Contains(p, []byte{0}) {
			text[int32(t)] = bytes.Clone(p)
		}
	}
	l.text = grammar.NewVocabulary(text)
	return l
}

// heed takes the control tokens with these texts for text. It must be called before anything else uses the vocabulary.
func (m *nativeModel) heed(signs []string) {
	m.signs = map[token]string{}
	for t := range native.Token(m.size) {
		if text := native.VocabGetText(m.words, t); slices.Contains(signs, text) && native.VocabIsControl(m.words, t) {
			m.signs[token(t)] = text
		}
	}
}

// nativeWords is a vocabulary for one goroutine.
type nativeWords struct {
	model *nativeModel
	buf   []byte
}

// Piece implements vocabulary. Control tokens have no text, but for those that begin calls.
func (w *nativeWords) Piece(t token) []byte {
	if s, ok := w.model.signs[t]; ok {
		return []byte(s)
	}
	if w.buf == nil {
		w.buf = make([]byte, 64)
	}
	n := native.TokenToPiece(w.model.words, native.Token(t), w.buf, 0, false)
	if n < 0 { // That many bytes were missing.
		w.buf = make([]byte, -n)
		n = native.TokenToPiece(w.model.words, native.Token(t), w.buf, 0, false)
	}
	return w.buf[:max(n, 0)]
}

// Ends implements vocabulary. A control token that is not the model's own end is the beginning of somebody else's
// message, or of something else that is not for the caller's ears.
func (w *nativeWords) Ends(t token) bool {
	if _, ok := w.model.signs[t]; ok {
		return false
	}
	return native.VocabIsEOG(w.model.words, native.Token(t)) || native.VocabIsControl(w.model.words, native.Token(t))
}

// nativeMachine is a machine: a context of llama.cpp, with its memory.
type nativeMachine struct {
	model *nativeModel
	ctx   native.Context
	mem   native.Memory
	batch native.Batch
	seq   [1]native.SeqId
	armed bool // An abort callback is set.

	threads int

	candidates []native.TokenData // For the answers that have a form. Kept between steps.
	choice     native.TokenDataArray
}

// machineParams are what a context is made for.
type machineParams struct {
	threads       int
	sequences     int
	contextTokens int // For each sequence.
	batch         int // Entries in one batch at most.
	gpu           bool
}

// newMachine must be called by the goroutine that will use the machine, locked to its thread: OpenMP keeps a team of
// threads for each thread that asks it to work.
func newMachine(m *nativeModel, o machineParams) (*nativeMachine, error) {
	p := native.ContextDefaultParams()
	p.NCtx = uint32(o.sequences * o.contextTokens)
	p.NSeqMax = uint32(o.sequences)
	p.NBatch, p.NUbatch = uint32(o.batch), uint32(o.batch)
	p.NThreads, p.NThreadsBatch = int32(o.threads), int32(o.threads)
	// Each sequence has its own part of the memory: attention then costs what its own conversation costs, not what all
	// of them do. The price is that a common beginning is copied and not just marked.
	p.KVUnified = 0
	if !o.gpu {
		p.OpOffload, p.Offload_kqv = 0, 0
	}
	library.log.takeFailure()
	ctx, err := native.InitFromModel(m.h, p)
	if err != nil {
		return nil, fmt.Errorf("make a context of %d × %d tokens: %w", o.sequences, o.contextTokens, because(err))
	}
	k := &nativeMachine{model: m, ctx: ctx, threads: o.threads, batch: native.BatchInit(int32(o.batch), 0, 1)}
	switch k.mem, err = native.GetMemory(ctx); {
	case err != nil:
	case k.mem == 0:
		err = errors.New("the model has no memory")
	case int(native.NCtxSeq(ctx)) < o.contextTokens:
		err = fmt.Errorf("a context of %d tokens became one of %d", o.contextTokens, native.NCtxSeq(ctx))
	}
	if err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

func (k *nativeMachine) close() {
	_ = native.BatchFree(k.batch) // Neither fails for what newMachine has made.
	_ = native.Free(k.ctx)
}

// Decode implements machine.
func (k *nativeMachine) Decode(batch []entry, threads int, stop func() bool) error {
	if threads != k.threads {
		native.SetNThreads(k.ctx, int32(threads), int32(threads))
		k.threads = threads
	}
	k.batch.NTokens = 0
	for _, e := range batch {
		k.seq[0] = native.SeqId(e.seq)
		if err := k.batch.Add(native.Token(e.token), native.Pos(e.pos), k.seq[:], e.last); err != nil {
			return err
		}
	}
	// llama.cpp asks before each of a graph's hundreds of nodes, so it is only told whom to ask if there is something
	// to be asked.
	if stop != nil {
		native.SetAbortCallback(k.ctx, stop)
	} else if k.armed {
		native.SetAbortCallback(k.ctx, nil)
	}
	k.armed = stop != nil
	library.log.takeFailure()
	switch rc, err := native.Decode(k.ctx, k.batch); {
	case err != nil:
		return err
	case rc == 0:
		return nil
	case rc == 2:
		return errStopped
	case rc == 1:
		return errors.New("the model's memory is full")
	default:
		return because(fmt.Errorf("llama.cpp gave up with %d", rc))
	}
}

// Keep implements machine.
func (k *nativeMachine) Keep(seq, n int) bool {
	ok, err := native.MemorySeqRm(k.mem, native.SeqId(seq), native.Pos(n), -1)
	if err == nil && ok {
		return true
	}
	// Recurrent models cannot go back. Removing everything is what every memory can do.
	_, _ = native.MemorySeqRm(k.mem, native.SeqId(seq), -1, -1)
	return false
}

// Copy implements machine. Only whole sequences can be copied between parts of the memory.
func (k *nativeMachine) Copy(from, to, n int) bool {
	if _, err := native.MemorySeqRm(k.mem, native.SeqId(to), -1, -1); err != nil {
		return false
	}
	if err := native.MemorySeqCp(k.mem, native.SeqId(from), native.SeqId(to), -1, -1); err != nil {
		return false
	}
	return k.Keep(to, n)
}

// Save implements machine.
func (k *nativeMachine) Save(seq int) []byte {
	state := make([]byte, native.StateSeqGetSize(k.ctx, native.SeqId(seq)))
	return state[:native.StateSeqGetData(k.ctx, state, native.SeqId(seq))]
}

// Restore implements machine.
func (k *nativeMachine) Restore(seq int, state []byte) bool {
	_, _ = native.MemorySeqRm(k.mem, native.SeqId(seq), -1, -1)
	return len(state) > 0 && native.StateSeqSetData(k.ctx, state, native.SeqId(seq)) == uint64(len(state))
}

// logits returns how likely each token is after the i-th entry of the last batch, as logarithms without a common
// factor. They are llama.cpp's, until the next batch.
func (k *nativeMachine) logits(i int) []float32 {
	logits, _ := native.GetLogitsIth(k.ctx, int32(i), k.model.size) // The context is there.
	return logits
}

// LogProb implements machine.
func (k *nativeMachine) LogProb(i int, t token) float64 {
	logits := k.logits(i)
	if int(t) >= len(logits) {
		return math.Inf(-1)
	}
	return float64(logits[t]) - logSum(logits)
}

// logSum is the logarithm of the sum of what logits are logarithms of.
func logSum(logits []float32) float64 {
	most, sum := slices.Max(logits), 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v - most))
	}
	return float64(most) + math.Log(sum)
}

// Top implements machine.
func (k *nativeMachine) Top(i, n int) []likely {
	logits := k.logits(i)
	n = min(n, len(logits))
	if n <= 0 {
		return nil
	}
	best := make([]likely, 0, n+1)
	for t, v := range logits {
		if len(best) == n && float64(v) <= best[n-1].logProb {
			continue
		}
		at := len(best)
		for at > 0 && float64(v) > best[at-1].logProb {
			at--
		}
		best = slices.Insert(best, at, likely{token(t), float64(v)})
		best = best[:min(len(best), n)]
	}
	sum := logSum(logits)
	for i := range best {
		best[i].logProb -= sum
	}
	return best
}

// penaltyWindow is how many of an answer's last tokens penalties look at.
const penaltyWindow = 64

// Picker implements machine.
func (k *nativeMachine) Picker(s llm.Sampling, f *form) picker {
	repeat := s.RepeatPenalty
	if !(repeat > 0 && repeat <= math.MaxFloat32) {
		repeat = 1
	}
	frequency, presence := finite(s.FrequencyPenalty), finite(s.PresencePenalty)
	penalty := repeat != 1 || frequency != 0 || presence != 0
	if f == nil && !penalty && !(s.Temperature > 0) {
		return likeliest{k}
	}
	chain := native.SamplerChainInit(native.SamplerChainDefaultParams())
	if penalty {
		native.SamplerChainAdd(chain, native.SamplerInitPenalties(int32(k.model.size), penaltyWindow, repeat, frequency, presence))
	}
	if !(s.Temperature > 0) { // Not a number is as good as 0.
		native.SamplerChainAdd(chain, native.SamplerInitGreedy())
		return &nativePicker{machine: k, chain: chain, form: f}
	}
	if s.TopK > 0 {
		native.SamplerChainAdd(chain, native.SamplerInitTopK(int32(min(s.TopK, k.model.size))))
	}
	if s.TopP > 0 && s.TopP < 1 {
		native.SamplerChainAdd(chain, native.SamplerInitTopP(s.TopP, 1))
	}
	if s.MinP > 0 && s.MinP <= 1 {
		native.SamplerChainAdd(chain, native.SamplerInitMinP(s.MinP, 1))
	}
	native.SamplerChainAdd(chain, native.SamplerInitTemp(min(s.Temperature, maxTemperature)))
	seed := s.Seed
	for seed == 0 || seed == native.DefaultSeed { // The latter means something else to llama.cpp.
		seed = rand.Uint32()
	}
	native.SamplerChainAdd(chain, native.SamplerInitDist(seed))
	return &nativePicker{machine: k, chain: chain, form: f}
}

// finite is v, or 0 if that is no number or endless.
func finite(v float32) float32 {
	if v-v != 0 {
		return 0
	}
	return v
}

// likeliest is the greedy picker. llama.cpp's would first make a list of the whole vocabulary.
type likeliest struct{ k *nativeMachine }

// Pick implements picker. Of several that are as likely it takes the first, as llama.cpp does.
func (p likeliest) Pick(i int) (token, error) {
	best := 0
	logits := p.k.logits(i)
	for t, v := range logits {
		if v > logits[best] {
			best = t
		}
	}
	return token(best), nil
}

// Close implements picker.
func (likeliest) Close() {}

// maxTemperature is far beyond what still makes sense, and far from where floats end.
const maxTemperature = 100

// nativePicker is a chain of llama.cpp's samplers.
type nativePicker struct {
	machine *nativeMachine
	chain   native.Sampler
	form    *form
}

// Pick implements picker. Sampling from a chain also tells the chain what was picked.
func (p *nativePicker) Pick(i int) (token, error) {
	if p.form != nil {
		return p.pickFormed(i)
	}
	return token(native.SamplerSample(p.chain, p.machine.ctx, int32(i))), nil
}

// pickFormed picks from all tokens, and only if the form forbids what was picked, from those that it allows. To look
// for these takes longer, and what is likely is mostly allowed. The odds are the same as if only they had been there.
func (p *nativePicker) pickFormed(i int) (token, error) {
	k := p.machine
	logits, err := native.GetLogitsIth(k.ctx, int32(i), k.model.size)
	if err != nil {
		return 0, err
	}
	k.candidates = k.candidates[:0]
	for t, logit := range logits {
		k.candidates = append(k.candidates, native.TokenData{Id: native.Token(t), Logit: logit})
	}
	t, ok := p.choose()
	if !ok || !p.form.allows(t) {
		k.candidates = k.candidates[:0]
		for _, t := range p.form.allowed() {
			k.candidates = append(k.candidates, native.TokenData{Id: native.Token(t), Logit: logits[t]})
		}
		if t, ok = p.choose(); !ok {
			return 0, p.form.stuck()
		}
	}
	native.SamplerAccept(p.chain, native.Token(t))
	p.form.take(t)
	return t, nil
}

// choose lets the chain choose one of the candidates.
func (p *nativePicker) choose() (token, bool) {
	k := p.machine
	if len(k.candidates) == 0 {
		return 0, false
	}
	k.choice = native.TokenDataArray{Data: &k.candidates[0], Size: uint64(len(k.candidates)), Selected: -1}
	native.SamplerApply(p.chain, &k.choice)
	if k.choice.Selected < 0 || uint64(k.choice.Selected) >= k.choice.Size {
		return 0, false
	}
	return token(unsafe.Slice(k.choice.Data, k.choice.Size)[k.choice.Selected].Id), true
}

// Close implements picker.
func (p *nativePicker) Close() { native.SamplerFree(p.chain) }
