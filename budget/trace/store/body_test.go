package store

import (
	"encoding/hex"
	"testing"

	"riposte/budget/trace"
)

// packedBefore is what this version made of full(). A file of it has to be read by every later version.
const packedBefore = "018c94c10ec2200c86ef3e05e1cc81823a7d9711c31c26462309436fbcbb61086308c9765cda75f9bef68f664ef4f700e3fbc3719b283d4cca7c549c92bc0541a189e67c5978" +
	"5142aead737b53bbf9b39e522107e2c0b5840c2d8f12a0568806ad1f48a250ec0794b132dd9fca68ec324140293953024c94aa3881855ddd136b78ea1c5992cebecdeb322aab" +
	"ae216d52b2f9dfc5e24fe9cca17da712f57834f2667b8c5738b2a674c34eb8dd370000ffff"

func TestBodyOfBefore(t *testing.T) {
	packed, err := hex.DecodeString(packedBefore)
	if err != nil {
		t.Fatal(err)
	}
	b, err := unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	var got trace.Turn
	got.Models = full().Models
	b.fill(&got)
	want := full()
	want.ID, want.Call, want.Number, want.Route, want.Version, want.Said, want.Answer, want.Status = "", "", 0, "", "", "", "", ""
	want.Report.Total, want.Report.Verdict, want.Report.Blame, want.Report.Stages = 0, "", "", nil // these have columns
	equal(t, got, want)
	var p packer
	for range 2 { // the second time with what the first has left
		again, err := p.pack(b)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := unpack(again); err != nil {
			t.Fatal(err)
		} else {
			var got trace.Turn
			got.Models = full().Models
			b.fill(&got)
			equal(t, got, want)
		}
	}
	for _, broken := range [][]byte{nil, {0}, {2, 1, 2}, packed[:len(packed)/2]} {
		if _, err := unpack(broken); err == nil {
			t.Errorf("%x was unpacked", broken)
		}
	}
}
