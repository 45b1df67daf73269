package main

import (
	"bytes"
	"strings"
	"testing"

	"tenon/internal/app"
	"tenon/internal/core/importexport"
	"tenon/internal/core/tree"
)

// The exit status says whether rows would be lost; the report is a table, or what clients get.
func TestImportCheck(t *testing.T) {
	t.Parallel()
	r := &importexport.Report{
		Relations: []importexport.RelationReport{{Name: "labels", Counts: tree.Counts{Read: 3, Written: 2, Lost: 1}}, {Name: "label"}},
		Items:     []importexport.ReportItem{{Relation: "labels", Line: 2, Action: tree.Lost, Reason: "title <is> taken", Title: "bug"}},
	}
	f := newFlags()
	f.began = true
	if code := f.report(lossOf(r)); code != exitFailed {
		t.Errorf("with a lost row: exit code %d", code)
	}
	if code := f.report(lossOf(&importexport.Report{})); code != 0 {
		t.Errorf("without: exit code %d", code)
	}
	if code := f.report(usageError{&app.UnreadableError{Reason: "broken"}}); code != exitUsage {
		t.Errorf("a broken file: exit code %d", code)
	}
	for _, tt := range []struct {
		json bool
		want string
	}{
		{false, "RELATION  READ  WRITTEN  MERGED  CHANGED  LOST\nlabels    3     2        0       0        1\n\nACTION  RELATION  LINE  TITLE  REASON\nlost    labels    2     \"bug\"  title <is> taken\n"},
		{true, `"relation": "labels",`},
	} {
		var out bytes.Buffer
		if err := printLoss(&out, r, tt.json); err != nil || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%v: %s (%v)", tt.json, out.String(), err)
		}
	}
}
