package grammar

import (
	"errors"
	"fmt"
)

// check refuses rules that are missing, that nothing can satisfy, or that begin with themselves.
func check(rules *ruleSet) error {
	if _, ok := rules.index["root"]; !ok {
		return errors.New(`the grammar has no rule "root"`)
	}
	if len(rules.list) > maxRules {
		return fmt.Errorf("the grammar has %d rules, it can have %d", len(rules.list), maxRules)
	}
	for _, r := range rules.list {
		if r.body == nil {
			return fmt.Errorf("the rule %q is used and not defined", r.name)
		}
	}
	ends := fixpoint(rules, func(n node, known []bool) bool { return holds(n, known, func(c class) bool { return len(c) > 0 }) })
	for i, r := range rules.list {
		if !ends[i] {
			return fmt.Errorf("the rule %q never ends, or begins what nothing can follow", r.name)
		}
	}
	empty := fixpoint(rules, func(n node, known []bool) bool { return holds(n, known, func(class) bool { return false }) })
	const (
		open   = 1
		closed = 2
	)
	state := make([]int, len(rules.list))
	var visit func(i int) error
	visit = func(i int) error {
		switch state[i] {
		case closed:
			return nil
		case open:
			return fmt.Errorf("the rule %q begins with itself: let it end with itself instead", rules.list[i].name)
		}
		state[i] = open
		for _, next := range firsts(rules.list[i].body, empty, nil) {
			if err := visit(next); err != nil {
				return err
			}
		}
		state[i] = closed
		return nil
	}
	for i := range rules.list {
		if err := visit(i); err != nil {
			return err
		}
	}
	return nil
}

// fixpoint asks about every rule until nothing more becomes true. It goes through them in both directions, because they are
// usually defined before or after all that they use.
func fixpoint(rules *ruleSet, ask func(n node, known []bool) bool) []bool {
	known := make([]bool, len(rules.list))
	for again := true; again; {
		again = false
		for i := range 2 * len(rules.list) {
			if i >= len(rules.list) {
				i = 2*len(rules.list) - 1 - i
			}
			if !known[i] && ask(rules.list[i].body, known) {
				known[i], again = true, true
			}
		}
	}
	return known
}

// holds reports whether some text of a node consists of nothing but what leaf is true for.
func holds(n node, known []bool, leaf func(class) bool) bool {
	switch n := n.(type) {
	case sequence:
		for _, part := range n {
			if !holds(part, known, leaf) {
				return false
			}
		}
		return true
	case choice:
		for _, part := range n {
			if holds(part, known, leaf) {
				return true
			}
		}
		return false
	case class:
		return leaf(n)
	case reference:
		return known[n]
	case repetition:
		return n.least == 0 || holds(n.of, known, leaf)
	}
	return false
}

// firsts adds the rules that a node may begin with.
func firsts(n node, empty []bool, to []int) []int {
	switch n := n.(type) {
	case sequence:
		for _, part := range n {
			to = firsts(part, empty, to)
			if !holds(part, empty, func(class) bool { return false }) {
				break
			}
		}
	case choice:
		for _, part := range n {
			to = firsts(part, empty, to)
		}
	case reference:
		to = append(to, int(n))
	case repetition:
		if n.most != 0 {
			to = firsts(n.of, empty, to)
		}
	}
	return to
}
