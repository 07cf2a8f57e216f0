package native

import (
	"errors"
	"fmt"
	"syscall"
)

var (
	// ErrUnknown reports a model name that set-up does not know.
	ErrUnknown = errors.New("no such model")
	// ErrMissing reports a model or library that has not been made yet.
	ErrMissing = errors.New("not there yet")
	// ErrDamaged reports a model or library of which a file is cut off, changed or gone.
	ErrDamaged = errors.New("damaged")
	// ErrHash reports a file that is not the pinned one.
	ErrHash = errors.New("not the pinned file")
	// ErrTool reports a program or Debian package that set-up needs and cannot install.
	ErrTool = errors.New("missing")
)

// explain adds to err what its reader can do about it, where it is one of the machine's own limits.
func explain(err error, dir string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w (the disk that holds %s is full: free some space, or set %s to a folder elsewhere, and run it again)", err, dir, CacheVariable)
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w (set %s to a folder that you may write to)", err, CacheVariable)
	}
	return err
}
