// Package grammar holds a language model's answers to a grammar: it reads llama.cpp's GBNF, follows an answer byte by
// byte, and says which tokens of a vocabulary may come next.
//
// It does what llama.cpp's own grammar sampler does, without its hazards: that one ends the process when an answer comes
// to a dead end, prints to stderr, can be sent into endless work by a grammar of three lines, lets control tokens pass
// for text, and looks at the whole vocabulary for every token.
//
// The dialect is llama.cpp's but for tokens (<[1000]>, <think>), which are refused, as are rules that are defined twice.
package grammar

import (
	"errors"
	"fmt"
	"slices"
)

// Grammar is a compiled grammar. It is immutable, and safe for concurrent use.
type Grammar struct {
	code  []instruction
	start int32
}

// instruction is a step of a machine that has a stack of return addresses and takes all of its choices at once.
type instruction struct {
	op     op
	lo, hi byte  // opByte: the bytes that it takes.
	x, y   int32 // Where it goes on. opCall: x is the rule, y what follows it.
}

type op byte

const (
	opReturn op = iota // It is only at address 0.
	opByte
	opSplit
	opCall
)

// Limits of a grammar.
const (
	MaxText  = 1 << 20 // Bytes of its text.
	maxRules = 1 << 13
	maxCode  = 1 << 18 // Instructions that it compiles to.
	maxDepth = 200     // Parentheses in parentheses.
	noMax    = -1      // Of a repetition.
)

var errSize = errors.New("the grammar is too large: repeat less")

// Parse compiles a grammar, which begins at its rule "root". Its errors say where and what.
func Parse(text string) (*Grammar, error) {
	rules, err := parse(text)
	if err != nil {
		return nil, err
	}
	if err := check(rules); err != nil {
		return nil, err
	}
	c := compiler{rules: rules, entries: make([]int32, len(rules.list)), code: []instruction{{op: opReturn}}}
	// Rules refer to each other, so each gets an entry first that will lead to its code.
	for i := range rules.list {
		c.entries[i] = c.emit(instruction{op: opSplit})
	}
	for i, r := range rules.list {
		at := c.compile(r.body, 0)
		c.code[c.entries[i]].x, c.code[c.entries[i]].y = at, at
		if len(c.code) > maxCode {
			return nil, errSize
		}
	}
	return &Grammar{code: c.code, start: c.entries[rules.index["root"]]}, nil
}

// compiler makes instructions of rules.
type compiler struct {
	rules   *ruleSet
	entries []int32
	code    []instruction
}

func (c *compiler) emit(i instruction) int32 {
	if len(c.code) > maxCode {
		return 0 // Parse refuses it when the rule is done.
	}
	c.code = append(c.code, i)
	return int32(len(c.code) - 1)
}

// compile returns where a node's code begins, which ends by going on at next.
func (c *compiler) compile(n node, next int32) int32 {
	switch n := n.(type) {
	case sequence:
		for _, part := range slices.Backward(n) {
			next = c.compile(part, next)
		}
		return next
	case choice:
		at := c.compile(n[len(n)-1], next)
		for _, part := range slices.Backward(n[:len(n)-1]) {
			at = c.emit(instruction{op: opSplit, x: c.compile(part, next), y: at})
		}
		return at
	case class:
		return c.class(n, next)
	case reference:
		return c.emit(instruction{op: opCall, x: c.entries[n], y: next})
	case repetition:
		return c.repeat(n, next)
	}
	panic(fmt.Sprintf("grammar: %T is no node", n))
}

// repeat writes a part that is repeated several times only once, as a rule without a name.
func (c *compiler) repeat(n repetition, next int32) int32 {
	once := func(next int32) int32 { return c.compile(n.of, next) }
	if _, isReference := n.of.(reference); !isReference && max(n.least, n.most) > 1 {
		body := c.compile(n.of, 0)
		once = func(next int32) int32 { return c.emit(instruction{op: opCall, x: body, y: next}) }
	}
	at := next
	if n.most == noMax {
		at = c.emit(instruction{op: opSplit, y: next})
		body := once(at) // Before its address is taken: it moves the code.
		c.code[at].x = body
	}
	for i := n.least; i < n.most && len(c.code) <= maxCode; i++ {
		at = c.emit(instruction{op: opSplit, x: once(at), y: next})
	}
	for i := 0; i < n.least && len(c.code) <= maxCode; i++ {
		at = once(at)
	}
	return at
}

// class writes a set of characters as the bytes of their UTF-8.
func (c *compiler) class(n class, next int32) int32 {
	at := int32(-1)
	for _, r := range n {
		for _, bytes := range utf8Ranges(r.lo, r.hi) {
			begin := next
			for _, b := range slices.Backward(bytes) {
				begin = c.emit(instruction{op: opByte, lo: b.lo, hi: b.hi, x: begin})
			}
			if at >= 0 {
				begin = c.emit(instruction{op: opSplit, x: begin, y: at})
			}
			at = begin
		}
	}
	if at < 0 { // Only in what no text leads to.
		return c.emit(instruction{op: opByte, lo: 1, hi: 0})
	}
	return at
}
