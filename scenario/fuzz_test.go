package scenario

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Whatever a script says, it is read or refused; and what is refused is said with its place and what is wrong.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../pipeline/testdata/*.turn")
	if err != nil || len(files) == 0 {
		f.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, test := range errorTests {
		f.Add(test.line)
	}
	place := regexp.MustCompile(`^x\.turn:\d+: .+`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("x.turn", text)
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !place.MatchString(line) {
					t.Errorf("the error says %q", line)
				}
			}
		}
		for _, line := range s.Lines {
			if line.Statement == nil || !strings.HasPrefix(line.At, "x.turn:") {
				t.Errorf("a line without a statement: %+v", line)
			}
			says, ok := line.Statement.(Says)
			if !ok {
				continue
			}
			for _, u := range says.Speech {
				if u.Pause < 0 || u.Pause > longest || u.Word != "" && u.Pause > 0 {
					t.Errorf("%+v is spoken", u)
				}
			}
		}
	})
}
