package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"riposte/caller"
)

// benchCmd is what can be measured.
type benchCmd struct {
	LLM      benchLLMCmd      `cmd:"" name:"llm" help:"Let the model answer fixed prompts, for one caller and for four, and measure how soon it begins and how fast it goes on."`
	Models   benchModelsCmd   `cmd:"" help:"Measure every chat model that is here: time to load, first text, speed, memory."`
	Sound    benchSoundCmd    `cmd:"" help:"Change rates and write G.711, here and by SoX and FFmpeg where they are installed, and compare what becomes of pure tones."`
	STT      benchSTTCmd      `cmd:"" name:"stt" help:"Let the recogniser hear recorded speech in real time, and measure how soon and how well it is understood."`
	TTS      benchTTSCmd      `cmd:"" name:"tts" help:"Let the voice speak fixed sentences, and measure how soon it is heard and how its sound fits together."`
	Endpoint benchEndpointCmd `cmd:"" help:"Find when turns of recorded speech are taken to be over, by silence, sound, words and model."`
	BargeIn  benchBargeInCmd  `cmd:"" name:"bargein" help:"Speak, cough and be silent over answers, with and without an echo of them, and measure whether they make way, go on, and are remembered as they were heard."`
	Faults   benchFaultsCmd   `cmd:"" help:"Give each engine faults, one at a time, and measure when callers hear something, what it is, and whether the right stage is blamed."`
	Calls    benchCallsCmd    `cmd:"" help:"Hold many conversations at once, more than there is room for if you like, and measure what becomes of them."`
	Chat     benchChatCmd     `cmd:"" help:"Ask the model in this process and over /v1/chat/completions, in turn, and measure what that adds to the first token."`
	Cycles   benchCyclesCmd   `cmd:"" help:"Set up calls and end them, a thousand times, and look for what the service keeps of them: memory, goroutines, sockets, file handles."`
	Pacing   benchPacingCmd   `cmd:"" help:"Listen to an answer without end by a telephone wire, and measure when its frames come."`
	Soak     benchSoakCmd     `cmd:"" help:"Let callers come and go at random for hours, while engines have faults, and look for what fails and what wears out."`
	Traces   benchTracesCmd   `cmd:"" help:"Keep many turns, and measure how soon they are listed, found and counted, and what keeping them costs."`
	Turns    benchTurnsCmd    `cmd:"" help:"Hold a conversation with recorded speech and measure every turn at the caller."`

	StubService benchStubServiceCmd `cmd:"" hidden:"" help:"Serve calls with stubs in place of recogniser, model and voice, for the benches."`
	SoakService benchSoakServiceCmd `cmd:"" hidden:"" help:"Serve calls with engines that have faults now and then, for bench soak."`
}

// subject says with what a conversation was measured: the models of the settings, or where the service is that was not started for it.
func (s *settings) subject(url string) map[string]string {
	if url != "" {
		return map[string]string{"url": url}
	}
	return map[string]string{"stt": s.STT.Model, "llm": s.LLM.Model, "tts": s.TTS.Voice, "vad": s.VAD.Model}
}

// wireNamed returns the wire of a name.
func wireNamed(name string) caller.Wire {
	if name == "websocket" {
		return caller.WebSocket
	}
	return caller.Wire(name)
}

// showKinds prints word error rates by kinds of clips, on the line that is begun.
func showKinds(out io.Writer, rates map[string]float64) {
	for _, kind := range slices.Sorted(maps.Keys(rates)) {
		fmt.Fprintf(out, "; %s %.1f", kind, 100*rates[kind])
	}
}
