package webrtc

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"riposte/caller/lossy"
	"riposte/transport"
)

// Long events come through whole, both ways, whatever the network loses, and in their order with small ones. A megabyte takes a minute where
// 15 % are lost: so its test is among the long ones.
func TestBigEventsUnderLoss(t *testing.T) {
	const events = 2
	size := 60_000
	if os.Getenv("RIPOSTE_TEST_LONG") == "1" {
		size = 1_000_000
	}
	for _, loss := range []float64{0, 0.05, 0.15} {
		t.Run(fmt.Sprint(loss), func(t *testing.T) {
			t.Parallel()
			s := serve(t, Limits{Message: 2 << 20, Buffer: 4 << 20}, func(ctx context.Context, c transport.Call) error {
				for n := 0; ; {
					in, err := c.Receive(ctx)
					if err != nil {
						return err
					}
					switch in.(type) {
					case transport.Commit:
						err = c.Send(ctx, transport.Fault{Code: "x", Message: strings.Repeat(string(rune('a'+n)), size)})
						n++
					case transport.Clear:
						err = c.Send(ctx, transport.Fault{Code: "small", Message: "x"})
					}
					if err != nil {
						return err
					}
				}
			})
			n, err := lossy.Open(lossy.Network{Loss: loss, Delay: 10 * ms, Jitter: 10 * ms, Seed: 7})
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			p := newPeer(t)
			a, answer := post(t, s.url, "application/sdp", n.Offer(p.offer(nil)))
			if a.StatusCode != http.StatusCreated {
				t.Fatalf("%d: %s", a.StatusCode, answer)
			}
			if answer, err = n.Answer(answer); err != nil {
				t.Fatal(err)
			}
			p.accept(answer)
			p.want("session.created")
			p.want("conversation.created")
			for range events {
				p.send(`{"type":"input_audio_buffer.commit"` + strings.Repeat(" ", size) + `}`)
				p.send(`{"type":"input_audio_buffer.clear"}`)
			}
			for i := range events {
				if e := p.want("error")["error"].(map[string]any); e["message"] != strings.Repeat(string(rune('a'+i)), size) {
					t.Fatalf("event %d came as %.300v", i, e)
				}
				if e := p.want("error")["error"].(map[string]any); e["code"] != "small" {
					t.Fatalf("after event %d came %.300v", i, e)
				}
			}
			if carried, lost := n.Counts(); loss > 0 && lost == 0 {
				t.Errorf("%d packets were carried, none was lost", carried)
			}
		})
	}
}
