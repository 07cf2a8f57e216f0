package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"riposte/audio"
	"riposte/llm"
	"riposte/stt"
	"riposte/tts"
	"riposte/web"
)

// beClerk is the environment variable that makes this test binary an MCP server.
const beClerk = "RIPOSTE_TEST_BE_CLERK"

// clerk is an MCP server with a tool that takes as long as it is asked to, in milliseconds.
func clerk() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "clerk", Version: "1"}, nil)
	type in struct {
		City string `json:"city"`
		Wait int    `json:"wait,omitempty"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "look_up", Description: "Look up the weather in a city."},
		func(ctx context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
			select {
			case <-time.After(time.Duration(in.Wait) * time.Millisecond):
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "21 degrees and sunny in " + in.City}}}, nil, nil
		})
	s.AddTool(&sdk.Tool{
		Name: "get_weather", Description: "The weather in a city.", InputSchema: json.RawMessage(
			`{"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo", "Lima"]}}, "required": ["city"], "additionalProperties": false}`),
	}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "21 degrees and sunny"}}}, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "lost", Description: "It always fails."},
		func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return nil, nil, fmt.Errorf("it is lost")
		})
	return s
}

// toolsRoute returns the file of a route of the shared service whose calls may use the clerk's slow tool. The service outlives the test.
func toolsRoute(t *testing.T) string {
	t.Helper()
	f, err := os.CreateTemp("", "riposte-test-*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("talk:\n  instructions: You answer questions about the weather.\n  openers: Let me see.\n" +
		"tools: {mcp: {clerk: {command: [\"" + os.Args[0] + "\"], env: {" + beClerk + ": stdio}, tools: [get_weather]}}}\n"); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

func serveClerk() { _ = clerk().Run(context.Background(), &sdk.StdioTransport{}) }

// clerkCommand is the command that begins it, as a list in a config file.
func clerkCommand() string {
	return fmt.Sprintf("{command: [%q], env: {%s: stdio}}", os.Args[0], beClerk)
}

// calling is a model that calls what the last message names, with its arguments, and repeats what came of it.
type calling struct{}

func (calling) Read(context.Context, llm.Request) (llm.Reading, error) { return llm.Reading{}, nil }

func (calling) Generate(_ context.Context, r llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) {
		last := r.Messages[len(r.Messages)-1]
		piece := llm.Piece{Text: last.Text}
		if name, arguments, ok := strings.Cut(last.Text, " "); ok && last.Role == llm.User {
			piece = llm.Piece{Call: &llm.ToolCall{ID: "call_" + name, Name: name, Arguments: json.RawMessage(arguments)}}
		}
		_ = yield(piece, nil) && yield(llm.Piece{Usage: &llm.Usage{Prompt: 10, Output: 1}}, nil)
	}
}

// withTools is a service whose model is told what to call, over a real socket.
func withTools(t *testing.T, file string, model llm.Generator, args ...string) (s *service, url string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "riposte.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	s = newService(testSettings(t, append([]string{"--config=" + path}, args...)...), slog.New(slog.DiscardHandler))
	var err error
	if s.routes, err = s.settings.openRoutes(); err != nil {
		t.Fatal(err)
	}
	flush, err := s.openTelemetry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(flush)
	opened, closeTools, err := s.openTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeTools)
	opened()
	s.engines, s.model = &engines{}, model
	s.ear = stt.Whole(func(context.Context, audio.PCM, stt.Options) (stt.Transcript, error) { return stt.Transcript{}, nil })
	s.voice, s.phrases = tts.SynthesizerFunc{Hz: 24000, Fn: nil}, &tts.Phrasebook{}
	s.vad = func() (voiceActivity, error) { return deaf{}, nil }
	s.status.Set(web.Ready)
	wire := s.wire()
	wire.Language = nil // nobody knows any
	server := httptest.NewServer(s.telling(web.Routes(&s.status, wire)))
	t.Cleanup(func() { s.calls.Wait(); server.Close() })
	return s, "ws" + strings.TrimPrefix(server.URL, "http")
}

// writing is a client that asks in writing.
func writing(t *testing.T, url, query string) client {
	t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial(url+"/v1/realtime"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
		ws.Close()
	})
	c := client{t, ws}
	c.send(`{"type":"session.update","session":{"output_modalities":["text"]}}`)
	c.until("session.updated")
	return c
}

// ask asks for an answer to a text.
func (c client) ask(text string) {
	c.t.Helper()
	b, _ := json.Marshal(text)
	c.send(`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_text","text":` + string(b) + `}]}}`)
	c.send(`{"type":"response.create"}`)
}

// outcome is the item of the call that the next response makes, and what the response says then.
func (c client) outcome() (call map[string]any, says string) {
	c.t.Helper()
	response := c.until("response.done")["response"].(map[string]any)
	for _, it := range response["output"].([]any) {
		switch it := it.(map[string]any); it["type"] {
		case "mcp_call":
			call = it
		case "message":
			says += it["content"].([]any)[0].(map[string]any)["text"].(string)
		}
	}
	return call, says
}

// Tools of a config file are called over real sockets and pipes: requests with a secret of the environment, an MCP server that is a child,
// and one that is reached over HTTP. What came of them is in the response and in the metrics; a route has its own.
func TestServiceTools(t *testing.T) {
	weather := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "a secret" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, body)
	}))
	defer weather.Close()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return clerk() }, &sdk.StreamableHTTPOptions{Stateless: true})
	remote := httptest.NewServer(handler)
	defer remote.Close()
	defer remote.CloseClientConnections()
	t.Setenv("RIPOSTE_TEST_KEY", "a secret")
	file := `
tools:
  http:
    book:   # a table
      description: Book a table.
      method: POST
      url: ` + weather.URL + `/tables/{table}
      headers: {X-Key: "${RIPOSTE_TEST_KEY}"}
      parameters: {type: object, properties: {table: {type: integer}, name: {type: string}}, required: [table]}
  mcp:
    clerk: ` + clerkCommand() + `
    gone: {command: [/nonexistent/server]}
routes: [far=` + routeFile(t, "tools:\n  mcp:\n    far:\n      url: "+remote.URL+"\n      tools: [look_up]\n      timeout: 1s\n") + `, bare=` + routeFile(t, "tools: {}\n") + `]
`
	s, url := withTools(t, file, calling{})
	for _, c := range []struct {
		query, text, by string
		well            bool
		says            string
	}{
		{"", `book {"table": 4, "name": "Ann"}`, "http", true, `POST /tables/4 {"name":"Ann"}`},
		{"", `book {"name": "Ann"}`, "http", false, "Wrong arguments: "},
		{"", `look_up {"city": "Rome"}`, "clerk", true, "21 degrees and sunny in Rome"},
		{"", `lost {}`, "clerk", false, "The tool failed: it is lost"},
		{"?route=far", `look_up {"city": "Oslo"}`, "far", true, "21 degrees and sunny in Oslo"},
		{"?route=far", `look_up {"city": "Oslo", "wait": 2500}`, "far", false, "The tool brought no result within 1s."},
	} {
		client := writing(t, url, c.query)
		client.ask(c.text)
		call, says := client.outcome()
		_, well := call["output"]
		if call == nil || call["server_label"] != c.by || well != c.well || !strings.HasPrefix(says, c.says) {
			t.Errorf("%s: the call was %v, and the answer %q, want %q", c.text, call, says, c.says)
		}
		if strings.Contains(fmt.Sprint(call, says), "a secret") {
			t.Errorf("%s: the secret is told: %v, %q", c.text, call, says)
		}
	}
	bare := writing(t, url, "?route=bare")
	bare.ask(`look_up {"city": "Rome"}`)
	if response := bare.until("response.done")["response"].(map[string]any); response["status"] != "failed" {
		t.Errorf("on a route without tools one was called: %v", response)
	}
	page := httptest.NewRecorder()
	s.telemetry.metrics.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`riposte_tool_duration_seconds_count{outcome="ok",tool="book"} 1`, `riposte_tool_duration_seconds_count{outcome="wrong_arguments",tool="book"} 1`,
		`riposte_tool_duration_seconds_count{outcome="failed",tool="lost"} 1`, `riposte_tool_duration_seconds_count{outcome="timed_out",tool="look_up"} 1`,
	} {
		if !strings.Contains(page.Body.String(), want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// A client that cancels an answer whose tool is at work has its end at once.
func TestServiceToolCancelled(t *testing.T) {
	_, url := withTools(t, "tools: {mcp: {clerk: "+clerkCommand()+"}}\n", calling{})
	c := writing(t, url, "")
	c.ask(`look_up {"city": "Rome", "wait": 60000}`)
	c.until("response.mcp_call.in_progress")
	c.send(`{"type":"response.cancel"}`)
	c.until("response.mcp_call.failed")
	if call, _ := c.outcome(); call["error"].(map[string]any)["message"] != "Cancelled before there was a result." {
		t.Errorf("the call was %v", call)
	}
	c.ask(`look_up {"city": "Oslo"}`)
	if _, says := c.outcome(); says != "21 degrees and sunny in Oslo" {
		t.Errorf("then it said %q", says)
	}
}

// The section is read with the lines of its file, and what is wrong with it is said.
func TestToolSettings(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"tools:\n  http:\n    a: {url: http://x.example, hedders: {}}\n", "line 3: field hedders not found (docs/tools.md lists all)"},
		{"listen: 127.0.0.1:0\n\n# a comment\ntools: {mcp: {a: {}},\n  htpp: {}}\ntalk:\n  idle: 3s\n", "line 5: field htpp not found"},
		{"tools: 3\n", "line 1: cannot unmarshal"},
		{"tools:\n  http:\n    a: {url: \"http://x.example/{b}\"}\n", "tools.http.a: url has {b}, which is none of the parameters"},
		{"tools:\n  http:\n    get weather: {url: \"http://x.example\"}\n", "tools.http.get weather: a tool is called \"get weather\": its name may have 1 to 64 of the letters a to z and A to Z, digits, dots, _ and -, and nothing else, such as get_weather"},
		{"tools:\n  http:\n    größe: {url: \"http://x.example\"}\n", "such as gr_e"},
		{"tools:\n  http:\n    \"\": {url: \"http://x.example\"}\n", "such as get_weather"},
		{"tools:\n  mcp:\n    a: {}\n", "tools.mcp.a: it has to have a command"},
		{"tools:\n  mcp:\n    a: {command: [x], url: \"http://x.example\"}\n", "tools.mcp.a: it has to have a command"},
		{"tools:\n  mcp:\n    \"a b\": {command: [x]}\n", "tools.mcp.a b: a server's name"},
		{"tools:\n  mcp:\n    a: {url: x.example}\n", "tools.mcp.a: url is"},
		{"tools:\n  hosts: [\"https://x.example\"]\n", "tools.hosts"},
		{"talk:\n  patience: 10ms\n", "talk-patience is 10ms"},
	} {
		if _, err := parse(t, c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.file, err, c.want)
		}
	}
	s, err := parse(t, "tools:\n  http:\n\n    a:\n      url: http://x.example/${NO}\n\n  # more\n  mcp:\n    b: {command: [c], timeout: 3s}\ntalk:\n  idle: 3s\n")
	if err != nil || s.Tools.HTTP["a"].URL != "http://x.example/${NO}" || s.Tools.MCP["b"].Timeout != 3*time.Second || s.Talk.Idle != 3*time.Second {
		t.Errorf("%v: %+v", err, s.Tools)
	}
	var b toolbox
	s.Tools.MCP = map[string]mcpSettings{"a": {URL: "http://x.example", Headers: map[string]string{"X": "${RIPOSTE_TEST_NONE}"}}}
	if _, err := b.open(t.Context(), map[string]*route{defaultRoute: {settings: s}}, slog.Default(), nil); err == nil || !strings.Contains(err.Error(), "tools.mcp.a: headers: X: the environment has no RIPOSTE_TEST_NONE") {
		t.Error(err)
	}
}

// What riposte config prints of tools is read again as the same.
func TestToolSettingsPrinted(t *testing.T) {
	s, err := parse(t, "tools: {http: {a: {url: \"http://x.example/{b}\", parameters: {type: object, properties: {b: {type: string}}}, timeout: 1m30s}}, hosts: [y.example]}\n")
	if err != nil {
		t.Fatal(err)
	}
	b, err := marshal(s.Tools)
	if err != nil {
		t.Fatal(err)
	}
	again, err := parse(t, "tools: "+string(b))
	if err != nil || again.Tools.HTTP["a"].Timeout != 90*time.Second || !slices.Equal(again.Tools.Hosts, s.Tools.Hosts) {
		t.Errorf("%s: %v", b, err)
	}
}

// A question that is spoken makes the model call a tool that the service runs, which takes 3 s. Something is said meanwhile, and then what
// the model makes of the result, all in one response. The model is too small to call anything by itself, so that it is told to.
func TestServiceToolWithEngines(t *testing.T) {
	url := sharedService(t)
	if err := shared.service.rehearsed(t.Context()); err != nil { // what is to be said meanwhile
		t.Fatal(err)
	}
	ws, _, err := websocket.DefaultDialer.Dial(url+"/v1/realtime?route=tools", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	c := client{t, ws}
	c.send(`{"type":"session.update","session":{"max_output_tokens":40,"tool_choice":"required","parallel_tool_calls":false,"include":["riposte.turn"]}}`)
	c.until("session.updated")
	c.burst(question(t))
	over := make(chan struct{})
	var silence sync.WaitGroup
	silence.Go(func() { // a line that brings nothing cannot say that a sound over the answer was none
		for {
			select {
			case <-time.After(100 * time.Millisecond):
				c.burst(make(audio.PCM, 2400))
			case <-over:
				return
			}
		}
	})
	defer silence.Wait()
	defer close(over)
	var heard, ran int // The numbers of the events with which sound was first heard, and the tool had run.
	var response map[string]any
	for n := 1; response == nil; n++ {
		var e map[string]any
		if err := ws.ReadJSON(&e); err != nil {
			t.Fatal(err)
		}
		switch e["type"] {
		case "response.output_audio.delta":
			if heard == 0 {
				heard = n
			}
		case "response.mcp_call.completed":
			ran = n
		case "response.done":
			response = e["response"].(map[string]any)
		}
	}
	var kinds []string
	for _, it := range response["output"].([]any) {
		it := it.(map[string]any)
		kinds = append(kinds, it["type"].(string))
		if it["type"] == "mcp_call" {
			t.Logf("called %v with %v: %v", it["name"], it["arguments"], it["output"])
		} else {
			t.Logf("said %v", it["content"])
		}
	}
	slices.Sort(kinds)
	if status := response["status"]; status == "failed" || !slices.Equal(kinds, []string{"mcp_call", "message", "message"}) || heard == 0 || ran < heard {
		t.Errorf("the response has %v; heard at event %d, the tool had run at %d: %v", kinds, heard, ran, response)
	}
	turn := c.until("riposte.turn")
	if calls := fmt.Sprint(turn["calls"]); calls != "[get_weather]" || !strings.Contains(fmt.Sprint(turn["actions"]), "opener") || !strings.HasPrefix(turn["answer"].(string), "Let me see.") {
		t.Errorf("the turn was %v", turn)
	}
}

// By hand, tools are listed and called on the command line.
func TestToolsCommand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "riposte.yaml")
	if err := os.WriteFile(path, []byte("tools: {mcp: {clerk: "+clerkCommand()+"}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"tools"}, "NAME         BY     ARGUMENTS     ABOUT\nget_weather  clerk  city          The weather in a city.\nlook_up      clerk  city, [wait]  Look up the weather in a city.\nlost         clerk                It always fails.\n"},
		{[]string{"tools", "call", "look_up", `{"city": "Rome"}`}, "21 degrees and sunny in Rome\n"},
		{[]string{"tools", "call", "lost"}, "The tool failed: it is lost"},
		{[]string{"tools", "call", "none"}, `There is no tool "none". There are: get_weather, look_up, lost.`},
		{[]string{"tools", "call", "get_wether"}, `There is no tool "get_wether". There are: get_weather, look_up, lost. The nearest is "get_weather".`},
		{[]string{"tools", "list", "--route=sales"}, `there is no route "sales"; there are default`},
	} {
		var cmd struct {
			Tools toolsCmd `cmd:""`
		}
		parser, err := newParser(t.Context(), &cmd)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		parser.Stdout = &out
		k, err := parser.Parse(append(c.args, "--config="+path, "--log-level=ERROR"))
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Run(); err != nil {
			out.WriteString(err.Error())
		}
		if out.String() != c.want {
			t.Errorf("%q prints\n%s\nwant\n%s", c.args, out.String(), c.want)
		}
	}
	// A tool that only another route has.
	other := filepath.Join(filepath.Dir(path), "sales.yaml")
	if err := errors.Join(os.WriteFile(other, []byte("tools: {mcp: {clerk: "+clerkCommand()+"}}\n"), 0o600), os.WriteFile(path, []byte("log: {level: ERROR}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"tools", "call", "lost", "--config=" + path, "--routes=sales=" + other}); err == nil || !strings.HasSuffix(err.Error(), "Elsewhere there is: say --route sales") {
		t.Errorf("a tool of another route: %v", err)
	}
	s, err := parse(t, "tools: {mcp: {clerk: "+clerkCommand()+", gone: {command: [/nonexistent/server]}}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if f := toolsFinding(t.Context(), s); f.err == nil || !strings.Contains(f.err.Error(), "gone cannot be reached") {
		t.Errorf("the doctor finds %+v", f)
	}
	delete(s.Tools.MCP, "gone")
	if f := toolsFinding(t.Context(), s); f.err != nil || f.detail != "3 of them: get_weather, look_up, lost" {
		t.Errorf("the doctor finds %+v", f)
	}
}

// A client names an MCP server, on a host that is permitted: its tools are listed, run where the client lets them, and refused where it does
// not. Where no host is permitted none is reached.
func TestClientServers(t *testing.T) {
	var keys sync.Map
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return clerk() }, nil)
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys.Store(r.Header.Get("Authorization"), true)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { remote.CloseClientConnections(); remote.Close() }) // behind those of the calls, which say goodbye to it
	names := func(approval string) string {
		return `{"type":"session.update","session":{"tools":[{"type":"mcp","server_label":"clerk","server_url":"` + remote.URL + `","authorization":"a token","require_approval":` + approval + `}]}}`
	}

	s, url := withTools(t, "tools: {hosts: [127.0.0.1]}\n", calling{})
	c := writing(t, url, "")
	c.send(names(`"never"`))
	c.until("mcp_list_tools.in_progress")
	c.until("mcp_list_tools.completed")
	if it := c.until("conversation.item.done")["item"].(map[string]any); len(it["tools"].([]any)) != 3 || it["server_label"] != "clerk" {
		t.Errorf("the list is %v", it)
	}
	c.ask(`look_up {"city": "Rome"}`)
	if call, says := c.outcome(); call["server_label"] != "clerk" || says != "21 degrees and sunny in Rome" {
		t.Errorf("the call was %v, and the answer %q", call, says)
	}
	if _, ok := keys.Load("Bearer a token"); !ok {
		t.Error("the server was not sent the token")
	}

	for _, approve := range []string{`true`, `false,"reason":"too dear"`} {
		c := writing(t, url, "")
		c.send(names(`"always"`))
		c.until("mcp_list_tools.completed")
		c.ask(`look_up {"city": "Oslo"}`)
		response := c.until("response.done")["response"].(map[string]any)
		output := response["output"].([]any)
		request, _ := output[len(output)-1].(map[string]any)
		if request["type"] != "mcp_approval_request" || request["arguments"] != `{"city": "Oslo"}` {
			t.Fatalf("the response was %v", response)
		}
		c.send(fmt.Sprintf(`{"type":"conversation.item.create","item":{"type":"mcp_approval_response","approval_request_id":%q,"approve":%s}}`, request["id"], approve))
		call, says := c.outcome()
		switch {
		case approve == `true` && (call["approval_request_id"] != request["id"] || says != "21 degrees and sunny in Oslo"):
			t.Errorf("approved, the call was %v, and the answer %q", call, says)
		case approve != `true` && (call != nil || says != "This call was not allowed. The reason that was given: too dear"):
			t.Errorf("refused, the call was %v, and the answer %q", call, says)
		}
		c.send(fmt.Sprintf(`{"type":"conversation.item.create","item":{"type":"mcp_approval_response","approval_request_id":%q,"approve":true}}`, request["id"]))
		if e := c.until("error")["error"].(map[string]any); e["param"] != "item.approval_request_id" {
			t.Errorf("a second time it was answered with %v", e)
		}
	}
	page := httptest.NewRecorder()
	s.telemetry.metrics.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if want := `riposte_tool_duration_seconds_count{outcome="ok",tool="of a client"} 2`; !strings.Contains(page.Body.String(), want+"\n") {
		t.Errorf("/metrics lacks %s", want)
	}

	_, url = withTools(t, "tools: {mcp: {clerk: "+clerkCommand()+"}}\n", calling{})
	c = writing(t, url, "")
	c.send(names(`"never"`))
	if e := c.until("error")["error"].(map[string]any); e["param"] != "session.tools[0].server_url" || !strings.Contains(e["message"].(string), "tools.hosts") {
		t.Errorf("where none is permitted: %v", e)
	}
	c.send(`{"type":"session.update","session":{"tool_choice":"required"}}`) // of the service's own
	c.until("session.updated")

	// A server that is not there keeps nobody from talking.
	_, url = withTools(t, "tools: {hosts: [127.0.0.1]}\n", calling{})
	c = writing(t, url, "")
	c.send(`{"type":"session.update","session":{"tools":[{"type":"mcp","server_label":"clerk","server_url":"http://127.0.0.1:1/","require_approval":"never"}]}}`)
	c.until("mcp_list_tools.failed")
	c.ask(`hello`)
	if _, says := c.outcome(); says != "hello" {
		t.Errorf("it says %q", says)
	}
}
