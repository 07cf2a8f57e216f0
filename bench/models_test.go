package bench

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"riposte/llm"
)

func TestMeasureModel(t *testing.T) {
	rss := func() (int64, error) { return 1 << 20, nil }
	synctest.Test(t, func(t *testing.T) {
		open := func(context.Context) (llm.Generator, error) {
			time.Sleep(time.Second)
			return &fakeModel{refuses: "whales"}, nil
		}
		m, err := MeasureModel(t.Context(), "fake", open, rss)
		want := Model{Name: "fake", Load: 1000, TTFT: 20, Rate: 10 / 0.110, RSS: 1 << 20, Failed: 1}
		if m.Machine.Cores == 0 {
			t.Error("it does not say on what it was measured")
		}
		m.Machine = Machine{}
		if m.Rate = want.Rate * float64(int(m.Rate/want.Rate*1000+0.5)) / 1000; err != nil || m != want {
			t.Errorf("%+v, %v, want %+v", m, err, want)
		}
	})
	bad := errors.New("bad")
	if _, err := MeasureModel(t.Context(), "bad", func(context.Context) (llm.Generator, error) { return nil, bad }, rss); err != bad {
		t.Errorf("err = %v", err)
	}
}
