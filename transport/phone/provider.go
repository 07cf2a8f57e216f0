package phone

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// Provider is the API of whoever brings a line, by which calls are led elsewhere.
type Provider struct {
	Name   string       // In errors.
	URL    string       // Where it is, without a slash at its end.
	Client *http.Client // nil is one that bounds a request to ProviderWait.
}

// ProviderWait is how long a request to a provider may take: somebody waits on the line.
const ProviderWait = 5 * time.Second

// A request that a provider did not take, though it may take it the next time, is sent again after a pause: providerTries times in all. So it has to
// be one that does no more the second time.
const (
	providerTries = 3
	providerPause = 200 * time.Millisecond // It doubles.
)

// Do sends a request. Whatever is no success is an error that has what the provider says.
func (p Provider) Do(r *http.Request) error {
	for pause, n := providerPause, 1; ; pause, n = 2*pause, n+1 {
		again, err := p.do(r)
		if err == nil {
			return nil
		}
		err = fmt.Errorf("asking %s: %w", p.Name, err)
		if !again || n == providerTries || r.Body != nil && r.GetBody == nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-r.Context().Done():
			return err
		}
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return err
			}
		}
	}
}

// do sends a request once. again says that the next time may be better.
func (p Provider) do(r *http.Request) (again bool, err error) {
	client := p.Client
	if client == nil {
		client = &http.Client{Timeout: ProviderWait}
	}
	answer, err := client.Do(r)
	if err != nil {
		return true, err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 == 2 {
		return false, nil
	}
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 300)) // what can be read of it is enough
	return answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests, fmt.Errorf("it says %s: %q", answer.Status, said)
}
