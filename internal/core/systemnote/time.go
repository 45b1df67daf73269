package systemnote

import (
	"time"

	"tenon/internal/core/timelog"
)

// time tells how the time of an issue or merge request changed, whose estimate is in seconds.
func (s *Service) time(d timelog.Diff, estimate int64) []string {
	var lines []string
	if d.OldEstimate != nil {
		old := *d.OldEstimate
		switch {
		case estimate == 0:
			lines = append(lines, "removed time estimate of "+s.Times.Human(old))
		case old == 0:
			lines = append(lines, "added time estimate of "+s.Times.Human(estimate))
		default:
			lines = append(lines, "changed time estimate to "+s.Times.Human(estimate)+" from "+s.Times.Human(old))
		}
	}
	if e := d.Deleted; e != nil {
		lines = append(lines, "deleted "+s.Times.Human(e.Spent)+" of spent time from "+e.SpentAt.UTC().Format(time.DateOnly))
	}
	if d.Reset {
		lines = append(lines, "removed time spent")
	}
	at := " of time spent at " + d.SpentAt.UTC().Format(time.DateTime) + " UTC"
	switch {
	case d.Spent > 0:
		lines = append(lines, "added "+s.Times.Human(d.Spent)+at)
	case d.Spent < 0:
		lines = append(lines, "subtracted "+s.Times.Human(-d.Spent)+at)
	}
	return lines
}
