package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"riposte/tool"
	"riposte/tool/mcp"
	"riposte/tool/web"
)

// toolSettings are what the model may call and the service runs: the section tools of a config file.
type toolSettings struct {
	HTTP  map[string]web.Request `yaml:"http,omitempty"`  // Requests, by the name under which the model calls them.
	MCP   map[string]mcpSettings `yaml:"mcp,omitempty"`   // MCP servers, by their labels.
	Hosts []string               `yaml:"hosts,omitempty"` // Whose MCP servers clients may name.
}

// mcpSettings is one MCP server: a command or an address.
type mcpSettings struct {
	Command []string          `yaml:"command,omitempty"` // A program and its arguments.
	Env     map[string]string `yaml:"env,omitempty"`     // Variables of its environment; ${NAME} is one of ours.
	URL     string            `yaml:"url,omitempty"`     // Where it is reached over streamable HTTP.
	Headers map[string]string `yaml:"headers,omitempty"` // Of each request; ${NAME} is a variable of our environment.
	Tools   []string          `yaml:"tools,omitempty"`   // Those that are taken; without any, all.
	Timeout time.Duration     `yaml:"timeout,omitempty"` // Of one call. It defaults to 20s.
	Bytes   int               `yaml:"bytes,omitempty"`   // How much of a result the model reads. It defaults to 4096.
}

// inType is what yaml says of our types, which mean nothing to people.
var inType = regexp.MustCompile(` in type [a-z]+\.[A-Za-z]+`)

// UnmarshalText reads the section: YAML, of which JSON is a part. kong calls it.
func (t *toolSettings) UnmarshalText(b []byte) error {
	type plain toolSettings // which does not read itself
	var out plain
	d := yaml.NewDecoder(strings.NewReader(string(b)))
	d.KnownFields(true)
	if err := d.Decode(&out); err != nil && strings.TrimSpace(string(b)) != "" {
		return errors.New(inType.ReplaceAllString(durationError(err.Error()), " (docs/tools.md lists all)"))
	}
	*t = toolSettings(out)
	return nil
}

// label is what an MCP server may be called.
var label = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// validate says what of the settings makes no sense, as far as that can be seen without the environment.
func (t toolSettings) validate() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(t.HTTP)) {
		if _, err := named(t.HTTP[name], name).Tool(func(string) (string, bool) { return "", true }); err != nil {
			errs = append(errs, fmt.Errorf("tools.http.%s: %w", name, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.MCP)) {
		m := t.MCP[name]
		u, err := url.Parse(m.URL)
		switch {
		case !label.MatchString(name):
			err = errors.New("a server's name has 1 to 64 letters, digits, dots, _ and -")
		case (len(m.Command) > 0) == (m.URL != ""):
			err = errors.New("it has to have a command, such as [npx, -y, some-server], or a url, and not both")
		case len(m.Command) > 0 && len(m.Headers) > 0:
			err = errors.New("headers are for a server with a url; a command has env")
		case m.URL != "" && len(m.Env) > 0:
			err = errors.New("env is for a server with a command; a url has headers")
		case m.URL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == ""):
			err = fmt.Errorf("url is %q: it has to begin with http:// or https:// and a host", m.URL)
		case m.Timeout < 0 || m.Bytes < 0:
			err = errors.New("timeout and bytes must not be negative")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("tools.mcp.%s: %w", name, err))
		}
	}
	if err := mcp.CheckHosts(t.Hosts); err != nil {
		errs = append(errs, fmt.Errorf("tools.hosts: %w", err))
	}
	return errors.Join(errs...)
}

// named gives a request its name.
func named(r web.Request, name string) web.Request {
	r.Name = name
	return r
}

// requests makes the tools that are requests.
func (t toolSettings) requests() (out tool.List, err error) {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(t.HTTP)) {
		made, err := named(t.HTTP[name], name).Tool(os.LookupEnv)
		if err != nil {
			errs = append(errs, fmt.Errorf("tools.http.%s: %w", name, err))
			continue
		}
		out = append(out, made)
	}
	return out, errors.Join(errs...)
}

// server makes an MCP server, which is not opened yet.
func (m mcpSettings) server(name string) (*mcp.Server, error) {
	s := &mcp.Server{
		Label: name, Command: slices.Clone(m.Command), URL: m.URL, Only: m.Tools, Timeout: m.Timeout, Bytes: m.Bytes, Version: version, Env: map[string]string{},
	}
	var errs []error
	expand := func(text string) string {
		out, err := tool.Expand(text, os.LookupEnv)
		if err != nil {
			errs = append(errs, fmt.Errorf("tools.mcp.%s: %w", name, err))
		}
		return out
	}
	for i, argument := range s.Command {
		s.Command[i] = expand(argument)
	}
	for key, value := range m.Env {
		s.Env[key] = expand(value)
	}
	header, err := tool.Headers(m.Headers, os.LookupEnv)
	if err != nil {
		errs = append(errs, fmt.Errorf("tools.mcp.%s: headers: %w", name, err))
	}
	s.Header = http.Header(header)
	return s, errors.Join(errs...)
}
