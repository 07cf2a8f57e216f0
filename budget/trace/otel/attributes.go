package otel

import (
	"encoding/json"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"riposte/budget"
	"riposte/budget/trace"
)

// The attributes of https://github.com/open-telemetry/semantic-conventions-genai that are used here, as of September 2026. The
// packages of OpenTelemetry's Go library have them no more: they moved to conventions of their own.
const (
	operation      = attribute.Key("gen_ai.operation.name")
	agent          = attribute.Key("gen_ai.agent.name")
	agentVersion   = attribute.Key("gen_ai.agent.version")
	endReason      = attribute.Key("gen_ai.agent.invocation.end_reason")
	conversationID = attribute.Key("gen_ai.conversation.id")
	providerName   = attribute.Key("gen_ai.provider.name")
	requestModel   = attribute.Key("gen_ai.request.model")
	requestStream  = attribute.Key("gen_ai.request.stream")
	responseID     = attribute.Key("gen_ai.response.id")
	firstChunk     = attribute.Key("gen_ai.response.time_to_first_chunk") // Seconds.
	outputType     = attribute.Key("gen_ai.output.type")
	inputTokens    = attribute.Key("gen_ai.usage.input_tokens")
	cachedTokens   = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	outputTokens   = attribute.Key("gen_ai.usage.output_tokens")
	inputMessages  = attribute.Key("gen_ai.input.messages")
	outputMessages = attribute.Key("gen_ai.output.messages")

	errorType  = attribute.Key("error.type")
	httpMethod = attribute.Key("http.request.method")
	httpRoute  = attribute.Key("http.route")
	httpStatus = attribute.Key("http.response.status_code")
)

// What there is no convention for. Times are milliseconds.
const (
	riposteRoute   = attribute.Key("riposte.route")
	riposteWire    = attribute.Key("riposte.wire")
	riposteTurns   = attribute.Key("riposte.turns")
	riposteReason  = attribute.Key("riposte.reason")
	riposteNumber  = attribute.Key("riposte.turn.number")
	riposteStatus  = attribute.Key("riposte.turn.status")
	riposteGap     = attribute.Key("riposte.turn.gap_ms")    // The platform's turn gap.
	riposteBudget  = attribute.Key("riposte.turn.budget_ms") // What it may be.
	riposteVerdict = attribute.Key("riposte.turn.verdict")
	riposteBlame   = attribute.Key("riposte.turn.blame")
	riposteActions = attribute.Key("riposte.turn.actions") // Each a stage, a colon and a budget.ActionKind.
	riposteTools   = attribute.Key("riposte.turn.tools")
	riposteTries   = attribute.Key("riposte.guesses.tries")
	riposteStood   = attribute.Key("riposte.guesses.stood")
	riposteWasted  = attribute.Key("riposte.guesses.wasted_tokens")
	riposteStage   = attribute.Key("riposte.stage")
	riposteShare   = attribute.Key("riposte.stage.share_ms")
	riposteOver    = attribute.Key("riposte.stage.over_ms")  // By how much the share was overrun; not set otherwise.
	riposteEnded   = attribute.Key("riposte.stage.complete") // Whether the stage came to its end.
	riposteRuns    = attribute.Key("riposte.executor.runs")
	riposteWaited  = attribute.Key("riposte.executor.waited_ms")
	riposteRan     = attribute.Key("riposte.executor.ran_ms")
	riposteDetail  = attribute.Key("riposte.detail")
	riposteSound   = attribute.Key("riposte.sound_ms") // That was listened to, or spoken.
	riposteText    = attribute.Key("riposte.text")
	riposteStable  = attribute.Key("riposte.stable_bytes")
)

// operations are the stages' names in the conventions. The microphone has none.
var operations = map[budget.Stage]string{budget.STT: "speech_to_text", budget.LLM: "chat", budget.TTS: "text_to_speech"}

// ms gives a duration in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// messages writes what somebody said as the conventions have it: JSON, since attributes of spans hold no structures.
func messages(role, text, finish string) string {
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type message struct {
		Role   string `json:"role"`
		Parts  []part `json:"parts"`
		Finish string `json:"finish_reason,omitempty"`
	}
	b, _ := json.Marshal([]message{{role, []part{{"text", text}}, finish}}) // strings can always be written
	return string(b)
}

// finish returns why a model stopped, as the conventions have it.
func finish(t trace.Turn) string {
	switch t.Status {
	case "completed":
		return "stop"
	case "failed":
		return "error"
	}
	return t.Status
}

// harmless are the kinds of events whose details name things of ours, and never what somebody said.
var harmless = map[string]bool{
	trace.KindAction: true, trace.KindDropped: true, trace.KindDegraded: true, trace.KindFault: true, trace.KindRedial: true,
	trace.KindEar: true,
}
