package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/llm"
)

const weather = `{"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}}, "required": ["city"]}`

func made(t *testing.T, parameters string, run func(context.Context, json.RawMessage) (string, error)) *Tool {
	t.Helper()
	made, err := New(Tool{Tool: llm.Tool{Name: "get_weather", Parameters: json.RawMessage(parameters)}, Timeout: time.Second, Run: run})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// A call ends in a result or in an error of a kind, whatever the tool does; and each is told of.
func TestRun(t *testing.T) {
	hangs := func(ctx context.Context, _ json.RawMessage) (string, error) { <-ctx.Done(); return "", ctx.Err() }
	for name, c := range map[string]struct {
		arguments string
		run       func(context.Context, json.RawMessage) (string, error)
		kind      Kind
		text      string
	}{
		"works":          {`{"city": "Paris"}`, func(context.Context, json.RawMessage) (string, error) { return "sunny", nil }, OK, "sunny"},
		"fails":          {`{"city": "Paris"}`, func(context.Context, json.RawMessage) (string, error) { return "", errors.New("no clouds") }, Failed, "The tool failed: no clouds"},
		"out of reach":   {`{"city": "Paris"}`, func(context.Context, json.RawMessage) (string, error) { return "", Errorf(Unavailable, "gone") }, Unavailable, "gone"},
		"hangs":          {`{"city": "Paris"}`, hangs, TimedOut, "The tool brought no result within 1s."},
		"lacks":          {`{}`, hangs, WrongArguments, "Wrong arguments"},
		"has none":       {``, hangs, WrongArguments, "Wrong arguments"},
		"another type":   {`{"city": 3}`, hangs, WrongArguments, "Wrong arguments"},
		"out of range":   {`{"city": "Paris", "days": 0}`, hangs, WrongArguments, "Wrong arguments"},
		"is no object":   {`["Paris"]`, hangs, WrongArguments, "Wrong arguments"},
		"is no argument": {`nothing`, hangs, WrongArguments, "Wrong arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told Kind
				s := Set{Sources: []Source{List{made(t, weather, c.run)}}, Ran: func(_ *Tool, k Kind, _ time.Duration) { told = k }}
				text, err := s.Run(t.Context(), llm.ToolCall{Name: "get_weather", Arguments: json.RawMessage(c.arguments)})
				kind := OK
				if e, ok := errors.AsType[*Error](err); ok {
					kind, text = e.Kind, e.Text
				}
				if kind != c.kind || told != c.kind || !strings.HasPrefix(text, c.text) {
					t.Errorf("it ended as %s (told %s) with %q; want %s with %q", kind, told, text, c.kind, c.text)
				}
			})
		})
	}
}

// Who cancels a call has it back at once, as cancelled, even if it was to end then anyway.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(300*time.Millisecond, stop)
		s := Set{Sources: []Source{List{made(t, weather, func(ctx context.Context, _ json.RawMessage) (string, error) {
			<-ctx.Done()
			return "late", nil
		})}}}
		began := time.Now()
		_, err := s.Run(ctx, llm.ToolCall{Name: "get_weather", Arguments: json.RawMessage(`{"city": "Paris"}`)})
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Cancelled || time.Since(began) != 300*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// Of two tools of one name the first counts, and there is an end to what does not exist.
func TestSources(t *testing.T) {
	says := func(text string) *Tool {
		made := made(t, weather, func(context.Context, json.RawMessage) (string, error) { return text, nil })
		made.Server = text
		return made
	}
	s := Set{Sources: []Source{List{says("first")}, List{says("second")}}}
	if offered := s.Offered(); len(offered) != 1 || s.Server("get_weather") != "first" || s.Server("other") != "" {
		t.Errorf("offered are %v, by %q", offered, s.Server("get_weather"))
	}
	if text, err := s.Run(t.Context(), llm.ToolCall{Name: "get_weather", Arguments: json.RawMessage(`{"city": "Paris"}`)}); text != "first" || err != nil {
		t.Error(text, err)
	}
	if _, err := s.Run(t.Context(), llm.ToolCall{Name: "other"}); err == nil || err.(*Error).Kind != Unknown {
		t.Error(err)
	}
}

// A tool whose parameters are none is refused with what is wrong; one whose parameters no grammar can say is offered in less detail,
// and held to all of it.
func TestNew(t *testing.T) {
	for name, parameters := range map[string]string{
		"no JSON":          `{`,
		"no schema":        `{"type": "objekt"}`,
		"not of an object": `{"type": "string"}`,
		"wrong inside":     `{"type": "object", "properties": {"a": {"type": 3}}}`,
		"leads nowhere":    `{"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}`,
		"leads elsewhere":  `{"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/schema"}}}`,
		"is endless":       `{"type": "object", "description": "` + strings.Repeat("a", mostSchema) + `"}`,
	} {
		if _, err := New(Tool{Tool: llm.Tool{Name: "a", Parameters: json.RawMessage(parameters)}}); err == nil {
			t.Errorf("%s: it was taken", name)
		} else {
			t.Logf("%s: %.200v", name, err)
		}
	}
	if _, err := New(Tool{Tool: llm.Tool{Name: "two words"}}); err == nil {
		t.Error("a name with a space was taken")
	}
	hard := `{"type": "object", "properties": {"a": {"type": "string", "description": "One.", "not": {"const": "b"}}}, "required": ["a"]}`
	s := Set{Sources: []Source{List{made(t, hard, func(context.Context, json.RawMessage) (string, error) { return "ran", nil })}}}
	if got := string(s.Offered()[0].Parameters); !strings.Contains(got, "One.") || strings.Contains(got, "not") {
		t.Errorf("the model is told %s", got)
	}
	if _, err := s.Run(t.Context(), llm.ToolCall{Name: "get_weather", Arguments: json.RawMessage(`{"a": "b"}`)}); err == nil || err.(*Error).Kind != WrongArguments {
		t.Error(err)
	}
}

func TestExpand(t *testing.T) {
	env := func(name string) (string, bool) { return "secret", name == "KEY" }
	if got, err := Expand("Bearer ${KEY}, $KEY", env); got != "Bearer secret, $KEY" || err != nil {
		t.Error(got, err)
	}
	if _, err := Expand("${OTHER} ${KEY} ${THIRD}", env); err == nil || !strings.Contains(err.Error(), "OTHER and no THIRD") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if _, err := Headers(map[string]string{"X": "a\r\nY: b"}, env); err == nil {
		t.Error("a header with two lines was taken")
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"short", "short"}, {"a\x1b[31mb\x00c\nd", "a[31mbc\nd"}, {"ünglich genug", "ünglich … (the rest is cut off)"}, {"\xff", "\uFFFD"},
	} {
		if got := Fit(c.text, 9); got != c.want {
			t.Errorf("%q became %q, not %q", c.text, got, c.want)
		}
	}
}

// A tool may be a stranger's: no schema of its, and no arguments, end the process or keep a call for long.
func TestHostile(t *testing.T) {
	for name, c := range map[string]struct{ parameters, arguments string }{
		"itself":  {`{"type": "object", "$ref": "#"}`, `{}`},
		"doubled": {`{"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}`, strings.Repeat(`{"a": `, 50) + "1" + strings.Repeat("}", 50)},
	} {
		s := Set{Sources: []Source{List{made(t, c.parameters, func(context.Context, json.RawMessage) (string, error) { return "ran", nil })}}}
		_, err := s.Run(t.Context(), llm.ToolCall{Name: "get_weather", Arguments: json.RawMessage(c.arguments)})
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != WrongArguments {
			t.Errorf("%s: %v", name, err)
		}
	}
}
