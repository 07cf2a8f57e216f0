package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"riposte/budget"
)

// moment reads what is when Prometheus asks.
type moment struct{ *Metrics }

var (
	callsDesc   = prometheus.NewDesc("riposte_calls", "Calls that are held.", nil, nil)
	placesDesc  = prometheus.NewDesc("riposte_calls_limit", "Calls that can be held at once.", nil, nil)
	queueDesc   = prometheus.NewDesc("riposte_executor_queue_seconds", "How long the cores need for all awaited work there is: new awaited work waits less.", nil, nil)
	waitingDesc = prometheus.NewDesc("riposte_executor_waiting_jobs", "Jobs whose turn has not come, by class.", []string{"class"}, nil)
	runningDesc = prometheus.NewDesc("riposte_executor_running_jobs", "Jobs that run, by class.", []string{"class"}, nil)
	jobsDesc    = prometheus.NewDesc("riposte_executor_jobs_total", "Jobs by class and by what became of them.", []string{"class", "outcome"}, nil)
	lostDesc    = prometheus.NewDesc("riposte_trace_drops_total", "Traces that were not kept, or spans that were not sent, by who should have and why.", []string{"sink", "reason"}, nil)
	packetsDesc = prometheus.NewDesc("riposte_webrtc_packets_total", "Packets of callers' sound by what became of them: received; missed, since they did not come in time, and of these late, which came after that; recovered or concealed, what stands in the place of those missed, the second in pieces of 20 ms; and others.", []string{"fate"}, nil)
	piecesDesc  = prometheus.NewDesc("riposte_phone_pieces_total", "Pieces of 20 ms of the sound of calls by telephone that have ended, by what became of them: received; twice, since they had come already or came too late; missing, gaps that were made up for by silence; sent; underrun, where an answer's sound was not there in time; stalled, where the service was so late that a schedule began anew.", []string{"fate"}, nil)
	breakerDesc = prometheus.NewDesc("riposte_remote_breaker", "1 for the state in which the breaker of a remote server is: closed, where it is asked; open, where it is not, since it has failed too often; half_open, where the next request tells.", []string{"stage", "server", "state"}, nil)
	remoteDesc  = prometheus.NewDesc("riposte_remote_requests_total", "Requests to remote servers by what became of them: done; failed, or not in time; redialled, after such a failure; refused, since the server rests.", []string{"stage", "server", "fate"}, nil)
)

// breakerStates are all that a breaker can be in.
var breakerStates = []string{"closed", "half_open", "open"}

// Describe says what there may be.
func (moment) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{callsDesc, placesDesc, queueDesc, waitingDesc, runningDesc, jobsDesc, lostDesc, packetsDesc, piecesDesc, breakerDesc, remoteDesc} {
		out <- d
	}
}

// Collect reads it.
func (m moment) Collect(out chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	if m.Calls != nil {
		tell(callsDesc, prometheus.GaugeValue, float64(m.Calls()))
		tell(placesDesc, prometheus.GaugeValue, float64(m.Places))
	}
	if m.Load != nil {
		l := m.Load()
		tell(queueDesc, prometheus.GaugeValue, l.Queue.Seconds())
		for i, counts := range l.Counts {
			class := budget.Class(i).String()
			tell(waitingDesc, prometheus.GaugeValue, float64(l.Waiting[i]), class)
			tell(runningDesc, prometheus.GaugeValue, float64(l.Running[i]), class)
			tell(jobsDesc, prometheus.CounterValue, float64(counts.Done), class, "done")
			tell(jobsDesc, prometheus.CounterValue, float64(counts.Late), class, "late")
			tell(jobsDesc, prometheus.CounterValue, float64(counts.Preempted), class, "preempted")
			tell(jobsDesc, prometheus.CounterValue, float64(counts.Unwanted), class, "unwanted")
		}
	}
	if m.Lost != nil {
		for _, l := range m.Lost() {
			tell(lostDesc, prometheus.CounterValue, float64(l.Count), l.Sink, l.Reason)
		}
	}
	if m.Packets != nil {
		for _, p := range m.Packets() {
			tell(packetsDesc, prometheus.CounterValue, float64(p.Count), p.Fate)
		}
	}
	if m.Pieces != nil {
		for _, p := range m.Pieces() {
			tell(piecesDesc, prometheus.CounterValue, float64(p.Count), p.Fate)
		}
	}
	if m.Remotes != nil {
		for _, r := range m.Remotes() {
			for _, state := range breakerStates {
				is := 0.0
				if r.State == state {
					is = 1
				}
				tell(breakerDesc, prometheus.GaugeValue, is, r.Stage, r.Server, state)
			}
			for _, q := range r.Requests {
				tell(remoteDesc, prometheus.CounterValue, float64(q.Count), r.Stage, r.Server, q.Fate)
			}
		}
	}
}
