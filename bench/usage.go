package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// UsageAt returns a function that asks a service for what it has used: at /metrics, in the names that every Prometheus client
// library gives to a process.
func UsageAt(service string) (func(ctx context.Context) (Usage, error), error) {
	address, err := metricsAt(service)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (Usage, error) { return usage(ctx, address) }, nil
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
	return Usage{CPU: time.Duration(seconds * float64(time.Second)), RSS: int64(bytes)}, nil
}
