package realtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"riposte/llm"
	"riposte/transport"
)

// This file is MCP servers that a client names, whose tools the service lists and runs.

// mcpServer is such a server, as a client writes it among its tools.
type mcpServer struct {
	Type          string            `json:"type"`
	Label         string            `json:"server_label"`
	URL           string            `json:"server_url,omitempty"`
	Description   string            `json:"server_description,omitempty"` // Means nothing: each tool has one of its own.
	Authorization string            `json:"authorization,omitempty"`
	Headers       map[string]string `json:"headers,omitempty"`
	Allowed       allowedTools      `json:"allowed_tools,omitzero"`
	Approval      approval          `json:"require_approval,omitzero"`
	Connector     string            `json:"connector_id,omitempty"`
	Defer         bool              `json:"defer_loading,omitempty"` // Means nothing: they are listed at once.
}

// allowedTools are the names of those tools that are meant; nil is all.
type allowedTools []string

// UnmarshalJSON takes a list of names, or an object with one.
func (a *allowedTools) UnmarshalJSON(b []byte) error {
	var list []string
	var o named
	switch {
	case json.Unmarshal(b, &list) == nil:
		*a = list
		return nil
	case strictly(b, &o) == nil && o.ReadOnly == nil:
		*a = o.Names
		return nil
	}
	return invalid("tools", "invalid_value", "allowed_tools must be a list of names, or {\"tool_names\": […]}. This service does not choose by read_only.")
}

// named are tools that are named in an object.
type named struct {
	Names    []string `json:"tool_names"`
	ReadOnly *bool    `json:"read_only,omitempty"`
}

// approval says which calls the client has to approve of. Its zero value is all.
type approval struct {
	Free     bool     // None, but for those that
	Ask, Run []string // are named here; and those that are not asked about, where the others are.
}

// UnmarshalJSON takes "always", "never", or an object that has the names of tools for either.
func (a *approval) UnmarshalJSON(b []byte) error {
	var word string
	var o struct {
		Always *named `json:"always"`
		Never  *named `json:"never"`
	}
	*a = approval{}
	switch {
	case isNull(b):
		return nil
	case json.Unmarshal(b, &word) == nil && (word == "always" || word == "never"):
		a.Free = word == "never"
		return nil
	case strictly(b, &o) == nil && (o.Always == nil || o.Always.ReadOnly == nil) && (o.Never == nil || o.Never.ReadOnly == nil):
		if o.Always != nil {
			a.Ask = o.Always.Names
		}
		if o.Never != nil {
			a.Run = o.Never.Names
		}
		a.Free = o.Always != nil && o.Never == nil
		return nil
	}
	return invalid("tools", "invalid_value", "require_approval must be \"always\", \"never\", or {\"always\": {\"tool_names\": […]}, \"never\": {\"tool_names\": […]}}. This service does not choose by read_only.")
}

// MarshalJSON writes what UnmarshalJSON takes.
func (a approval) MarshalJSON() ([]byte, error) {
	switch {
	case len(a.Ask)+len(a.Run) > 0:
		o := fields{}
		if len(a.Ask) > 0 {
			o["always"] = named{Names: a.Ask}
		}
		if len(a.Run) > 0 {
			o["never"] = named{Names: a.Run}
		}
		return json.Marshal(o)
	case a.Free:
		return []byte(`"never"`), nil
	}
	return []byte(`"always"`), nil
}

// strictly reads an object that has no fields but those that are known.
func strictly(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// serverLabel is what a client may call a server.
var serverLabel = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// readServer reads a server.
func readServer(b []byte) (*mcpServer, error) {
	var m mcpServer
	err := strictly(b, &m)
	if field, ok := unknownField(err); ok {
		return nil, invalid("tools", "unknown_parameter", "An MCP server has no field %.64q.", field)
	}
	if err != nil {
		return nil, badJSON(err)
	}
	switch {
	case m.Connector != "":
		return nil, invalid("tools", "invalid_value", "This service has no connectors: name an MCP server by its server_url.")
	case !serverLabel.MatchString(m.Label):
		return nil, invalid("tools", "invalid_value", "server_label is %.80q; it must have 1 to 64 letters, digits, dots, _ and -.", m.Label)
	case m.URL == "":
		return nil, invalid("tools", "missing_required_parameter", "The MCP server %q has no server_url.", m.Label)
	case len(m.Headers) > maxHeaders:
		return nil, invalid("tools", "invalid_value", "The MCP server %q has %d headers; it may have %d.", m.Label, len(m.Headers), maxHeaders)
	}
	for name, value := range m.Headers {
		if !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n\x00") {
			return nil, invalid("tools", "invalid_value", "headers of the MCP server %q has %.64q, which cannot be sent.", m.Label, name)
		}
	}
	if strings.ContainsAny(m.Authorization, "\r\n\x00") {
		return nil, invalid("tools", "invalid_value", "authorization of the MCP server %q has a line break.", m.Label)
	}
	return &m, nil
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9!#$%&'*+.^_|~-]+$`)

// Bounds of servers that a client names.
const (
	maxServers = 8
	maxHeaders = 32
)

// size is how many bytes of the client's it has.
func (m *mcpServer) size() int {
	n := len(m.Label) + len(m.URL) + len(m.Description) + len(m.Authorization)
	for k, v := range m.Headers {
		n += len(k) + len(v)
	}
	for _, name := range slices.Concat(m.Allowed, m.Approval.Ask, m.Approval.Run) {
		n += len(name)
	}
	return n
}

// server returns what it means for the pipeline.
func (m *mcpServer) server() transport.ToolServer {
	to := transport.ToolServer{
		Label: m.Label, URL: m.URL, Header: map[string]string{}, Only: m.Allowed, Free: m.Approval.Free, Ask: m.Approval.Ask, Run: m.Approval.Run,
	}
	for k, v := range m.Headers {
		to.Header[k] = v
	}
	if m.Authorization != "" {
		to.Header["Authorization"] = "Bearer " + m.Authorization
	}
	return to
}

// shown is the tools as a client is shown them: without what is secret.
func (t tools) shown() tools {
	out := slices.Clone(t)
	for i, one := range out {
		if one.MCP != nil {
			m := *one.MCP
			m.Authorization, m.Headers = "", nil
			out[i].MCP = &m
		}
	}
	return out
}

// servers returns those among the tools.
func (t tools) servers() (out []transport.ToolServer) {
	for _, one := range t {
		if one.MCP != nil {
			out = append(out, one.MCP.server())
		}
	}
	return out
}

// reaches refuses a session with servers that this service does not reach.
func (s *Server) reaches(call transport.Settings, next session) error {
	for i, one := range next.Tools {
		if one.MCP == nil {
			continue
		}
		if s.Permit == nil {
			return invalid(fmt.Sprintf("session.tools[%d].server_url", i), "invalid_value", "This service reaches no MCP servers that its clients name.")
		}
		if err := s.Permit(call.Route, one.MCP.URL); err != nil {
			return invalid(fmt.Sprintf("session.tools[%d].server_url", i), "invalid_value", "The MCP server %q cannot be had: %v.", one.MCP.Label, err)
		}
	}
	return nil
}

// listedTool is a tool of a server as a client is told of it.
type listedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
}

// listed tells of the tools of a server.
func (c *call) listed(ctx context.Context, out transport.Listed) error {
	it := item{ID: out.Item, Type: "mcp_list_tools", Server: out.Server, Tools: []listedTool{}}
	if !out.Done {
		return c.sendAll(ctx,
			event{"conversation.item.added", fields{"item": it, "previous_item_id": nil}},
			event{"mcp_list_tools.in_progress", fields{"item_id": it.ID}},
		)
	}
	for _, t := range out.Tools {
		it.Tools = append(it.Tools, listedTool{t.Name, t.Description, t.Parameters})
	}
	end := "mcp_list_tools.completed"
	if out.Err != nil {
		end = "mcp_list_tools.failed"
		why := fmt.Sprintf("The tools of the MCP server %q cannot be had: %.300v.", out.Server, out.Err)
		if err := c.sendError(ctx, "invalid_request_error", "mcp_list_tools_failed", why, "", ""); err != nil {
			return err
		}
	}
	return c.sendAll(ctx,
		event{end, fields{"item_id": it.ID}},
		event{"conversation.item.done", fields{"item": it, "previous_item_id": nil}},
	)
}

// wants tells of a call that the client has to approve of.
func (c *call) wants(ctx context.Context, out transport.Called) error {
	r, it := out.Response, serverCall(out.Item)
	a := c.answers.of(r)
	at := len(a.output)
	a.output = append(a.output, it)
	own, conversation := fields{"response_id": r.ID, "output_index": at, "item": it}, fields{"previous_item_id": orNull(out.Previous), "item": it}
	return c.sendAll(ctx,
		event{"response.output_item.added", own}, event{"conversation.item.added", conversation},
		event{"response.output_item.done", own}, event{"conversation.item.done", conversation},
	)
}

// decision reads what a client says to such a call.
func (e *itemCreate) decision(ref string) (transport.Inbound, error) {
	if e.Item.ApprovalRequest == "" {
		return nil, invalid("item.approval_request_id", "missing_required_parameter", "item.approval_request_id is missing: which mcp_approval_request is this the response to?")
	}
	if e.Item.Approve == nil {
		return nil, invalid("item.approve", "missing_required_parameter", "item.approve is missing: may it be called?")
	}
	it := e.Item
	if len(it.ID) > maxID || len(it.ApprovalRequest) > maxID {
		return nil, invalid("item.id", "invalid_value", "IDs of items must have at most %d characters.", maxID)
	}
	out := transport.Approve{Ref: ref, Item: it.ID, Request: it.ApprovalRequest, Yes: *it.Approve}
	if it.Reason != nil {
		out.Reason = short(*it.Reason, maxReason)
	}
	return out, nil
}

// maxReason is how much of a reason the model reads, in bytes.
const maxReason = 500

// decided tells that what was said to a call is known.
func (c *call) decided(ctx context.Context, out transport.Approved) error {
	it := item{ID: out.Item, Type: "mcp_approval_response", ApprovalRequest: out.Request, Approve: &out.Yes}
	if out.Reason != "" {
		it.Reason = &out.Reason
	}
	return c.added(ctx, it, out.Previous)
}

// mcpChoice is what begins a choice of a server's tool: its label and its name follow, with a blank between them. No function is called so.
const mcpChoice = "mcp "

// choice returns what a choice means for the pipeline.
func (c toolChoice) choice() llm.Choice {
	rest, ok := strings.CutPrefix(string(c), mcpChoice)
	if !ok {
		return llm.Choice(c)
	}
	if _, name, _ := strings.Cut(rest, " "); name != "" {
		return llm.Choice(name)
	}
	return llm.ChoiceRequired
}
