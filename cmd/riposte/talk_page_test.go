package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"riposte/audio"
	"riposte/audio/opus"
	"riposte/budget/trace"
	"riposte/native/nativetest"
	"riposte/stt"
	"riposte/stt/wer"
	"riposte/tts"
	"riposte/web/browsertest"
)

// asked is what is said in testdata/question.flac.
const asked = "Should I get a dog or a cat?"

// askedThen is said over the answer to it, by the service's own voice.
const askedThen = "Tell me what cats like to eat."

// microphoneFile writes what a microphone hears in the course of a call: a question, some way into its answer another one, and then nothing more.
func microphoneFile(t *testing.T, voice tts.Synthesizer, before, between time.Duration) string {
	t.Helper()
	const rate = 48000
	first, hz, err := audio.ReadFile("testdata/question.flac")
	if err != nil {
		t.Fatal(err)
	}
	if first, err = audio.Resample(first, hz, rate); err != nil {
		t.Fatal(err)
	}
	var then audio.PCM
	for pcm, err := range voice.Speak(t.Context(), askedThen, tts.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		then = append(then, pcm...)
	}
	if then, err = audio.Resample(then, voice.Rate(), rate); err != nil {
		t.Fatal(err)
	}
	silence := func(d time.Duration) audio.PCM { return make(audio.PCM, audio.Samples(d, rate)) }
	path := filepath.Join(t.TempDir(), "microphone.wav")
	if err := audio.WriteWAV(path, slices.Concat(silence(before), first, silence(between), then, silence(time.Second)), rate); err != nil {
		t.Fatal(err)
	}
	return path
}

// Somebody opens the page, presses the button, asks, interrupts the answer, and hears another one to its end. All of it is real: the browser,
// the network, the engines.
func TestTalkPage(t *testing.T) {
	if err := opus.Check(); err != nil {
		if os.Getenv(nativetest.Required) == "required" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for _, m := range []string{"whisper-tiny.en-q8_0", "whisper-base", "smollm2-135m-instruct-q8_0", "piper-en_us-joe-medium", "silero-vad"} {
		nativetest.File(t, m)
	}
	s := newService(testSettings(t, "--listen=127.0.0.1:0", "--llm-max-tokens=30", "--trace-file="+filepath.Join(t.TempDir(), "traces.db")), slog.New(slog.DiscardHandler))
	defer s.keepTraces()()
	url, stop, err := s.alone(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	microphone := microphoneFile(t, s.voice, 2500*time.Millisecond, 3500*time.Millisecond)
	b := browsertest.New(t, strings.Replace(url, "ws://", "http://", 1),
		browsertest.Flag{Name: "use-fake-device-for-media-stream", Value: true}, browsertest.Flag{Name: "use-fake-ui-for-media-stream", Value: true},
		browsertest.Flag{Name: "use-file-for-fake-audio-capture", Value: microphone + "%noloop"})
	b.Look(1280, 800, "light", "reduce")
	b.Open("/", "!document.getElementById('traces').hidden")

	b.Step("connect", func(t *testing.T) {
		browsertest.Ask[bool](b, `(() => {
			window.phases = []
			new MutationObserver(() => window.phases.push(document.getElementById('call').dataset.phase)).observe(document.getElementById('call'), { attributeFilter: ['data-phase'] })
			window.verdicts = []
			new MutationObserver(() => window.verdicts.push(document.querySelector('#turn b')?.textContent)).observe(document.getElementById('turn'), { childList: true })
			window.connections = []
			window.RTCPeerConnection = class extends RTCPeerConnection { constructor(...args) { super(...args); window.connections.push(this) } }
			return true
		})()`)
		browsertest.Ask[bool](b, "document.getElementById('talk').click() ?? true")
		b.Until("['listening', 'hearing'].includes(document.getElementById('call').dataset.phase)")
		b.Is("the state is said", "/Listening|Hearing/.test(document.getElementById('said').textContent)")
		b.Is("the button hangs up now", "document.getElementById('talk').textContent.trim() === 'Hang up'")
		tap(b)
	})
	b.Step("question", func(t *testing.T) {
		b.Until("document.querySelector('.entry.user.partial .unsure')")
		b.Until("document.querySelector('.entry.user.final')")
		if heard := browsertest.Ask[string](b, "document.querySelector('.entry.user.final .words').textContent"); wer.WER(asked, heard).Rate() > 0.3 {
			t.Errorf("the page shows %q, and %q was said", heard, asked)
		}
		b.Until("document.getElementById('call').dataset.phase === 'speaking' && document.querySelector('.entry.agent.sounding')")
	})
	b.Step("interruption", func(t *testing.T) {
		b.Until("document.querySelectorAll('.entry.user.final').length === 2")
		browsertest.Ask[bool](b, "(window.heard = []) && true")
		b.Until("document.querySelector('.entry.agent.interrupted')")
		b.Is("something of the answer was heard", "document.querySelector('.entry.agent.interrupted .words span').textContent.trim() !== ''")
		b.Until("document.querySelector('#turn .bar')")
		if heard := browsertest.Ask[string](b, "document.querySelectorAll('.entry.user.final .words')[1].textContent"); wer.WER(askedThen, heard).Rate() > 0.45 { // its beginning is said over the answer
			t.Errorf("the page shows %q, and %q was said", heard, askedThen)
		}
		phases := strings.Join(browsertest.Ask[[]string](b, "window.phases"), " ")
		if !strings.HasPrefix(phases, "connecting listening hearing thinking speaking held") {
			t.Errorf("the call went through %s", phases)
		}
	})
	b.Step("answer", func(t *testing.T) {
		b.Until("document.querySelectorAll('.entry.agent').length === 2 && document.querySelectorAll('.entry.agent')[1].classList.contains('done') && document.getElementById('call').dataset.phase === 'listening'")
		readBack(t, b)
	})
	b.Step("figures", func(t *testing.T) {
		b.Until("document.querySelectorAll('.gaps rect').length >= 2 && document.querySelectorAll('.gaps circle').length >= 2")
		b.Is("what was heard was shown at once", "window.verdicts[0] === 'heard' && document.querySelector('#turn b').textContent !== 'heard'")
		b.Is("there are the stages", "document.querySelectorAll('.bar rect[class^=s-]').length >= 3 && document.querySelector('.bar .budget')")
		gap, ear := browsertest.Ask[string](b, "document.getElementById('gap').textContent"), browsertest.Ask[string](b, "document.getElementById('ear').textContent")
		t.Logf("gap %s, from mouth to ear %s", gap, ear)
		var gapMS, earMS int
		if _, err := fmt.Sscanf(strings.ReplaceAll(gap, ",", ""), "%d ms", &gapMS); err != nil || gapMS <= 0 {
			t.Errorf("the gap is shown as %q", gap)
		}
		if _, err := fmt.Sscanf(strings.ReplaceAll(ear, ",", ""), "%d ms", &earMS); err != nil || earMS < gapMS-150 || earMS > gapMS+1500 {
			t.Errorf("from mouth to ear is shown as %q, beside a gap of %q", ear, gap)
		}
		id := browsertest.Ask[string](b, "new URL(document.querySelector('#turn a').href).searchParams.get('turn')")
		if got := eventsOf(t, b.Base, id); !slices.Contains(got, trace.KindEar) {
			t.Errorf("the turn's trace has the events %q", got)
		}
	})
	b.Step("looks", func(t *testing.T) {
		for _, look := range []struct {
			name          string
			width, height int64
			scheme        string
		}{
			{"talk.png", 1280, 800, "light"}, {"talk-dark.png", 1280, 800, "dark"}, {"talk-phone.png", 390, 844, "light"}, {"talk-phone-dark.png", 390, 844, "dark"},
		} {
			b.Look(look.width, look.height, look.scheme, "reduce")
			b.Fits(look.name)
			browsertest.Contrasts(b)
			b.Shoot(look.name)
		}
	})
	b.Step("settings of a call that goes on", func(t *testing.T) {
		browsertest.Ask[bool](b, `(() => {
			document.getElementById('open-settings').click()
			const set = (name, value) => { const e = document.querySelector('[name=' + name + ']'); e.value = value; e.dispatchEvent(new Event('change', { bubbles: true })) }
			set('instructions', 'Be kind.'); set('speed', '1.25'); set('eagerness', 'high'); set('instructions', '')
			return true
		})()`)
		browsertest.Ask[bool](b, "(document.getElementById('settings').close(), true)")
		time.Sleep(300 * time.Millisecond) // in which an error would have come
		b.Is("the service takes them", "!document.querySelector('.help') && document.getElementById('call').dataset.phase === 'listening'")
	})
	// drop has the page believe that its connection broke, until it is told that it works again.
	drop := func() {
		browsertest.Ask[bool](b, `(() => {
			const c = window.connections.at(-1)
			window.before = c.remoteDescription.sdp.match(/a=ice-ufrag:.*/)[0]
			Object.defineProperty(c, 'connectionState', { value: 'disconnected', configurable: true })
			c.onconnectionstatechange()
			delete c.connectionState
			return true
		})()`)
		b.Until("document.getElementById('call').dataset.phase === 'reconnecting'")
	}
	b.Step("the network drops and comes back", func(t *testing.T) {
		drop()
		b.Until("document.getElementById('call').dataset.phase === 'listening'")
		b.Is("it is the same call, by another way", "window.connections.length === 1 && window.connections[0].remoteDescription.sdp.match(/a=ice-ufrag:.*/)[0] !== window.before")
		if n := s.status.Calls(); n != 1 {
			t.Errorf("the service holds %d calls, want 1", n)
		}
	})
	b.Step("the call is lost meanwhile", func(t *testing.T) {
		browsertest.Ask[bool](b, `(() => {
			const real = window.fetch
			window.fetch = (path, init) => path.includes('rtc_') ? Promise.resolve(new Response('{"error":{"code":"call_not_found","message":"There is no such call."}}', { status: 404 })) : real(path, init)
			return true
		})()`)
		drop()
		b.Until("document.getElementById('call').dataset.phase === 'listening' && window.connections.length === 2")
		b.Is("it is said", "document.querySelector('.help').dataset.code === 'lost' && document.querySelector('.help').textContent.includes('A new call was begun')")
		b.Is("what was said stays", "document.querySelectorAll('.entry').length === 4")
	})
	b.Step("another microphone", func(t *testing.T) {
		browsertest.Ask[bool](b, `(() => {
			window.track = window.connections.at(-1).getSenders()[0].track.id
			const e = document.querySelector('[name=echo]')
			e.checked = false
			e.dispatchEvent(new Event('change', { bubbles: true }))
			return true
		})()`)
		b.Until("window.connections.at(-1).getSenders()[0].track.id !== window.track")
		b.Is("it is as was chosen", "window.connections.at(-1).getSenders()[0].track.getSettings().echoCancellation === false")
	})
	b.Step("mute and hang up", func(t *testing.T) {
		b.Until("!document.getElementById('mute').hidden")
		browsertest.Ask[bool](b, "document.getElementById('mute').click() ?? true")
		b.Is("it is muted", "document.getElementById('mute').getAttribute('aria-pressed') === 'true' && document.getElementById('said').textContent === 'Muted'")
		browsertest.Ask[bool](b, "document.getElementById('talk').click() ?? true")
		b.Until("document.getElementById('call').dataset.phase === 'ended' && document.getElementById('talk').textContent.trim() === 'Talk'")
		for end := time.Now().Add(30 * time.Second); s.status.Calls() > 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the service still holds the call")
			}
		}
	})
	b.Step("in writing", func(t *testing.T) {
		browsertest.Ask[bool](b, "(() => { document.getElementById('text').value = 'Say hello.'; document.getElementById('write').requestSubmit(); return true })()")
		b.Until("document.querySelectorAll('.entry.agent').length === 3 && document.getElementById('call').dataset.phase === 'speaking'")
		b.Is("what was written stands there", "[...document.querySelectorAll('.entry.user .words')].at(-1).textContent === 'Say hello.'")
		b.Is("nobody listens", "document.getElementById('mute').hidden")
		browsertest.Ask[bool](b, "document.getElementById('talk').click() ?? true")
	})
	// Where WebRTC does not come through, the same goes over WebSocket: here, since the browser fails to connect.
	b.Step("over WebSocket", func(t *testing.T) {
		b.Open("/", "!document.getElementById('traces').hidden")
		browsertest.Ask[bool](b, `(() => {
			window.RTCPeerConnection = class extends RTCPeerConnection { setRemoteDescription() { setTimeout(() => { Object.defineProperty(this, 'connectionState', { value: 'failed' }); this.onconnectionstatechange() }, 50) } }
			return true
		})()`)
		browsertest.Ask[bool](b, "document.getElementById('talk').click() ?? true")
		b.Until("['listening', 'hearing'].includes(document.getElementById('call').dataset.phase)")
		tap(b)
		for end := time.Now().Add(30 * time.Second); s.status.Calls() > 1; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Error("the call that did not come about still has its place")
				break
			}
		}
		b.Until("document.getElementById('call').dataset.phase === 'speaking'")
		b.Until("document.querySelectorAll('.entry.user.final').length === 2")
		browsertest.Ask[bool](b, "(window.heard = []) && true")
		b.Until("document.querySelector('.entry.agent.interrupted')")
		b.Until("document.querySelectorAll('.entry.agent.done').length === 1 && document.getElementById('call').dataset.phase === 'listening'")
		readBack(t, b)
		b.Until("document.querySelectorAll('.gaps circle').length === 2")
		t.Logf("gap %s, from mouth to ear %s", browsertest.Ask[string](b, "document.getElementById('gap').textContent"), browsertest.Ask[string](b, "document.getElementById('ear').textContent"))
		browsertest.Ask[bool](b, "document.getElementById('talk').click() ?? true")
	})
	for _, c := range b.Complaints() {
		if !strings.Contains(c, "ScriptProcessorNode") { // that is the test's own
			t.Error(c)
		}
	}
}

// eventsOf returns the kinds of events that a turn's trace has.
func eventsOf(t *testing.T, base, id string) []string {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		r, err := http.Get(base + "/traces/api/turn?id=" + id)
		if err != nil {
			t.Fatal(err)
		}
		var turn struct {
			Events []struct {
				Kind string `json:"kind"`
			} `json:"events"`
		}
		err = json.NewDecoder(r.Body).Decode(&turn)
		r.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, e := range turn.Events {
			kinds = append(kinds, e.Kind)
		}
		if slices.Contains(kinds, trace.KindEar) || time.Now().After(end) {
			return kinds
		}
	}
}

// tap begins to record what the page's player gets.
func tap(b *browsertest.Browser) {
	browsertest.Ask[bool](b, `(() => {
		const context = new AudioContext({ sampleRate: 16000 })
		const tap = context.createScriptProcessor(2048, 1, 1)
		window.heard = []
		tap.onaudioprocess = (e) => window.heard.push(new Float32Array(e.inputBuffer.getChannelData(0)))
		context.createMediaStreamSource(document.getElementById('voice').srcObject).connect(tap).connect(context.destination)
		return true
	})()`)
}

// readBack fails the test if the last answer's sound, as it was recorded, does not say what stands on the page.
func readBack(t *testing.T, b *browsertest.Browser) {
	t.Helper()
	answer := browsertest.Ask[string](b, "[...document.querySelectorAll('.entry.agent .words')].at(-1).textContent")
	sound, err := base64.StdEncoding.DecodeString(browsertest.Ask[string](b, `(() => {
		const all = window.heard.flatMap((c) => [...c].map((v) => Math.round(Math.max(-1, Math.min(1, v)) * 32767)))
		return btoa(new Uint8Array(new Int16Array(all).buffer).reduce((s, v) => s + String.fromCharCode(v), ''))
	})()`))
	if err != nil {
		t.Fatal(err)
	}
	pcm := make(audio.PCM, len(sound)/2)
	for i := range pcm {
		pcm[i] = int16(uint16(sound[2*i]) | uint16(sound[2*i+1])<<8)
	}
	back, err := stt.Transcribe(t.Context(), listener(t), pcm, stt.Options{Language: "en"})
	if err != nil {
		t.Fatal(err)
	}
	r := wer.WER(answer, back.Text)
	if r.Rate() >= 0.5 || len(answer) < 10 {
		t.Errorf("the answer is %q, and Whisper reads back %q: WER %.2f", answer, back.Text, r.Rate())
	}
	t.Logf("%q, read back with WER %.2f from %v of sound", answer, r.Rate(), pcm.Duration(audio.SpeechRate))
}
