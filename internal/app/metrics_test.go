package app

import (
	"fmt"
	"strings"
	"testing"
)

// TestDocs_metrics holds the page on metrics against what a server exports; "make gen" writes it.
func TestDocs_metrics(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	var b strings.Builder
	b.WriteString("# Metrics\n\n" + generated + "`/-/metrics` has these in the text format of Prometheus, for the addresses of `metrics_from`. Histograms have the " +
		"suffixes `_bucket`,\n`_sum` and `_count`. Beside them are those of the Go runtime (`go_*`) and of the process (`process_*`).\n" +
		"[grafana-dashboard.json](../deploy/grafana-dashboard.json) shows them.\n\n| name | type | labels | what it is |\n|---|---|---|---|\n")
	for _, m := range s.App.metrics.List() {
		labels := ""
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		_, _ = fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Type, labels, m.Help)
	}
	compareGolden(t, "../../docs/metrics.md", b.String())
}
