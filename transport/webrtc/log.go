package webrtc

import (
	"fmt"
	"log/slog"

	"github.com/pion/logging"
)

// logs lets pion log where the service does. What it warns of, such as a candidate that does not answer, is of the day's work here.
type logs struct{ log *slog.Logger }

// NewLogger returns what a part of pion logs to.
func (l logs) NewLogger(scope string) logging.LeveledLogger { return scoped{l.log.With("of", scope)} }

type scoped struct{ log *slog.Logger }

func (scoped) Trace(string)          {}
func (scoped) Tracef(string, ...any) {}
func (scoped) Debug(string)          {}
func (scoped) Debugf(string, ...any) {}
func (scoped) Info(string)           {}
func (scoped) Infof(string, ...any)  {}

func (s scoped) Warn(m string)             { s.log.Debug(m) }
func (s scoped) Warnf(f string, a ...any)  { s.log.Debug(fmt.Sprintf(f, a...)) }
func (s scoped) Error(m string)            { s.log.Debug(m) }
func (s scoped) Errorf(f string, a ...any) { s.log.Debug(fmt.Sprintf(f, a...)) }
