package otel

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Protocol is how a collector is talked to.
type Protocol string

// The protocols, by their names in OTEL_EXPORTER_OTLP_PROTOCOL. Collectors listen for the first on port 4317, for the others on 4318.
const (
	GRPC     Protocol = "grpc"
	HTTP     Protocol = "http/protobuf"
	HTTPJSON Protocol = "http/json"
)

// Wanted reports whether spans are to be sent, to a collector that a setting names or else the environment. The environment can
// forbid it too, as OpenTelemetry defines.
func Wanted(endpoint string) bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return endpoint != "" || firstSet("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_TRACES_EXPORTER") == "otlp"
}

// otlp returns what sends spans to the endpoint.
func (s *Sink) otlp(ctx context.Context) (sdk.SpanExporter, error) {
	p := s.Protocol
	if p == "" {
		p = Protocol(firstSet("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"))
	}
	if err := checkEndpoint(s.Endpoint); err != nil {
		return nil, err
	}
	switch p {
	case GRPC, "":
		var options []otlptracegrpc.Option
		if s.Endpoint != "" {
			options = append(options, otlptracegrpc.WithEndpointURL(s.Endpoint))
		}
		return otlptracegrpc.New(ctx, options...)
	case HTTP, HTTPJSON:
		var options []otlptracehttp.Option
		if s.Endpoint != "" {
			// As with OTEL_EXPORTER_OTLP_ENDPOINT, the path for traces is added.
			const path = "/v1/traces"
			options = append(options, otlptracehttp.WithEndpointURL(strings.TrimSuffix(strings.TrimSuffix(s.Endpoint, "/"), path)+path))
		}
		if p == HTTPJSON {
			options = append(options, otlptracehttp.WithEncoding(otlptracehttp.EncodingJSON))
		}
		return otlptracehttp.New(ctx, options...)
	}
	return nil, fmt.Errorf("there is no protocol %q: it is %s, %s or %s", p, GRPC, HTTP, HTTPJSON)
}

// checkEndpoint says what is wrong with a collector's address. An empty one is left to the environment.
func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		err = fmt.Errorf("%q is no address such as http://localhost:4317", endpoint)
	}
	return err
}

// firstSet returns the first of these environment variables that is set.
func firstSet(names ...string) string {
	for _, n := range names {
		if v := os.Getenv(n); v != "" {
			return v
		}
	}
	return ""
}
