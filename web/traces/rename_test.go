package traces

import (
	"os"
	"testing"
)

// rename puts a file of traces in the place of another, with what SQLite keeps beside it.
func rename(t testing.TB, from, to string) {
	t.Helper()
	for _, end := range []string{"-wal", "-shm"} {
		os.Remove(to + end)
		if err := os.Rename(from+end, to+end); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
