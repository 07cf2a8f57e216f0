// Package export writes kept turns for other programs: as a table, as OpenTelemetry spans, and for viewers of traces.
package export

import (
	"strconv"
	"time"

	"riposte/budget"
)

// marks are those that have a column, in the order of a turn.
var marks = []budget.Mark{
	budget.Received, budget.Decided, budget.Final, budget.FirstToken, budget.FirstClause, budget.FirstAudio, budget.FirstAudible, budget.Answered, budget.Done,
}

// millis writes a time as milliseconds, to the microsecond.
func millis(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', -1, 64)
}
