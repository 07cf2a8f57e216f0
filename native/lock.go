package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// lockPause is how long a set-up that waits for another pauses between two tries: short for a person, and nothing for
// the machine.
const lockPause = 200 * time.Millisecond

// lock takes the lock file at path, so that only one set-up works at a time. While another holds it, lock calls waiting
// once with what the file says of the holder, and tries on until ctx ends. The kernel gives the lock back when its
// holder dies, however it dies.
func lock(ctx context.Context, path string, waiting func(holder string)) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	told := false
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		if !told {
			waiting(holder(path))
			told = true
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(lockPause):
		}
	}
	// What the file says is for people only; a failure to write it is no reason to stop.
	if f.Truncate(0) == nil {
		fmt.Fprintf(f, "process %d since %s\n", os.Getpid(), time.Now().Format(time.DateTime))
	}
	return func() {
		f.Truncate(0)
		f.Close() // Closing gives the lock back.
	}, nil
}

// holder is what a lock file says of who holds it.
func holder(path string) string {
	b, err := os.ReadFile(path)
	if text := strings.TrimSpace(string(b)); err == nil && text != "" {
		return text
	}
	return "another process"
}
