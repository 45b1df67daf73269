package graphql

import (
	"context"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/deploy"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/transport/graphql/exec"
)

// deployment is a deployment with its project.
type deployment struct {
	*deploy.Deployment

	project *project.Project
}

// deploys returns the service of environments and deployments.
func (b *binder) deploys() *deploy.Service { return core.Part[*deploy.Service](b.Services) }

const (
	errWhichEnvironment argumentError = "One of the arguments name or id is required"
	errTwoOrders        argumentError = "orderBy parameter must contain one key-value pair."
)

// environments binds environments and their deployments.
func (b *binder) environments() {
	type filter struct {
		paging
		Name, Search *string
		States       []string
	}
	exec.Batch(b.Schema, "Project.environments", func(ctx context.Context, c *exec.Call[filter], of []*project.Project) ([]*exec.Page[*deploy.Placed], error) {
		f := deploy.EnvironmentFilter{Name: zeroOr(c.Args.Name), Search: zeroOr(c.Args.Search), States: lower[deploy.EnvironmentState](c.Args.States)}
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, p *project.Project, r page.Range) (page.Page[*deploy.Placed], error) {
			f := f
			f.Range = r
			list, err := b.deploys().Environments(ctx, c.As, p, f)
			return page.Map(list, func(e *deploy.Environment) *deploy.Placed { return &deploy.Placed{Environment: e, Project: p} }), err
		}, same)
	})
	type which struct {
		ID   *globalID
		Name *string
	}
	exec.Batch(b.Schema, "Project.environment", func(ctx context.Context, c *exec.Call[which], of []*project.Project) ([]*deploy.Placed, error) {
		if c.Args.ID == nil && c.Args.Name == nil {
			return nil, errWhichEnvironment
		}
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) (*deploy.Placed, error) {
			return b.environment(ctx, c.As, p, c.Args.ID, c.Args.Name)
		})
	}, exec.Costly)
	b.environmentFields()
	b.deploymentFields()
	b.environmentMutations()
}

// environment finds an environment of a project by its id or its name.
func (b *binder) environment(ctx context.Context, as authz.Actor, p *project.Project, id *globalID, name *string) (*deploy.Placed, error) {
	if id != nil {
		e, err := b.deploys().FindEnvironment(ctx, as, p, deploy.EnvironmentID(id.ID))
		if err != nil || name != nil && e.Name != *name {
			return nil, err
		}
		return &deploy.Placed{Environment: e, Project: p}, nil
	}
	list, err := b.deploys().Environments(ctx, as, p, deploy.EnvironmentFilter{Name: *name, Range: page.Range{Limit: 1, Uncounted: true}})
	if err != nil || len(list.Items) == 0 || *name == "" {
		return nil, err
	}
	return &deploy.Placed{Environment: &list.Items[0], Project: p}, nil
}

func (b *binder) environmentFields() {
	value(b, "Environment.id", func(e *deploy.Placed) string { return gid("Environment", e.ID) })
	value(b, "Environment.environmentType", func(e *deploy.Placed) *string { return e.Folder })
	value(b, "Environment.state", func(e *deploy.Placed) string { return string(e.State) })
	value(b, "Environment.tier", func(e *deploy.Placed) string { return strings.ToUpper(string(e.Tier)) })
	value(b, "Environment.path", func(e *deploy.Placed) string {
		return b.URLs.Path(b.URLs.Environment(e.Project.FullPath, int64(e.ID)))
	})
	value(b, "Environment.createdAt", func(e *deploy.Placed) time.Time { return e.CreatedAt.Time })
	value(b, "Environment.updatedAt", func(e *deploy.Placed) time.Time { return e.UpdatedAt.Time })
	value(b, "Environment.autoStopAt", func(e *deploy.Placed) *time.Time { return e.AutoStopAt.Ptr() })
	type order struct{ CreatedAt, FinishedAt *string }
	type filter struct {
		paging
		OrderBy  *order
		Statuses []string
	}
	exec.Batch(b.Schema, "Environment.deployments", func(ctx context.Context, c *exec.Call[filter], of []*deploy.Placed) ([]*exec.Page[*deployment], error) {
		f := deploy.Filter{States: lower[deploy.State](c.Args.Statuses)}
		if o := c.Args.OrderBy; o != nil {
			switch {
			case (o.CreatedAt == nil) == (o.FinishedAt == nil):
				return nil, errTwoOrders
			case o.CreatedAt != nil:
				f.OrderBy, f.Desc = "created_at", *o.CreatedAt == "DESC"
			default:
				f.OrderBy, f.Desc = "finished_at", *o.FinishedAt == "DESC"
			}
		}
		return lists(ctx, part(b, c, c.Args.paging, maxPage), of, func(ctx context.Context, e *deploy.Placed, r page.Range) (page.Page[*deployment], error) {
			return b.deploymentsOf(ctx, c.As, e, f, r)
		}, same)
	})
	exec.Batch(b.Schema, "Environment.lastDeployment", func(ctx context.Context, c *exec.Call[struct{ Status string }], of []*deploy.Placed) ([]*deployment, error) {
		f := deploy.Filter{States: []deploy.State{deploy.State(strings.ToLower(c.Args.Status))}, Desc: true}
		return firsts(ctx, b, of, func(ctx context.Context, e *deploy.Placed, r page.Range) (page.Page[*deployment], error) {
			return b.deploymentsOf(ctx, c.As, e, f, r)
		}, same)
	})
	exec.Struct[*deploy.Placed](b.Schema, "Environment")
	exec.Connection[*deploy.Placed](b.Schema, "Environment")
}

// deploymentsOf returns a page of the deployments to an environment.
func (b *binder) deploymentsOf(ctx context.Context, as authz.Actor, e *deploy.Placed, f deploy.Filter, r page.Range) (page.Page[*deployment], error) {
	f.EnvironmentID, f.Range = e.ID, r
	list, err := b.deploys().List(ctx, as, e.Project, f)
	return page.Map(list, func(d *deploy.Deployment) *deployment { return &deployment{d, e.Project} }), err
}

func (b *binder) deploymentFields() {
	exec.Batch(b.Schema, "Project.deployment", func(ctx context.Context, c *exec.Call[struct{ IID string }], of []*project.Project) ([]*deployment, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, p *project.Project) (*deployment, error) {
			d, err := b.deploys().FindByIID(ctx, c.As, p, number(c.Args.IID))
			if err != nil {
				return nil, err
			}
			return &deployment{d, p}, nil
		})
	}, exec.Costly)
	value(b, "Deployment.id", func(d *deployment) string { return gid("Deployment", d.ID) })
	value(b, "Deployment.iid", func(d *deployment) string { return strconv.FormatInt(d.IID, 10) })
	value(b, "Deployment.ref", func(d *deployment) string { return d.Ref })
	value(b, "Deployment.sha", func(d *deployment) string { return d.SHA })
	value(b, "Deployment.tag", func(d *deployment) bool { return d.Tag })
	value(b, "Deployment.status", func(d *deployment) string { return strings.ToUpper(string(d.State)) })
	value(b, "Deployment.createdAt", func(d *deployment) time.Time { return d.CreatedAt.Time })
	value(b, "Deployment.updatedAt", func(d *deployment) time.Time { return d.UpdatedAt.Time })
	value(b, "Deployment.finishedAt", func(d *deployment) *time.Time { return d.FinishedAt.Ptr() })
	one(b, "Deployment.triggerer", "users", func(d *deployment) authz.UserID { return zeroOr(d.UserID) }, b.usersByIDs)
	one(b, "Deployment.job", "jobs by id", func(d *deployment) ci.StatusID { return zeroOr(d.JobID) }, b.jobsByIDs)
	exec.Batch(b.Schema, "Deployment.commit", func(ctx context.Context, c *exec.Call[exec.None], of []*deployment) ([]*commit, error) {
		ids := make([]repo.CommitID, len(of))
		for i, d := range of {
			id, err := gitstore.ParseObjectID(d.SHA)
			if err == nil {
				ids[i] = repo.CommitID{Project: d.ProjectID, ID: id}
			}
		}
		found, err := b.Repos.CommitsByIDs(ctx, c.As, ids)
		out := make([]*commit, len(of))
		for i, d := range of {
			if made := found[ids[i]]; made != nil {
				out[i] = &commit{made, d.project}
			}
		}
		return out, err
	}, exec.ReadsGit)
	exec.Batch(b.Schema, "Deployment.userPermissions", func(ctx context.Context, c *exec.Call[exec.None], of []*deployment) ([]deploy.Permissions, error) {
		return forEach(ctx, b, c, of, func(ctx context.Context, d *deployment) (deploy.Permissions, error) {
			return b.deploys().Permissions(ctx, c.As, d.project)
		})
	})
	value(b, "DeploymentPermissions.approveDeployment", func(may deploy.Permissions) bool { return may.Approve })
	value(b, "DeploymentPermissions.destroyDeployment", func(may deploy.Permissions) bool { return may.Destroy })
	value(b, "DeploymentPermissions.updateDeployment", func(may deploy.Permissions) bool { return may.Update })
	exec.Connection[*deployment](b.Schema, "Deployment")
}

// environmentPayload is what mutations of environments give.
type environmentPayload struct{ Environment *deploy.Placed }

// environmentInput is what an environment is made or changed with.
type environmentInput struct {
	Description, ExternalURL *string
	Tier                     *string
}

func (i environmentInput) changes(name *string) deploy.EnvironmentChanges {
	out := deploy.EnvironmentChanges{Name: name, Description: i.Description, ExternalURL: i.ExternalURL}
	if i.Tier != nil {
		out.Tier = new(deploy.Tier(strings.ToLower(*i.Tier)))
	}
	return out
}

func (b *binder) environmentMutations() {
	seen := func(p *project.Project, e *deploy.Environment, err error) (environmentPayload, error) {
		if err != nil {
			return environmentPayload{}, err
		}
		return environmentPayload{&deploy.Placed{Environment: e, Project: p}}, nil
	}
	type create struct {
		environmentInput
		Name, ProjectPath string
	}
	exec.Mutation(b.Schema, "environmentCreate", func(ctx context.Context, c *exec.Call[create]) (environmentPayload, error) {
		p, err := b.project(ctx, c.As, c.Args.ProjectPath)
		if err != nil {
			return environmentPayload{}, err
		}
		e, err := b.deploys().CreateEnvironment(ctx, c.As, p, c.Args.changes(&c.Args.Name))
		return seen(p, e, err)
	})
	type update struct {
		environmentInput
		ID globalID
	}
	exec.Mutation(b.Schema, "environmentUpdate", func(ctx context.Context, c *exec.Call[update]) (environmentPayload, error) {
		e, err := needed(ctx, c.As, c.Args.ID, b.deploys().EnvironmentsByIDs)
		if err != nil {
			return environmentPayload{}, err
		}
		changed, err := b.deploys().UpdateEnvironment(ctx, c.As, e.Project, e.ID, c.Args.changes(nil))
		return seen(e.Project, changed, err)
	})
	type stop struct {
		ID    globalID
		Force *bool
	}
	exec.Mutation(b.Schema, "environmentStop", func(ctx context.Context, c *exec.Call[stop]) (environmentPayload, error) {
		e, err := needed(ctx, c.As, c.Args.ID, b.deploys().EnvironmentsByIDs)
		if err != nil {
			return environmentPayload{}, err
		}
		stopped, err := b.deploys().Stop(ctx, c.As, e.Project, e.ID, deploy.StopOptions{Force: zeroOr(c.Args.Force)})
		return seen(e.Project, stopped, err)
	})
	exec.Mutation(b.Schema, "environmentDelete", func(ctx context.Context, c *exec.Call[struct{ ID globalID }]) (exec.None, error) {
		e, err := needed(ctx, c.As, c.Args.ID, b.deploys().EnvironmentsByIDs)
		if err != nil {
			return exec.None{}, err
		}
		return exec.None{}, b.deploys().DeleteEnvironment(ctx, c.As, e.Project, e.ID)
	})
}
