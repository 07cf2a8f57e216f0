// Package web has tools that are requests over HTTP.
package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"riposte/llm"
	"riposte/tool"
)

// Request is what a tool asks for, as it is configured.
type Request struct {
	Name        string            `yaml:"-"`
	Description string            `yaml:"description,omitempty"` // What the model is told of it.
	Parameters  any               `yaml:"parameters,omitempty"`  // A JSON schema of an object.
	Method      string            `yaml:"method,omitempty"`      // It defaults to GET.
	URL         string            `yaml:"url"`                   // With {name} where an argument goes, in the path or the query, and ${NAME} for a variable of the environment.
	Headers     map[string]string `yaml:"headers,omitempty"`     // With ${NAME} for a variable of the environment.
	Timeout     time.Duration     `yaml:"timeout,omitempty"`     // It defaults to tool.DefaultTimeout.
	Bytes       int               `yaml:"bytes,omitempty"`       // How much of the answer the model reads. It defaults to tool.DefaultBytes.
}

// mostAnswer is how many bytes of an answer are read, at most: what is behind what the model reads is only counted.
const mostAnswer = 1 << 20

// methods are those that a request may have, and whether arguments that are not in the address go into a body.
var methods = map[string]bool{
	http.MethodGet: false, http.MethodDelete: false, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true,
}

// Tool makes the tool of a request, whose address and headers are filled in from the environment by getenv. The error says what to mend.
func (r Request) Tool(getenv func(string) (string, bool)) (*tool.Tool, error) {
	parameters, err := json.Marshal(r.Parameters)
	if err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	r.Method = strings.ToUpper(cmp.Or(r.Method, http.MethodGet))
	if _, ok := methods[r.Method]; !ok {
		return nil, fmt.Errorf("method is %q: it must be GET, POST, PUT, PATCH or DELETE", r.Method)
	}
	if r.Timeout < 0 || r.Bytes < 0 {
		return nil, errors.New("timeout and bytes must not be negative")
	}
	address, err := tool.Expand(r.URL, getenv)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	form, err := parse(address)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	header, err := tool.Headers(r.Headers, getenv)
	if err != nil {
		return nil, fmt.Errorf("headers: %w", err)
	}
	q := &query{Request: r, form: form, header: header, client: client()}
	q.Bytes = cmp.Or(r.Bytes, tool.DefaultBytes)
	t, err := tool.New(tool.Tool{
		Tool:   llm.Tool{Name: r.Name, Description: r.Description, Parameters: parameters},
		Server: "http", Timeout: r.Timeout, Run: q.run,
	})
	if err != nil {
		return nil, err
	}
	var schema struct{ Properties map[string]any }
	_ = json.Unmarshal(parameters, &schema) // New has read it
	for _, name := range form.names() {
		if _, ok := schema.Properties[name]; !ok {
			return nil, fmt.Errorf("url has {%s}, which is none of the parameters", name)
		}
	}
	return t, nil
}

// query is a request that is ready to be made.
type query struct {
	Request
	form   form
	header http.Header
	client *http.Client
}

// client returns one that stays where it was sent: headers with secrets go nowhere else.
func client() *http.Client {
	return &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
		switch {
		case len(via) >= 5:
			return errors.New("it was sent on too often")
		case r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme:
			return fmt.Errorf("it was sent on to another host, %.100q", r.URL.Host)
		}
		return nil
	}}
}

// run makes the request with the arguments.
func (q *query) run(ctx context.Context, arguments json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber() // numbers go as they were written
	var values map[string]any
	if err := d.Decode(&values); err != nil {
		return "", err
	}
	address, rest, err := q.form.fill(values)
	if err != nil {
		return "", err
	}
	var body io.Reader
	switch {
	case methods[q.Method]:
		b, err := json.Marshal(rest)
		if err != nil {
			return "", err
		}
		body = bytes.NewReader(b)
	case len(rest) > 0:
		v := address.Query()
		for name, value := range rest {
			v.Set(name, written(value))
		}
		address.RawQuery = v.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, q.Method, address.String(), body)
	if err != nil {
		return "", err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json, text/plain;q=0.9, */*;q=0.1")
	for name, values := range q.header {
		r.Header[name] = slices.Clone(values)
	}
	answer, err := q.client.Do(r)
	if err != nil {
		return "", unreached(err)
	}
	defer answer.Body.Close()
	return q.read(answer)
}

// unreached says that there was no answer, without the address, which may have something secret in it.
func unreached(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return tool.Errorf(tool.Unavailable, "The tool cannot be reached: %.200s", err.Error())
}

// read returns what the model is to read of an answer.
func (q *query) read(answer *http.Response) (string, error) {
	b, err := io.ReadAll(io.LimitReader(answer.Body, int64(mostAnswer)))
	if err != nil {
		return "", unreached(err)
	}
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	text := string(b)
	switch {
	case strings.HasPrefix(kind, "image/"), strings.HasPrefix(kind, "audio/"), strings.HasPrefix(kind, "video/"), kind == "application/octet-stream":
		text = fmt.Sprintf("(%d bytes of %s)", len(b), kind)
	case kind == "application/json":
		var small bytes.Buffer
		if json.Compact(&small, b) == nil {
			text = small.String()
		}
	}
	text = tool.Fit(strings.TrimSpace(text), q.Bytes)
	switch {
	case answer.StatusCode >= 300:
		return "", tool.Errorf(tool.Failed, "The tool failed with status %d: %s", answer.StatusCode, cmp.Or(text, "nothing more is known"))
	case text == "":
		return "Done; there is nothing to read.", nil
	}
	return text, nil
}
