package app

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tenon/internal/core/planlimit"
)

// limitsText is the page about limits, with its section about plans made from their table.
func limitsText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	const heading = "## Plan limits\n"
	before, rest, ok := strings.Cut(string(text), heading)
	if !ok {
		t.Fatalf("docs/limits.md has no %q", heading)
	}
	_, after, _ := strings.Cut(rest, "\n## ")
	var b strings.Builder
	b.WriteString(before + heading + `
Administrators read and set the limits of a plan with ` + "`GET` and `PUT /application/plan_limits`" + `. Those of the plan ` + "`default`" + ` hold for all groups and
projects; those of other plans are stored. Of a limit and the server's own bound the lower one holds, and a limit of 0 leaves the bound. What is there already
stays where a limit falls below it. What a limit refuses is answered with 422, a configuration with its problem; a push, merge request or schedule leaves a failed pipeline. Of active pipelines
the newest 1,000 of a project count. This section is made from the table in ` + "`internal/core/planlimit`" + `.

| limit | default | own bound | meaning | in force |
|---|---|---|---|---|
`)
	for _, e := range planlimit.Table() {
		own, force := "none", e.Effect
		if e.Own > 0 {
			own = fmt.Sprint(e.Own)
		}
		switch {
		case e.Area != "":
			own, force = "", "stored, because this server has no "+e.Area
		case e.Later != "":
			own, force = "", "stored, because it belongs to "+e.Later+", which this server does not have yet"
		}
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s | %s |\n", e.Name, e.Default, own, e.Doc, force)
	}
	return b.String() + "\n## " + after
}
