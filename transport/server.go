package transport

import (
	"slices"

	"riposte/llm"
)

// ToolServer is an MCP server that the caller's side wants the model to have the tools of.
type ToolServer struct {
	Label  string            // What the caller's side calls it.
	URL    string            // Where it is reached. The wire has seen to it that it may be.
	Header map[string]string // What is sent with each request; it may have secrets in it.
	Only   []string          // The names of those tools that are meant; nil is all.
	Free   bool              // Calls need no approval of the caller's side, but for those that Ask names.
	Ask    []string          // Tools whose calls do, where others do not,
	Run    []string          // and those whose calls do not, where others do.
}

// Asks reports whether the caller's side has to approve of calls of a tool.
func (t ToolServer) Asks(tool string) bool {
	if t.Free {
		return slices.Contains(t.Ask, tool)
	}
	return !slices.Contains(t.Run, tool)
}

// Listed says that the tools of a server are being asked for, or what came of that.
type Listed struct {
	Item   string // It is the same both times, and no part of the conversation.
	Server string
	Done   bool
	Tools  []llm.Tool
	Err    error // Why there are none.
}

// Approve is what the caller's side says to a call that it has to approve of.
type Approve struct {
	Ref     string
	Item    string // Of what it says; empty leaves that to the service.
	Request string // The item of the call.
	Yes     bool
	Reason  string
}

// Approved answers Approve.
type Approved struct {
	Approve
	Previous string // The item before it.
}

func (Listed) isOutbound()   {}
func (Approve) isInbound()   {}
func (Approved) isOutbound() {}
