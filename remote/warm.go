package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Hold notes that a call may need the server any time: until release is called the connection to it is kept warm. It never waits.
func (s *Server) Hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held++
	if s.held == 1 && s.life.Err() == nil {
		ctx, stop := context.WithCancel(s.life)
		s.unhold = stop
		s.pings.Go(func() { s.keepWarm(ctx) })
	}
	var released bool
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if released {
			return
		}
		released = true
		if s.held--; s.held == 0 && s.unhold != nil {
			s.unhold()
		}
	}
}

// keepWarm sends something whenever nothing was sent for a while.
func (s *Server) keepWarm(ctx context.Context) {
	for {
		if wait := s.limits.Ping - s.now().Sub(time.Unix(0, s.used.Load())); wait > 0 {
			select {
			case <-time.After(wait):
				continue // it may have been used meanwhile
			case <-ctx.Done():
				return
			}
		}
		s.used.Store(s.now().UnixNano())
		if s.breaker.get() == Open {
			continue // its own probe finds out
		}
		if err := s.probeWithin(ctx); err != nil && ctx.Err() == nil {
			s.Log.Debug("a remote server does not answer a ping", "stage", s.Stage, "server", s.Address.String(), "err", err)
			if leave, resting := s.breaker.enter(); resting == nil {
				leave(err, true)
			}
		}
	}
}

// probe finds out whether the server answers at all.
func (s *Server) probe() error { return s.probeWithin(s.life) }

func (s *Server) probeWithin(ctx context.Context) error {
	_, err := s.models(ctx)
	if r, ok := errors.AsType[*Refused](err); ok && r.Status < 500 && r.Status != http.StatusTooManyRequests {
		return nil // it answers, whatever it thinks of lists of models
	}
	if errors.Is(err, ErrGarbage) {
		return nil
	}
	return err
}

// models asks for the names of the models that are served.
func (s *Server) models(ctx context.Context) ([]string, error) {
	ctx, stop := context.WithTimeoutCause(ctx, 2*s.limits.Connect, ErrLate)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Base.JoinPath("models").String(), nil)
	if err != nil {
		return nil, err
	}
	if s.Key != "" {
		req.Header.Set("Authorization", "Bearer "+s.Key)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	defer res.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fault{ErrGarbage, "its list of models: " + s.shown(err.Error())}
	}
	names := []string{}
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

// Check reports whether the server can be reached, takes the key, and serves the model. unsure is what cannot be found out.
func (s *Server) Check(ctx context.Context) (unsure, err error) {
	names, err := s.models(ctx)
	r, refused := errors.AsType[*Refused](err)
	switch {
	case refused && (r.Status == http.StatusNotFound || r.Status == http.StatusMethodNotAllowed || r.Status == http.StatusNotImplemented):
		return fmt.Errorf("%s answers, and lists no models: whether it serves %q shows when it is asked", s.Base.Host, s.Model), nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", s.Base.Host, err)
	case slices.Contains(names, s.Model) || slices.Contains(names, s.Model+":latest"):
		return nil, nil
	}
	for i := range names {
		names[i] = s.shown(names[i])
	}
	const most = 10
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return fmt.Errorf("%s does not list a model %q (it has: %s)", s.Base.Host, s.Model, strings.Join(names, ", ")), nil
}
