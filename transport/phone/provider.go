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

// Do sends a request. Whatever is no success is an error that has what the provider says.
func (p Provider) Do(r *http.Request) error {
	client := p.Client
	if client == nil {
		client = &http.Client{Timeout: ProviderWait}
	}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("asking %s: %w", p.Name, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 300)) // what can be read of it is enough
		return fmt.Errorf("asking %s: it says %s: %q", p.Name, answer.Status, said)
	}
	return nil
}
