package llama

import (
	"reflect"
	"slices"
	"testing"
)

func TestCacheTake(t *testing.T) {
	held := func(owner string, used uint64, busy bool, tokens ...token) slot {
		return slot{owner: owner, used: used, busy: busy, tokens: tokens}
	}
	for name, test := range map[string]struct {
		slots        []slot
		conversation string
		prompt       []token
		gain         int
		saved        []token
		want         placement
		gone         string
		none         bool
	}{
		"empty":                  {slots: []slot{held("", 0, false), held("", 0, false)}, conversation: "a", prompt: []token{1, 2, 3}, want: placement{slot: 0, from: 0, keep: 0}},
		"own slot":               {slots: []slot{held("", 0, false), held("a", 1, false, 1, 2)}, conversation: "a", prompt: []token{1, 2, 3}, want: placement{slot: 1, from: 1, keep: 2}},
		"own slot differs":       {slots: []slot{held("a", 1, false, 1, 2, 9, 9)}, conversation: "a", prompt: []token{1, 2, 3, 4}, want: placement{slot: 0, from: 0, keep: 2}},
		"own slot holds it all":  {slots: []slot{held("a", 1, false, 1, 2, 3, 4)}, conversation: "a", prompt: []token{1, 2, 3}, want: placement{slot: 0, from: 0, keep: 2}},
		"shared system prompt":   {slots: []slot{held("b", 1, false, 7, 8, 1), held("", 0, false)}, conversation: "a", prompt: []token{7, 8, 2}, want: placement{slot: 1, from: 0, keep: 2}},
		"shared with a busy one": {slots: []slot{held("b", 1, true, 7, 8, 1), held("", 0, false)}, conversation: "a", prompt: []token{7, 8, 2}, want: placement{slot: 1, from: 0, keep: 2}},
		"longer elsewhere": {slots: []slot{held("a", 2, false, 1), held("a", 3, true, 1, 2, 3)}, conversation: "a", prompt: []token{1, 2, 3, 4},
			want: placement{slot: 0, from: 1, keep: 3}},
		"longest of the own": {slots: []slot{held("a", 9, false, 1), held("a", 3, false, 1, 2)}, conversation: "a", prompt: []token{1, 2, 3},
			want: placement{slot: 1, from: 1, keep: 2}},
		"a copy that saves enough":     {slots: []slot{held("b", 1, true, 7, 8, 1), held("", 0, false)}, conversation: "a", prompt: []token{7, 8, 2}, gain: 2, want: placement{slot: 1, from: 0, keep: 2}},
		"a copy that saves too little": {slots: []slot{held("b", 1, true, 7, 8, 1), held("", 0, false)}, conversation: "a", prompt: []token{7, 8, 2}, gain: 3, want: placement{slot: 1, from: 1, keep: 0}},
		"oldest goes": {slots: []slot{held("b", 5, false, 4), held("c", 2, false, 4, 4), held("d", 8, false, 4)}, conversation: "a", prompt: []token{5, 6},
			want: placement{slot: 1, from: 1, keep: 0}, gone: "c"},
		"busy ones stay":         {slots: []slot{held("b", 1, true, 4), held("c", 2, false, 4)}, conversation: "a", prompt: []token{5, 6}, want: placement{slot: 1, from: 1, keep: 0}, gone: "c"},
		"short ones go for good": {slots: []slot{held("b", 1, false, 4, 5)}, conversation: "a", prompt: []token{6, 7}, gain: 3, want: placement{slot: 0, from: 0, keep: 0}},
		"saved": {slots: []slot{held("b", 1, false, 4, 5)}, conversation: "a", prompt: []token{1, 2, 3, 4}, saved: []token{1, 2, 3, 9},
			want: placement{slot: 0, from: 0, keep: 3, restore: true}, gone: "b"},
		"saved less than others have": {slots: []slot{held("", 0, false), held("b", 1, true, 1, 2, 3)}, conversation: "a", prompt: []token{1, 2, 3, 4}, saved: []token{1, 2},
			want: placement{slot: 0, from: 1, keep: 3}},
		"saved too little to be worth it": {slots: []slot{held("", 0, false)}, conversation: "a", prompt: []token{1, 2, 3, 4}, saved: []token{1, 2}, gain: 3,
			want: placement{slot: 0, from: 0, keep: 0}},
		"nobody's go before anybody's": {slots: []slot{held("b", 1, false, 4), held("", 2, false, 5)}, conversation: "a", prompt: []token{4, 6},
			want: placement{slot: 1, from: 0, keep: 1}},
		"nobody's serve nobody":        {slots: []slot{held("", 1, false, 4, 5, 6), held("", 2, false, 9)}, prompt: []token{4, 5, 6, 7}, want: placement{slot: 0, from: 0, keep: 3}},
		"nobody is not a conversation": {slots: []slot{held("", 3, false, 9), held("", 0, false)}, prompt: []token{8, 9}, want: placement{slot: 1, from: 1, keep: 0}},
		"all busy":                     {slots: []slot{held("a", 1, true, 1)}, conversation: "a", prompt: []token{1, 2}, none: true},
		"one token":                    {slots: []slot{held("a", 1, false, 1)}, conversation: "a", prompt: []token{1}, want: placement{slot: 0, from: 0, keep: 0}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cache{slots: test.slots, gain: max(test.gain, 1), clock: 100}
			got, ok := c.take(test.conversation, test.prompt, test.saved)
			if ok == test.none {
				t.Fatalf("take = %v, %v", got, ok)
			}
			if test.none {
				return
			}
			if got.gone.owner != test.gone {
				t.Errorf("%q goes, want %q", got.gone.owner, test.gone)
			}
			if got.gone = (shelved{}); !reflect.DeepEqual(got, test.want) {
				t.Errorf("take = %+v, want %+v", got, test.want)
			}
			s := c.slots[got.slot]
			if !s.busy || s.owner != test.conversation || s.used != 101 {
				t.Errorf("slot = %+v", s)
			}
			if !slices.Equal(test.prompt[:got.keep], s.tokens) {
				t.Errorf("slot holds %v", s.tokens)
			}
		})
	}
}

func TestCacheKeepsConversationsWhileThereIsRoom(t *testing.T) {
	c := newCache(2, 8, 1)
	turn := func(conversation string, prompt ...token) placement {
		t.Helper()
		p, ok := c.take(conversation, prompt, nil)
		if !ok {
			t.Fatalf("no slot for %s", conversation)
		}
		c.extend(p.slot, prompt[p.keep:]...)
		c.release(p.slot)
		return p
	}
	turn("a", 1, 2, 3)
	turn("b", 1, 5, 6)
	if p := turn("a", 1, 2, 3, 4); p.keep != 3 {
		t.Errorf("second turn of a kept %d tokens, want 3", p.keep)
	}
	turn("c", 9, 9) // Takes the slot of b, which was used least recently.
	if p := turn("a", 1, 2, 3, 4, 5); p.keep != 4 {
		t.Errorf("third turn of a kept %d tokens, want 4", p.keep)
	}
	if p := turn("b", 1, 5, 6, 7); p.keep != 1 {
		t.Errorf("second turn of b kept %d tokens, want the 1 it shares with a", p.keep)
	}
}
