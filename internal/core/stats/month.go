package stats

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/deploy"
	"tenon/internal/core/project"
)

// Month numbers the months of UTC: 12 times the year, and the month from 0.
type Month int64

// MonthOf is the month of a time.
func MonthOf(t db.Time) Month {
	at := t.UTC()
	return Month(at.Year()*12 + int(at.Month()) - 1)
}

// Start is when a month begins.
func (m Month) Start() time.Time {
	return time.Date(int(m/12), time.Month(m%12+1), 1, 0, 0, 0, 0, time.UTC)
}

// sorted are months in their order, each once.
func sorted(months []Month) []Month {
	out := slices.Clone(months)
	slices.Sort(out)
	return slices.Compact(out)
}

// key names the figures of a project, a month and a tier.
type key struct {
	Project project.ID
	Month   Month
	Tier    deploy.Tier
}

// day is what a day counts.
type day struct {
	deployments, incidents uint64
	leads, restores        []uint64 // milliseconds
}

// figures are the days of a month that count something, by their numbers from 1.
type figures [32]*day

// at is a day of the month, which is added where it counted nothing before.
func (f *figures) at(n int) *day {
	if f[n] == nil {
		f[n] = &day{}
	}
	return f[n]
}

// row is a row of dora_months.
type row struct {
	ProjectID    project.ID  `db:"project_id"`
	Month        Month       `db:"month"`
	Tier         deploy.Tier `db:"tier"`
	Counts       []byte      `db:"counts"`
	LeadTimes    []byte      `db:"lead_times"`
	RestoreTimes []byte      `db:"restore_times"`
}

// pack is the row that keeps figures.
func (f *figures) pack(of key) row {
	out := row{ProjectID: of.Project, Month: of.Month, Tier: of.Tier, Counts: []byte{}, LeadTimes: []byte{}, RestoreTimes: []byte{}}
	for n, d := range f {
		if d == nil {
			continue
		}
		for _, v := range []uint64{uint64(n), d.deployments, d.incidents} {
			out.Counts = binary.AppendUvarint(out.Counts, v)
		}
		out.LeadTimes = appendValues(out.LeadTimes, n, d.leads)
		out.RestoreTimes = appendValues(out.RestoreTimes, n, d.restores)
	}
	return out
}

func appendValues(to []byte, n int, values []uint64) []byte {
	if len(values) == 0 {
		return to
	}
	to = binary.AppendUvarint(binary.AppendUvarint(to, uint64(n)), uint64(len(values)))
	for _, v := range values {
		to = binary.AppendUvarint(to, v)
	}
	return to
}

var errPacked = errors.New("stats: a row of dora_months is broken")

// numbers reads packed numbers.
type numbers struct {
	rest   []byte
	broken bool
}

func (n *numbers) next() uint64 {
	v, size := binary.Uvarint(n.rest)
	if size <= 0 {
		n.rest, n.broken = nil, true
		return 0
	}
	n.rest = n.rest[size:]
	return v
}

// counts calls fn for each day of packed counts.
func counts(packed []byte, fn func(n int, deployments, incidents uint64)) error {
	for r := (numbers{rest: packed}); len(r.rest) > 0; {
		n, deployments, incidents := r.next(), r.next(), r.next()
		if r.broken || n < 1 || n > 31 {
			return errPacked
		}
		fn(int(n), deployments, incidents)
	}
	return nil
}

// values calls fn for each value of packed times.
func values(packed []byte, fn func(n int, ms uint64)) error {
	for r := (numbers{rest: packed}); len(r.rest) > 0; {
		n, many := r.next(), r.next()
		if r.broken || n < 1 || n > 31 || many > uint64(len(r.rest)) {
			return errPacked
		}
		for range many {
			fn(int(n), r.next())
		}
		if r.broken {
			return errPacked
		}
	}
	return nil
}
