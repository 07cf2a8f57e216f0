package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"riposte/scenario"
)

// Each script in testdata is a conversation that goes as it says. testdata/README.md is their language.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.turn")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".turn"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := scenario.Parse(file, string(text))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { newPlay(t).run(s) })
		})
	}
}
