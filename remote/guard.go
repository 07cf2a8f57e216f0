package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"riposte/budget/trace"
)

// guard stands between the client library and the network: it puts on a request what every one has, and holds the answer to the limits.
type guard struct{ *Server }

// RoundTrip makes a request.
func (g guard) RoundTrip(in *http.Request) (*http.Response, error) {
	out := in.Clone(in.Context())
	for name, values := range g.Headers {
		out.Header[name] = values
	}
	for name := range out.Header {
		if strings.HasPrefix(name, "X-Stainless-") { // what machine we run on is nobody's business
			out.Header.Del(name)
		}
	}
	out.Header.Set("User-Agent", "riposte")
	if g.From != "" {
		out.Header.Set("Via", g.From.via(in.Context()))
	}
	if parent := trace.Traceparent(in.Context(), g.Stage); parent != "" {
		out.Header.Set("Traceparent", parent)
	}
	res, err := g.base.RoundTrip(out)
	if err != nil {
		return nil, fault{ErrUnreachable, g.shown(err.Error())}
	}
	res.Body = &body{ReadCloser: res.Body, guard: g, request: requestOf(in.Context()), left: g.limits.Bytes}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer res.Body.Close()
		return nil, &Refused{Status: res.StatusCode, Why: g.shown(reason(res.Body)), Retry: retryAfter(res.Header, g.now())}
	}
	if r := requestOf(in.Context()); r != nil && len(r.want.Types) > 0 {
		kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
		if !slices.Contains(r.want.Types, kind) {
			res.Body.Close()
			return nil, fault{ErrGarbage, fmt.Sprintf("it is %q and should be %s", g.shown(kind), strings.Join(r.want.Types, " or "))}
		}
	}
	return res, nil
}

// reason finds in the body of a refusal what the server says. Servers have many forms for that.
func reason(body io.Reader) string {
	const most = 4 << 10
	b, _ := io.ReadAll(io.LimitReader(body, most))
	var said struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(b, &said) != nil {
		return string(b)
	}
	var inner struct {
		Message string `json:"message"`
	}
	var text string
	switch {
	case json.Unmarshal(said.Error, &inner) == nil && inner.Message != "":
		return inner.Message
	case json.Unmarshal(said.Error, &text) == nil && text != "":
		return text
	case said.Message != "":
		return said.Message
	case json.Unmarshal(said.Detail, &text) == nil && text != "":
		return text
	}
	return string(b)
}

// body is an answer, which may be so long, and of which nothing of use may come for so long.
type body struct {
	io.ReadCloser
	guard   guard
	request *Request // nil for one that nobody else ends.
	left    int64
}

// Read reads what comes next.
func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fault{ErrBig, fmt.Sprintf("more than %d bytes", b.guard.limits.Bytes)}
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	if r := b.request; r != nil && r.began.Load() {
		began := time.Now()
		idle := time.AfterFunc(b.guard.limits.Idle-time.Duration(r.waited.Load()), func() { r.end(ErrStalled) })
		defer func() { idle.Stop(); r.waited.Add(int64(time.Since(began))) }()
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrCut
	}
	return n, err
}
