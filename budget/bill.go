package budget

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Bill sums up what the executor does for somebody, by the kind of work, and what way the work took where not the straight one. The zero
// value is empty. It is safe for use by several goroutines.
type Bill struct {
	mu      sync.Mutex
	work    map[string]Spent
	detours []Detour
}

// Spent is what work of one kind has cost. Work that is done for several at once is on the bill of each.
type Spent struct {
	Runs   int           // Jobs that ran.
	Waited time.Duration // How long they waited for their turn, all together.
	Ran    time.Duration // How long they ran, all together.
}

// Detour is a way that work took since the first one led nowhere, or not soon enough: a remote engine was dialled again, or another
// engine was asked.
type Detour struct {
	At    time.Time
	Stage Stage
	Act   ActionKind // What that is to the budget; empty where the same engine was asked again.
	Why   string     // For people.
}

// mostDetours is how many are noted: what goes on longer is of the same kind.
const mostDetours = 20

type billKey struct{}

// WithBill returns a context under which work goes on a bill.
func WithBill(ctx context.Context, b *Bill) context.Context {
	return context.WithValue(ctx, billKey{}, b)
}

// BillOf returns the bill on which work under the context goes; nil where there is none.
func BillOf(ctx context.Context) *Bill {
	b, _ := ctx.Value(billKey{}).(*Bill)
	return b
}

// Add puts one job on the bill. On nil it does nothing.
func (b *Bill) Add(kind string, waited, ran time.Duration) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.work == nil {
		b.work = make(map[string]Spent)
	}
	s := b.work[kind]
	b.work[kind] = Spent{s.Runs + 1, s.Waited + waited, s.Ran + ran}
}

// Work returns what is on the bill, by kind. That of nil is nothing.
func (b *Bill) Work() map[string]Spent {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.work)
}

// Detour notes a detour. On nil it does nothing.
func (b *Bill) Detour(d Detour) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.detours) < mostDetours {
		b.detours = append(b.detours, d)
	}
}

// Detours returns what was noted, in its order. Of nil that is nothing.
func (b *Bill) Detours() []Detour {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.detours)
}
