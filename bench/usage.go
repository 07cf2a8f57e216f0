package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Usage is what a process has used, and has in use.
type Usage struct {
	CPU        time.Duration `json:"-"`          // Of all its threads since it began.
	RSS        int64         `json:"rss_bytes"`  // Bytes of memory that it has now.
	Heap       int64         `json:"heap_bytes"` // Of these, what Go's heap holds, garbage included; 0 where it is no Go program.
	Goroutines int           `json:"goroutines"` // 0 where it is no Go program.
	Threads    int           `json:"threads"`    // Of the system; only those of Go's own where nobody can look into the process.
	Files      int           `json:"files"`      // Handles, sockets included.
	Sockets    int           `json:"sockets"`    // Of these; 0 where nobody can look into the process.
}

// most returns the most of each.
func (u Usage) most(v Usage) Usage {
	return Usage{
		CPU: max(u.CPU, v.CPU), RSS: max(u.RSS, v.RSS), Heap: max(u.Heap, v.Heap), Goroutines: max(u.Goroutines, v.Goroutines), Threads: max(u.Threads, v.Threads),
		Files: max(u.Files, v.Files), Sockets: max(u.Sockets, v.Sockets),
	}
}

// UsageAt returns a function that asks a service for what it has used: at /metrics, in the names that every Prometheus client
// library gives to a process.
func UsageAt(service string) (func(ctx context.Context) (Usage, error), error) {
	address, err := metricsAt(service)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (Usage, error) { return usage(ctx, address) }, nil
}

// UsageOf is UsageAt for a service on this machine, in a process that is known: it tells of its threads and sockets as well.
func UsageOf(pid int, service string) (func(ctx context.Context) (Usage, error), error) {
	ask, err := UsageAt(service)
	if err != nil {
		return nil, err
	}
	proc := fmt.Sprintf("/proc/%d", pid)
	return func(ctx context.Context) (Usage, error) {
		u, err := ask(ctx)
		if err != nil {
			return u, err
		}
		threads, err := os.ReadDir(proc + "/task")
		if err != nil {
			return u, err
		}
		files, err := os.ReadDir(proc + "/fd")
		if err != nil {
			return u, err
		}
		u.Threads = len(threads)
		for _, f := range files {
			if to, err := os.Readlink(proc + "/fd/" + f.Name()); err == nil && strings.HasPrefix(to, "socket:") { // it may be closed by now
				u.Sockets++
			}
		}
		return u, nil
	}, nil
}

// metricsAt returns where a service tells its metrics.
func metricsAt(service string) (string, error) {
	if !strings.Contains(service, "://") {
		service = "ws://" + service
	}
	u, err := url.Parse(service)
	if err != nil {
		return "", fmt.Errorf("the service's URL: %w", err)
	}
	u.Scheme = map[string]string{"ws": "http", "wss": "https", "http": "http", "https": "https"}[u.Scheme]
	u.Path, u.RawQuery = "/metrics", ""
	return u.String(), nil
}

// usageWait is how long a service may take to say what it has used.
const usageWait = 10 * time.Second

// scrape asks for metrics once.
func scrape(ctx context.Context, address string) (map[string]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(ctx, usageWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s says %s", address, resp.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return families, nil
}

// usage asks once.
func usage(ctx context.Context, address string) (Usage, error) {
	families, err := scrape(ctx, address)
	if err != nil {
		return Usage{}, err
	}
	value := func(name string) float64 {
		for _, m := range families[name].GetMetric() {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
		return 0
	}
	seconds, bytes := value("process_cpu_seconds_total"), value("process_resident_memory_bytes")
	if bytes == 0 {
		return Usage{}, fmt.Errorf("%s does not tell what the process has used", address)
	}
	return Usage{
		CPU: time.Duration(seconds * float64(time.Second)), RSS: int64(bytes), Heap: int64(value("go_memstats_heap_alloc_bytes")),
		Goroutines: int(value("go_goroutines")), Threads: int(value("go_threads")), Files: int(value("process_open_fds")),
	}, nil
}
