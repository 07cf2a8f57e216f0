package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNone reports that there is no file of traces.
var ErrNone = errors.New("there are no traces yet")

// ErrNoFile reports that a folder, a device or the like is where the file should be.
var ErrNoFile = errors.New("this is a folder or the like, and traces are kept in a file")

// ErrEmpty reports a file in which nothing was ever kept.
var ErrEmpty = errors.New("this file holds no traces: it is empty, or was copied without the file beside it whose name ends in -wal")

// ErrOlder reports that a file was made by an older version, which only a store that may write brings up to date.
var ErrOlder = errors.New("the traces were kept by an older version of the service, and are brought up to date when the service starts")

// ErrNewer reports that a file was made by a newer version.
var ErrNewer = errors.New("the traces were kept by a newer version of the service")

// ErrNoSound reports that nothing was recorded of a turn, or that it is not kept any more.
var ErrNoSound = errors.New("there is no sound of this turn")

// UnknownError reports that no call or turn has this ID.
type UnknownError struct {
	ID      string
	Nearest []string // IDs that look like it, the nearest first; or several that begin with it. Empty where nothing is kept.
}

// Error says what there is instead.
func (e *UnknownError) Error() string {
	switch len(e.Nearest) {
	case 0:
		return fmt.Sprintf("there is no turn or call %q", e.ID)
	case 1:
		return fmt.Sprintf("there is no turn or call %q; the nearest is %q", e.ID, e.Nearest[0])
	}
	quoted := make([]string, len(e.Nearest))
	for i, id := range e.Nearest {
		quoted[i] = strconv.Quote(id)
	}
	return fmt.Sprintf("there is no turn or call %q; near are %s", e.ID, strings.Join(quoted, ", "))
}
