package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// TestMain is also the servers that the tests talk to: this binary, begun once more, speaks MCP as RIPOSTE_TEST_MCP says.
func TestMain(m *testing.M) {
	switch os.Getenv("RIPOSTE_TEST_MCP") {
	case "":
		goleak.VerifyTestMain(m)
	case "mute": // reads nothing and says nothing
		time.Sleep(time.Hour)
	case "broken": // finds out that it cannot work
		for i := range 40 {
			fmt.Fprintf(os.Stderr, "step %d\n\n", i)
		}
		fmt.Fprint(os.Stderr, "\x1b[31mno such folder\x1b[0m: /srv/manuals", strings.Repeat("!", 4000))
		os.Exit(3)
	case "deaf": // is begun, and then takes no end of its input for one
		serve()
		time.Sleep(time.Hour)
	case "brood": // has a child of its own
		child := exec.Command("sleep", "3600")
		if err := child.Start(); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stderr, "brood", child.Process.Pid)
		serve()
	case "restless": // says all the time that its tools have changed, and has others each time
		raw(func(list int) string {
			return fmt.Sprintf(`{"tools": [{"name": "list%d", "inputSchema": {"type": "object"}}]}`, list)
		}, true)
	case "endless": // has a page of tools behind each
		raw(func(list int) string {
			return fmt.Sprintf(`{"tools": [{"name": "no name %d", "inputSchema": {"type": "object"}}], "nextCursor": "%d"}`, list, list)
		}, false)
	case "parent": // is a service with a server, which it leaves to the kernel
		s := child(os.Stderr, "deaf")
		if err := s.Open(context.Background()); err != nil {
			panic(err)
		}
		text, err := s.call(context.Background(), "pid", json.RawMessage(`{}`), nil)
		fmt.Println(text, err)
		time.Sleep(time.Hour)
	default:
		serve()
	}
}

// raw is a server by hand, which answers each list of its tools with what list says of the number of that.
func raw(list func(int) string, restless bool) {
	lists := 0
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var asked struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &asked) != nil || asked.ID == nil {
			continue
		}
		result := "{}"
		switch asked.Method {
		case "initialize":
			result = `{"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}}, "serverInfo": {"name": "raw", "version": "1"}}`
		case "tools/list":
			lists++
			result = list(lists)
		}
		fmt.Printf(`{"jsonrpc": "2.0", "id": %s, "result": %s}`+"\n", asked.ID, result)
		if restless && lists > 0 {
			fmt.Println(`{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}`)
		}
	}
}

func serve() { _ = clerk().Run(context.Background(), &sdk.StdioTransport{}) }

// clerk is a server with tools of all kinds.
func clerk() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "clerk", Version: "1"}, nil)
	type city struct {
		City string `json:"city" jsonschema:"the city to look at"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "get_weather", Description: "The weather in a city."},
		func(_ context.Context, _ *sdk.CallToolRequest, in city) (*sdk.CallToolResult, any, error) {
			if in.City == "Atlantis" {
				return nil, nil, fmt.Errorf("%s has sunk", in.City)
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "21 degrees in " + in.City}}}, nil, nil
		})
	plain := func(name string, run func(context.Context) *sdk.CallToolResult) {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type": "object"}`)}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return run(ctx), nil
		})
	}
	says := func(text string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
	}
	plain("pid", func(context.Context) *sdk.CallToolResult { return says(fmt.Sprint(os.Getpid())) })
	plain("environment", func(context.Context) *sdk.CallToolResult { return says(strings.Join(os.Environ(), "\n")) })
	plain("die", func(context.Context) *sdk.CallToolResult {
		fmt.Fprintln(os.Stderr, "the secret of my death")
		os.Exit(3)
		return nil
	})
	plain("mixed", func(context.Context) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "a"}, &sdk.ImageContent{MIMEType: "image/png", Data: make([]byte, 9)}, &sdk.ResourceLink{URI: "file:///b"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///c", Text: "c"}},
		}}
	})
	plain("long", func(context.Context) *sdk.CallToolResult { return says(strings.Repeat("word ", 5000)) })
	cancelled := make(chan string, 8)
	plain("hang", func(ctx context.Context) *sdk.CallToolResult {
		<-ctx.Done()
		cancelled <- "it was told of the cancellation"
		return says("too late")
	})
	plain("heard", func(ctx context.Context) *sdk.CallToolResult {
		select {
		case text := <-cancelled:
			return says(text)
		case <-ctx.Done():
			return says("nothing was heard")
		}
	})
	s.AddTool(&sdk.Tool{
		Name: "promises", InputSchema: json.RawMessage(`{"type": "object"}`),
		OutputSchema: json.RawMessage(`{"type": "object", "properties": {"degrees": {"type": "number"}}, "required": ["degrees"]}`),
	}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: map[string]any{"degrees": "warm"}}, nil
	})
	s.AddTool(&sdk.Tool{Name: "lies", InputSchema: json.RawMessage(`{"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return says("?"), nil })
	plain("grow", func(context.Context) *sdk.CallToolResult {
		plain("grown", func(context.Context) *sdk.CallToolResult { return says("new") })
		return says("done")
	})
	return s
}

// child returns a server that is this binary, begun once more in a mode.
func child(log io.Writer, mode string) *Server {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &Server{
		Label: "clerk", Command: []string{self}, Env: map[string]string{"RIPOSTE_TEST_MCP": mode}, Timeout: 10 * time.Second,
		Log: logTo(log),
	}
}
