package ci

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
)

// Variable is a variable of a pipeline or of a job.
type Variable struct {
	Key    string
	Value  string
	Public bool // may be shown in a log
	Masked bool // runners hide the value in logs
	File   bool // the job gets the path of a file with the value
	Raw    bool // references in the value are left alone

	Protected bool // jobs of protected branches and tags alone get it
}

const (
	maxVariables = 500        // of a pipeline, or that a user gives to a job
	maxValue     = 10_000_000 // bytes of all values together
	maxKey       = 255
)

var keyFormat = regexp.MustCompile(`^[a-zA-Z0-9_]+$`)

// checkVariables holds the variables that a caller gave against their limits.
func checkVariables(vars []Variable) error {
	if len(vars) > maxVariables {
		return errs.Plain(fmt.Sprintf("variables is too long (maximum is %d)", maxVariables))
	}
	size := 0
	for _, v := range vars {
		if !keyFormat.MatchString(v.Key) || len(v.Key) > maxKey {
			return errs.Broken("", "variables.key", "can contain only letters, digits and '_'.")
		}
		if size += len(v.Value); size > maxValue {
			return errs.Plain("variables are too large")
		}
	}
	return nil
}

// CheckVariables holds variables against the limits of those that a pipeline is started with.
func CheckVariables(vars []Variable) error { return checkVariables(vars) }

// list is variables in order: a later one is above an earlier one of the same name.
type list []Variable

func (l *list) add(key, value string) {
	*l = append(*l, Variable{Key: key, Value: value, Public: true})
}

// text adds what users wrote, such as the name of a branch: it does not get at other variables.
func (l *list) text(key, value string) {
	*l = append(*l, Variable{Key: key, Value: value, Public: true, Raw: true})
}
func (l *list) number(key string, n int64) { l.add(key, strconv.FormatInt(n, 10)) }
func (l *list) secret(key, value string) {
	*l = append(*l, Variable{Key: key, Value: value, Masked: true})
}

func (l *list) optional(key, value string) {
	if value != "" {
		l.add(key, value)
	}
}

// unmasked is the variables whose values may be shown.
func (l list) unmasked() list {
	out := make(list, 0, len(l))
	for _, v := range l {
		if !v.Masked {
			out = append(out, v)
		}
	}
	return out
}

// confidential tells the variables whose values jobs alone get.
func (l list) confidential() func(key string) bool {
	kept := map[string]bool{}
	for _, v := range l {
		kept[v.Key] = v.Masked || v.Protected
	}
	return func(key string) bool { return kept[key] }
}

// last returns the value that a name has in the end, "" where it is not there.
func (l list) last(key string) string {
	for _, v := range slices.Backward(l) {
		if v.Key == key {
			return v.Value
		}
	}
	return ""
}

// lookup returns the last of each name.
func (l list) lookup() ciconfig.Lookup {
	values := make(map[string]string, len(l))
	for _, v := range l {
		values[v.Key] = v.Value
	}
	return ciconfig.OfMap(values)
}

// sealedVariable is a row of pipeline_variables.
type sealedVariable struct {
	Key   string `db:"key"`
	Value string `db:"value"`
	File  bool   `db:"file"`
	Raw   bool   `db:"raw"`
}

// pipelineVariables returns the variables that a pipeline was started with.
func (s *Service) pipelineVariables(ctx context.Context, of PipelineID) (list, error) {
	rows, err := db.Select[sealedVariable](ctx, s.DB, "SELECT key, value, file, raw FROM pipeline_variables WHERE pipeline_id = ? ORDER BY key", of)
	if err != nil {
		return nil, fmt.Errorf("variables of pipeline: %w", err)
	}
	out := make(list, len(rows))
	for i, row := range rows {
		value, err := s.Box.Open(pipelineSeal(of, row.Key), row.Value)
		if err != nil {
			return nil, fmt.Errorf("variable %s of pipeline %d: %w", row.Key, of, err)
		}
		out[i] = Variable{Key: row.Key, Value: value, File: row.File, Raw: row.Raw}
	}
	return out, nil
}

func pipelineSeal(of PipelineID, key string) string {
	return fmt.Sprintf("variable %s of pipeline %d", key, of)
}

func jobSeal(of StatusID, key string) string { return fmt.Sprintf("variable %s of job %d", key, of) }

// keepPipelineVariables writes the variables that a pipeline was started with; the last of a name counts.
func (s *Service) keepPipelineVariables(ctx context.Context, of PipelineID, vars []Variable) error {
	type row struct {
		PipelineID PipelineID `db:"pipeline_id"`
		sealedVariable
	}
	var rows []row
	at := map[string]int{}
	for _, v := range vars {
		one := row{of, sealedVariable{v.Key, s.Box.Seal(pipelineSeal(of, v.Key), v.Value), v.File, v.Raw}}
		if i, ok := at[v.Key]; ok {
			rows[i] = one
			continue
		}
		at[v.Key], rows = len(rows), append(rows, one)
	}
	if err := db.InsertRows(ctx, s.DB, "pipeline_variables", rows, ""); err != nil {
		return fmt.Errorf("write variables of pipeline: %w", err)
	}
	return nil
}

// keepVariables writes variables that a job gets from its user, or reports itself as dotenv; the last of a name counts.
func (s *Service) keepVariables(ctx context.Context, of StatusID, vars []Variable, dotenv bool) error {
	list := make([]ownVariable, len(vars))
	for i, v := range vars {
		list[i] = ownVariable{of, v.Key, v.Value}
	}
	return s.keepOwn(ctx, list, dotenv)
}

// keepOwn writes variables of jobs; the last of a name counts.
func (s *Service) keepOwn(ctx context.Context, vars []ownVariable, dotenv bool) error {
	type row struct {
		ownVariable
		Dotenv bool `db:"dotenv"`
	}
	type name struct {
		of  StatusID
		key string
	}
	var rows []row
	at := map[name]int{}
	for _, v := range vars {
		v.Value = s.Box.Seal(jobSeal(v.JobID, v.Key), v.Value)
		if i, ok := at[name{v.JobID, v.Key}]; ok {
			rows[i].ownVariable = v
			continue
		}
		at[name{v.JobID, v.Key}], rows = len(rows), append(rows, row{v, dotenv})
	}
	if err := db.InsertRows(ctx, s.DB, "job_variables", rows, "ON CONFLICT (job_id, key) DO UPDATE SET value = excluded.value, dotenv = excluded.dotenv"); err != nil {
		return fmt.Errorf("write variables of jobs: %w", err)
	}
	return nil
}

// ownVariable is a variable of a job.
type ownVariable struct {
	JobID StatusID `db:"job_id"`
	Key   string   `db:"key"`
	Value string   `db:"value"`
}

// ownVariables reads the variables that jobs got from their users, or reported as dotenv, in the order of the jobs.
func (s *Service) ownVariables(ctx context.Context, of []StatusID, dotenv bool) ([]ownVariable, error) {
	if len(of) == 0 {
		return nil, nil
	}
	marks, args := db.Marks(of)
	rows, err := db.Select[ownVariable](ctx, s.DB, "SELECT job_id, key, value FROM job_variables WHERE dotenv = ? AND job_id IN ("+marks+") ORDER BY job_id, key", append([]any{dotenv}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("variables of jobs: %w", err)
	}
	for i := range rows {
		row := &rows[i]
		if row.Value, err = s.Box.Open(jobSeal(row.JobID, row.Key), row.Value); err != nil {
			return nil, fmt.Errorf("variable %s of job %d: %w", row.Key, row.JobID, err)
		}
	}
	return rows, nil
}

// jobVariables returns the variables that jobs got from their users, or reported as dotenv, in the order of the jobs.
func (s *Service) jobVariables(ctx context.Context, of []StatusID, dotenv bool) (list, error) {
	rows, err := s.ownVariables(ctx, of, dotenv)
	out := make(list, len(rows))
	for i, row := range rows {
		out[i] = Variable{Key: row.Key, Value: row.Value, Public: !dotenv, Raw: dotenv}
	}
	return out, err
}

// ManualVariables returns the variables that users gave to jobs when they started them, by job; a job without any has an empty list. Jobs are left out
// where the actor neither has ReadPipelineDetails nor started the job.
func (s *Service) ManualVariables(ctx context.Context, as authz.Actor, ids []StatusID) (map[StatusID][]Variable, error) {
	out := make(map[StatusID][]Variable, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("s.id", ids)
	rows, err := db.Select[Status](ctx, s.DB, "SELECT "+statusColumns+" FROM commit_statuses s"+w.SQL()+" ORDER BY s.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("variables of jobs: %w", err)
	}
	readable, err := project.Readable(ctx, s.Projects, as, rows, project.Rule[Status]{
		Project: func(j *Status) project.ID { return j.ProjectID },
		Needs: func(j *Status, p *project.Project) (authz.Ability, authz.Subject) {
			subject := p.Subject()
			subject.Own = as.Owns(j.AuthorID)
			return authz.ReadPipelineDetails, subject
		},
	})
	if err != nil {
		return nil, err
	}
	var of []StatusID
	for _, found := range readable {
		of, out[found.Row.ID] = append(of, found.Row.ID), []Variable{}
	}
	vars, err := s.ownVariables(ctx, of, false)
	for _, v := range vars {
		out[v.JobID] = append(out[v.JobID], Variable{Key: v.Key, Value: v.Value, Public: true})
	}
	return out, err
}

// slug makes a name fit for a host name: lower case, at most 63 bytes, nothing but letters, digits and dashes, and no
// dash at either end.
func slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	out := b.String()
	return strings.Trim(out[:min(len(out), 63)], "-")
}
