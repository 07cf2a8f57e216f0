package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrVocabulary reports that a tokenizer.json does not hold the byte-level vocabulary that was expected.
var ErrVocabulary = errors.New("not a usable vocabulary")

// endOfText is the first of the special tokens; whisper.cpp knows it and those after it by their numbers.
const endOfText = "<|endoftext|>"

// readVocabulary returns the bytes of every ordinary token of the tokenizer.json in r, by its number.
func readVocabulary(r io.Reader) ([]string, error) {
	var doc struct {
		Model struct {
			Vocab map[string]int `json:"vocab"`
		} `json:"model"`
	}
	if err := json.NewDecoder(r).Decode(&doc); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrVocabulary, err)
	}
	end, ok := doc.Model.Vocab[endOfText]
	if !ok || end < 1 || end > len(doc.Model.Vocab) {
		return nil, fmt.Errorf("%w: %s is missing or out of range", ErrVocabulary, endOfText)
	}
	letters := byteLetters()
	tokens := make([]string, end)
	seen := make([]bool, end)
	for word, id := range doc.Model.Vocab {
		if id < 0 || id >= end {
			continue
		}
		if seen[id] {
			return nil, fmt.Errorf("%w: two tokens have the number %d", ErrVocabulary, id)
		}
		seen[id] = true
		raw := make([]byte, 0, len(word))
		for _, letter := range word {
			b, ok := letters[letter]
			if !ok {
				return nil, fmt.Errorf("%w: token %d has the letter %q", ErrVocabulary, id, letter)
			}
			raw = append(raw, b)
		}
		tokens[id] = string(raw)
	}
	for id, ok := range seen {
		if !ok {
			return nil, fmt.Errorf("%w: token %d is missing", ErrVocabulary, id)
		}
	}
	return tokens, nil
}

// byteLetters maps the letters of byte-level vocabularies back to bytes: printable Latin-1 stands for itself, every
// other byte for the next letter from U+0100 on.
func byteLetters() map[rune]byte {
	letters := make(map[rune]byte, 256)
	next := rune(256)
	for b := rune(0); b < 256; b++ {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			letters[b] = byte(b)
			continue
		}
		letters[next] = byte(b)
		next++
	}
	return letters
}
