package main

import (
	"riposte/budget/trace/object"
	"riposte/budget/trace/store"
)

// rowsObject is a list of turns as --json prints it.
type rowsObject struct {
	Turns []object.Row `json:"turns"`
	Next  store.Cursor `json:"next,omitempty"` // For --from.
}

// callsObject is a list of calls as --json prints it.
type callsObject struct {
	Calls []object.Call `json:"calls"`
	Next  store.Cursor  `json:"next,omitempty"` // For --from.
}

// statsObject is statistics as --json prints them.
type statsObject struct {
	By     string         `json:"by"`
	Filter string         `json:"filter"`
	Groups []object.Group `json:"groups"` // Their times are in UTC, as their spans are.
}
