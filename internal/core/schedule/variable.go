package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

// maxVariables is how many variables one schedule has at most.
const maxVariables = 100

var errFull = errs.Broken("", "base", fmt.Sprintf("Maximum number of pipeline schedule variables (%d) exceeded", maxVariables))

func taken(key string) error { return errs.Broken("", "key", "("+key+") has already been taken") }

type variable struct {
	ScheduleID ID     `db:"schedule_id"`
	Key        string `db:"key"`
	Sealed     string `db:"sealed"`
	File       bool   `db:"file"`
	Raw        bool   `db:"raw"`
}

var variableColumns = db.Columns[variable]("v")

func sealedAt(of ID, key string) string { return fmt.Sprintf("variable %s of schedule %d", key, of) }

func (s *Service) open(v *variable) (ci.Variable, error) {
	value, err := s.Box.Open(sealedAt(v.ScheduleID, v.Key), v.Sealed)
	if err != nil {
		return ci.Variable{}, fmt.Errorf("variable %s of schedule %d: %w", v.Key, v.ScheduleID, err)
	}
	return ci.Variable{Key: v.Key, Value: value, File: v.File, Raw: v.Raw}, nil
}

// shown is a variable as those see it who may change it: one whose value was sealed with another key has none, until it is set again.
func (s *Service) shown(v *variable) ci.Variable {
	value, _ := s.Box.Try(sealedAt(v.ScheduleID, v.Key), v.Sealed)
	return ci.Variable{Key: v.Key, Value: value, File: v.File, Raw: v.Raw}
}

// load returns the variables of a schedule by key, as they are stored.
func (s *Service) load(ctx context.Context, of ID) ([]variable, error) {
	rows, err := db.Select[variable](ctx, s.DB, "SELECT "+variableColumns+" FROM pipeline_schedule_variables v WHERE v.schedule_id = ? ORDER BY v.key", of)
	if err != nil {
		return nil, fmt.Errorf("variables of schedule: %w", err)
	}
	return rows, nil
}

// opened returns the variables of a schedule for a pipeline.
func (s *Service) opened(ctx context.Context, of ID) ([]ci.Variable, error) {
	rows, err := s.load(ctx, of)
	if err != nil {
		return nil, err
	}
	out := make([]ci.Variable, len(rows))
	for i := range rows {
		if out[i], err = s.open(&rows[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Variables returns the variables of a schedule to those who may change it, nil to all others who may read it.
func (s *Service) Variables(ctx context.Context, as authz.Actor, p *project.Project, row *Schedule) ([]ci.Variable, error) {
	may, err := s.Policy.Can(ctx, as, authz.CreatePipeline, p.Subject().Reading())
	if err == nil && may {
		may, err = s.Policy.Can(ctx, as, authz.UpdateSchedule, s.subject(as, p, row).Reading())
	}
	if err != nil || !may {
		return nil, err
	}
	rows, err := s.load(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	out := make([]ci.Variable, len(rows))
	for i := range rows {
		out[i] = s.shown(&rows[i])
	}
	return out, nil
}

// FindVariable returns a variable of a schedule to its owner.
func (s *Service) FindVariable(ctx context.Context, as authz.Actor, p *project.Project, id ID, key string) (*ci.Variable, error) {
	if err := s.Policy.Require(ctx, as, authz.CreatePipeline, p.Subject().Reading()); err != nil {
		return nil, err
	}
	row, err := s.find(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.UpdateSchedule, s.subject(as, p, row).Reading()); err != nil {
		return nil, err
	}
	return s.findVariable(ctx, id, key)
}

func (s *Service) findVariable(ctx context.Context, id ID, key string) (*ci.Variable, error) {
	v, err := db.Get[variable](ctx, s.DB, "SELECT "+variableColumns+" FROM pipeline_schedule_variables v WHERE v.schedule_id = ? AND v.key = ?", id, key)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Pipeline Schedule Variable")
	}
	if err != nil {
		return nil, fmt.Errorf("find variable of schedule: %w", err)
	}
	out := s.shown(&v)
	return &out, nil
}

// writesVariables requires the right to change the schedule, and what setsVariables requires.
func (s *Service) writesVariables(ctx context.Context, as authz.Actor, p *project.Project, id ID) error {
	if _, err := s.own(ctx, as, p, id, authz.UpdateSchedule); err != nil {
		return err
	}
	return s.setsVariables(ctx, as, p)
}

// setsVariables requires the role that the project asks for variables of pipelines.
func (s *Service) setsVariables(ctx context.Context, as authz.Actor, p *project.Project) error {
	may, err := s.CI.MaySetVariables(ctx, as, p)
	if err == nil && !may {
		return errs.Denied("")
	}
	return err
}

// AddVariable gives a schedule of the actor another variable.
func (s *Service) AddVariable(ctx context.Context, as authz.Actor, p *project.Project, id ID, v ci.Variable) error {
	if err := s.writesVariables(ctx, as, p, id); err != nil {
		return err
	}
	if err := ci.CheckVariables([]ci.Variable{v}); err != nil {
		return err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := db.ForUpdate[Schedule](ctx, s.DB, db.Row{Table: "pipeline_schedules", ID: id}); err != nil {
			return err
		}
		keys, err := db.Select[string](ctx, s.DB, "SELECT v.key FROM pipeline_schedule_variables v WHERE v.schedule_id = ? ORDER BY v.key", id)
		if err != nil {
			return err
		}
		if len(keys) >= maxVariables {
			return errFull
		}
		for _, key := range keys {
			if key == v.Key {
				return taken(key)
			}
		}
		row := variable{id, v.Key, s.Box.Seal(sealedAt(id, v.Key), v.Value), v.File, v.Raw}
		_, err = db.InsertRow(ctx, s.DB, "pipeline_schedule_variables", &row, "")
		return err
	})
	if errors.Is(err, db.ErrNotFound) {
		return errs.Missing("Pipeline Schedule")
	}
	return errs.Wrap(err, "add variable to schedule")
}

// VariableChanges is what becomes of a variable; nil leaves a field alone.
type VariableChanges struct {
	Value *string
	File  *bool
}

// UpdateVariable changes a variable of a schedule of the actor.
func (s *Service) UpdateVariable(ctx context.Context, as authz.Actor, p *project.Project, id ID, key string, c VariableChanges) (*ci.Variable, error) {
	if err := s.writesVariables(ctx, as, p, id); err != nil {
		return nil, err
	}
	var out ci.Variable
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := db.ForUpdate[Schedule](ctx, s.DB, db.Row{Table: "pipeline_schedules", ID: id}); err != nil {
			return err
		}
		v, err := db.Get[variable](ctx, s.DB, "SELECT "+variableColumns+" FROM pipeline_schedule_variables v WHERE v.schedule_id = ? AND v.key = ?", id, key)
		if err != nil {
			return err
		}
		out = s.shown(&v)
		if c.Value != nil {
			out.Value = *c.Value
		}
		if c.File != nil {
			out.File = *c.File
		}
		if err := ci.CheckVariables([]ci.Variable{out}); err != nil {
			return err
		}
		_, err = s.DB.Exec(ctx, "UPDATE pipeline_schedule_variables SET sealed = ?, file = ? WHERE schedule_id = ? AND key = ?",
			s.Box.Seal(sealedAt(id, key), out.Value), out.File, id, key)
		return err
	})
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Pipeline Schedule Variable")
	}
	if err != nil {
		return nil, errs.Wrap(err, "update variable of schedule")
	}
	return &out, nil
}

// VariableEdit sets a variable of a schedule, whether it is there or not, or deletes one.
type VariableEdit struct {
	Key, Value   string
	File, Delete bool
}

// mayEdit requires what setsVariables requires where the edits set a variable, and nothing more where they only delete.
func (s *Service) mayEdit(ctx context.Context, as authz.Actor, p *project.Project, edits []VariableEdit) error {
	if !slices.ContainsFunc(edits, func(e VariableEdit) bool { return !e.Delete }) {
		return nil
	}
	return s.setsVariables(ctx, as, p)
}

// edit makes all edits of the variables of a schedule, or none. It needs the transaction in which the schedule was made or changed.
func (s *Service) edit(ctx context.Context, id ID, edits []VariableEdit) error {
	if len(edits) == 0 {
		return nil
	}
	rows, err := s.load(ctx, id)
	if err != nil {
		return err
	}
	known := make(map[string]variable, len(rows))
	for _, v := range rows {
		known[v.Key] = v
	}
	var set []variable
	var gone []string
	named := make(map[string]bool, len(edits))
	for _, e := range edits {
		v, there := known[e.Key]
		switch {
		case e.Delete && !there:
			return errs.Missing("Pipeline Schedule Variable")
		case e.Delete:
			gone = append(gone, e.Key)
			delete(known, e.Key)
			continue
		case named[e.Key]:
			return taken(e.Key)
		}
		if err := ci.CheckVariables([]ci.Variable{{Key: e.Key, Value: e.Value, File: e.File, Raw: v.Raw}}); err != nil {
			return err
		}
		named[e.Key] = true
		known[e.Key] = variable{id, e.Key, s.Box.Seal(sealedAt(id, e.Key), e.Value), e.File, v.Raw}
		set = append(set, known[e.Key])
	}
	if len(known) > maxVariables {
		return errFull
	}
	if len(gone) > 0 {
		marks, args := db.Marks(gone)
		if _, err := s.DB.Exec(ctx, "DELETE FROM pipeline_schedule_variables WHERE schedule_id = ? AND key IN ("+marks+")", append([]any{id}, args...)...); err != nil {
			return err
		}
	}
	return db.InsertRows(ctx, s.DB, "pipeline_schedule_variables", set, "ON CONFLICT (schedule_id, key) DO UPDATE SET sealed = excluded.sealed, file = excluded.file")
}

// DeleteVariable deletes a variable of a schedule of the actor and returns what it was.
func (s *Service) DeleteVariable(ctx context.Context, as authz.Actor, p *project.Project, id ID, key string) (*ci.Variable, error) {
	if _, err := s.own(ctx, as, p, id, authz.UpdateSchedule); err != nil {
		return nil, err
	}
	v, err := s.findVariable(ctx, id, key)
	if err != nil {
		return nil, err
	}
	if _, err := s.DB.Exec(ctx, "DELETE FROM pipeline_schedule_variables WHERE schedule_id = ? AND key = ?", id, key); err != nil {
		return nil, fmt.Errorf("delete variable of schedule: %w", err)
	}
	return v, nil
}
