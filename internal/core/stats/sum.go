package stats

import (
	"slices"
	"time"

	"tenon/internal/core/deploy"
)

// total is what a day or a longer time counts.
type total struct {
	there       bool // a project has deployed or had an incident
	production  bool // that was in production: incidents are counted
	deployments uint64
	incidents   uint64
	times       []uint64 // milliseconds
}

// sums are the totals of the days of a query.
type sums struct {
	Query
	days    []total
	offsets map[Month]int // of the day before the first of a month among the days
}

func newSums(q Query) *sums {
	out := &sums{Query: q, days: make([]total, q.days()), offsets: map[Month]int{}}
	first := Month(q.Start.Year()*12 + int(q.Start.Month()) - 1)
	for m := first; !m.Start().After(q.End); m++ {
		out.offsets[m] = int(m.Start().Sub(q.Start)/(24*time.Hour)) - 1
	}
	return out
}

// day is a day of a month, nil where the query does not cover it.
func (s *sums) day(m Month, n int) *total {
	offset, ok := s.offsets[m]
	if at := offset + n; ok && at >= 0 && at < len(s.days) {
		return &s.days[at]
	}
	return nil
}

// add adds what a project has counted on a day in environments of a tier. Failures are those of production alone.
func (s *sums) add(m Month, n int, tier deploy.Tier, deployments, incidents uint64) {
	d := s.day(m, n)
	if d == nil {
		return
	}
	d.there = true
	if tier == deploy.Production {
		d.production = true
		d.incidents += incidents
	}
	if tier == deploy.Production || s.Metric != ChangeFailureRate {
		d.deployments += deployments
	}
}

func (s *sums) addTime(m Month, n int, ms uint64) {
	if d := s.day(m, n); d != nil {
		d.times = append(d.times, ms)
	}
}

// timed reports whether the metric is a median that looks at a tier.
func (s *sums) timed(tier deploy.Tier) bool {
	return s.Metric == LeadTimeForChanges || s.Metric == TimeToRestoreService && tier == deploy.Production
}

// addFigures adds figures that were counted for the answer.
func (s *sums) addFigures(of key, f *figures) {
	if !slices.Contains(s.Tiers, of.Tier) {
		return
	}
	for n, d := range f {
		if d == nil {
			continue
		}
		s.add(of.Month, n, of.Tier, d.deployments, d.incidents)
		if !s.timed(of.Tier) {
			continue
		}
		times := d.leads
		if s.Metric == TimeToRestoreService {
			times = d.restores
		}
		for _, ms := range times {
			s.addTime(of.Month, n, ms)
		}
	}
}

// points are the values of the days that count something, or of the longer times with such days.
func (s *sums) points() []Point {
	switch s.Interval {
	case All:
		return []Point{{nil, s.value(s.days)}}
	case Monthly:
		out := []Point{}
		for from := 0; from < len(s.days); {
			date := s.Start.AddDate(0, 0, from)
			first := date.AddDate(0, 0, 1-date.Day())
			to := min(from+int(first.AddDate(0, 1, 0).Sub(date)/(24*time.Hour)), len(s.days))
			if slices.ContainsFunc(s.days[from:to], func(d total) bool { return d.there }) {
				out = append(out, Point{&first, s.value(s.days[from:to])})
			}
			from = to
		}
		return out
	}
	out := []Point{}
	for i := range s.days {
		if s.days[i].there {
			date := s.Start.AddDate(0, 0, i)
			out = append(out, Point{&date, s.value(s.days[i : i+1])})
		}
	}
	return out
}

// value is that of the metric over days: a sum, the median of their medians, or a quotient of sums.
func (s *sums) value(days []total) *float64 {
	var all total
	var medians []float64
	for i := range days {
		d := &days[i]
		all.there, all.production = all.there || d.there, all.production || d.production
		all.deployments, all.incidents = all.deployments+d.deployments, all.incidents+d.incidents
		if len(d.times) > 0 {
			slices.Sort(d.times)
			medians = append(medians, median(d.times)/1000)
		}
	}
	switch {
	case s.Metric == DeploymentFrequency && all.there:
		return new(float64(all.deployments))
	case s.Metric == ChangeFailureRate && all.production:
		return new(float64(all.incidents) / float64(max(all.deployments, 1)))
	case len(medians) > 0:
		slices.Sort(medians)
		return new(median(medians))
	}
	return nil
}

// median is that of sorted values, at least one: the mean of the middle two where their number is even.
func median[T uint64 | float64](sorted []T) float64 {
	n := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return float64(sorted[n])
	}
	return (float64(sorted[n-1]) + float64(sorted[n])) / 2
}
