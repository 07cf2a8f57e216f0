package bench

import (
	"context"
	"errors"
	"fmt"

	"riposte/caller"
	"riposte/caller/lossy"
)

// Networks holds the same conversation with a service twice, over WebRTC: in a good network, and in a bad one.
type Networks struct {
	Turns
	Network lossy.Network // The bad one.
	Began   func(NetworkKind)
}

// NetworkKind tells the two networks apart.
type NetworkKind string

// The networks.
const (
	Clean NetworkKind = "clean"
	Bad   NetworkKind = "bad"
)

// NetworksResult is what Networks measured.
type NetworksResult struct {
	Network lossy.Network `json:"network"`
	Clean   NetworkResult `json:"clean"`
	Bad     NetworkResult `json:"bad"`
}

// NetworkResult is what the conversation was like in one network.
type NetworkResult struct {
	TurnsResult
	Packets map[string]float64 `json:"packets"`               // Of the caller's sound, by what became of them, as the service counts.
	Late    float64            `json:"late_part"`             // The part of these that the service had given up before they came.
	Carried int                `json:"packets_carried"`       // By the network, of all kinds and both ways,
	Lost    int                `json:"packets_lost_underway"` // and lost in it.
	Calls   int                `json:"calls"`                 // 1, unless a turn failed: the next one is then of a new call.
}

// Run holds both conversations.
func (b *Networks) Run(ctx context.Context) (r NetworksResult, err error) {
	r.Network = b.Network
	if r.Clean, err = b.hold(ctx, Clean, lossy.Network{Seed: b.Network.Seed}); err != nil {
		return r, err
	}
	r.Bad, err = b.hold(ctx, Bad, b.Network)
	return r, err
}

// hold holds one.
func (b *Networks) hold(ctx context.Context, kind NetworkKind, n lossy.Network) (r NetworkResult, err error) {
	if b.Began != nil {
		b.Began(kind)
	}
	address, err := metricsAt(b.Caller.URL)
	if err != nil {
		return r, err
	}
	before, err := fates(ctx, address)
	if err != nil {
		return r, err
	}
	proxy, err := lossy.Open(n)
	if err != nil {
		return r, err
	}
	defer proxy.Close()
	turns := b.Turns
	turns.Caller.Wire, turns.Caller.Detour = caller.WebRTC, proxy
	if r.TurnsResult, err = turns.Run(ctx); err != nil {
		return r, err
	}
	if r.Packets, err = fates(ctx, address); err != nil {
		return r, err
	}
	for fate, count := range before {
		r.Packets[fate] -= count
	}
	if all := r.Packets["received"]; all > 0 {
		r.Late = r.Packets["late"] / all
	}
	r.Carried, r.Lost = proxy.Counts()
	r.Calls = 1 + r.Failed
	if n := len(r.Failures); n > 0 && r.Failures[n-1].Turn == r.Turns {
		r.Calls--
	}
	return r, nil
}

// errNoPackets says that nothing is told of packets.
var errNoPackets = errors.New("the service does not tell what becomes of callers' packets: it takes no calls over WebRTC, or is an older one")

// fates asks a service what has become of callers' packets so far.
func fates(ctx context.Context, address string) (map[string]float64, error) {
	families, err := scrape(ctx, address)
	if err != nil {
		return nil, err
	}
	all := map[string]float64{}
	for _, m := range families["riposte_webrtc_packets_total"].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "fate" {
				all[l.GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: %w", address, errNoPackets)
	}
	return all, nil
}
