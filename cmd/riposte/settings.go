package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"

	"riposte/budget"
	"riposte/llm"
	"riposte/native"
	"riposte/pipeline"
	"riposte/transport"
	"riposte/transport/realtime"
)

// settings are all settings of the service. Each is a flag, an environment variable (RIPOSTE_ and the flag's name) and a key
// of the config file (the flag's name, its first word being the section); `riposte config` prints them.
type settings struct {
	ConfigFile kong.ConfigFlag `name:"config" placeholder:"FILE" help:"Read settings from this file as well, besides riposte.yaml of the current folder."`

	Listen  string       `default:"127.0.0.1:8080" help:"Address to serve on. Only this machine can reach the default." group:"service"`
	Origins []string     `placeholder:"ORIGIN" help:"Web pages of these origins may connect, besides our own; * is any." group:"service"`
	Keys    []string     `placeholder:"KEY" help:"Keys of which callers have to show one, as Authorization: Bearer KEY, or a client secret that one of them got. Empty asks for none: then anybody may call who reaches the service." group:"service"`
	Routes  []string     `placeholder:"NAME=FILE" help:"Routes: names by which calls ask for settings of their own (?route=NAME, or ?model=NAME), each with a file of them, like a config file but only with what may differ from call to call: talk, budget, price, tools, what names engines that are served elsewhere, and of the other sections what docs/realtime.md lists." group:"service"`
	Cores   int          `default:"0" help:"Cores that the engines share; 0 is all. What else the service does takes a few percent of one." group:"service"`
	Ahead   float64      `default:"0.5" help:"Part of the cores' time that work on answers may take that may turn out not to be wanted, over some ten seconds: 0 to 1." group:"service"`
	Tools   toolSettings `default:"{}" placeholder:"YAML" help:"What the model may call and the service runs: http (requests), mcp (MCP servers) and hosts (whose MCP servers clients may name). A section of the config file, or of a route's; docs/tools.md has all of it." group:"service"`
	Cache   string       `placeholder:"DIR" help:"Folder of native libraries and models. Empty means $XDG_CACHE_HOME/riposte or ~/.cache/riposte." group:"service"`

	Log struct {
		Level  slog.Level `default:"INFO" help:"Least level that is logged: DEBUG, INFO, WARN or ERROR." group:"service"`
		Format string     `default:"auto" enum:"auto,text,json" help:"How to log: text, json, or auto: text on a terminal, json otherwise." group:"service"`
	} `embed:"" prefix:"log-"`

	Calls struct {
		Max      int           `default:"8" help:"Calls at once. More are refused with 503 and Retry-After." group:"calls"`
		Load     float64       `default:"0.7" help:"Part of the cores' time that calls may take: one more is refused with 503 where it would take more, or where answers are late already. 1 takes all that there are places for." group:"calls"`
		Lifetime time.Duration `default:"60m" help:"Longest time of a call." group:"calls"`
		Idle     time.Duration `default:"10m" help:"How long a client may send nothing at all, not even silence." group:"calls"`
		Grace    time.Duration `default:"10s" help:"How long calls may take to finish a sentence when the service goes down." group:"calls"`
		Lead     time.Duration `default:"200ms" help:"Sound sent ahead of its playing: it covers jitter, and is what an interruption throws away." group:"calls"`
		Ahead    time.Duration `default:"400ms" help:"Sound made ahead of its sending." group:"calls"`
		Longest  time.Duration `default:"2m" help:"Longest turn of a caller; a longer one has to be committed in parts." group:"calls"`
		Asides   int           `default:"4" help:"Answers beside its conversation that a call may have made at once." group:"calls"`
		Sides    int           `default:"4" help:"Connections that may be attached to a call to watch and steer it." group:"calls"`
		Message  int64         `default:"33554432" help:"Longest message of a client, in bytes." group:"calls"`
		Append   int           `default:"15728640" help:"Longest sound in one message, in bytes." group:"calls"`
		Buffer   int64         `default:"16777216" help:"Events that wait for a client that reads slowly, in bytes. When there are more, or 256 of them, for calls-slow the call ends." group:"calls"`
		Slow     time.Duration `default:"5s" help:"How long a client may take to read what it is sent." group:"calls"`
		Pong     time.Duration `default:"30s" help:"How long a client may take to answer a ping; one is sent every third of it." group:"calls"`
	} `embed:"" prefix:"calls-"`

	TLS    tlsSettings    `embed:"" prefix:"tls-"`
	WebRTC webRTCSettings `embed:"" prefix:"webrtc-"`
	Phone  phoneSettings  `embed:"" prefix:"phone-"`
	Lines  lineSettings   `embed:"" prefix:"phone-"`
	Twilio twilioSettings `embed:"" prefix:"twilio-"`
	Telnyx telnyxSettings `embed:"" prefix:"telnyx-"`
	Vonage vonageSettings `embed:"" prefix:"vonage-"`

	Asterisk asteriskSettings `embed:"" prefix:"asterisk-"`

	Talk struct {
		Instructions string        `default:"You are Riposte, a friendly voice assistant. You are heard, not read: answer in one or two short, plain sentences." help:"What the model is told before each conversation." group:"talk"`
		Apology      string        `default:"Sorry, something went wrong. Please say that again." help:"Spoken when a turn cannot be answered. Empty for silence." group:"talk"`
		Openers      string        `default:"Let me see.|One moment.|Just a second." help:"Spoken where an answer would be later than the budget, until it comes; one after the other, separated by |. Empty for none." group:"talk"`
		Greeting     string        `help:"Said when a call begins. Empty for nothing." group:"talk"`
		Firm         bool          `help:"The greeting cannot be interrupted: who talks over it is not listened to." group:"talk"`
		Consent      string        `help:"Said before the greeting of calls that are recorded (trace-record), and cannot be interrupted, such as: This call is recorded. Press nine if you do not want that. Empty for nothing: then who calls has to be told elsewhere." group:"talk"`
		ConsentKey   string        `default:"9" help:"Key by which callers say no to recording. What was kept of the call's sound is thrown away then, and no more is. Empty for none." group:"talk"`
		ConsentTime  time.Duration `default:"30s" help:"How long after the call's beginning that key means this; later it is one like any other." group:"talk"`
		ConsentWords string        `default:"don't record|do not record|stop recording|stop the recording" help:"Words by which callers say no to it, at any time, as the recogniser writes them, separated by |." group:"talk"`
		Idle         time.Duration `default:"0" help:"Silence of both sides after which the caller is asked to speak, and asked again, and then hung up on; 0 never does." group:"talk"`
		Prompts      string        `default:"Are you still there?|I can't hear you. I will hang up if you say nothing." help:"What is said then, one after the other, separated by |." group:"talk"`
		Threshold    float32       `default:"0.5" help:"Speech probability from which sound counts as speech." group:"talk"`
		Padding      time.Duration `default:"300ms" help:"Sound before speech that is listened to as well." group:"talk"`
		Silence      time.Duration `default:"0" help:"Silence that ends a caller's turn; 0 goes by what is said and how." group:"talk"`
		Eagerness    string        `default:"medium" enum:"low,medium,high" help:"How soon a turn is taken to be over where that is not clear: low, medium or high." group:"talk"`
		Guesses      int           `default:"3" help:"Answers that may be begun for one turn while it is not certain that it is over; 0 for none." group:"talk"`
		Steps        int           `default:"8" help:"Answers in a row that may call tools before the caller says something again: the next one has to do without; 0 lets none call any." group:"talk"`
		Waiting      string        `default:"Still working on it.|It takes a little longer." help:"Said while tools take long, one after the other, separated by |. Empty for silence." group:"talk"`
		Patience     time.Duration `default:"6s" help:"Silence after which that is said, while tools that the service runs are at work; 0 never says it." group:"talk"`
		Commit       time.Duration `default:"300ms" help:"Speech over an answer that interrupts it, whatever it says; words do so sooner, a mm-hm later or not at all." group:"talk"`
		Echo         bool          `default:"true" negatable:"" help:"Tell the agent's own voice from the caller's where a speakerphone sends it back." group:"talk"`
		Stall        time.Duration `default:"5s" help:"How long an engine may bring nothing at all: then it has failed, and the caller is told." group:"talk"`
		Lapse        time.Duration `default:"2s" help:"A caller who is speaking, and whose line brings no sound for this long, has finished: the microphone was muted, or the line is dead." group:"talk"`
		Unheard      time.Duration `default:"700ms" help:"Who goes on talking before this much of an answer was heard is taken to go on with the turn, not to interrupt." group:"talk"`
	} `embed:"" prefix:"talk-"`

	STT struct {
		Model    string `default:"whisper-tiny.en-q8_0" help:"Whisper model: a name from riposte models, or a ggml file; or URL#NAME for one that is served elsewhere (docs/remote.md)." group:"stt"`
		Language string `default:"en" help:"Language of the callers, such as en; auto lets a multilingual model find out." group:"stt"`
		Threads  int    `default:"2" help:"Most threads for one pass: it takes as many as there are cores idle." group:"stt"`
		States   int    `default:"0" help:"Passes at once; 0 is one for each core." group:"stt"`
		Fallback string `placeholder:"MODEL" help:"Recogniser that is asked as well when the first one is late or fails: like stt-model, on this machine or another. Empty for none." group:"stt"`

		Every          time.Duration `default:"0" help:"New sound of which a remote recogniser makes a hypothesis while somebody speaks, for which all that was said so far is sent each time; 0 makes none." group:"stt"`
		Timeout        time.Duration `default:"0" help:"How long a remote recogniser may take to an answer; 0 is three quarters of its share where there is a fallback, and talk-stall where there is none." group:"stt"`
		Access         access        `embed:"" group:"stt"`
		FallbackAccess access        `embed:"" prefix:"fallback-" group:"stt"`
	} `embed:"" prefix:"stt-"`

	LLM struct {
		Model         string    `default:"smollm2-135m-instruct-q8_0" help:"Chat model: a name from riposte models, or a GGUF file, whose own chat template is used; or URL#NAME for one that is served elsewhere, such as http://gpu1:8000/v1#qwen3-8b." group:"llm"`
		Hedge         string    `placeholder:"MODEL" help:"Chat model that is asked as well when the first one is late or fails: a name from riposte models, or a GGUF file, which needs its own memory; or URL#NAME. Empty for none." group:"llm"`
		Threads       int       `default:"0" help:"Threads; 0 is 2, or the cores if fewer." group:"llm"`
		Context       int       `default:"2048" help:"Tokens of one conversation, the answer included." group:"llm"`
		Conversations int       `default:"0" help:"Conversations that are kept ready or answered at once; 0 is as many as calls." group:"llm"`
		Idle          int       `default:"268435456" help:"Memory, in bytes, for conversations that had to make room for others, so that they need not be read again; 0 keeps none." group:"llm"`
		MaxTokens     int       `default:"80" help:"Longest answer, in tokens; one that is cut there ends with its last whole clause." group:"llm"`
		Temperature   float32   `default:"0.3" help:"How freely words are chosen; 0 always takes the likeliest." group:"llm"`
		TopP          float32   `default:"0.9" help:"Choose among the likeliest tokens that make up this probability." group:"llm"`
		TopK          int       `default:"40" help:"Choose among this many tokens; 0 is any." group:"llm"`
		MinP          float32   `default:"0" help:"Least probability of a token, relative to the likeliest." group:"llm"`
		RepeatPenalty float32   `default:"1.1" help:"Penalty for words that were just used; 1 is none." group:"llm"`
		Seed          uint32    `default:"0" help:"Seed of the choices; 0 draws a new one each time." group:"llm"`
		GPU           string    `default:"none" enum:"none,cuda,vulkan" help:"Which build of llama.cpp to use: none, cuda or vulkan. Made by make native GPU=..." group:"llm"`
		GPULayers     int       `default:"-1" help:"Layers that the GPU computes; -1 is all." group:"llm"`
		Devices       []string  `placeholder:"NAME" help:"GPUs to use, such as CUDA0 (riposte doctor lists them); empty is all." group:"llm"`
		Split         []float32 `placeholder:"PART" help:"Parts of the layers that these GPUs get, in their order, such as 3,1; empty is by their free memory." group:"llm"`

		Timeout     time.Duration `default:"0" help:"How long a remote model may take to its first words; 0 is three quarters of its share where there is a hedge, and talk-stall where there is none." group:"llm"`
		ReadAhead   bool          `help:"Have a remote model read along while somebody speaks, by requests for one token each: servers that keep prefixes then answer sooner. It costs what that costs there." group:"llm"`
		Extra       string        `placeholder:"JSON" help:"An object whose fields are put into each request to a remote model, for what only some servers know, such as top_k; null takes a field out." group:"llm"`
		HedgeExtra  string        `placeholder:"JSON" help:"The same for a remote hedge." group:"llm"`
		Access      access        `embed:"" group:"llm"`
		HedgeAccess access        `embed:"" prefix:"hedge-" group:"llm"`
	} `embed:"" prefix:"llm-"`

	TTS struct {
		Voice   string  `default:"piper-en_us-joe-medium" help:"Piper voice: a name from riposte models, or an .onnx file with its .onnx.json beside it; or URL#NAME for a model that is served elsewhere (docs/remote.md)." group:"tts"`
		Speaker string  `help:"Speaker of a voice that has several, by name or number, and voice of a remote model; empty is the first, or alloy." group:"tts"`
		Threads int     `default:"1" help:"Threads for one clause. More are faster on idle cores only." group:"tts"`
		Cache   int     `default:"16777216" help:"Sound of what was spoken that is kept, to be spoken again at once, in bytes; 0 keeps none." group:"tts"`
		Speed   float32 `default:"1" help:"1 is the voice's own pace, 1.5 half as fast again." group:"tts"`

		Fallback        string        `placeholder:"VOICE" help:"Voice that is asked as well when the first one is late or fails: like tts-voice, on this machine or another. Empty for none." group:"tts"`
		FallbackSpeaker string        `help:"Its speaker." group:"tts"`
		Format          string        `default:"pcm" enum:"pcm,wav,mp3,opus,flac" help:"What a remote voice is asked for: pcm, wav, mp3, opus or flac. pcm sounds first; what comes is told by itself." group:"tts"`
		Timeout         time.Duration `default:"0" help:"How long a remote voice may take to its first sound; 0 is three quarters of its share where there is a fallback, and talk-stall where there is none." group:"tts"`
		Access          access        `embed:"" group:"tts"`
		FallbackAccess  access        `embed:"" prefix:"fallback-" group:"tts"`
	} `embed:"" prefix:"tts-"`

	Remote remoteSettings `embed:"" prefix:"remote-"`

	VAD struct {
		Model string `default:"silero-vad" help:"Silero model: a name from riposte models, or an .onnx file." group:"vad"`
		Turn  string `default:"smart-turn-v3.2" help:"Smart Turn model, which hears whether a turn is over: a name from riposte models, or an .onnx file; empty for none." group:"vad"`
	} `embed:"" prefix:"vad-"`

	REST restSettings `embed:"" prefix:"rest-"`

	Budget struct {
		Mode string `default:"enforce" enum:"enforce,observe" help:"enforce acts when a share runs out; observe measures and judges only." group:"budget"`

		Mic time.Duration `default:"40ms" help:"Share of the microphone: framing, jitter, resampling." group:"budget"`
		STT time.Duration `default:"300ms" help:"Share of the recogniser, with the decision that the turn is over." group:"budget"`
		LLM time.Duration `default:"400ms" help:"Share of the model, to the first clause." group:"budget"`
		TTS time.Duration `default:"150ms" help:"Share of the voice, to the first audible sound." group:"budget"`
	} `embed:"" prefix:"budget-"`

	Price priceSettings `embed:"" prefix:"price-"`

	Trace struct {
		File       string        `placeholder:"FILE" help:"File in which calls and their turns are kept, with what was said; none keeps none. Empty means $XDG_STATE_HOME/riposte/traces.db or ~/.local/state/riposte/traces.db." group:"trace"`
		Keep       time.Duration `default:"720h" help:"How long they are kept; 0 for ever." group:"trace"`
		Bytes      int64         `default:"1073741824" help:"Most bytes of the file. Over it the oldest sound goes first, and then the oldest turns; 0 is no limit." group:"trace"`
		Record     bool          `help:"Keep the sound of each turn as well, the caller's and ours. Ask callers first." group:"trace"`
		RecordKeep time.Duration `default:"24h" help:"How long sound is kept; 0 as long as its turn." group:"trace"`
		Numbers    string        `default:"full" enum:"full,masked" help:"How telephone numbers are kept: full, or masked, with most of their digits hidden. The webhook gets them whole." group:"trace"`
		Page       string        `default:"local" enum:"local,all,off" help:"Who may see the page /traces, which shows what callers said: local (programs on this machine, and not through a proxy that says that it is one), all (whoever reaches the service) or off (nobody)." group:"trace"`
		Hosts      []string      `placeholder:"NAME" help:"With trace-page=all, names by which browsers reach the service, besides its addresses, localhost and this machine's own name. Under others the page is refused, against DNS rebinding." group:"trace"`
	} `embed:"" prefix:"trace-"`

	Record struct {
		Dir    string        `placeholder:"DIR" help:"Folder for recordings of whole calls: a WAV file each, the caller left and the agent right. Nothing there is ever removed but what callers have refused. Empty records none. Ask callers first (talk-consent)." group:"trace"`
		Buffer time.Duration `default:"10s" help:"How much sound of a call may wait for that disk, of both sides together; what comes beyond is silence in the file." group:"trace"`
	} `embed:"" prefix:"record-"`

	Telemetry struct {
		Metrics  bool   `default:"true" negatable:"" help:"Answer Prometheus at /metrics." group:"telemetry"`
		OTLP     string `placeholder:"URL" help:"OpenTelemetry collector that turns are sent to as spans, such as http://localhost:4317. Empty goes by OTEL_EXPORTER_OTLP_ENDPOINT, and without that sends none." group:"telemetry"`
		Protocol string `default:"auto" enum:"auto,grpc,http" help:"How to talk to the collector: grpc, http, or auto: as OTEL_EXPORTER_OTLP_PROTOCOL says, or grpc." group:"telemetry"`
		Text     bool   `help:"Send to the collector what was said as well." group:"telemetry"`
	} `embed:"" prefix:"telemetry-"`
}

// settingGroups are the sections, in the order in which help and config file show them.
var settingGroups = []kong.Group{
	{Key: "service", Title: "Service"},
	{Key: "calls", Title: "Calls"},
	{Key: "tls", Title: "TLS, without which browsers give no microphone to pages of other machines"},
	{Key: "webrtc", Title: "Calls over WebRTC"},
	{Key: "phone", Title: "Calls by telephone"},
	{Key: "twilio", Title: "Calls from Twilio (docs/telephone.md)"},
	{Key: "asterisk", Title: "Calls from Asterisk (docs/telephone.md)"},
	{Key: "telnyx", Title: "Calls from Telnyx (docs/telephone.md)"},
	{Key: "vonage", Title: "Calls from Vonage (docs/telephone.md)"},
	{Key: "rest", Title: "Requests over REST, which take what calls leave of the machine"},
	{Key: "talk", Title: "Talk"},
	{Key: "stt", Title: "Speech to text (whisper.cpp)"},
	{Key: "llm", Title: "Model (llama.cpp)"},
	{Key: "tts", Title: "Voice (Piper)"},
	{Key: "remote", Title: "Engines on other machines"},
	{Key: "vad", Title: "Voice activity (Silero)"},
	{Key: "budget", Title: "Budget of a turn"},
	{Key: "price", Title: "Prices, by which records of calls say what they cost"},
	{Key: "trace", Title: "Traces"},
	{Key: "telemetry", Title: "Telemetry"},
}

// Validate reports everything that is out of bounds. kong calls it.
func (s *settings) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(s.Calls.Max > 0, "calls-max is %d: it must be at least 1", s.Calls.Max)
	check(s.Calls.Load > 0 && s.Calls.Load <= 1, "calls-load is %v: it must be above 0 and at most 1", s.Calls.Load)
	check(s.Calls.Lifetime > 0, "calls-lifetime is %v: it must be more than 0", s.Calls.Lifetime)
	check(s.Calls.Idle > 0, "calls-idle is %v: it must be more than 0", s.Calls.Idle)
	check(s.Calls.Lead >= 20*time.Millisecond && s.Calls.Lead <= 2*time.Second, "calls-lead is %v: it must be 20ms to 2s", s.Calls.Lead)
	check(s.Calls.Ahead >= 20*time.Millisecond && s.Calls.Ahead <= 10*time.Second, "calls-ahead is %v: it must be 20ms to 10s", s.Calls.Ahead)
	check(s.Calls.Longest >= time.Second, "calls-longest is %v: it must be at least 1s", s.Calls.Longest)
	check(s.Calls.Asides >= 1, "calls-asides is %d: it must be at least 1", s.Calls.Asides)
	check(s.Calls.Sides >= 1, "calls-sides is %d: it must be at least 1", s.Calls.Sides)
	check(s.Calls.Message >= 1<<16, "calls-message is %d: it must be at least 65536", s.Calls.Message)
	check(s.Calls.Append >= 1<<10, "calls-append is %d: it must be at least 1024", s.Calls.Append)
	check(s.Calls.Slow > 0, "calls-slow is %v: it must be more than 0", s.Calls.Slow)
	check(s.Calls.Buffer >= 64<<10, "calls-buffer is %d: it must be at least 65536", s.Calls.Buffer)
	check(s.Calls.Pong >= time.Second, "calls-pong is %v: it must be at least 1s", s.Calls.Pong)
	check(s.Calls.Grace >= 0, "calls-grace is %v: it must not be negative", s.Calls.Grace)
	check(s.Talk.Threshold > 0 && s.Talk.Threshold <= 1, "talk-threshold is %v: it must be above 0 and at most 1", s.Talk.Threshold)
	check(s.Talk.Padding >= 0 && s.Talk.Padding <= 5*time.Second, "talk-padding is %v: it must be 0 to 5s", s.Talk.Padding)
	check(s.Talk.Silence == 0 || s.Talk.Silence >= 100*time.Millisecond && s.Talk.Silence <= 10*time.Second,
		"talk-silence is %v: it must be 100ms to 10s, or 0 to go by what is said", s.Talk.Silence)
	check(s.Talk.Commit > 0, "talk-commit is %v: it must be more than 0", s.Talk.Commit)
	check(s.Talk.Stall >= time.Second, "talk-stall is %v: it must be at least 1s", s.Talk.Stall)
	check(s.Talk.Lapse >= 500*time.Millisecond, "talk-lapse is %v: it must be at least 500ms", s.Talk.Lapse)
	check(s.Talk.Unheard > 0, "talk-unheard is %v: it must be more than 0", s.Talk.Unheard)
	check(s.Ahead >= 0 && s.Ahead <= 1, "ahead is %v: it must be 0 to 1", s.Ahead)
	check(s.LLM.Idle >= 0, "llm-idle is %d: it must not be negative", s.LLM.Idle)
	check(s.Cores >= 0 && s.Cores <= mostThreads, "cores is %d: it must be 0 to %d", s.Cores, mostThreads)
	check(s.Talk.Guesses >= 0 && s.Talk.Guesses <= 100, "talk-guesses is %d: it must be 0 to 100", s.Talk.Guesses)
	check(s.Talk.Steps >= 0 && s.Talk.Steps <= 1000, "talk-steps is %d: it must be 0 to 1000", s.Talk.Steps)
	check(s.Talk.Patience == 0 || s.Talk.Patience >= time.Second, "talk-patience is %v: it must be at least 1s, or 0 for never", s.Talk.Patience)
	check(s.Talk.ConsentKey == "" || len(s.Talk.ConsentKey) == 1 && strings.Contains("0123456789*#ABCD", s.Talk.ConsentKey),
		"talk-consent-key is %q: it must be one of 0 to 9, *, #, A to D, or empty", s.Talk.ConsentKey)
	check(s.Talk.ConsentTime >= 0, "talk-consent-time is %v: it must not be negative", s.Talk.ConsentTime)
	check(s.Talk.Idle >= 0, "talk-idle is %v: it must not be negative", s.Talk.Idle)
	check(s.TTS.Cache >= 0, "tts-cache is %d: it must not be negative", s.TTS.Cache)
	check(s.STT.Threads >= 1 && s.STT.Threads <= mostThreads, "stt-threads is %d: it must be 1 to %d", s.STT.Threads, mostThreads)
	check(s.STT.States >= 0 && s.STT.States <= mostThreads, "stt-states is %d: it must be 0 to %d", s.STT.States, mostThreads)
	check(s.LLM.Threads >= 0 && s.LLM.Conversations >= 0, "llm-threads and llm-conversations must not be negative")
	check(s.LLM.Context >= 256, "llm-context is %d: it must be at least 256", s.LLM.Context)
	check(s.LLM.MaxTokens >= 1 && s.LLM.MaxTokens < s.LLM.Context, "llm-max-tokens is %d: it must be 1 or more, and below llm-context (%d)", s.LLM.MaxTokens, s.LLM.Context)
	check(s.LLM.Temperature >= 0 && s.LLM.Temperature <= 2, "llm-temperature is %v: it must be 0 to 2", s.LLM.Temperature)
	check(s.LLM.TopP >= 0 && s.LLM.TopP <= 1, "llm-top-p is %v: it must be 0 to 1", s.LLM.TopP)
	check(s.LLM.MinP >= 0 && s.LLM.MinP < 1, "llm-min-p is %v: it must be 0 to below 1", s.LLM.MinP)
	check(s.LLM.TopK >= 0 && s.LLM.RepeatPenalty >= 0, "llm-top-k and llm-repeat-penalty must not be negative")
	errs = append(errs, s.validateGPU(), s.TLS.validate(), s.WebRTC.validate(), s.Phone.validate(), s.Phone.answeringSettings.validate(s.Talk.Greeting), s.Price.validate(), s.Lines.validate(), s.Twilio.validate(), s.Telnyx.validate(s.Lines.Public), s.Vonage.validate(s.Lines.Public), s.Asterisk.validate(), s.REST.validate(), s.validateRemotes())
	for _, k := range s.Keys {
		check(len(k) >= leastKey && !strings.HasPrefix(k, "ek_"), "keys holds one of %d characters: a key has at least %d, and does not begin with ek_", len(k), leastKey)
	}
	check(s.TTS.Speed >= 0.25 && s.TTS.Speed <= 4, "tts-speed is %v: it must be 0.25 to 4", s.TTS.Speed)
	check(s.TTS.Threads >= 1 && s.TTS.Threads <= mostThreads, "tts-threads is %d: it must be 1 to %d", s.TTS.Threads, mostThreads)
	check(s.Record.Buffer >= time.Second && s.Record.Buffer <= 10*time.Minute, "record-buffer is %v: it must be 1s to 10m", s.Record.Buffer)
	check(s.Trace.Keep >= 0 && s.Trace.RecordKeep >= 0, "trace-keep and trace-record-keep must not be negative")
	check(s.Trace.Bytes == 0 || s.Trace.Bytes >= 1<<20, "trace-bytes is %d: it must be at least 1048576, or 0 for no limit", s.Trace.Bytes)
	errs = append(errs, s.plan().Validate(), s.Tools.validate())
	return errors.Join(errs...)
}

func (s *settings) plan() budget.Plan {
	return budget.Plan{
		Mic: s.Budget.Mic, STT: s.Budget.STT, LLM: s.Budget.LLM, TTS: s.Budget.TTS, Observe: s.Budget.Mode == "observe",
	}
}

func (s *settings) limits() pipeline.Limits {
	return pipeline.Limits{
		Utterance: s.Calls.Longest, Lead: s.Calls.Lead, Ahead: s.Calls.Ahead, Unheard: s.Talk.Unheard, Commit: s.Talk.Commit, Guesses: orNone(s.Talk.Guesses),
		Steps: orNone(s.Talk.Steps), Asides: s.Calls.Asides, Stall: s.Talk.Stall, Lapse: s.Talk.Lapse,
	}
}

// leastKey is how many characters a key has at least: fewer can be guessed.
const leastKey = 16

// mostThreads is more than the native libraries gain anything by, and fewer than they fail with.
const mostThreads = 256

// lines returns the lines of a setting that are separated by |.
func lines(setting string) []string {
	var out []string
	for _, p := range strings.Split(setting, "|") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// orNone returns n, or what means none where 0 would mean a default.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

func (s *settings) wire() realtime.Limits {
	return realtime.Limits{
		Message: s.Calls.Message, Append: s.Calls.Append, Buffer: s.Calls.Buffer, Write: s.Calls.Slow,
		Ping: s.Calls.Pong / 3, Pong: s.Calls.Pong, Idle: s.Calls.Idle, Lifetime: s.Calls.Lifetime, Sides: s.Calls.Sides,
	}
}

// call returns what calls begin with.
func (s *settings) call() transport.Settings {
	language := s.STT.Language
	if language == "auto" {
		language = ""
	}
	return transport.Settings{
		Instructions: s.Talk.Instructions, Language: language, Speed: s.TTS.Speed, MaxTokens: s.LLM.MaxTokens, Plan: s.plan(),
		Tooled: len(s.Tools.HTTP)+len(s.Tools.MCP) > 0 || s.Phone.handsOff(),
		Sampling: llm.Sampling{
			Temperature: s.LLM.Temperature, TopP: s.LLM.TopP, TopK: s.LLM.TopK, MinP: s.LLM.MinP,
			RepeatPenalty: s.LLM.RepeatPenalty, Seed: s.LLM.Seed,
		},
		Detection: &transport.Detection{
			Threshold: s.Talk.Threshold, Padding: s.Talk.Padding, Silence: s.Talk.Silence, Eagerness: transport.Eagerness(s.Talk.Eagerness),
			Respond: true, Interrupt: true,
		},
	}
}

// store opens the folder of libraries and models.
func (s *settings) store() (*native.Store, error) { return native.Open(s.Cache) }

// logger returns where the service logs.
func (s *settings) logger() *slog.Logger {
	terminal := isatty.IsTerminal(os.Stderr.Fd())
	if s.Log.Format == "json" || s.Log.Format == "auto" && !terminal {
		return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: s.Log.Level}))
	}
	return slog.New(tint.NewTextHandler(os.Stderr, &tint.Options{Level: s.Log.Level, TimeFormat: time.TimeOnly, NoColor: !terminal}))
}

// threads returns n, or by default two, or the cores if they are fewer: more gain little with small models, and take
// the other engines' time.
func threads(n int) int {
	if n == 0 {
		n = min(2, runtime.NumCPU())
	}
	return n
}
