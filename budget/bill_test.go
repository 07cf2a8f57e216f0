package budget

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &Executor{Cores: 1}
		var b Bill
		ctx := WithBill(t.Context(), &b)
		work := func(context.Context, int) error { time.Sleep(30 * ms); return nil }
		go func() { _ = x.Run(t.Context(), Job{Kind: "other"}, work) }()
		synctest.Wait()
		for _, kind := range []string{"stt", "stt", "tts"} {
			if err := x.Run(ctx, Job{Kind: kind}, work); err != nil {
				t.Fatal(err)
			}
		}
		gone, stop := context.WithCancel(ctx)
		stop()
		_ = x.Run(gone, Job{Kind: "stt"}, work) // did not run
		_ = (*Executor)(nil).Run(ctx, Job{Kind: "free"}, work)
		want := map[string]Spent{"stt": {2, 30 * ms, 60 * ms}, "tts": {1, 0, 30 * ms}, "free": {1, 0, 30 * ms}}
		if diff := cmp.Diff(want, b.Work()); diff != "" {
			t.Error(diff)
		}
		if BillOf(t.Context()).Work() != nil {
			t.Error("nobody's bill has work on it")
		}
		BillOf(t.Context()).Add("stt", 0, 0)
	})
}
