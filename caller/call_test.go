package caller

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"riposte/audio"
)

func TestSay(t *testing.T) {
	for _, f := range []Format{PCM, MuLaw, ALaw} {
		t.Run(string(f), func(t *testing.T) {
			s := server{format: f, turn: func(p *peer, n int) {
				p.answer(300*ms, "item_1", "hello", "resp_1", "hi there")
				if p.after(700 * ms) {
					p.send(accounted("resp_1", "hello", "hi", false))
				}
			}}
			s.converse(t, func(t *testing.T, c *Caller) {
				call := dial(t, c)
				defer call.Close()
				begin := time.Now()
				turn, err := call.Say(t.Context(), speech(600*ms, f.Rate()))
				if err != nil {
					t.Fatal(err)
				}
				// 200 ms until the turn is over, 300 ms for the answer, 100 ms of silence at its beginning.
				if turn.Gap != 600*ms || turn.Audible != 500*ms {
					t.Errorf("gap %v and audible %v, want 600ms and 500ms", turn.Gap, turn.Audible)
				}
				if turn.Silence != 200*ms {
					t.Errorf("the turn was over after %v of silence, want 200ms", turn.Silence)
				}
				if turn.Transcript != "hello" || turn.Answer != "hi" || turn.Cutoffs != 0 {
					t.Errorf("turn = %+v", turn)
				}
				if r := turn.Report; r == nil || r.Verdict != "over" || r.Blame != "llm" || r.Total != 950500*time.Microsecond ||
					r.Stages["mic"] != 30250*time.Microsecond || r.Shares["mic"] != 40*ms || r.Marks["first token"] != 500*ms {
					t.Errorf("report = %+v", r)
				}
				if got := turn.Audio.Duration(turn.Rate); got != 600*ms {
					t.Errorf("answer of %v, want 600ms", got)
				}
				// The call goes on until the answer has been heard and accounted for.
				if took := time.Since(begin); took < 600*ms+500*ms+700*ms || took > 600*ms+500*ms+720*ms {
					t.Errorf("the turn took %v", took)
				}
			})
		})
	}
}

func TestSayAgain(t *testing.T) {
	s := server{turn: func(p *peer, n int) {
		id := string(rune('a' + n))
		p.answer(100*ms, "item_"+id, "said "+id, "resp_"+id, "answer "+id)
		p.send(accounted("resp_"+id, "said "+id, "answer "+id, false))
	}}
	s.converse(t, func(t *testing.T, c *Caller) {
		call := dial(t, c)
		defer call.Close()
		for _, id := range []string{"a", "b", "c"} {
			turn, err := call.Say(t.Context(), speech(410*ms, 24000)) // Not a whole number of frames.
			if err != nil {
				t.Fatal(err)
			}
			// The last frame holds 10 ms of silence, so the turn is over 10 ms earlier after the last voiced sample.
			if turn.Transcript != "said "+id || turn.Answer != "answer "+id || turn.Gap != 410*ms {
				t.Errorf("turn %s: %+v", id, turn)
			}
		}
	})
}

func TestMicrophoneNeverStops(t *testing.T) {
	var p0 *peer
	s := server{turn: func(p *peer, n int) { p0 = p; p.answer(ms, "item_1", "x", "resp_1", "y") }}
	s.greet = func(p *peer, n int, e object) {
		if n == 0 {
			p.send(object{"type": "session.updated"})
			return
		}
		p.send(object{"type": "error", "error": object{"event_id": e["event_id"], "message": "never heard of it"}})
	}
	s.converse(t, func(t *testing.T, c *Caller) {
		call := dial(t, c)
		defer call.Close()
		time.Sleep(time.Second)
		if _, err := call.Say(t.Context(), speech(600*ms, 24000)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		call.Close()
		frames := p0.frames
		if n, want := len(frames), (300+2)*50; n < want {
			t.Fatalf("%d frames in five minutes and more, want %d", n, want)
		}
		for i, at := range frames {
			if want := frames[0].Add(time.Duration(i) * 20 * ms); !at.Equal(want) {
				t.Fatalf("frame %d came at %v, want %v", i, at.Sub(frames[0]), want.Sub(frames[0]))
			}
		}
		from, to, _ := audio.Audible(p0.sound, 24000)
		if got := audio.Duration(to-from, 24000); got != 600*ms {
			t.Errorf("%v of voice came, want 600ms", got)
		}
	})
}

func TestSayToOtherServers(t *testing.T) {
	// They transcribe apart, do not know of reports, and send an answer faster than it plays, in pieces.
	s := server{
		greet: func(p *peer, n int, e object) {
			if n == 0 {
				p.send(object{"type": "session.updated", "session": object{}})
			} // The second is never answered.
		},
		turn: func(p *peer, n int) {
			p.commit("item_1", "")
			p.begin("resp_1")
			p.send(object{"type": "rate_limits.updated"})
			for range 10 {
				p.say("resp_1", "la ", loud(200*ms, 24000, -20))
			}
			p.done("resp_1", "completed")
			if p.after(2500 * ms) {
				p.transcribe("item_1", " late words ")
			}
		},
	}
	s.converse(t, func(t *testing.T, c *Caller) {
		call := dial(t, c)
		defer call.Close()
		begin := time.Now()
		turn, err := call.Say(t.Context(), speech(600*ms, 24000))
		if err != nil {
			t.Fatal(err)
		}
		if turn.Transcript != "late words" || turn.Answer != strings.TrimSpace(strings.Repeat("la ", 10)) || turn.Report != nil {
			t.Errorf("turn = %+v", turn)
		}
		if turn.Gap != 200*ms || turn.Audible != 2*time.Second {
			t.Errorf("gap %v and audible %v, want 200ms and 2s", turn.Gap, turn.Audible)
		}
		if took := time.Since(begin); took < 3300*ms || took > 3320*ms {
			t.Errorf("it took %v, want 600 + 200 ms, and 2.5 s for the words", took)
		}
	})
}

// pausing is speech with a pause that the server takes for the end.
func pausing(first, pause, second time.Duration) Speech {
	return Speech{Sound: slices.Concat(loud(first, 24000, -20), loud(pause, 24000, -90), loud(second, 24000, -20)), Rate: 24000}
}

func TestSayFoldsTurnsThatGoOn(t *testing.T) {
	s := server{turn: func(p *peer, n int) {
		if n == 0 {
			p.commit("item_1", "what is")
			p.send(accounted("resp_none", "what is", "", true)) // Given up before it began.
			return
		}
		p.answer(100*ms, "item_2", "the time", "resp_2", "noon")
		p.send(accounted("resp_2", "the time", "noon", false))
	}}
	s.converse(t, func(t *testing.T, c *Caller) {
		call := dial(t, c)
		defer call.Close()
		turn, err := call.Say(t.Context(), pausing(400*ms, 300*ms, 400*ms))
		if err != nil {
			t.Fatal(err)
		}
		if turn.Transcript != "what is the time" || turn.Answer != "noon" || turn.Cutoffs != 0 || turn.Gap != 400*ms {
			t.Errorf("turn = %+v", turn)
		}
	})
}

func TestSayFoldsTurnsThatAreRecognisedAnew(t *testing.T) {
	for _, transcribes := range []bool{true, false} {
		s := server{turn: func(p *peer, n int) {
			first, both := "what is", "what is the time"
			if !transcribes {
				first, both = "", ""
			}
			if n == 0 {
				p.commit("item_1", first)
				early := accounted("resp_none", "what is", "", true)
				early["item_ids"] = []string{"item_1"}
				p.send(early)
				return
			}
			p.send(object{"type": "conversation.item.deleted", "item_id": "item_1"})
			p.answer(100*ms, "item_2", both, "resp_2", "noon")
			p.send(accounted("resp_2", "what is the time", "noon", false))
		}}
		s.converse(t, func(t *testing.T, c *Caller) {
			call := dial(t, c)
			defer call.Close()
			turn, err := call.Say(t.Context(), pausing(400*ms, 300*ms, 400*ms))
			if err != nil || turn.Transcript != "what is the time" {
				t.Errorf("turn = %+v, %v", turn, err)
			}
		})
	}
}

func TestSayCountsAnswersThatCameTooEarly(t *testing.T) {
	s := server{turn: func(p *peer, n int) {
		if n == 0 {
			p.commit("item_1", "what is")
			p.begin("resp_1")
			p.say("resp_1", "What?", loud(time.Second, 24000, -20))
			if p.after(150 * ms) {
				p.done("resp_1", "cancelled")
			}
			return
		}
		p.answer(100*ms, "item_2", "the time", "resp_2", "noon")
		p.send(accounted("resp_2", "", "", false))
	}}
	s.converse(t, func(t *testing.T, c *Caller) {
		call := dial(t, c)
		defer call.Close()
		turn, err := call.Say(t.Context(), pausing(400*ms, 300*ms, 400*ms))
		if err != nil {
			t.Fatal(err)
		}
		// The early answer would have played until long after the second came; but its rest is thrown away when the server
		// hears the caller.
		if turn.Transcript != "what is the time" || turn.Answer != "noon" || turn.Cutoffs != 1 || turn.Gap != 400*ms {
			t.Errorf("turn = %+v", turn)
		}
	})
}

func TestSayWaitsForAnAnswerToTheWhole(t *testing.T) {
	// The first answer is complete before the caller goes on, and before the server hears that.
	s := server{turn: func(p *peer, n int) {
		if n == 0 {
			p.commit("item_1", "what is")
			p.begin("resp_1")
			p.say("resp_1", "What?", loud(20*ms, 24000, -20))
			p.done("resp_1", "completed")
			p.send(accounted("resp_1", "what is", "What?", false))
			return
		}
		p.answer(100*ms, "item_2", "the time", "resp_2", "noon")
		p.send(accounted("resp_2", "the time", "noon", false))
	}}
	s.converse(t, func(t *testing.T, c *Caller) {
		call := dial(t, c)
		defer call.Close()
		turn, err := call.Say(t.Context(), pausing(400*ms, 300*ms, 20*ms))
		if err != nil || turn.Answer != "noon" {
			t.Errorf("turn = %+v, %v", turn, err)
		}
	})
}

func TestSayTakesAnEarlyAnswerWhenNothingFollows(t *testing.T) {
	// What follows the server's turn is too soft for the server, but not for the caller.
	s := server{turn: func(p *peer, n int) {
		p.answer(ms, "item_1", "hello", "resp_1", "hi")
		p.send(accounted("resp_1", "hello", "hi", false))
	}}
	s.converse(t, func(t *testing.T, c *Caller) {
		call := dial(t, c)
		defer call.Close()
		sp := pausing(400*ms, time.Second, 0)
		sp.Voiced = len(sp.Sound)
		turn, err := call.Say(t.Context(), sp)
		if err != nil || turn.Answer != "hi" {
			t.Fatalf("turn = %+v, %v", turn, err)
		}
		if turn.Gap != -699*ms { // It began 301 ms after the pause did, which is 1 s long.
			t.Errorf("gap = %v, want -699ms", turn.Gap)
		}
	})
}

func TestSayWaitsWhenTheServerTakesTheAnswerBack(t *testing.T) {
	s := server{turn: func(p *peer, n int) {
		p.commit("item_1", "what is")
		p.begin("resp_1")
		p.say("resp_1", "What?", loud(20*ms, 24000, -90))
		p.done("resp_1", "completed")
		p.send(accounted("resp_1", "what is", "", true)) // And yet it takes the caller to go on.
		if p.after(2 * time.Second) {
			p.answer(ms, "item_2", "the time", "resp_2", "noon")
			p.send(accounted("resp_2", "the time", "noon", false))
		}
	}}
	s.converse(t, func(t *testing.T, c *Caller) {
		call := dial(t, c)
		defer call.Close()
		turn, err := call.Say(t.Context(), speech(400*ms, 24000))
		if err != nil || turn.Answer != "noon" || turn.Transcript != "what is the time" {
			t.Errorf("turn = %+v, %v", turn, err)
		}
	})
}

func TestSaySaysAllBeforeItReturns(t *testing.T) {
	s := server{turn: func(p *peer, n int) {
		p.answer(ms, "item_1", "hello", "resp_1", "hi")
		p.send(accounted("resp_1", "hello", "hi", false))
	}}
	s.converse(t, func(t *testing.T, c *Caller) {
		call := dial(t, c)
		defer call.Close()
		begin := time.Now()
		turn, err := call.Say(t.Context(), pausing(400*ms, 5*time.Second, 0))
		if took := time.Since(begin); err != nil || turn.Answer != "hi" || took < 5400*ms {
			t.Errorf("turn = %+v, %v, after %v", turn, err, took)
		}
	})
}

func TestSayFails(t *testing.T) {
	for _, c := range []struct {
		name string
		turn func(p *peer, n int)
		want error
		says string
		has  Turn
	}{
		{
			name: "never answers", want: ErrNoAnswer, says: "took the turn and began no answer",
			turn: func(p *peer, n int) { p.commit("item_1", "hello") }, has: Turn{Transcript: "hello"},
		},
		{
			name: "never ends the answer", want: ErrNoAnswer, says: "broke off after 1s",
			turn: func(p *peer, n int) {
				p.commit("item_1", "hello")
				p.begin("resp_1")
				p.say("resp_1", "Well", loud(time.Second, 24000, -20))
			}, has: Turn{Transcript: "hello", Answer: "Well", Audible: time.Second},
		},
		{
			name: "cancels and says why", want: ErrNoAnswer, says: "no model",
			turn: func(p *peer, n int) {
				p.commit("item_1", "hello")
				p.begin("resp_1")
				p.send(object{"type": "error", "error": object{"message": "no model"}})
				p.done("resp_1", "cancelled")
			}, has: Turn{Transcript: "hello"},
		},
		{
			name: "fails", want: ErrFailed, says: "out of memory",
			turn: func(p *peer, n int) {
				p.commit("item_1", "hello")
				p.begin("resp_1")
				p.send(object{"type": "response.done", "response": object{
					"id": "resp_1", "status": "failed", "status_details": object{"error": object{"message": "out of memory"}},
				}})
			}, has: Turn{Transcript: "hello"},
		},
		{
			name: "dies in the middle of the answer", want: ErrEnded, says: "EOF",
			turn: func(p *peer, n int) {
				p.commit("item_1", "hello")
				p.begin("resp_1")
				p.say("resp_1", "Well", loud(time.Second, 24000, -20))
				p.conn.Close()
			}, has: Turn{Transcript: "hello", Answer: "Well", Audible: time.Second},
		},
		{
			name: "sends garbage", want: ErrGarbage, says: "<html>",
			turn: func(p *peer, n int) { p.raw("<html>") },
		},
		{
			name: "sends JSON that is no event", want: ErrGarbage, says: "[1,2]",
			turn: func(p *peer, n int) { p.raw("[1,2]") },
		},
		{
			name: "sends an event without a type", want: ErrGarbage,
			turn: func(p *peer, n int) { p.raw("{}") },
		},
		{
			name: "sends sound of no answer", want: ErrGarbage, says: "resp_9",
			turn: func(p *peer, n int) { p.say("resp_9", "", loud(20*ms, 24000, -20)) },
		},
		{
			name: "sends broken sound", want: ErrGarbage, says: "base64",
			turn: func(p *peer, n int) {
				p.begin("resp_1")
				p.send(object{"type": "response.output_audio.delta", "response_id": "resp_1", "delta": "§§"})
			},
		},
		{
			name: "sends half a sample", want: ErrGarbage, says: "3 bytes",
			turn: func(p *peer, n int) {
				p.begin("resp_1")
				p.send(object{"type": "response.output_audio.delta", "response_id": "resp_1", "delta": "AAAA"})
			},
		},
		{
			name: "sends an event that is too large", want: ErrEnded, says: "limit",
			turn: func(p *peer, n int) { p.raw(`{"type":"x","pad":"` + strings.Repeat("x", maxMessage) + `"}`) },
		},
		{
			name: "never stops", want: ErrGarbage, says: "an answer of 10m1s",
			turn: func(p *peer, n int) {
				p.begin("resp_1")
				for range 601 {
					p.say("resp_1", "", loud(time.Second, 24000, -20))
				}
			}, has: Turn{Audible: 601 * time.Second},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := server{turn: c.turn}
			s.converse(t, func(t *testing.T, caller *Caller) {
				call := dial(t, caller)
				defer call.Close()
				begin := time.Now()
				turn, err := call.Say(t.Context(), speech(600*ms, 24000))
				wants(t, err, c.want)
				if err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%q does not say %q", err, c.says)
				}
				if turn.Transcript != c.has.Transcript || turn.Answer != c.has.Answer || turn.Audible != c.has.Audible {
					t.Errorf("turn = %q, %q, %v, want what had come until then: %+v", turn.Transcript, turn.Answer, turn.Audible, c.has)
				}
				// Five seconds after the last that was said or heard.
				if took := time.Since(begin); took > 7*time.Second {
					t.Errorf("it took %v to find out", took)
				}
			})
		})
	}
}

func TestSayTakesLargeEvents(t *testing.T) {
	s := server{turn: func(p *peer, n int) {
		p.commit("item_1", "hello")
		p.begin("resp_1")
		p.say("resp_1", "song", loud(200*time.Second, 24000, -20)) // 12.8 MB.
		p.done("resp_1", "completed")
		p.send(accounted("resp_1", "hello", "song", false))
		p.conn.Close() // All is said.
	}}
	s.converse(t, func(t *testing.T, c *Caller) {
		call := dial(t, c)
		defer call.Close()
		turn, err := call.Say(t.Context(), speech(600*ms, 24000))
		if err != nil || turn.Audible != 200*time.Second {
			t.Errorf("audible %v, %v, want 200s", turn.Audible, err)
		}
	})
}

func TestSayHearsNoSpeech(t *testing.T) {
	var s server
	s.converse(t, func(t *testing.T, c *Caller) {
		call := dial(t, c)
		defer call.Close()
		quiet := loud(600*ms, 24000, -90)
		_, err := call.Say(t.Context(), Speech{Sound: quiet, Rate: 24000})
		wants(t, err, ErrNoVoice)
		_, err = call.Say(t.Context(), Speech{Sound: quiet, Rate: 24000, Voiced: len(quiet)})
		wants(t, err, ErrNoAnswer)
		if !strings.Contains(err.Error(), "heard no speech") {
			t.Errorf("%q does not say that no speech was heard", err)
		}
	})
}

func TestSayEndsWithItsContextAndItsCall(t *testing.T) {
	s := server{turn: func(*peer, int) {}}
	s.converse(t, func(t *testing.T, c *Caller) {
		call := dial(t, c)
		tired := errors.New("tired")
		short, cancel := context.WithTimeoutCause(t.Context(), time.Second, tired)
		defer cancel()
		_, err := call.Say(short, speech(600*ms, 24000))
		wants(t, err, tired)
		time.AfterFunc(time.Second, func() { call.Close() })
		_, err = call.Say(t.Context(), speech(600*ms, 24000))
		wants(t, err, ErrClosed)
		_, err = call.Say(t.Context(), speech(600*ms, 24000))
		wants(t, err, ErrClosed)
		if err := call.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestDial(t *testing.T) {
	agree := func(p *peer, n int, e object) { p.send(object{"type": "session.updated", "session": e["session"]}) }
	for _, c := range []struct {
		name   string
		server *server
		want   error
		says   string
	}{
		{name: "agrees", server: &server{greet: agree}},
		{
			name: "is full", want: ErrBusy, says: "Try again in 3s",
			server: &server{refuse: func(w http.ResponseWriter) {
				w.Header().Set("Retry-After", "3")
				http.Error(w, "full", http.StatusServiceUnavailable)
			}},
		},
		{
			name: "does not know the caller", want: ErrKey, says: "(401 Unauthorized): who are you",
			server: &server{refuse: func(w http.ResponseWriter) { http.Error(w, "who are\nyou", http.StatusUnauthorized) }},
		},
		{
			name: "has rules", says: "the server says 403 Forbidden: From nowhere.",
			server: &server{refuse: func(w http.ResponseWriter) {
				http.Error(w, `{"error": {"type": "x", "message": "From nowhere."}}`, http.StatusForbidden)
			}},
		},
		{
			name: "refuses the session", says: "setting up the session: no such voice",
			server: &server{greet: func(p *peer, n int, e object) {
				p.send(object{"type": "error", "error": object{"event_id": e["event_id"], "message": "no such voice"}})
			}},
		},
		{
			name: "refuses the session without saying which event", says: "no such voice",
			server: &server{greet: func(p *peer, n int, e object) {
				p.send(object{"type": "error", "error": object{"message": "no such voice"}})
			}},
		},
		{
			name: "never agrees", says: "says nothing for 10s",
			server: &server{greet: func(p *peer, n int, e object) {}},
		},
		{
			name: "hangs up at once", want: ErrEnded,
			server: &server{greet: func(p *peer, n int, e object) { p.conn.Close() }},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.server.converse(t, func(t *testing.T, caller *Caller) {
				call, err := caller.Dial(t.Context())
				if call != nil {
					defer call.Close()
				}
				if c.want == nil && c.says == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error = %v, want %v that says %q", err, c.want, c.says)
				}
			})
		})
	}
}

func TestDialAsksForWhatTheCallerWants(t *testing.T) {
	var p0 *peer
	s := server{format: MuLaw, greet: func(p *peer, n int, e object) {
		p0 = p
		p.send(object{"type": "session.updated", "session": e["session"]})
	}}
	s.converse(t, func(t *testing.T, c *Caller) {
		c.Voice, c.Language, c.Instructions = "amy", "de", "Be brief."
		dial(t, c).Close()
		session := p0.updates[0]["session"].(object)
		sound := session["audio"].(object)
		in, out := sound["input"].(object), sound["output"].(object)
		if in["format"].(object)["type"] != "audio/pcmu" || out["format"].(object)["type"] != "audio/pcmu" || out["voice"] != "amy" ||
			in["transcription"].(object)["language"] != "de" || session["instructions"] != "Be brief." || session["type"] != "realtime" {
			t.Errorf("session = %v", session)
		}
		if include := p0.updates[1]["session"].(object)["include"].([]any); len(include) != 1 || include[0] != "riposte.turn" {
			t.Errorf("include = %v", include)
		}
	})
}

func TestAddress(t *testing.T) {
	for _, c := range []struct{ url, model, want string }{
		{"ws://host:8080", "", "ws://host:8080/v1/realtime"},
		{"ws://host:8080/", "m 1", "ws://host:8080/v1/realtime?model=m+1"},
		{"https://host/other?key=1", "", "wss://host/other?key=1"},
		{"http://host", "", "ws://host/v1/realtime"},
		{"host:8080", "", "ws://host:8080/v1/realtime"},
		{"ftp://host", "", ""},
		{"ws://", "", ""},
		{"", "", ""},
	} {
		got, err := (&Caller{URL: c.url, Model: c.model}).address()
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: %q, %v, want %q", c.url, got, err, c.want)
		}
	}
}
