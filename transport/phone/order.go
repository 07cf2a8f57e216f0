package phone

import "slices"

// order puts pieces of sound in their order, where a far side sends them out of it. It waits for one that is missing until mostEarly others
// have come.
type order struct {
	last  uint64  // Number of the last piece that was handed on; 0 before.
	early []Media // Those that have come before one that is missing, in their order.
	late  int     // How many came since with no higher number than last.
}

// mostEarly is how many pieces may wait for one: 60 ms of them. Who waits for longer answers later, for sound that has probably gone.
const mostEarly = 3

// take takes a piece, and returns what is to be handed on now.
func (o *order) take(m Media) (next []Media) {
	if m.Sequence == 0 {
		return []Media{m}
	}
	if m.Sequence <= o.last {
		if o.late++; o.late > mostLate {
			o.last, o.late = m.Sequence, 0 // what is early stays so: it is of before
		}
		return []Media{m} // for whoever notices that it comes too late
	}
	o.late = 0
	i, _ := slices.BinarySearchFunc(o.early, m, func(a, b Media) int { return int(int64(a.Sequence) - int64(b.Sequence)) })
	o.early = slices.Insert(o.early, i, m)
	for len(o.early) > 0 && (o.last == 0 || o.early[0].Sequence <= o.last+1 || len(o.early) > mostEarly) {
		next = append(next, o.early[0])
		o.last = max(o.last, o.early[0].Sequence)
		o.early = slices.Delete(o.early, 0, 1)
	}
	return next
}
