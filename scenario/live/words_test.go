package live

import "testing"

func TestSame(t *testing.T) {
	for _, test := range []struct {
		want, got string
		same      bool
	}{
		{"what time is it", "What time is it?", true},
		{"my number is four two seven one", "My number is 4-2-7-1.", true},
		{"the weather in Rome today", "the weather in Paris today", true}, // one word in five
		{"stop", "Shop.", false},
		{"yes", "", false},
		{"", "", true},
		{"", "Thank you.", false},
		{"All right.", "It is noon.", false},
	} {
		if got := same(test.want, test.got); got != test.same {
			t.Errorf("same(%q, %q) = %v", test.want, test.got, got)
		}
	}
}

func TestBegins(t *testing.T) {
	for _, test := range []struct {
		text, whole string
		begins      bool
	}{
		{"One two three", "One two three four five.", true},
		{"One two three four five.", "One two three four five.", false},
		{"", "One two.", false},
		{"One thr", "One three.", false},
		{"two", "One two.", false},
		{"It's noon,", "It's noon, and late.", true},
	} {
		if got := begins(test.text, test.whole); got != test.begins {
			t.Errorf("begins(%q, %q) = %v", test.text, test.whole, got)
		}
	}
}

// A recogniser that hears a cut word more or less is right; one that hears a sentence more is not.
func TestSounds(t *testing.T) {
	for _, test := range []struct {
		said, heard string
		sounds      bool
	}{
		{"alpha bravo charlie", "Alpha Bravo Charlie.", true},
		{"alpha bravo charlie", "Alpha Bravo Charlie Delt", true},
		{"alpha bravo charlie", "Alpha Bravo.", false},
		{"One two three", "1, 2, 3, 4", true},
		{"alpha", "Alpha bravo charlie delta", false},
		{"", "Alpha bravo charlie", false},
	} {
		if got := sounds(test.said, test.heard); got != test.sounds {
			t.Errorf("sounds(%q, %q) = %v, %d letters apart", test.said, test.heard, got, distance(letters(test.said), letters(test.heard)))
		}
	}
}
