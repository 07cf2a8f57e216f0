package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"riposte/budget"
)

// queues reads how full the queues have been when Prometheus asks. Those of time are told in seconds, and the others in things.
type queues struct{ *Metrics }

// queueDescs are what is told of each queue in one unit.
type queueDescs struct{ limit, high, dropped *prometheus.Desc }

func describeQueues(unit string) queueDescs {
	one, why := []string{"queue"}, []string{"queue", "reason"}
	return queueDescs{
		limit: prometheus.NewDesc("riposte_queue_limit_"+unit, "What a queue may hold; one of each call, where each has its own.", one, nil),
		high:  prometheus.NewDesc("riposte_queue_high_"+unit, "The most that a queue held in the last minute, of all calls the one that held most.", one, nil),
		dropped: prometheus.NewDesc("riposte_queue_dropped_"+unit+"_total",
			"What was thrown away of a queue: full, since there was no place or it came too late, or stale, since nobody wanted it any more, as after an interruption.", why, nil),
	}
}

var queuesOfItems, queuesOfTime = describeQueues("items"), describeQueues("seconds")

// Describe says what there may be.
func (queues) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []queueDescs{queuesOfItems, queuesOfTime} {
		out <- d.limit
		out <- d.high
		out <- d.dropped
	}
}

// Collect reads it.
func (m queues) Collect(out chan<- prometheus.Metric) {
	for _, q := range m.Queues {
		collect(q, out)
	}
}

func collect(q *budget.Queue, out chan<- prometheus.Metric) {
	d, unit := queuesOfItems, 1.0
	if q.Timed {
		d, unit = queuesOfTime, 1/float64(time.Second)
	}
	s := q.State()
	tell := func(desc *prometheus.Desc, kind prometheus.ValueType, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, kind, float64(v)*unit, labels...)
	}
	tell(d.limit, prometheus.GaugeValue, q.Limit, q.Name)
	tell(d.high, prometheus.GaugeValue, s.High, q.Name)
	tell(d.dropped, prometheus.CounterValue, s.Full, q.Name, "full")
	tell(d.dropped, prometheus.CounterValue, s.Stale, q.Name, "stale")
}
