package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"riposte/llm"
	"riposte/tool"
)

func logTo(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// notes is a log that can be read while it is written.
type notes struct {
	mu sync.Mutex
	b  strings.Builder
}

func (n *notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.Write(b)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.String()
}

// open opens a server and closes it after the test.
func open(t *testing.T, s *Server) {
	t.Helper()
	t.Cleanup(s.Close)
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// says calls a tool and returns what the model reads, and before that what became of it where that is no result.
func says(s *Server, ctx context.Context, name, arguments string) string {
	set := tool.Set{Sources: []tool.Source{s}}
	text, err := set.Run(ctx, llm.ToolCall{Name: name, Arguments: json.RawMessage(arguments)})
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return string(e.Kind) + ": " + e.Text
	}
	return text
}

func names(s *Server) (out []string) {
	for _, t := range s.Tools() {
		out = append(out, t.Name)
	}
	return out
}

// until waits until something is so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for began := time.Now(); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// speaks tries what a server with all kinds of tools does on either way.
func speaks(t *testing.T, s *Server, log *notes) {
	open(t, s)
	if got := names(s); !slices.Contains(got, "get_weather") || slices.Contains(got, "lies") {
		t.Errorf("its tools are %v", got)
	}
	if text := log.String(); !strings.Contains(text, "left out") || !strings.Contains(text, "tool=lies") {
		t.Errorf("of a tool that lies the log says %s", text)
	}
	for _, c := range []struct{ name, arguments, want string }{
		{"get_weather", `{"city": "Paris"}`, "21 degrees in Paris"},
		{"get_weather", `{"city": "Atlantis"}`, "failed: The tool failed: Atlantis has sunk"},
		{"get_weather", `{"town": "Paris"}`, "wrong_arguments: Wrong arguments"},
		{"mixed", `{}`, "a\n(a picture, image/png, 9 bytes)\n(a link to file:///b)\nc"},
		{"promises", `{}`, "{\"degrees\":\"warm\"}\n(This result is not in the form that the tool promises.)"},
		{"lies", `{}`, "unknown: "},
	} {
		if got := says(s, t.Context(), c.name, c.arguments); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s with %s: the model reads %q, not %q", c.name, c.arguments, got, c.want)
		}
	}
	if got := says(s, t.Context(), "long", `{}`); len(got) > tool.DefaultBytes+40 || !strings.HasSuffix(got, "(the rest is cut off)") {
		t.Errorf("%d bytes, up to %q", len(got), got[max(0, len(got)-40):])
	}

	// Calls that are cancelled come back at once, and the server is told.
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, stop)
	if got := says(s, ctx, "hang", `{}`); !strings.HasPrefix(got, "cancelled: ") {
		t.Errorf("a call that was cancelled: %q", got)
	}
	if got := says(s, t.Context(), "heard", `{}`); got != "it was told of the cancellation" {
		t.Error(got)
	}

	// Its tools change.
	if got := says(s, t.Context(), "grow", `{}`); got != "done" {
		t.Error(got)
	}
	until(t, "a new tool is there", func() bool { return slices.Contains(names(s), "grown") })
	if got := says(s, t.Context(), "grown", `{}`); got != "new" {
		t.Error(got)
	}
}

func TestStdio(t *testing.T) {
	t.Setenv("RIPOSTE_TEST_SECRET", "x")
	var log notes
	s := child(&log, "serve")
	speaks(t, s, &log)

	// A server that dies is begun anew; a call that it dies of ends.
	before := says(s, t.Context(), "pid", `{}`)
	if got := says(s, t.Context(), "die", `{}`); !strings.HasPrefix(got, "unavailable: ") {
		t.Errorf("a call that the server died of: %q", got)
	}
	until(t, "it is there again", func() bool {
		now := says(s, t.Context(), "pid", `{}`)
		_, err := strconv.Atoi(now)
		return err == nil && now != before
	})

	environment := says(s, t.Context(), "environment", `{}`)
	if !strings.Contains(environment, "RIPOSTE_TEST_MCP=serve") || strings.Contains(environment, "RIPOSTE_TEST_SECRET") {
		t.Errorf("a child has the environment\n%s", environment)
	}
}

func TestStreamableHTTP(t *testing.T) {
	for name, o := range map[string]*sdk.StreamableHTTPOptions{"events": nil, "JSON": {JSONResponse: true}} {
		t.Run(name, func(t *testing.T) {
			server := clerk()
			handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, o)
			var mu sync.Mutex
			down := false
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				is := down
				mu.Unlock()
				if is || r.Header.Get("Authorization") != "Bearer x" {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				handler.ServeHTTP(w, r)
			}))
			defer h.Close()
			defer h.CloseClientConnections()
			var log notes
			s := &Server{Label: "clerk", URL: h.URL, Header: http.Header{"Authorization": {"Bearer x"}}, Timeout: 10 * time.Second, Log: logTo(&log), Dial: &http.Transport{}}
			defer s.Dial.(*http.Transport).CloseIdleConnections()
			speaks(t, s, &log)

			set := func(to bool) { mu.Lock(); down = to; mu.Unlock() }
			set(true)
			if got := says(s, t.Context(), "pid", `{}`); !strings.HasPrefix(got, "unavailable: ") {
				t.Errorf("a call of a server that is down: %q", got)
			}
			until(t, "it is known to be down", func() bool { return s.Err() != nil })
			if got := says(s, t.Context(), "pid", `{}`); !strings.HasPrefix(got, "unavailable: ") {
				t.Errorf("a call of a server that is known to be down: %q", got)
			}
			set(false)
			until(t, "it is there again", func() bool { return says(s, t.Context(), "pid", `{}`) == fmt.Sprint(os.Getpid()) })
			s.Close()
			for open := range server.Sessions() { // whose ends it was not told of while it was down
				open.Close()
			}
		})
	}
}

// A server that says nothing, or is not there, is no reason to wait for ever; and nothing of it is left.
func TestUnreachable(t *testing.T) {
	for name, s := range map[string]*Server{
		"mute":      child(io.Discard, "mute"),
		"no file":   {Command: []string{filepath.Join(t.TempDir(), "none")}},
		"no server": {Command: []string{"sleep", "3600"}},
		"ends":      {Command: []string{"true"}},
		"babbles":   {Command: []string{"yes"}},
		"nobody":    {URL: "http://127.0.0.1:1/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log notes
			s.Label, s.Log, s.Patience = name, logTo(&log), 2*time.Second
			t.Cleanup(s.Close)
			err := s.Open(t.Context())
			if err == nil || s.Err() == nil || len(s.Tools()) != 0 {
				t.Errorf("it was opened: %v", err)
			}
			t.Log(err)
		})
	}
}

// Where a child cannot work, or dies, whoever runs the service reads the last that it wrote; the model does not.
func TestLastWords(t *testing.T) {
	var log notes
	s := child(&log, "broken")
	s.Label = "broken"
	t.Cleanup(s.Close)
	err := s.Open(t.Context())
	if err == nil {
		t.Fatal("it was opened")
	}
	for _, want := range []string{`"step 39", "[31mno such folder[0m: /srv/manuals!!!`, "cut off"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s in it", err, want)
		}
	}
	if text := err.Error(); len(text) > 2000 || strings.Contains(text, "step 35") {
		t.Errorf("all that is told: %v", err)
	}

	s = child(&log, "serve")
	open(t, s)
	got := says(s, t.Context(), "die", `{}`)
	until(t, "it is known why it died", func() bool { return strings.Contains(log.String(), `its error output is \"the secret of my death\"`) })
	if again := says(s, t.Context(), "pid", `{}`); strings.Contains(got+again, "secret") {
		t.Errorf("the model reads %q, then %q", got, again)
	}
}

// However often a server says that its tools have changed, they are listed once in a while.
func TestRestless(t *testing.T) {
	s := child(io.Discard, "restless")
	began := time.Now()
	open(t, s)
	until(t, "they are listed again", func() bool { return !slices.Equal(names(s), []string{"list1"}) })
	lists := 0
	if _, err := fmt.Sscanf(names(s)[0], "list%d", &lists); err != nil || lists > 2+int(time.Since(began)/listPause) {
		t.Errorf("they were listed %d times within %v, %v", lists, time.Since(began), err)
	}
}

// A server that has tools without end is there, with those that can be taken, and fills no log.
func TestEndless(t *testing.T) {
	var log notes
	s := child(&log, "endless")
	open(t, s)
	if lines := strings.Count(log.String(), "left out"); lines != mostLeftOut+1 || len(s.Tools()) != 0 {
		t.Errorf("%d lines of the log, %d tools", lines, len(s.Tools()))
	}
}

// A server that ends as soon as it is there is dialled less and less often.
func TestShortLived(t *testing.T) {
	var log notes
	s := child(&log, "serve")
	open(t, s)
	for i := range 2 {
		until(t, "it is there", func() bool { return s.Err() == nil })
		says(s, t.Context(), "die", `{}`)
		until(t, "it is gone", func() bool { return strings.Count(log.String(), "dialled again") > i })
	}
	if text := log.String(); !strings.Contains(text, "after=500ms") || !strings.Contains(text, "after=1s") || strings.Count(text, "level=WARN msg=\"an MCP server is not there") != 1 {
		t.Errorf("the log says %s", text)
	}
}

// Only what was asked for is taken.
func TestOnly(t *testing.T) {
	s := child(io.Discard, "serve")
	s.Only = []string{"pid", "none"}
	open(t, s)
	if got := names(s); !slices.Equal(got, []string{"pid"}) {
		t.Error(got)
	}
}

// alive reports whether a process is there and no corpse.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// With a server all that it has begun ends, even if it does not want to.
func TestCloseEndsChildren(t *testing.T) {
	var log notes
	s := child(&log, "brood")
	open(t, s)
	server, _ := strconv.Atoi(says(s, t.Context(), "pid", `{}`))
	var grandchild int
	until(t, "the grandchild is known", func() bool {
		_, behind, ok := strings.Cut(log.String(), "brood ")
		_, err := fmt.Sscan(behind, &grandchild)
		return ok && err == nil
	})
	if !alive(server) || !alive(grandchild) {
		t.Fatal("they do not live")
	}
	s.Close()
	until(t, "both are gone", func() bool { return !alive(server) && !alive(grandchild) })

	s = child(io.Discard, "deaf")
	open(t, s)
	server, _ = strconv.Atoi(says(s, t.Context(), "pid", `{}`))
	s.Close()
	if alive(server) {
		t.Error("a server that does not end at the end of its input lives on")
	}
}

// Who is killed leaves no server behind.
func TestKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), "RIPOSTE_TEST_MCP=parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	var server int
	if _, bad := fmt.Sscan(line, &server); err != nil || bad != nil || !alive(server) {
		t.Errorf("the service says %q, %v", line, err)
	}
	_ = parent.Process.Signal(syscall.SIGKILL)
	_ = parent.Wait()
	until(t, "the server is gone", func() bool { return !alive(server) })
}
