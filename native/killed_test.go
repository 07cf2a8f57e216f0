package native

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// setUpAsChild pulls the model of a fake store in dir, slowly enough to be killed in every phase, and returns an exit
// code.
func setUpAsChild(dir string) int {
	s, _ := fakeStore(dir)
	right := s.fetch
	s.fetch = func(ctx context.Context, p Package, dir, log string, got func(int64)) error {
		for i := range 10 {
			if err := os.WriteFile(filepath.Join(dir, p.File), make([]byte, 1000*i), 0o644); err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
		}
		return right(ctx, p, dir, log, got)
	}
	s.models[0].make = slowly{s.models[0].make}
	if err := s.Pull(context.Background(), "fake", nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// slowly is a recipe that takes its time before and after.
type slowly struct{ recipe }

func (r slowly) cook(in *wheels, dir string, names []string, report func(done, total int64)) error {
	time.Sleep(5 * time.Millisecond)
	defer time.Sleep(5 * time.Millisecond)
	return r.recipe.cook(in, dir, names, report)
}

// TestKilledSetUp kills set-ups at any moment. None may leave something that looks whole and is not, or that the next
// one trips over.
func TestKilledSetUp(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	s, _ := fakeStore(dir)
	child := func() *exec.Cmd {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childVariable+"="+dir)
		cmd.Stderr = os.Stderr
		return cmd
	}
	killed := 0
	for range 40 {
		cmd := child()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil && cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
			killed++
		} else if err != nil {
			t.Fatalf("a set-up after a killed one: %v", err)
		}
		if _, err := s.File("fake"); err == nil {
			// What counts as there must be whole. Then away with it, or the next one has nothing to do.
			if err := s.Verify(t.Context(), "fake", true); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(dir, "models")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if killed == 0 {
		t.Error("no set-up was killed in time")
	}
	if err := child().Run(); err != nil {
		t.Fatalf("the last set-up: %v", err)
	}
	if err := s.Verify(t.Context(), "fake", true); err != nil {
		t.Error(err)
	}
	if got := entries(t, dir) + ": " + entries(t, filepath.Join(dir, "models")); got != "lock models: fake" {
		t.Errorf("left behind: %s", got)
	}
}

// TestTwoSetUps runs several at once: one works, the others find its work done.
func TestTwoSetUps(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var all []*exec.Cmd
	for range 4 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childVariable+"="+dir)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	s, _ := fakeStore(dir)
	if err := s.Verify(t.Context(), "fake", true); err != nil {
		t.Error(err)
	}
}
