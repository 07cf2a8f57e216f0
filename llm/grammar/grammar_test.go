package grammar

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// matches reports whether a grammar takes a text as a whole.
func matches(g *Grammar, text string) bool {
	m := g.Matcher()
	return m.Advance([]byte(text)) && m.MayEnd()
}

func TestGrammar(t *testing.T) {
	for name, test := range map[string]struct {
		text    string
		yes, no []string
	}{
		"literal":            {`root ::= "yes"`, []string{"yes"}, []string{"", "y", "yess", "no"}},
		"nothing":            {`root ::= ""`, []string{""}, []string{"a"}},
		"choice":             {"root ::= \"yes\" |\n \"no\" | \"\"", []string{"yes", "no", ""}, []string{"yesno"}},
		"rules":              {"root ::= a b # comment\n\n# more\na ::= \"x\"\r\nb ::= [0-9]", []string{"x5"}, []string{"x", "xx"}},
		"group of lines":     {"root ::= (\n  \"a\" |\n  \"b\"\n) \"c\"", []string{"ac", "bc"}, []string{"c"}},
		"star":               {`root ::= "ab"*`, []string{"", "ab", "abab"}, []string{"a", "aba"}},
		"plus":               {`root ::= [a-c]+`, []string{"a", "abc"}, []string{"", "d"}},
		"optional":           {`root ::= "a"? "b"`, []string{"b", "ab"}, []string{"a", "aab"}},
		"exactly":            {`root ::= "ab"{3}`, []string{"ababab"}, []string{"abab", "abababab", "abbb"}},
		"at least":           {`root ::= [ab]{2,}`, []string{"ab", "abba"}, []string{"a"}},
		"between":            {`root ::= [ab]{ 1 , 3 }`, []string{"a", "aba"}, []string{"", "abab"}},
		"none":               {`root ::= "x"{0}`, []string{""}, []string{"x"}},
		"repeated group":     {`root ::= ("a" | "bc"){2,3}`, []string{"aa", "abc", "bcabc"}, []string{"a", "aaaa"}},
		"twice repeated":     {`root ::= ("a"{2}){2}`, []string{"aaaa"}, []string{"aa", "aaa"}},
		"repeated nothing":   {`root ::= ("a"* "b"?)* "c"`, []string{"c", "aabac"}, []string{"aab"}},
		"escapes":            {`root ::= "\x41\u00e9\U0001F600\n\t\r\\\"" [\]\-\[]`, []string{"Aé😀\n\t\r\\\"]", "Aé😀\n\t\r\\\"-"}, []string{"Aé😀\n\t\r\\\"x"}},
		"class with hyphen":  {`root ::= [a-]`, []string{"a", "-"}, []string{"]", "b"}},
		"not":                {`root ::= [^a-cé]`, []string{"d", "è", "\n", "😀"}, []string{"a", "b", "é", "", "dd", "\xff", "\xed\xa0\x80"}},
		"any":                {`root ::= .`, []string{"a", "é", "€", "😀", "\n"}, []string{"", "ab", "\xc3", "\xff"}},
		"recursion":          {"root ::= \"(\" root \")\" | \"\"", []string{"", "(())"}, []string{"(", "())"}},
		"recursion in front": {"root ::= a \"!\"\na ::= \"\" | \"x\" a", []string{"!", "xxx!"}, []string{"x"}},
		"ambiguous":          {"root ::= (\"a\" | \"a\" \"a\")*", []string{"", "a", "aaaaa"}, []string{"b"}},
		"JSON": {"root ::= v\nv ::= \"{\" (s \":\" v (\",\" s \":\" v)*)? \"}\" | \"[\" (v (\",\" v)*)? \"]\" | s | [0-9]+\ns ::= \"\\\"\" [^\"]* \"\\\"\"",
			[]string{`{"a":[1,{"b":"c"}],"d":{}}`, `[[[]]]`, "12"}, []string{`{"a":}`, `[1,]`, `[[]`}},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range test.yes {
				if !matches(g, s) {
					t.Errorf("%q should match", s)
				}
			}
			for _, s := range test.no {
				if matches(g, s) {
					t.Errorf("%q should not match", s)
				}
			}
		})
	}
}

func TestGrammarRefuses(t *testing.T) {
	for name, test := range map[string]struct{ text, says string }{
		"no root":            {`start ::= "a"`, `no rule "root"`},
		"empty":              {``, `no rule "root"`},
		"unknown rule":       {`root ::= missing`, `"missing" is used and not defined`},
		"twice":              {"root ::= \"a\"\nroot ::= \"b\"", "line 2 of the grammar: the rule \"root\" is defined twice"},
		"no rule":            {`= "a"`, "a rule's name"},
		"no ::=":             {`root = "a"`, "followed by ::="},
		"open quote":         {`root ::= "a`, "not closed"},
		"open class":         {`root ::= [a`, "not closed"},
		"open group":         {`root ::= ("a"`, "not closed"},
		"open brace":         {`root ::= "a"{2`, "not closed"},
		"closed group":       {`root ::= "a")`, "not understood"},
		"bad escape":         {`root ::= "\q"`, "no escape"},
		"bad hex":            {`root ::= "\xZZ"`, "hexadecimal"},
		"too large a char":   {`root ::= "\U00110000"`, "hexadecimal"},
		"half a hex":         {`root ::= "\x1`, "hexadecimal"},
		"backslash at end":   {`root ::= "\`, "after \\"},
		"repeats nothing":    {`root ::= * "a"`, "repeats nothing"},
		"bad braces":         {`root ::= "a"{x}`, "no number"},
		"negative":           {`root ::= "a"{-1}`, "no number"},
		"backwards":          {`root ::= "a"{3,1}`, "larger"},
		"empty range":        {`root ::= [z-a]`, "empty"},
		"token":              {`root ::= <[5]>`, "not supported"},
		"token by name":      {`root ::= !<think>`, "not supported"},
		"left recursion":     {"root ::= root \"a\" | \"a\"", "begins with itself"},
		"through another":    {"root ::= a\na ::= b \"x\" | \"y\"\nb ::= a", "begins with itself"},
		"behind nothing":     {"root ::= e root \"a\" | \"b\"\ne ::= f\nf ::= \"\"", "begins with itself"},
		"behind an option":   {"root ::= (\"x\"? [a]*) root | \"b\"", "begins with itself"},
		"never ends":         {"root ::= \"a\" root", "never ends"},
		"nothing can follow": {"root ::= \"a\" []", "nothing can follow"},
		"too large":          {`root ::= ([a-z] [0-9] "x"){200000} ` + strings.Repeat(`"abcdefgh"{2} `, 20000), "too large"},
		"too deep":           {"root ::= " + strings.Repeat("(", 100000) + `"a"`, "nested"},
		"not text":           {"root ::= \"\xff\"", "UTF-8"},
		"too long":           {strings.Repeat(" ", MaxText+1), "bytes"},
		"too many rules":     {"root ::= " + strings.Repeat("a b ", 3) + many(9000), "rules"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(test.text)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("err = %v, should say %q", err, test.says)
			}
		})
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("\nr")
		for ; i > 0; i /= 10 {
			b.WriteByte(byte('0' + i%10))
		}
		b.WriteString("- ::= \"a\"")
	}
	return b.String() + "\na ::= \"\"\nb ::= \"\""
}

// What would take for ever is given up in a bounded time.
func TestGrammarAmbiguous(t *testing.T) {
	for name, text := range map[string]string{
		"stacks":  "root ::= a a a a a a a a \"!\"\na ::= \"x\" a \"y\" a a | \"x\" a a \"z\"? a a \"w\"? | \"x\" | \"\"",
		"options": "root ::= (\"a\"? \"a\"? \"a\"? \"a\"?){2000}",
	} {
		t.Run(name, func(t *testing.T) {
			g, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			m := g.Matcher()
			began := time.Now()
			for range 200 {
				if !m.Advance([]byte("x")) && !m.Advance([]byte("a")) {
					break
				}
			}
			if d := time.Since(began); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
			if m.Err() != nil && (!errors.Is(m.Err(), ErrAmbiguous) || m.Allows(nil) || m.MayEnd() || m.MustEnd()) {
				t.Errorf("err = %v, and it goes on", m.Err())
			}
			t.Log(m.Err(), time.Since(began))
		})
	}
}

func TestMatcherEnds(t *testing.T) {
	g, err := Parse(`root ::= "a" "b"? "c"?`)
	if err != nil {
		t.Fatal(err)
	}
	m := g.Matcher()
	for _, step := range []struct {
		add       string
		may, must bool
	}{{"", false, false}, {"a", true, false}, {"b", true, false}, {"c", true, true}} {
		if !m.Advance([]byte(step.add)) || m.MayEnd() != step.may || m.MustEnd() != step.must {
			t.Errorf("after %q: may end %v, must end %v", step.add, m.MayEnd(), m.MustEnd())
		}
	}
	if m.Advance([]byte("c")) || !m.MustEnd() {
		t.Error("what is not allowed changed something")
	}
}

func TestMatcherForced(t *testing.T) {
	for _, test := range []struct {
		grammar, text, want string
		ends                bool
	}{
		{`root ::= "abc"`, "", "abc", true},
		{`root ::= "abc"`, "ab", "c", true},
		{`root ::= "abc"`, "abc", "", true},
		{`root ::= "ab" [cd] "e"`, "", "ab", false},
		{`root ::= "abx" | "aby"`, "", "ab", false},
		{`root ::= "ab" "c"?`, "", "ab", false},
		{`root ::= [é]`, "", "é", true},
		{`root ::= [éè]`, "", "\xc3", false},
		{`root ::= ("a" | "a") "b"`, "", "ab", true},
		{"root ::= \"a\" root | \"a\" \"a\" \"b\"", "a", "a", false},
	} {
		g, err := Parse(test.grammar)
		if err != nil {
			t.Fatal(err)
		}
		m := g.Matcher()
		m.Advance([]byte(test.text))
		if got, ends := m.Forced(); string(got) != test.want || ends != test.ends {
			t.Errorf("%s after %q: %q, %v, want %q", test.grammar, test.text, got, ends, test.want)
		}
	}
}

// A text that leads through more states than are remembered, and is nested deeply when they are forgotten.
func TestMatcherForgets(t *testing.T) {
	g, err := Parse(`root ::= "(" root ")" | [0-9]{9000}`)
	if err != nil {
		t.Fatal(err)
	}
	const deep = 5000
	m := g.Matcher()
	for range deep {
		if !m.Advance([]byte("(")) {
			t.Fatal("( is not allowed")
		}
	}
	for range 9000 {
		if !m.Advance([]byte("7")) {
			t.Fatal("7 is not allowed")
		}
	}
	if len(m.states) > maxStates+2 {
		t.Errorf("%d states", len(m.states))
	}
	for i := range deep {
		if m.Allows([]byte("7")) || m.MayEnd() || !m.Advance([]byte(")")) {
			t.Fatalf("wrong after %d parentheses", i)
		}
	}
	if !m.MustEnd() {
		t.Error("does not end")
	}
}

func TestUTF8Ranges(t *testing.T) {
	for _, r := range []runeRange{{0, utf8.MaxRune}, {0, 0}, {'a', 'z'}, {0x7f, 0x80}, {0x41, 0x1234}, {0xD000, 0xF000}, {0xFFFF, 0x10000}, {0x12345, 0x54321}, {0x7ff, 0x800}, {0x3F, 0x1003F}} {
		ranges := utf8Ranges(r.lo, r.hi)
		for c := rune(0); c <= utf8.MaxRune; c++ {
			if c >= 0xD800 && c <= 0xDFFF {
				continue
			}
			b := []byte(string(c))
			n := 0
			for _, s := range ranges {
				if len(s) == len(b) && !slices.ContainsFunc(b, func(byte) bool { return false }) {
					ok := true
					for i := range b {
						ok = ok && s[i].lo <= b[i] && b[i] <= s[i].hi
					}
					if ok {
						n++
					}
				}
			}
			want := 0
			if r.lo <= c && c <= r.hi {
				want = 1
			}
			if n != want {
				t.Fatalf("%x-%x: %x is in %d of %v", r.lo, r.hi, c, n, ranges)
			}
		}
	}
}

func TestVocabulary(t *testing.T) {
	text := map[int32][]byte{1: []byte("a"), 2: []byte("ab"), 3: []byte("abc"), 4: []byte("abd"), 5: []byte("b"), 6: nil, 7: []byte("bc"),
		8: []byte("\xc3"), 9: []byte("\xa9"), 10: []byte("\xc3\xa9"), 11: []byte("ab"), 12: []byte("zz")}
	v := NewVocabulary(text)
	for grammar, want := range map[string][]int32{
		`root ::= "abd" | "é"`:    {1, 2, 4, 8, 10, 11},
		`root ::= [ab] "c"?`:      {1, 5, 7},
		`root ::= "q"`:            nil,
		`root ::= .+`:             {1, 2, 3, 4, 5, 7, 8, 10, 11, 12},
		`root ::= "z"{1} "z" "!"`: {12},
	} {
		g, err := Parse(grammar)
		if err != nil {
			t.Fatal(err)
		}
		got := v.Allowed(g.Matcher(), nil)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", grammar, got, want)
		}
	}
}

func TestVocabularySpells(t *testing.T) {
	v := NewVocabulary(map[int32][]byte{1: []byte("a"), 2: []byte("ab"), 3: []byte("abcd"), 4: []byte("b"), 5: []byte("c"), 9: []byte("a")})
	for text, want := range map[string][]int32{"abcab": {2, 5, 2}, "abcda": {3, 1}, "axb": {1}, "": nil, "x": nil} {
		if got := v.Spell([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Whatever the grammar and the text: nothing fails, and the vocabulary allows exactly what the matcher does.
func FuzzGrammar(f *testing.F) {
	f.Add("root ::= \"a\"* b\nb ::= [^a-c] | \"x\"{2,3}", "aax")
	f.Add("root ::= (\"(\" root \")\")? .", "((é")
	f.Add("root ::= \"\\x41\" # c\n", "A")
	words := map[int32][]byte{}
	for i, w := range []string{"a", "aa", "ab", "(", "((", ")", "é", "\xc3", "x", "xx", "\"", "A"} {
		words[int32(i)] = []byte(w)
	}
	v := NewVocabulary(words)
	f.Fuzz(func(t *testing.T, text, follow string) {
		if len(text) > 1000 || len(follow) > 100 {
			return
		}
		g, err := Parse(text)
		if err != nil {
			return
		}
		m := g.Matcher()
		for i := range len(follow) {
			got := v.Allowed(m, nil)
			for token, w := range words {
				if m.Err() == nil && m.Allows(w) != slices.Contains(got, token) {
					t.Fatalf("%q is allowed alone: %v", w, m.Allows(w))
				}
			}
			if !m.Advance([]byte{follow[i]}) {
				break
			}
			if !utf8.ValidString(follow[:i+1]) && m.MayEnd() {
				t.Fatalf("half a character ends %q", follow[:i+1])
			}
		}
	})
}
