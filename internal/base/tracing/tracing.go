// Package tracing sends spans to a collector of OpenTelemetry over OTLP. A nil *Tracer, which
// stands for no collector, does nothing.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Config says where spans go and who sends them.
type Config struct {
	Endpoint *url.URL // of the collector, without v1/traces; nil is no collector
	Version  string   // of the server
	Instance string   // its id
	Log      *slog.Logger
}

// Tracer makes spans.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	remote   propagation.TraceContext
}

// Start begins to send spans, or gives nil where there is no collector. The variables of
// OpenTelemetry, such as OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER and OTEL_SERVICE_NAME,
// say more.
func Start(ctx context.Context, c Config) (*Tracer, error) {
	if c.Endpoint == nil {
		return nil, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(c.Endpoint.JoinPath("v1", "traces").String()))
	if err != nil {
		return nil, fmt.Errorf("start traces: %w", err)
	}
	r, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "tenon"), attribute.String("service.version", c.Version),
		attribute.String("service.instance.id", c.Instance)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("start traces: %w", err)
	}
	// The library has one place for what it cannot send.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { c.Log.Warn("send traces", "error", err) }))
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(r))
	return &Tracer{provider: provider, tracer: provider.Tracer("tenon")}, nil
}

// Close sends what is left.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send last traces: %w", err)
	}
	return nil
}

// Request begins the span of a request over HTTP, as a part of the trace that the client names
// in the header traceparent.
func (t *Tracer) Request(r *http.Request) (with *http.Request, end func()) {
	if t == nil {
		return r, func() {}
	}
	ctx := t.remote.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
	return r.WithContext(ctx), func() { span.End() }
}

// Answered names the span of a request when its route is known. Nothing that the client chose
// goes into it.
func (t *Tracer) Answered(ctx context.Context, method, route string, status int, facts map[string]any) {
	if t == nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetName(method + " " + route)
	span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route), attribute.Int("http.response.status_code", status))
	span.SetAttributes(attributes(facts)...)
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
}

// Work begins the span of something that the server does, such as a job.
func (t *Tracer) Work(ctx context.Context, name string, facts map[string]any) (with context.Context, end func(err error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(attributes(facts)...))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "failed") // the text may hold what clients wrote; the log has it
		}
		span.End()
	}
}

// Statement records a statement that ended as a part of the span of ctx, if there is one.
func (t *Tracer) Statement(ctx context.Context, system, query string, began time.Time, err error) {
	if t == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return
	}
	_, span := t.tracer.Start(ctx, "sql", trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("db.system.name", system), attribute.String("db.query.text", query)))
	if err != nil {
		span.SetStatus(codes.Error, "failed")
	}
	span.End()
}

// attributes are facts of a few types.
func attributes(facts map[string]any) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(facts))
	for key, value := range facts {
		switch v := value.(type) {
		case string:
			out = append(out, attribute.String(key, v))
		case int:
			out = append(out, attribute.Int(key, v))
		case int64:
			out = append(out, attribute.Int64(key, v))
		default:
			out = append(out, attribute.String(key, fmt.Sprint(v)))
		}
	}
	return out
}
