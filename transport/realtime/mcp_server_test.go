package realtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"riposte/llm"
	"riposte/transport"
)

const server = `{"type":"mcp","server_label":"clerk","server_url":"https://mcp.example.com/mcp","authorization":"secret","headers":{"X-Key":"s3cret"},
	"allowed_tools":["look_up"],"require_approval":{"never":{"tool_names":["look_up"]}}}`

// permits permits one host.
func permits(_, address string) error {
	if !strings.HasPrefix(address, "https://mcp.example.com/") {
		return errors.New("it is not permitted")
	}
	return nil
}

// permitting is serve for a service that permits one host.
func permitting(t *testing.T, hold func(context.Context, transport.Call) error) (*peer, <-chan error) {
	t.Helper()
	p, _, ended := serveAt(t, "?model=m", nil, func(s *Server) { s.Permit = permits }, hold)
	return p, ended
}

// A server that a client names reaches the pipeline with what is secret, and what is secret never comes back.
func TestServersArrive(t *testing.T) {
	got := make(chan transport.Inbound, 1)
	p, _ := permitting(t, listen(got))
	p.send(`{"type":"session.update","session":{"tools":[` + server + `,{"type":"function","name":"time"}],"tool_choice":{"type":"mcp","server_label":"clerk","name":"look_up"}}}`)
	updated := p.read()
	if text := fmt.Sprint(updated); updated["type"] != "session.updated" || strings.Contains(text, "secret") || strings.Contains(text, "s3cret") || !strings.Contains(text, "look_up") {
		t.Errorf("confirmed with %v", updated)
	}
	want := []transport.ToolServer{{
		Label: "clerk", URL: "https://mcp.example.com/mcp", Header: map[string]string{"Authorization": "Bearer secret", "X-Key": "s3cret"},
		Only: []string{"look_up"}, Run: []string{"look_up"},
	}}
	in := (<-got).(transport.Configure).Settings
	if diff := cmp.Diff(want, in.Servers); diff != "" || len(in.Tools) != 1 || in.Choice != "look_up" {
		t.Errorf("choice %q, tools %v, servers:\n%s", in.Choice, in.Tools, diff)
	}
	p.send(`{"type":"session.update","session":{"instructions":"Be kind."}}`)
	p.read()
	if in := (<-got).(transport.Configure).Settings; cmp.Diff(want, in.Servers) != "" {
		t.Errorf("another change has changed the servers: %s", cmp.Diff(want, in.Servers))
	}
	p.send(`{"type":"session.update","session":{"tools":[],"tool_choice":"auto"}}`)
	p.read()
	if in := (<-got).(transport.Configure).Settings; in.Servers != nil {
		t.Errorf("there still are %v", in.Servers)
	}
	for yes, says := range map[bool]string{true: `"approve":true`, false: `"approve":false,"reason":"too dear"`} {
		p.send(`{"type":"conversation.item.create","event_id":"e","item":{"id":"r","type":"mcp_approval_response","approval_request_id":"q",` + says + `}}`)
		want := transport.Approve{Ref: "e", Item: "r", Request: "q", Yes: yes}
		if !yes {
			want.Reason = "too dear"
		}
		if diff := cmp.Diff(want, (<-got).(transport.Approve)); diff != "" {
			t.Error(diff)
		}
	}
}

// What of servers cannot be had is said, and where.
func TestServersRefused(t *testing.T) {
	p, _ := permitting(t, listen(make(chan transport.Inbound, 1)))
	for _, c := range []struct{ tool, about, says string }{
		{strings.Replace(server, "mcp.example.com", "127.0.0.1", 1), "session.tools[0].server_url", "not permitted"},
		{strings.Replace(server, "clerk", "the clerk", 1), "session.tools", "server_label"},
		{strings.Replace(server, `"server_url":"https://mcp.example.com/mcp",`, "", 1), "session.tools", "no server_url"},
		{strings.Replace(server, `"server_url"`, `"connector_id":"connector_gmail","server_url"`, 1), "session.tools", "connectors"},
		{strings.Replace(server, `"server_url"`, `"server_uri":"x","server_url"`, 1), "session.tools", "server_uri"},
		{strings.Replace(server, `"s3cret"`, `"a\r\nB: c"`, 1), "session.tools", "headers"},
		{strings.Replace(server, `"X-Key"`, `"X Key"`, 1), "session.tools", "headers"},
		{strings.Replace(server, `{"never":{"tool_names":["look_up"]}}`, `"sometimes"`, 1), "session.tools", "require_approval"},
		{strings.Replace(server, `["look_up"]`, `{"read_only":true}`, 1), "session.tools", "allowed_tools"},
		{server + "," + server, "session.tools", "Two MCP servers"},
	} {
		p.send(`{"type":"session.update","session":{"tools":[` + c.tool + `]}}`)
		e, _ := p.read()["error"].(map[string]any)
		if message := fmt.Sprint(e["message"]); e["param"] != c.about || !strings.Contains(message, c.says) {
			t.Errorf("%s was refused with %v", c.tool, e)
		}
	}
	for event, says := range map[string]string{
		`{"type":"response.create","response":{"tools":[` + server + `]}}`:                                                        "for the session",
		`{"type":"session.update","session":{"tool_choice":{"type":"mcp","server_label":"none"}}}`:                                "there is none",
		`{"type":"conversation.item.create","item":{"type":"mcp_approval_response","approve":true}}`:                              "approval_request_id",
		`{"type":"conversation.item.create","item":{"type":"mcp_approval_response","approval_request_id":"q"}}`:                   "approve",
		`{"type":"conversation.item.create","item":{"type":"mcp_call","server_label":"clerk","name":"look_up","arguments":"{}"}}`: "item.type",
	} {
		p.send(event)
		if e, _ := p.read()["error"].(map[string]any); !strings.Contains(fmt.Sprint(e["message"]), says) {
			t.Errorf("%s was refused with %v", event, e)
		}
	}
	bare, _ := serve(t, Limits{}, listen(make(chan transport.Inbound, 1)))
	bare.send(`{"type":"session.update","session":{"tools":[` + server + `]}}`)
	if e, _ := bare.read()["error"].(map[string]any); !strings.Contains(fmt.Sprint(e["message"]), "reaches no MCP servers") {
		t.Errorf("where none are permitted it was refused with %v", e)
	}
}

// A client is told of the listing of a server's tools, and of a call of which it has to approve.
func TestServersTold(t *testing.T) {
	r := transport.Response{ID: "resp", Item: "a", Encoding: "audio/pcm"}
	asked := transport.Item{
		ID: "q", Role: llm.Assistant, Server: "clerk", Asked: true, Call: &llm.ToolCall{ID: "c", Name: "look_up", Arguments: json.RawMessage(`{"city": "Rome"}`)},
	}
	may := asked
	may.ID, may.Asked, may.Request = "m", false, "q"
	p, _ := serve(t, Limits{}, func(ctx context.Context, c transport.Call) error {
		for _, out := range []transport.Outbound{
			transport.Listed{Item: "l", Server: "clerk"},
			transport.Listed{Item: "l", Server: "clerk", Done: true, Tools: []llm.Tool{{Name: "look_up", Description: "Look.", Parameters: json.RawMessage(`{"type": "object"}`)}}},
			transport.Listed{Item: "k", Server: "gone"},
			transport.Listed{Item: "k", Server: "gone", Done: true, Err: errors.New("nobody is there")},
			transport.ResponseStarted{Response: r},
			transport.Called{Response: r, Item: asked},
			transport.ResponseDone{Response: r, Status: transport.Completed},
			transport.Approved{Approve: transport.Approve{Item: "r", Request: "q", Yes: true}},
			transport.ResponseStarted{Response: r},
			transport.Called{Response: r, Item: may},
		} {
			if err := c.Send(ctx, out); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	var got []string
	for len(got) < 22 {
		e := p.read()
		line := fmt.Sprint(e["type"])
		if id, ok := e["item_id"]; ok {
			line += fmt.Sprint(" ", id)
		}
		if it, ok := e["item"].(map[string]any); ok {
			line += fmt.Sprint(" ", it["id"], " ", it["type"])
			for _, key := range []string{"tools", "approval_request_id", "approve"} {
				if v, ok := it[key]; ok {
					line += fmt.Sprint(" ", v)
				}
			}
		}
		if why, ok := e["error"].(map[string]any); ok {
			line += fmt.Sprint(" ", why["message"])
		}
		if strings.HasPrefix(line, "rate_limits") {
			continue
		}
		got = append(got, line)
	}
	want := []string{
		"conversation.item.added l mcp_list_tools []", "mcp_list_tools.in_progress l",
		"mcp_list_tools.completed l", "conversation.item.done l mcp_list_tools [map[description:Look. input_schema:map[type:object] name:look_up]]",
		"conversation.item.added k mcp_list_tools []", "mcp_list_tools.in_progress k",
		`error The tools of the MCP server "gone" cannot be had: nobody is there.`, "mcp_list_tools.failed k", "conversation.item.done k mcp_list_tools []",
		"response.created", "response.output_item.added q mcp_approval_request", "conversation.item.added q mcp_approval_request",
		"response.output_item.done q mcp_approval_request", "conversation.item.done q mcp_approval_request", "response.done",
		"conversation.item.added r mcp_approval_response q true", "conversation.item.done r mcp_approval_response q true",
		"response.created", "response.output_item.added m mcp_call q", "conversation.item.added m mcp_call q",
		"response.mcp_call_arguments.delta m", "response.mcp_call_arguments.done m",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a client writes of a server is written again as the same.
func FuzzServer(f *testing.F) {
	f.Add([]byte(server))
	f.Add([]byte(`{"type":"mcp","server_label":"a","server_url":"b","require_approval":"never","allowed_tools":{"tool_names":["c"]}}`))
	f.Add([]byte(`{"type":"mcp","server_label":"a","server_url":"b","require_approval":{"always":{"tool_names":["c"]}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var one, again tool
		if json.Unmarshal(b, &one) != nil || one.MCP == nil {
			return
		}
		written, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if a, b := one.MCP.server(), again.MCP.server(); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%+v became %+v", a, b)
		}
	})
}
