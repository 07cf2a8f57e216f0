package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"riposte/llm"
	"riposte/llm/schema"
	"riposte/tool"
)

// mostDescription is how many bytes of a tool's description the model is told.
const mostDescription = 1 << 10

// adopt makes a tool of the server's one that can be called.
func (s *Server) adopt(t *sdk.Tool) (*tool.Tool, error) {
	parameters, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil, err
	}
	var form *schema.Checker // Of what it brings; nil for any.
	if t.OutputSchema != nil {
		promised, err := json.Marshal(t.OutputSchema)
		if err != nil {
			return nil, err
		}
		if form, err = schema.Read(promised); err != nil {
			return nil, fmt.Errorf("what it says of its results: %w", err)
		}
	}
	return tool.New(tool.Tool{
		Tool:   llm.Tool{Name: t.Name, Description: tool.Fit(cmp.Or(t.Description, t.Title), mostDescription), Parameters: parameters},
		Server: s.Label, Timeout: s.Timeout,
		Run: func(ctx context.Context, arguments json.RawMessage) (string, error) {
			return s.call(ctx, t.Name, arguments, form)
		},
	})
}

// call calls a tool and returns what the model is to read.
func (s *Server) call(ctx context.Context, name string, arguments json.RawMessage, form *schema.Checker) (string, error) {
	s.mu.Lock()
	session, why := s.session, s.why
	s.mu.Unlock()
	if session == nil {
		return "", tool.Errorf(tool.Unavailable, "The tool cannot be reached: %.200s", plain(why).Error())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.ctx, stop)()
	type answer struct {
		result *sdk.CallToolResult
		err    error
	}
	came := make(chan answer, 1)
	go func() { // a server that reads nothing may hold up whoever writes to it
		r, err := session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: arguments})
		came <- answer{r, err}
	}()
	var a answer
	select {
	case a = <-came:
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	s.punctual(session, ctx, a.err)
	if a.err != nil {
		return "", s.failed(session, ctx, a.err)
	}
	text := tool.Fit(read(a.result, form), cmp.Or(s.Bytes, tool.DefaultBytes))
	if a.result.IsError {
		return "", tool.Errorf(tool.Failed, "The tool failed: %s", cmp.Or(text, "nothing more is known"))
	}
	return cmp.Or(text, "Done; there is nothing to read."), nil
}

// punctual counts calls that took too long. After some of them the server is dialled again.
func (s *Server) punctual(session *sdk.ClientSession, ctx context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		if err == nil {
			s.late = 0
		}
		return
	case session != s.session:
		return
	}
	if s.late++; s.late >= mostLate {
		s.give(session)
	}
}

// give has a session taken for broken.
func (s *Server) give(session *sdk.ClientSession) {
	select {
	case s.broken <- session:
	default:
	}
}

// unsent is the code of errors that no server has made: the request did not get there.
const unsent = -32005

// failed says why a call brought nothing. What is no answer of the server's own means that the connection is of no use any more.
func (s *Server) failed(session *sdk.ClientSession, ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code != unsent {
		return tool.Errorf(tool.Failed, "The tool failed: %s", tool.Fit(e.Message, 500))
	}
	s.give(session)
	return tool.Errorf(tool.Unavailable, "The tool cannot be reached: %s", tool.Fit(err.Error(), 200))
}

// read returns a result as text. Of what is no text it says what it is; where it is not as the tool has promised, that as well.
func read(r *sdk.CallToolResult, form *schema.Checker) string {
	var parts []string
	for _, c := range r.Content {
		parts = append(parts, written(c))
	}
	if len(parts) == 0 && r.StructuredContent != nil {
		b, _ := json.Marshal(r.StructuredContent) // it was JSON before
		parts = append(parts, string(b))
	}
	if form != nil && !r.IsError {
		b, _ := json.Marshal(r.StructuredContent) // it was JSON before
		if r.StructuredContent == nil || form.Check(b) != nil {
			parts = append(parts, "(This result is not in the form that the tool promises.)")
		}
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// written writes a part of a result.
func written(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return fmt.Sprintf("(a picture, %s, %d bytes)", c.MIMEType, len(c.Data))
	case *sdk.AudioContent:
		return fmt.Sprintf("(a sound, %s, %d bytes)", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("(a link to %s)", c.URI)
	case *sdk.EmbeddedResource:
		if c.Resource != nil && c.Resource.Text != "" {
			return c.Resource.Text
		}
		return "(something that is no text)"
	}
	return fmt.Sprintf("(a %T)", c)
}
