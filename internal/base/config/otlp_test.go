package config

import "testing"

// The address of a collector comes from the variable that all programs know, or from ours, which
// is above it.
func TestLoad_otlp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		environ []string
		want    string // "" is a problem
	}{
		{"the usual variable", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"}, "http://127.0.0.1:4318"},
		{"ours too", []string{"TENON_OTLP_ENDPOINT=https://collector.example.com/x", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"}, "https://collector.example.com/x"},
		{"no address", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=127.0.0.1:4318"}, ""},
		{"a password", []string{"TENON_OTLP_ENDPOINT=http://ann:secret@collector"}, ""},
	} {
		c, err := Load(Sources{Environ: tt.environ})
		switch {
		case tt.want == "" && err == nil:
			t.Errorf("%s: taken, want a problem", tt.name)
		case tt.want != "" && (err != nil || c.OTLP == nil || c.OTLP.String() != tt.want):
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	if c, err := Load(Sources{}); err != nil || c.OTLP != nil {
		t.Errorf("nothing given: got %v, %v, want no collector", c, err)
	}
}
