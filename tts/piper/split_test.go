package piper

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"riposte/native/nativetest"
	"riposte/native/onnx"
	"riposte/native/onnx/onnxtest"
)

func parse(t testing.TB, model []byte) *onnx.Graph {
	t.Helper()
	g, err := onnx.ParseGraph(model)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestCutsOfATinyVoice(t *testing.T) {
	g := parse(t, tiny().Bytes())
	c, err := findCuts(g)
	if err != nil {
		t.Fatal(err)
	}
	if c.prior != "prior" || !slices.Equal(c.beside, []string{"mask"}) || c.latent != "latent" || c.samples != "sound" {
		t.Errorf("cuts are %+v", c)
	}
	if _, takes, err := g.Extract([]string{c.latent}, []string{c.samples}); err != nil || !slices.Equal(takes, []string{"latent", "sid"}) {
		t.Errorf("the decoder takes %q (%v), want the latent frames and the speaker", takes, err)
	}
	if _, takes, err := g.Extract(nil, []string{c.prior}); err != nil || !slices.Equal(takes, []string{"input", "scales"}) {
		t.Errorf("the text part takes %q (%v)", takes, err)
	}
}

func TestCutsOfARealVoice(t *testing.T) {
	b, err := os.ReadFile(nativetest.File(t, realVoice))
	if err != nil {
		t.Fatal(err)
	}
	g := parse(t, b)
	c, err := findCuts(g)
	if err != nil {
		t.Fatal(err)
	}
	if c.prior == "" || c.latent == "" || c.frames == "" {
		t.Fatalf("cuts are %+v", c)
	}
	decoder, takes, err := g.Extract([]string{c.latent}, []string{c.samples})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(takes, []string{c.latent}) {
		t.Errorf("the decoder takes %q", takes)
	}
	hop := int64(1)
	for _, n := range parse(t, decoder).Nodes {
		if n.Op == "ConvTranspose" {
			hop *= n.Ints("strides")[0]
		}
	}
	if hop != 256 {
		t.Errorf("the decoder makes %d samples of a frame, want 256", hop)
	}
}

// Where two values could be the frames of the phonemes, none is taken for them.
func TestFramesOfThePhonemes(t *testing.T) {
	if c, err := findCuts(parse(t, timed().Bytes())); err != nil || c.frames != "counts" || c.prior != "prior" {
		t.Errorf("%+v, %v", c, err)
	}
	two := timed()
	two.Nodes[len(two.Nodes)-1] = onnxtest.Node{Op: "Ceil", In: []string{"up"}, Out: []string{"sound"}}
	for name, m := range map[string]onnxtest.Model{"none": tiny(), "two": two} {
		if c, err := findCuts(parse(t, m.Bytes())); err != nil || c.frames != "" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

func TestGraphsThatCannotBeCut(t *testing.T) {
	// A second way into the decoder, past the latent frames.
	shortcut := tiny()
	for i := range shortcut.Nodes {
		if shortcut.Nodes[i].Out[0] == "voiced" {
			shortcut.Nodes[i].In = []string{"pre", "row"}
		}
	}
	late := tiny()
	for i := range late.Nodes {
		if late.Nodes[i].Op == "Tanh" {
			late.Nodes[i] = onnxtest.Node{Op: "Add", In: []string{"up", "row"}, Out: []string{"sound"}}
		}
	}
	other := tiny()
	other.Inputs[0].Name = "text"
	for name, m := range map[string]onnxtest.Model{
		"no upsampling": withoutUpsampling(), "two ways into the decoder": shortcut, "a way past the latent frames": late, "other inputs": other, "nothing": {},
	} {
		if c, err := findCuts(parse(t, m.Bytes())); !errors.Is(err, errUncut) {
			t.Errorf("%s: cuts %+v, %v, want %v", name, c, err, errUncut)
		}
	}
}

func FuzzFindCuts(f *testing.F) {
	f.Add(tiny().Bytes())
	f.Add(withoutUpsampling().Bytes())
	f.Fuzz(func(t *testing.T, model []byte) {
		g, err := onnx.ParseGraph(model)
		if err != nil {
			return
		}
		c, err := findCuts(g)
		if err != nil {
			return
		}
		if _, _, err := g.Extract([]string{c.latent}, []string{c.samples}); err != nil {
			t.Fatalf("cuts %+v of which the decoder cannot be made: %v", c, err)
		}
	})
}

// TestWindowsEqualTheWhole compares windows of the tiny voice with what its whole graph says, for both of its speakers.
func TestWindowsEqualTheWhole(t *testing.T) {
	rt := onnxtest.Runtime(t)
	e := &Engine{Model: writeVoice(t, tiny().Bytes(), tinyJSON()), Runtime: rt, NoiseScale: -1, Log: quiet()}
	openEngine(t, e)
	if e.net.flow == nil || e.net.decoder == nil || e.net.hop != tinyHop {
		t.Fatalf("flow %v, decoder %v, hop %d", e.net.flow, e.net.decoder, e.net.hop)
	}
	whole, err := openWhole(rt, parse(t, tiny().Bytes()), tiny().Bytes(), onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.close()
	var sounds [2][]float32
	for speaker := range sounds {
		r := request{scales: e.scales, speaker: int64(speaker)}
		for i := range 500 {
			r.ids = append(r.ids, int64(i*i%37))
		}
		want := collect(t, whole, r)
		sounds[speaker] = collect(t, e.net, r)
		if len(want) != len(r.ids)*tinyHop || len(sounds[speaker]) != len(want) {
			t.Fatalf("%d samples in windows, %d whole, want %d", len(sounds[speaker]), len(want), len(r.ids)*tinyHop)
		}
		if d := maxDifference(sounds[speaker], want); d > 1e-5 {
			t.Errorf("speaker %d: windows differ from the whole by %v", speaker, d)
		}
	}
	if d := maxDifference(sounds[0], sounds[1]); d < 0.01 {
		t.Errorf("the two speakers sound the same (difference %v)", d)
	}
}

// collect returns all that a network says.
func collect(t testing.TB, n *network, r request) []float32 {
	t.Helper()
	var all []float32
	for sound, err := range n.speak(context.Background(), r) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sound...)
	}
	return all
}

func TestWindowsGrow(t *testing.T) {
	for n, want := range map[int][]int{1: {1}, 20: {20}, 24: {16, 24}, 48: {16, 48}, 150: {16, 48, 112, 150}, 300: {16, 48, 112, 176, 240, 300}} {
		var got []int
		for at := 0; at < n; {
			at = windowEnd(at, n)
			got = append(got, at)
		}
		if !slices.Equal(got, want) {
			t.Errorf("windows of %d frames end at %v, want %v", n, got, want)
		}
	}
}

// A decoder that looks further than most is given more to hear.
func TestOverlapFitsTheDecoder(t *testing.T) {
	for reach, want := range map[int64]int{1: overlaps[0], 12: overlaps[1], 20: overlaps[2]} {
		e := &Engine{Model: writeVoice(t, seeing(reach).Bytes(), tinyJSON()), Runtime: onnxtest.Runtime(t), NoiseScale: -1, Log: quiet()}
		openEngine(t, e)
		if e.net.decoder == nil || e.net.overlap != want {
			t.Errorf("a decoder that looks %d frames far hears %d (whole: %v), want %d", reach, e.net.overlap, e.net.decoder == nil, want)
		}
	}
}
