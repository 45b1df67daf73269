package systemnote

import (
	"time"

	"tenon/internal/core/timelog"
)

// Time tells how the time of an issue or merge request changed, whose estimate is in seconds.
func Time(d timelog.Diff, estimate int64) []string {
	var lines []string
	if d.OldEstimate != nil {
		old := *d.OldEstimate
		switch {
		case estimate == 0:
			lines = append(lines, "removed time estimate of "+timelog.Human(old))
		case old == 0:
			lines = append(lines, "added time estimate of "+timelog.Human(estimate))
		default:
			lines = append(lines, "changed time estimate to "+timelog.Human(estimate)+" from "+timelog.Human(old))
		}
	}
	if e := d.Deleted; e != nil {
		lines = append(lines, "deleted "+timelog.Human(e.Spent)+" of spent time from "+e.SpentAt.UTC().Format(time.DateOnly))
	}
	if d.Reset {
		lines = append(lines, "removed time spent")
	}
	at := " of time spent at " + d.SpentAt.UTC().Format(time.DateTime) + " UTC"
	switch {
	case d.Spent > 0:
		lines = append(lines, "added "+timelog.Human(d.Spent)+at)
	case d.Spent < 0:
		lines = append(lines, "subtracted "+timelog.Human(-d.Spent)+at)
	}
	return lines
}
