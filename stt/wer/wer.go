// Package wer measures recognisers: the word error rate after the normalising that is usual in the field, so that two
// transcripts differ only where different words were heard.
package wer

import "math"

// Count is the outcome of one comparison, or of many added up.
type Count struct {
	Substituted, Deleted, Inserted int
	Words                          int // In the references.
}

// Errors returns the number of edits that turn the references into the hypotheses.
func (c Count) Errors() int {
	return c.Substituted + c.Deleted + c.Inserted
}

// Rate returns the errors per word of the references. Words that were heard where none were spoken make it infinite.
func (c Count) Rate() float64 {
	switch {
	case c.Words > 0:
		return float64(c.Errors()) / float64(c.Words)
	case c.Inserted > 0:
		return math.Inf(1)
	}
	return 0
}

// Add returns the sum of both, the basis of a corpus's rate.
func (c Count) Add(d Count) Count {
	return Count{c.Substituted + d.Substituted, c.Deleted + d.Deleted, c.Inserted + d.Inserted, c.Words + d.Words}
}

// WER compares the hypothesis with the reference, both normalised, and returns the edits of the shortest way from one to
// the other. Among equally short ways it takes that with the most substitutions.
func WER(reference, hypothesis string) Count {
	return align(Normalize(reference), Normalize(hypothesis))
}

// align is Levenshtein's distance with the kinds of edits counted, row by row.
func align(ref, hyp []string) Count {
	row := make([]Count, len(hyp)+1)
	for j := range row {
		row[j].Inserted = j
	}
	for _, r := range ref {
		diagonal := row[0]
		row[0].Deleted++
		for j, h := range hyp {
			best := diagonal
			if r != h {
				best.Substituted++
			}
			if c := row[j+1]; c.Errors()+1 < best.Errors() {
				best = c
				best.Deleted++
			}
			if c := row[j]; c.Errors()+1 < best.Errors() {
				best = c
				best.Inserted++
			}
			diagonal, row[j+1] = row[j+1], best
		}
	}
	c := row[len(hyp)]
	c.Words = len(ref)
	return c
}
