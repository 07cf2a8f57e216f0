package scenario

import (
	"strings"
	"testing"
)

// What makes no sense is refused, with its place and what would.
func TestErrors(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{`caller shouts "stop"`, `x.turn:2: "shouts" is no thing that the caller does: known are adds, cancels, clears`},
		{`teller says "stop"`, `x.turn:2: "teller" is no line: known are caller, `},
		{`caller says stop`, `x.turn:2: "stop" stands where a text in quotation marks has to`},
		{`caller says "stop`, `x.turn:2: a quotation mark is missing`},
		{`caller says "stop [soon]"`, `x.turn:2: "soon" is no pause`},
		{`caller waits`, `x.turn:2: a time, such as 200ms is missing`},
		{`caller waits long`, `x.turn:2: "long" is no time: 200ms and 1.5s are`},
		{`caller commits now`, `x.turn:2: "now" is one word too many`},
		{`expect music within 5ms`, `x.turn:2: "music" is no event: known are added, answer`},
		{`expect done soon`, `x.turn:2: "soon" says nothing of done: known are cancelled, completed`},
		{`expect turn "stop" within`, `x.turn:2: a time, such as 200ms is missing`},
		{`expect held within 60ms of friday`, `x.turn:2: "onset" has to stand`},
		{`now history`, `x.turn:2: who said it is missing`},
		{`now 2 musics`, `x.turn:2: "musics" is no event`},
		{`model says`, `x.turn:2: a text in quotation marks is missing`},
		{`settings silence`, `x.turn:2: a time, such as 200ms is missing`},
		{`stt fails after 2`, `x.turn:2: "after" is one word too many`},
	} {
		_, err := Parse("x.turn", "# a script\n"+test.line+"\n")
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.line, err, test.want)
		}
	}
	_, err := Parse("x.turn", "one\n\ntwo # and\n")
	if err == nil || strings.Count(err.Error(), "x.turn:") != 2 || !strings.Contains(err.Error(), "x.turn:3: ") {
		t.Errorf("two lines are wrong: %v", err)
	}
}
