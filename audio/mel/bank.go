package mel

// Band is a filter without its zeros: how much of each bin, from From on, belongs to it.
type Band struct {
	From    int
	Weights []float32
}

// Bank is a model's filters, the lowest first. It is safe for use by many goroutines.
type Bank []Band

// NewBank takes filters band by band, Bins weights each, and shares them.
func NewBank(filters []float32) Bank {
	var bank Bank
	for ; len(filters) >= Bins; filters = filters[Bins:] {
		from, to := 0, Bins
		for from < to && filters[from] == 0 {
			from++
		}
		for to > from && filters[to-1] == 0 {
			to--
		}
		bank = append(bank, Band{from, filters[from:to]})
	}
	return bank
}
