package scenario

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// errorTests are lines that make no sense, with what is said of them.
var errorTests = []struct{ line, want string }{
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
	{`caller waits -1s`, `x.turn:2: "-1s" is no time`},
	{`caller waits 20h`, `x.turn:2: 20h is too long: a script may take 10m0s for one thing`},
	{`caller says "stop [-1s]"`, `x.turn:2: "-1s" is no pause`},
	{`caller floods "stop" 1000000 times`, `x.turn:2: 1000000 is too much`},
	{`fake caller shouts`, `x.turn:2: "shouts" is no thing that the caller does`},
	{`real fake caller commits`, `x.turn:2: "fake" is no line`},
	{`model answers "what" calling`, `x.turn:2: a word is missing`},
	{`model answers "what" calling weather`, `x.turn:2: a text in quotation marks is missing`},
	{`model answers "what"`, `x.turn:2: "with" has to stand`},
	{`settings tools`, `x.turn:2: a word is missing`},
	{`caller returns "sunny"`, `x.turn:2: "sunny" stands where no text can`},
	{`now history tool "x"`, `x.turn:2: "tool" says nothing: system, user, assistant, call, result do`},
	{`room brings noise`, `x.turn:2: "noise" stands where a text in quotation marks has to`},
}

// What makes no sense is refused, with its place and what would.
func TestErrors(t *testing.T) {
	for _, test := range errorTests {
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

// What a script says is what is read.
func TestParse(t *testing.T) {
	within, after := 400*time.Millisecond, time.Duration(0)
	stop := "stop"
	for _, test := range []struct {
		line string
		want Line
	}{
		{`caller says "my name [600ms] is" at 200ms a word # and more`, Line{Statement: Says{
			Speech: Speech{{Word: "my"}, {Word: "name"}, {Pause: 600 * time.Millisecond}, {Word: "is"}}, Word: 200 * time.Millisecond,
		}}},
		{`fake model 80ms 10ms`, Line{With: Fake, Statement: Takes{Engine: Model, First: 80 * time.Millisecond, Next: 10 * time.Millisecond}}},
		{`real room brings "dog" 3s`, Line{With: Real, Statement: Brings{Noise: "dog", For: 3 * time.Second}}},
		{`expect turn "stop" after 0s within 400ms of onset`, Line{Statement: Expect{
			Event: Wanted{Name: "turn", Text: &stop}, After: &after, Within: &within, OfOnset: true,
		}}},
		{`expect no done completed for 400ms`, Line{Statement: Expect{No: true, Event: Wanted{Name: "done", Notes: []string{"completed"}}, Within: &within}}},
		{`now history user "stop", assistant "All right."`, Line{Statement: Holds{Messages: []Message{{"user", "stop"}, {"assistant", "All right."}}}}},
		{`now 2 turns`, Line{Statement: Happened{Times: 2, Event: Wanted{Name: "turn"}}}},
		{`model answers "and now" with "No."`, Line{Statement: Answers{Question: "and now", Text: "No."}}},
		{`model answers "how is it" calling weather "Rome", time "Oslo"`, Line{Statement: Answers{Question: "how is it", Calls: []Call{{"weather", "Rome"}, {"time", "Oslo"}}}}},
		{`model says "Let me look." calling weather "Rome"`, Line{Statement: Answers{Text: "Let me look.", Calls: []Call{{"weather", "Rome"}}}}},
		{`caller returns weather "sunny"`, Line{Statement: Returns{Tool: "weather", Text: "sunny"}}},
		{`settings tools weather, time`, Line{Statement: SetTools{Names: []string{"weather", "time"}}}},
		{`now history call "weather Rome", result "sunny"`, Line{Statement: Holds{Messages: []Message{{"call", "weather Rome"}, {"result", "sunny"}}}}},
		{`voice fails after 1`, Line{Statement: Fails{Engine: Voice, After: 1}}},
		{`settings meaning low`, Line{Statement: SetMeaning{Eagerness: "low"}}},
	} {
		test.want.At = "x:1"
		s, err := Parse("x", test.line)
		if want := (Script{Lines: []Line{test.want}}); err != nil || !reflect.DeepEqual(s, want) {
			t.Errorf("%s: %+v, %v, want %+v", test.line, s, err, want)
		}
	}
}
