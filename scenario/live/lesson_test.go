package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// written writes what the model is taught, a line each.
func written(t *testing.T, lessons []lesson) []string {
	t.Helper()
	var out []string
	for n, l := range lessons[:len(lessons)/lectures] {
		for _, o := range l.items(n) {
			b, err := json.Marshal(o["item"])
			if err != nil {
				t.Fatal(err)
			}
			var it item
			if err := json.Unmarshal(b, &it); err != nil {
				t.Fatal(err)
			}
			switch {
			case it.Type == "function_call":
				out = append(out, fmt.Sprintf("%s calls %s", it.CallID, about(it.Name, it.Arguments)))
			case it.Output != nil:
				out = append(out, it.CallID+" returns "+*it.Output)
			default:
				out = append(out, it.Role+": "+it.text())
			}
		}
	}
	return out
}

func TestLessons(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`caller says "what time [500ms] is it"`, "user: What time is it?|assistant: It is noon."},
		{"model says \"One two.\"\nmodel answers \"stop\" with \"All right.\"\ncaller says \"count\"\ncaller says \"stop\"\ncaller says \"count\"",
			"user: Count.|assistant: One two.|user: Stop.|assistant: All right."},
		// Where meaning decides, nothing of what will be said is given away.
		{"settings meaning\nmodel says \"Smith.\"\ncaller says \"my name is\"", "user: Hello.|assistant: Smith.|user: Go on, please.|assistant: Smith."},
		{"model answers \"how is it\" calling weather \"Rome\"\nmodel answers \"sunny\" with \"It is sunny.\"\ncaller says \"how is it\"\ncaller returns weather \"sunny\"",
			"user: How is it?|taught_0_0 calls weather Rome|taught_0_0 returns sunny|assistant: It is sunny."},
		{"model answers \"how is it\" with \"Let me look.\" calling weather \"Rome\"\nmodel answers \"stop it\" with \"All right.\"\ncaller says \"how is it\"\ncaller says \"stop it\"",
			"user: How is it?|assistant: Let me look.|taught_0_0 calls weather Rome|user: Stop it.|assistant: All right."},
		{"fake model says \"No.\"\ncaller adds \"hello\"", "user: Hello.|assistant: It is noon."},
	} {
		got := written(t, lessons(parse(t, test.text)))
		if want := strings.Split(test.want, "|"); !slices.Equal(got, want) {
			t.Errorf("%q teaches\n%q, want\n%q", test.text, got, want)
		}
	}
}
