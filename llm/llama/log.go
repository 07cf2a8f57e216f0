package llama

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

// logSink makes log records of the pieces of lines that llama.cpp prints.
type logSink struct {
	mu      sync.Mutex
	log     *slog.Logger
	line    strings.Builder
	skip    bool   // The line that is being continued is not wanted.
	failure string // The first error line since it was asked for. Those that follow only say that something failed.
}

// maxLogLine is where a line that never ends is cut, in bytes.
const maxLogLine = 4096

// use directs what comes from now on.
func (s *logSink) use(log *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = log
}

// logKind says what a piece of a line is.
type logKind int

const (
	logDetail logKind = iota // What only somebody who works on llama.cpp wants to see: hundreds of lines for one model.
	logNormal
	logFailure
	logContinued // More of the line before.
)

// write takes the next piece. All but the details go to the log, for debugging: what matters comes back as an error.
func (s *logSink) write(kind logKind, piece string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind != logContinued {
		s.skip = kind == logDetail
	}
	if s.skip {
		return
	}
	s.line.WriteString(piece)
	if !strings.HasSuffix(piece, "\n") && s.line.Len() < maxLogLine {
		return
	}
	text := strings.TrimSpace(s.line.String())
	s.line.Reset()
	if text == "" {
		return
	}
	if kind == logFailure && s.failure == "" {
		s.failure = text
	}
	if s.log != nil {
		s.log.LogAttrs(context.Background(), slog.LevelDebug, text)
	}
}

// takeFailure returns the first error that was printed since the last call, and forgets it.
func (s *logSink) takeFailure() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.failure
	s.failure = ""
	return text
}
