package project

import "time"

// ExpirationPolicy says which container images are cleaned up.
type ExpirationPolicy struct {
	Cadence       string  `json:"cadence"`
	Enabled       bool    `json:"enabled"`
	KeepN         *int64  `json:"keep_n"`
	OlderThan     *string `json:"older_than"`
	NameRegex     *string `json:"name_regex"`
	NameRegexKeep *string `json:"name_regex_keep"`

	// ScheduledAt is when the policy was enabled or given another cadence; nil of one that is
	// not enabled, and of one enabled by a version that did not note it.
	ScheduledAt *time.Time `json:"scheduled_at,omitempty"`
}

// cadences are the values of Cadence, each with the days between two runs.
var cadences = map[string]int{"1d": 1, "7d": 7, "14d": 14, "1month": 30, "3month": 90}

// schedule notes the moment from which the runs of the policy are counted.
func (e *ExpirationPolicy) schedule(was ExpirationPolicy, now time.Time) {
	switch {
	case !e.Enabled:
		e.ScheduledAt = nil
	case !was.Enabled || e.Cadence != was.Cadence:
		at := now.UTC().Truncate(time.Millisecond)
		e.ScheduledAt = &at
	}
}

// NextRun returns the first run of the project's policy after now, a whole number of cadences
// after it was enabled; nil where it is not.
func (p *Project) NextRun(e ExpirationPolicy, now time.Time) *time.Time {
	step := time.Duration(cadences[e.Cadence]) * 24 * time.Hour
	if !e.Enabled || step == 0 {
		return nil
	}
	from := p.CreatedAt.Time
	if e.ScheduledAt != nil {
		from = *e.ScheduledAt
	}
	runs := max(0, now.Sub(from)/step) // so far
	next := from.Add((runs + 1) * step)
	return &next
}
