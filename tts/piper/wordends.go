package piper

import (
	"strings"
	"unicode"

	"riposte/tts"
)

// wordEnds returns behind which character of a clause's phonemes each of its words ends, of which alone holds the phonemes by
// themselves; 0 where nothing of the first words is found.
func wordEnds(clause string, alone []string) []int {
	whole := []rune(clause)
	var heard []int // The characters of the clause that are looked at.
	for i, r := range whole {
		if !isTone(r) {
			heard = append(heard, i)
		}
	}
	var written []rune
	var owner []int // The word of each.
	for w, p := range alone {
		if w > 0 {
			written, owner = append(written, ' '), append(owner, w-1)
		}
		for _, r := range p {
			if !isTone(r) {
				written, owner = append(written, r), append(owner, w)
			}
		}
	}
	pairs := tts.Align(len(written), len(heard), tts.Costs{
		Pair: func(i, j int) int { return unlike(written[i], whole[heard[j]]) },
		Skip: func(int) int { return 4 },
		Add:  func(int) int { return 4 },
	})
	ends := make([]int, len(alone))
	word := 0
	for j, i := range pairs {
		r := whole[heard[j]]
		if r == ' ' {
			continue
		}
		switch {
		case i >= 0:
			word = owner[i]
		case j > 0 && whole[heard[j-1]] == ' ': // It begins what the next does that is found.
			for _, next := range pairs[j:] {
				if next >= 0 {
					word = owner[next]
					break
				}
			}
		}
		end := heard[j] + 1
		for end < len(whole) && isLength(whole[end]) {
			end++
		}
		ends[word] = end
	}
	for w := 1; w < len(ends); w++ {
		ends[w] = max(ends[w], ends[w-1])
	}
	return ends
}

// unlike returns what it costs that one phoneme is taken for another.
func unlike(a, b rune) int {
	va, vb := strings.ContainsRune(vowels, a), strings.ContainsRune(vowels, b)
	switch {
	case a == b:
		return 0
	case a == ' ' || b == ' ':
		return 20
	case va && vb:
		return 3
	case va || vb:
		return 10
	}
	return 6
}

// vowels are those of the phonetic alphabet. Which one a word has depends on its neighbours more than its consonants do.
const vowels = "aeiouyæøœɐɑɒɔəɘɚɛɜɝɞɤɨɪɯɵɶɷʉʊʌʏᵻ"

// isTone reports whether a character says how the next is spoken, or the one before, and is no sound.
func isTone(r rune) bool { return r == 'ˈ' || r == 'ˌ' || isLength(r) }

// isLength reports whether a character belongs to the sound before it.
func isLength(r rune) bool {
	return r == 'ː' || r == 'ˑ' || r == '\u0361' || unicode.Is(unicode.Mn, r)
}
