package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// printed runs a command line and returns what it prints.
func printed(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var cmd commands
	parser, err := newParser(t.Context(), &cmd)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	parser.Stdout = &out
	k, err := parser.Parse(args)
	if err != nil {
		return "", err
	}
	err = k.Run()
	return out.String(), err
}

// benched runs a bench and returns what it prints.
func benched(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	return printed(t, append([]string{"bench", name, "--log-level=error"}, args...)...)
}

// corpusOfOne is a corpus of one clip.
func corpusOfOne(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	sound, err := os.ReadFile("testdata/question.flac")
	if err != nil {
		t.Fatal(err)
	}
	manifest := "file\tkind\tlanguage\ttranscript\tspeech_start\tspeech_end\nquestion.flac\tquestion\ten\tShould I get a dog or a cat?\t0\t\n"
	for name, b := range map[string][]byte{"question.flac": sound, "manifest.tsv": []byte(manifest)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
