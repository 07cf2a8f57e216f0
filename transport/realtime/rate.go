package realtime

// Rate is a limit of what clients may have, as the protocol's rate_limits.updated tells of it.
type Rate struct {
	Name      string  `json:"name"` // "requests" or "tokens".
	Limit     int     `json:"limit"`
	Remaining int     `json:"remaining"`
	Reset     float64 `json:"reset_seconds"` // Until all of it is there again, as far as that is known; 0 where it is not a matter of time.
}

// rates returns what the service knows of its limits; nil where it has none to tell of.
func (s *Server) rates() []Rate {
	if s.Rates == nil {
		return nil
	}
	return s.Rates()
}
