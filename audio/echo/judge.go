package echo

const (
	reverb     = 24  // Hops after which a room has gone silent: 384 ms.
	reverbFall = 1.5 // dB by which it does in a hop, at least: a room whose reverberation takes 0.64 s to fall by 60 dB.

	floorRise = 0.03 // dB a hop by which the noise floor may rise: 2 dB a second.
	floorFall = 0.2  // The share of a fall that it follows in a hop.
	standOut  = 6.0  // dB by which speech stands out of the noise floor.
	faint     = -75  // dBFS below which no band counts.
	most      = 20.0 // dB of excess that one band can give.

	rising   = 0.12 // The share of a difference that the coupling follows in a hop, upwards,
	falling  = 0.06 // downwards: it should lie above most of what is measured,
	creeping = 0.01 // and upwards while the caller seems to speak.
	leap     = 6.0  // dB of a rise that it follows at most.
	lowest   = -50  // dB below which no coupling is believed.
)

// judge tells the caller's voice from what remains of the agent's. For each band it knows the far sound whose echo may be
// heard now, and how loud its echo was at most until now; what is louder is excess. The mean of all bands decides, so that
// one band in which the room rings is no caller.
type judge struct {
	meter *meter
	far   [reach + 2 + reverb]bands // Of the last hops, the newest at head.
	head  int
	later int   // How many of these are not measured yet: nothing was to be compared with them.
	floor bands // The near sound's noise.
	fresh bool  // Whether floor was measured.

	// The coupling is how loud an echo is against the far sound that caused it: raw as it comes, left after the filter. The
	// first depends on the room alone and so is still true when the filter has to begin anew.
	raw, left bands

	excess  float64 // The verdict on the last hop: see Frame.
	audible bool    // Whether the last hop's near sound stands out of the noise.
}

// sight is what a judge has to know of the locator.
type sight struct {
	lag     int  // Of the echo, in samples.
	located bool // Whether it is that of this answer.
	learn   bool // Whether enough is known to learn from this hop.
	foreign bool // Whether what is heard is no echo, since it would have been found.
}

// newJudge returns a judge who thinks an echo as loud as its cause possible.
func newJudge() *judge {
	j := &judge{meter: newMeter()}
	for i := range j.far {
		j.far[i] = all(silent)
	}
	return j
}

// distrust forgets how good the filter was.
func (j *judge) distrust() { j.left = j.raw }

// rest takes a hop in which nothing of an answer is heard.
func (j *judge) rest(near []float64) {
	j.push()
	j.quieten(j.meter.of(near))
	j.excess = 0
}

// step takes the last block of near sound and what remains of it, which may be the same, and what was played until now.
func (j *judge) step(near, left []float64, f *far, s sight) {
	j.push()
	n := j.meter.of(near)
	if n == all(silent) && silence(left) && !(s.learn && j.learns()) {
		j.quieten(n)
		j.excess, j.audible = 0, false
		return
	}
	j.measure(f)
	l := n
	if &left[0] != &near[0] {
		l = j.meter.of(left)
	}
	j.quieten(n)
	echo, direct := j.cause(s)
	if s.foreign {
		echo = all(silent)
	}
	raw, excess, loud := 0.0, 0.0, 0.0
	for b := range bandCount {
		floor := max(j.floor[b]+standOut, faint)
		coupling := j.left[b]
		if !s.located { // The filter stands at the lag of an earlier answer and may do more harm than good.
			coupling = max(coupling, j.raw[b])
		}
		loud += over(n[b], floor) / float64(bandCount)
		raw += over(n[b], max(floor, echo[b]+j.raw[b])) / float64(bandCount)
		excess += over(l[b], max(floor, echo[b]+coupling)) / float64(bandCount)
	}
	j.excess, j.audible = excess, loud >= threshold
	for b := range bandCount {
		// Where the far sound just fell, the room decides what is heard, and where the echo drowns, the noise does.
		if s.learn && direct[b] && echo[b]+j.raw[b] > j.floor[b] {
			follow(&j.raw[b], n[b]-echo[b], raw)
			follow(&j.left[b], l[b]-echo[b], excess)
		}
	}
}

// push makes place for the levels of the last block of far sound.
func (j *judge) push() {
	j.head = (j.head + len(j.far) - 1) % len(j.far)
	j.later = min(j.later+1, len(j.far))
}

// measure finds the levels of far sound that are not known yet.
func (j *judge) measure(f *far) {
	for ; j.later > 0; j.later-- {
		k := j.later - 1
		j.far[(j.head+k)%len(j.far)] = j.meter.of(f.behind(k * hop))
	}
}

// learns reports whether silence would teach anything: that an echo is softer than was thought.
func (j *judge) learns() bool { return j.raw != all(lowest) || j.left != all(lowest) }

// quieten follows the noise floor.
func (j *judge) quieten(near bands) {
	if !j.fresh {
		j.floor, j.fresh = near, true
	}
	for b, n := range near {
		if n < j.floor[b] {
			j.floor[b] += floorFall * (n - j.floor[b])
		} else {
			j.floor[b] += floorRise
		}
	}
}

// cause returns the level of the far sound whose echo may be heard now, and in which bands that is the direct sound and
// not reverberation. Until the lag is known it may be any far sound within reach.
func (j *judge) cause(s sight) (levels bands, direct [bandCount]bool) {
	from, to := 0, reach
	if s.located {
		from = s.lag / hop
		to = from + 2
	}
	levels = all(silent)
	for k := from; k < to+reverb; k++ {
		fall := reverbFall * float64(max(0, k-to+1))
		for b, level := range j.far[(j.head+k)%len(j.far)] {
			if level -= fall; level > levels[b] {
				levels[b], direct[b] = level, fall == 0
			}
		}
	}
	return levels, direct
}

// over returns by how much level is over limit, in dB.
func over(level, limit float64) float64 { return min(most, max(0, level-limit)) }

// follow lets a coupling follow what was measured, and hardly upwards when there is an excess: that is the caller, or else
// an echo that has become louder.
func follow(coupling *float64, measured, excess float64) {
	rate := falling
	switch {
	case measured > *coupling && excess >= threshold:
		rate = creeping
	case measured > *coupling:
		rate = rising
	}
	*coupling = max(lowest, *coupling+rate*min(leap, measured-*coupling))
}
