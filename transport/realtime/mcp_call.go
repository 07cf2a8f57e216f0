package realtime

import (
	"context"

	"riposte/transport"
)

// This file is what a client is told of calls that the service runs. For the protocol each is an mcp_call, wherever its tool may come from:
// what clients call functions they run themselves.

// runError says why such a call brought nothing.
type runError struct {
	Type    string `json:"type"`
	Code    int    `json:"code,omitempty"`
	Message string `json:"message"`
}

// runErrors are the codes of what can become of a call, as JSON-RPC has them. Whatever is not among them the tool itself says.
var runErrors = map[string]int{"wrong_arguments": -32602, "unknown": -32601, "timed_out": -32001, "unavailable": -32000}

// serverCall writes a call that the service runs, as it is by now.
func serverCall(m transport.Item) item {
	arguments := string(m.Call.Arguments)
	if m.Asked {
		return item{ID: m.ID, Type: "mcp_approval_request", Server: m.Server, Name: m.Call.Name, Arguments: &arguments}
	}
	it := item{
		ID: m.ID, Type: "mcp_call", Server: m.Server, Name: m.Call.Name, Arguments: &arguments, ApprovalRequest: m.Request, // the protocol has neither object nor status here
	}
	switch code, protocol := runErrors[m.Outcome]; {
	case m.Outcome == "":
	case m.Outcome == transport.RanWell:
		it.Output = &m.Text
	case protocol:
		it.Error = &runError{"protocol_error", code, m.Text}
	default:
		it.Error = &runError{Type: "tool_execution_error", Message: m.Text}
	}
	return it
}

// runs tells of a call that the service begins to run.
func (c *call) runs(ctx context.Context, out transport.Called) error {
	r := out.Response
	a := c.answers.of(r)
	at := len(a.output)
	whole := serverCall(out.Item)
	empty, begun := "", whole
	begun.Arguments = &empty
	a.output = append(a.output, whole)
	place := func(f fields) fields {
		f["response_id"], f["item_id"], f["output_index"] = r.ID, whole.ID, at
		return f
	}
	return c.sendAll(ctx,
		event{"response.output_item.added", fields{"response_id": r.ID, "output_index": at, "item": begun}},
		event{"conversation.item.added", fields{"previous_item_id": orNull(out.Previous), "item": begun}},
		event{"response.mcp_call_arguments.delta", place(fields{"delta": *whole.Arguments})},
		event{"response.mcp_call_arguments.done", place(fields{"arguments": *whole.Arguments})},
		event{"response.mcp_call.in_progress", fields{"item_id": whole.ID, "output_index": at}},
	)
}

// ran tells of the end of such a call.
func (c *call) ran(ctx context.Context, out transport.Ran) error {
	r, at := out.Response, -1
	a := c.answers.of(r)
	for i, it := range a.output {
		if it.ID == out.Item.ID {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	it := serverCall(out.Item)
	a.output[at] = it
	end := "response.mcp_call.completed"
	if it.Error != nil {
		end = "response.mcp_call.failed"
	}
	return c.sendAll(ctx,
		event{end, fields{"item_id": it.ID, "output_index": at}},
		event{"response.output_item.done", fields{"response_id": r.ID, "output_index": at, "item": it}},
		event{"conversation.item.done", fields{"previous_item_id": orNull(out.Previous), "item": it}},
	)
}
