package ci

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
)

// ResourceGroupID identifies a resource group.
type ResourceGroupID int64

// ResourceGroup is a key of jobs of a project that run one at a time.
type ResourceGroup struct {
	ID          ResourceGroupID `db:"id"`
	ProjectID   project.ID      `db:"project_id"`
	Key         string          `db:"key"`
	ProcessMode string          `db:"process_mode"`
	CreatedAt   db.Time         `db:"created_at"`
	UpdatedAt   db.Time         `db:"updated_at"`
}

// Process modes say which job of a resource group is next.
const (
	Unordered        = "unordered"          // whichever is ready, the one that was made first
	OldestFirst      = "oldest_first"       // the first of the oldest pipeline, which all others wait for
	NewestFirst      = "newest_first"       // the first of the newest pipeline, which all others wait for
	NewestReadyFirst = "newest_ready_first" // of those that are ready, the one of the newest pipeline
)

// ProcessModes lists the process modes.
func ProcessModes() []string { return []string{Unordered, OldestFirst, NewestFirst, NewestReadyFirst} }

// States of jobs of a resource group.
var (
	holding  = []State{Preparing, Pending, Running, Canceling} // the group is theirs
	upcoming = []State{Created, Scheduled, WaitingForResource} // they may get it
)

// ResourceGroupChanged is published when a resource group got another process mode.
type ResourceGroupChanged struct{ change.Of[ResourceGroup] }

// Audit is what the audit trail records of it.
func (e ResourceGroupChanged) Audit() []change.Entry {
	return change.RecordColumns(e.Changed(), "ci_resource_group_updated", [2]string{"process_mode", "process mode"})
}

var resourceColumns = db.Columns[ResourceGroup]("g")

// ResourceGroups lists the resource groups of a project by id. It requires ReadResourceGroups.
func (s *Service) ResourceGroups(ctx context.Context, as authz.Actor, p *project.Project, r page.Range) (page.Page[ResourceGroup], error) {
	if err := s.Policy.Require(ctx, as, authz.ReadResourceGroups, p.Subject()); err != nil {
		return page.Page[ResourceGroup]{}, err
	}
	var w db.Where
	w.And("g.project_id = ?", p.ID)
	list, err := page.Select[ResourceGroup](ctx, s.DB, page.Query{Columns: resourceColumns, From: "resource_groups g", Where: w, Order: page.Order{page.ID("g.id")}}, r)
	if err != nil {
		return list, fmt.Errorf("list resource groups: %w", err)
	}
	return list, nil
}

// FindResourceGroup returns the resource group of a project with a key. It requires ReadResourceGroups.
func (s *Service) FindResourceGroup(ctx context.Context, as authz.Actor, p *project.Project, key string) (*ResourceGroup, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadResourceGroups, p.Subject()); err != nil {
		return nil, err
	}
	return s.findResourceGroup(ctx, p, key)
}

func (s *Service) findResourceGroup(ctx context.Context, p *project.Project, key string) (*ResourceGroup, error) {
	g, err := db.Get[ResourceGroup](ctx, s.DB, "SELECT "+resourceColumns+" FROM resource_groups g WHERE g.project_id = ? AND g.key = ?", p.ID, key)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find resource group: %w", err)
	}
	return &g, nil
}

// SetProcessMode says which job of a resource group is next from now on, nil leaves it alone. It requires UpdateResourceGroup.
func (s *Service) SetProcessMode(ctx context.Context, as authz.Actor, p *project.Project, key string, mode *string) (*ResourceGroup, error) {
	if err := s.Policy.Require(ctx, as, authz.UpdateResourceGroup, p.Subject()); err != nil {
		return nil, err
	}
	if mode != nil && !slices.Contains(ProcessModes(), *mode) {
		return nil, errs.Plain("process_mode does not have a valid value")
	}
	g, err := s.findResourceGroup(ctx, p, key)
	if err != nil {
		return nil, err
	}
	var out db.Change[ResourceGroup]
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err = db.Update(ctx, s.DB, db.Row{Table: "resource_groups", ID: g.ID, Now: s.Now, If: as.UnmodifiedAt}, func(_ context.Context, row *ResourceGroup) error {
			if mode != nil {
				row.ProcessMode = *mode
			}
			return nil
		})
		if err != nil || !out.Any() {
			return err
		}
		if err := s.passOn(ctx, g.ID); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, ResourceGroupChanged{change.Updated(as, s.Now(), p.Place(), &out)})
	})
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, errs.Wrap(err, "change resource group")
	}
	return &out.After, nil
}

// UpcomingJobs lists the jobs and bridges that a resource group may be given to, in the order in which it is. It requires ReadResourceGroups.
func (s *Service) UpcomingJobs(ctx context.Context, as authz.Actor, p *project.Project, key string, r page.Range) (page.Page[Job], error) {
	g, err := s.FindResourceGroup(ctx, as, p, key)
	if err != nil {
		return page.Page[Job]{}, err
	}
	w, order := g.queue()
	list, err := page.Select[Job](ctx, s.DB, page.Query{Columns: jobColumns, From: jobTables, Where: w, Order: order}, r)
	if err != nil {
		return list, fmt.Errorf("list upcoming jobs: %w", err)
	}
	return list, nil
}

// CurrentJob returns the job or bridge that a resource group belongs to now. It requires ReadResourceGroups.
func (s *Service) CurrentJob(ctx context.Context, as authz.Actor, p *project.Project, key string) (*Job, error) {
	g, err := s.FindResourceGroup(ctx, as, p, key)
	if err != nil {
		return nil, err
	}
	var w db.Where
	w.And("s.resource_group_id = ?", g.ID)
	w.In("s.status", holding)
	j, err := db.Get[Job](ctx, s.DB, "SELECT "+jobColumns+" FROM "+jobTables+w.SQL()+" ORDER BY s.id LIMIT 1", w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("")
	}
	if err != nil {
		return nil, fmt.Errorf("find current job: %w", err)
	}
	return &j, nil
}

// names are what the configuration of a job names with variables.
type names struct {
	resource    string // key of its resource group, "" for none
	environment string // that it deploys to, "" for none
	invalid     bool   // its environment cannot be made
}

// masked stands for the value of a variable in what users see.
const masked = "[MASKED]"

// of returns the names in the configuration of a job. Variables that are masked have no value that may be shown.
func (k *known) of(c *ciconfig.Job) names {
	var out names
	if c.ResourceGroup == "" && c.Environment == nil {
		return out
	}
	above := slices.Clone(k.above)
	for i := range above {
		if above[i].Masked {
			above[i].Value = masked
		}
	}
	facts := append(list{}, k.predefined...)
	facts.add("CI_JOB_NAME", c.Name)
	facts.add("CI_JOB_STAGE", c.Stage)
	first := ciconfig.First(above.lookup(), ciconfig.Of(c.Variables))
	if e := c.Environment; e != nil {
		name := ciconfig.Expand(e.Name, ciconfig.First(first, facts.lookup()))
		facts.add("CI_ENVIRONMENT_NAME", name)
		facts.add("CI_ENVIRONMENT_SLUG", EnvironmentSlug(name))
		starts, all := e.Starts(), ciconfig.First(first, facts.lookup())
		if !strings.Contains(name, masked) {
			// The name is what it is when the pipeline is made; the address waits for what the job reports.
			fixed := *e
			fixed.Name, fixed.Tier, fixed.AutoStopIn = name, ciconfig.Expand(e.Tier, all), ciconfig.Expand(e.AutoStopIn, all)
			c.Environment = &fixed
			out.invalid = (starts || e.Action == "prepare") && !ciconfig.EnvironmentName(name)
		}
		if starts && utf8.RuneCountInString(name) <= maxText {
			out.environment = name
		}
	}
	out.resource = strings.TrimSpace(ciconfig.Expand(c.ResourceGroup, ciconfig.First(first, facts.lookup())))
	return out
}

// expand replaces variables in what the jobs name that are being made. Keys of resource groups that are too long are problems of the
// configuration.
func (d *draft) expand(k known) []ciconfig.Problem {
	d.names = make([]names, len(d.made.Jobs))
	var problems []ciconfig.Problem
	for i := range d.made.Jobs {
		c := &d.made.Jobs[i]
		d.names[i] = k.of(c)
		if utf8.RuneCountInString(d.names[i].resource) > maxText {
			problems = append(problems, ciconfig.Problem{Text: fmt.Sprintf("%s job: resource_group is too long (maximum is %d characters)", c.Name, maxText)})
		}
	}
	return problems
}

// writeResourceGroups returns the resource groups of the jobs by key, and makes those that are new.
func (d *draft) writeResourceGroups(ctx context.Context) (map[string]ResourceGroupID, error) {
	out := map[string]ResourceGroupID{}
	var keys []string
	for _, n := range d.names {
		if n.resource != "" {
			keys = append(keys, n.resource)
		}
	}
	if len(keys) == 0 {
		return out, nil
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	rows, now := make([]ResourceGroup, len(keys)), db.At(d.Now())
	for i, key := range keys {
		rows[i] = ResourceGroup{ProjectID: d.project.ID, Key: key, ProcessMode: d.project.Settings().ResourceGroupDefaultProcessMode, CreatedAt: now, UpdatedAt: now}
	}
	if err := db.InsertRows(ctx, d.DB, "resource_groups", rows, "ON CONFLICT (project_id, key) DO NOTHING"); err != nil {
		return nil, fmt.Errorf("write resource groups: %w", err)
	}
	var w db.Where
	w.And("g.project_id = ?", d.project.ID)
	w.In("g.key", keys)
	found, err := db.Select[ResourceGroup](ctx, d.DB, "SELECT "+resourceColumns+" FROM resource_groups g"+w.SQL()+" ORDER BY g.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read resource groups: %w", err)
	}
	for _, g := range found {
		out[g.Key] = g.ID
	}
	return out, nil
}

// About names it for events.
func (g ResourceGroup) About() change.Subject {
	return change.Subject{Type: "Ci::ResourceGroup", ID: int64(g.ID), Title: g.Key}
}
