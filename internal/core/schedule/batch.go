package schedule

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Seen is a schedule with its project as the actor sees it.
type Seen struct {
	*Schedule
	Project *project.Project
}

// ByIDs returns those of the schedules with these ids that the actor may read, in two statements.
func (s *Service) ByIDs(ctx context.Context, as authz.Actor, ids []ID) (map[ID]*Seen, error) {
	out := make(map[ID]*Seen, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("s.id", ids)
	rows, err := db.Select[Schedule](ctx, s.DB, "SELECT "+columns+" FROM pipeline_schedules s"+w.SQL()+" ORDER BY s.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("schedules by id: %w", err)
	}
	readable, err := project.Readable(ctx, s.Projects, as, rows, project.Rule[Schedule]{
		Project: func(row *Schedule) project.ID { return row.ProjectID },
		Needs: func(_ *Schedule, p *project.Project) (authz.Ability, authz.Subject) {
			return reading(p), p.Subject()
		},
	})
	for _, found := range readable {
		out[found.Row.ID] = &Seen{found.Row, found.Project}
	}
	return out, err
}

// Permissions is what an actor may do with a schedule.
type Permissions struct {
	Admin         bool // delete it
	Play          bool
	TakeOwnership bool
	Update        bool
}

// Permissions says what the actor may do with a schedule of a project that it read.
func (s *Service) Permissions(ctx context.Context, as authz.Actor, p *project.Project, row *Schedule) (may Permissions, err error) {
	create, err := s.Policy.Can(ctx, as, authz.CreatePipeline, p.Subject())
	if err != nil {
		return may, err
	}
	for to, ability := range map[*bool]authz.Ability{&may.Admin: authz.DeleteSchedule, &may.Update: authz.UpdateSchedule, &may.TakeOwnership: authz.AdminSchedules} {
		if *to, err = s.Policy.Can(ctx, as, ability, s.subject(as, p, row)); err != nil {
			return Permissions{}, err
		}
	}
	may.Admin, may.Update = may.Admin && create, may.Update && create
	may.Play, err = s.CI.MayRun(ctx, as, p, row.Ref)
	return may, err
}
