package tts

// Costs says what an alignment of two sequences costs.
type Costs struct {
	Pair func(i, j int) int // Item i of the first stands for item j of the second.
	Skip func(i int) int    // Item i of the first stands for nothing.
	Add  func(j int) int    // Nothing stands for item j of the second.
}

// band is how far an alignment may stray from the straight one, in items: more than a sentence has words, or a clause
// phonemes, so that these are aligned at best, and that a long text takes no more than in proportion to its length.
const band = 256

// The steps of an alignment.
const (
	byPair = iota
	bySkip
	byAdd
)

// Align pairs the items of a sequence of n with those of one of m, in order, at the least cost. It returns for each item of
// the second the one of the first, -1 where there is none. Among equal ones it takes that in which pairs come early.
func Align(n, m int, c Costs) []int {
	pairs := make([]int, m)
	for j := range pairs {
		pairs[j] = -1
	}
	if n == 0 || m == 0 {
		return pairs
	}
	reach := max(band, 2*m/n)
	width := min(2*reach+1, m+1)
	from := func(i int) int { return min(max(0, i*m/n-reach), m+1-width) } // The first column of a row.
	const never = 1 << 30
	last, now := make([]int, width), make([]int, width)
	steps := make([]uint8, (n+1)*width)
	for i := range n + 1 {
		lo, above := from(i), from(max(0, i-1))
		for k := range width {
			j, best, step := lo+k, never, byPair
			if i == 0 && j == 0 {
				best = 0
			}
			if up := j - above; i > 0 && up < width {
				if b := last[up] + c.Skip(i-1); b < best {
					best, step = b, bySkip
				}
			}
			if up := j - 1 - above; i > 0 && up >= 0 && up < width {
				if b := last[up] + c.Pair(i-1, j-1); b <= best {
					best, step = b, byPair
				}
			}
			if k > 0 {
				if b := now[k-1] + c.Add(j-1); b <= best {
					best, step = b, byAdd
				}
			}
			now[k], steps[i*width+k] = best, uint8(step)
		}
		last, now = now, last
	}
	for i, j := n, m; i > 0 || j > 0; {
		switch steps[i*width+j-from(i)] {
		case byPair:
			i, j = i-1, j-1
			pairs[j] = i
		case bySkip:
			i--
		case byAdd:
			j--
		}
	}
	return pairs
}
