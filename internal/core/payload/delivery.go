package payload

import (
	"context"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/deploy"
	"tenon/internal/core/featureflag"
	"tenon/internal/core/project"
	"tenon/internal/core/release"
)

// Above is what a Service needs of those that are built later.
type Above struct {
	Deployments *deploy.Service  `wire:"optional"`
	Releases    *release.Service `wire:"optional"`
}

// Connect sets the services that were built later.
func (s *Service) Connect(above Above) { s.Above = above }

// DeploymentBody is the body about a deployment that began or ended.
type DeploymentBody struct {
	Kind          string        `json:"object_kind"`
	Status        deploy.State  `json:"status"`            // running, success, failed or canceled
	StatusAt      string        `json:"status_changed_at"` // 2023-05-22 10:11:12 +0000
	ID            deploy.ID     `json:"deployment_id"`
	DeployableID  *ci.StatusID  `json:"deployable_id"` // job; null where another system deploys
	DeployableURL *string       `json:"deployable_url"`
	Environment   string        `json:"environment"`
	Tier          deploy.Tier   `json:"environment_tier"`
	Slug          string        `json:"environment_slug"`
	ExternalURL   *string       `json:"environment_external_url"`
	Project       *ProjectBlock `json:"project"`
	ShortSHA      string        `json:"short_sha"`
	User          *UserBlock    `json:"user"`
	UserURL       *string       `json:"user_url"`
	CommitURL     string        `json:"commit_url"`
	CommitTitle   *string       `json:"commit_title"` // null where the commit no longer exists
	Ref           string        `json:"ref"`
}

// Deployment builds the body about a deployment of p to an environment.
func (s *Service) Deployment(ctx context.Context, p *project.Project, d *deploy.Deployment, e *deploy.Environment) (*DeploymentBody, error) {
	block, err := s.projectBlock(ctx, p)
	if err != nil {
		return nil, err
	}
	out := &DeploymentBody{
		Kind: "deployment", Status: d.State, StatusAt: d.UpdatedAt.UTC().Format("2006-01-02 15:04:05 -0700"), ID: d.ID, DeployableID: d.JobID,
		Environment: e.Name, Tier: e.Tier, Slug: e.Slug, ExternalURL: e.ExternalURL, Project: block, ShortSHA: d.SHA[:min(8, len(d.SHA))],
		CommitURL: s.URLs.Commit(p.FullPath, d.SHA), Ref: d.Ref,
	}
	if d.JobID != nil {
		out.DeployableURL = new(s.URLs.Job(p.FullPath, int64(*d.JobID)))
	}
	if d.UserID != nil {
		if out.User, out.UserURL, err = s.userWithURL(ctx, *d.UserID); err != nil {
			return nil, err
		}
	}
	c, err := s.commit(ctx, p, d.SHA)
	if err != nil {
		return nil, err
	}
	if c != nil {
		out.CommitTitle = &c.Title
	}
	return out, nil
}

// userWithURL reads a user with the address of its page; nil for one who no longer exists.
func (s *Service) userWithURL(ctx context.Context, id authz.UserID) (*UserBlock, *string, error) {
	u, err := s.actor(ctx, id)
	if u == nil || err != nil {
		return nil, nil, err
	}
	return s.user(u), new(s.URLs.User(u.Username)), nil
}

// FeatureFlagBody is the body about a feature flag that was switched on or off.
type FeatureFlagBody struct {
	Kind       string                `json:"object_kind"`
	Project    *ProjectBlock         `json:"project"`
	User       *UserBlock            `json:"user"`
	UserURL    *string               `json:"user_url"`
	Attributes FeatureFlagAttributes `json:"object_attributes"`
}

// FeatureFlagAttributes are those of a feature flag.
type FeatureFlagAttributes struct {
	ID          featureflag.ID `json:"id"`
	Name        string         `json:"name"`
	Description *string        `json:"description"`
	Active      bool           `json:"active"`
}

// FeatureFlag builds the body about a feature flag of p that a user switched.
func (s *Service) FeatureFlag(ctx context.Context, p *project.Project, f *featureflag.Flag, by authz.UserID) (*FeatureFlagBody, error) {
	block, err := s.projectBlock(ctx, p)
	if err != nil {
		return nil, err
	}
	out := &FeatureFlagBody{Kind: "feature_flag", Project: block, Attributes: FeatureFlagAttributes{f.ID, f.Name, f.Description, f.Active}}
	out.User, out.UserURL, err = s.userWithURL(ctx, by)
	return out, err
}

// ReleaseBody is the body about a release.
type ReleaseBody struct {
	ID          release.ID    `json:"id"`
	CreatedAt   string        `json:"created_at"`
	Description *string       `json:"description"`
	Name        string        `json:"name"`
	ReleasedAt  string        `json:"released_at"`
	Tag         string        `json:"tag"`
	Kind        string        `json:"object_kind"`
	Project     *ProjectBlock `json:"project"`
	URL         string        `json:"url"`
	Action      string        `json:"action"` // create, update or delete
	Assets      AssetsBlock   `json:"assets"`
	Commit      *CommitBlock  `json:"commit"` // null where the commit no longer exists
}

// AssetsBlock is what can be downloaded of a release.
type AssetsBlock struct {
	Count   int                `json:"count"`
	Links   []ReleaseLinkBlock `json:"links"` // the newest first; none of a release that was deleted
	Sources []SourceBlock      `json:"sources"`
}

// ReleaseLinkBlock is a link of a release.
type ReleaseLinkBlock struct {
	ID       release.LinkID `json:"id"`
	External bool           `json:"external"` // to another server
	Type     string         `json:"link_type"`
	Name     string         `json:"name"`
	URL      string         `json:"url"`
}

// SourceBlock is an archive of the source code.
type SourceBlock struct {
	Format string `json:"format"`
	URL    string `json:"url"`
}

// Release builds the body about a release of p.
func (s *Service) Release(ctx context.Context, p *project.Project, r *release.Release, action string) (*ReleaseBody, error) {
	block, err := s.projectBlock(ctx, p)
	if err != nil {
		return nil, err
	}
	out := &ReleaseBody{
		ID: r.ID, CreatedAt: Stamp(r.CreatedAt), Description: s.images(s.URLs.Project(p.FullPath), r.Description), Name: r.Name, ReleasedAt: Stamp(r.ReleasedAt),
		Tag: r.Tag, Kind: "release", Project: block, URL: s.URLs.Release(p.FullPath, r.Tag), Action: action, Assets: AssetsBlock{Links: []ReleaseLinkBlock{}},
	}
	if s.Releases != nil {
		links, err := s.Releases.LinksOf(ctx, []release.ID{r.ID})
		if err != nil {
			return nil, err
		}
		for _, l := range links[r.ID] {
			out.Assets.Links = append(out.Assets.Links, ReleaseLinkBlock{l.ID, !strings.HasPrefix(l.URL, s.URLs.Root()+"/"), l.Type, l.Name, l.URL})
		}
	}
	for _, format := range release.SourceFormats {
		out.Assets.Sources = append(out.Assets.Sources, SourceBlock{format, s.URLs.Archive(p.FullPath, r.Tag, format)})
	}
	out.Assets.Count = len(out.Assets.Links) + len(out.Assets.Sources)
	if r.SHA != nil {
		out.Commit, err = s.commit(ctx, p, *r.SHA)
	}
	return out, err
}

func (s *Service) sampleDeployment(ctx context.Context, as authz.Actor, p *project.Project, m *Message) error {
	list, err := s.Deployments.List(ctx, as, p, deploy.Filter{Range: page.Range{Limit: 1}})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return missing("deployments")
	}
	to, err := s.Deployments.FindEnvironment(ctx, as, p, list.Items[0].EnvironmentID)
	if err != nil {
		return err
	}
	body, err := s.Deployment(ctx, p, &list.Items[0], to)
	m.Body = body
	return err
}

func (s *Service) sampleRelease(ctx context.Context, as authz.Actor, p *project.Project, m *Message) error {
	list, err := s.Releases.List(ctx, as, p, release.Filter{Range: page.Range{Limit: 1}})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return missing("releases")
	}
	body, err := s.Release(ctx, p, &list.Items[0], "create")
	m.Body = body
	return err
}

// sampleFlag is a flag that is made up.
func (s *Service) sampleFlag(ctx context.Context, as authz.Actor, p *project.Project, m *Message) error {
	now := db.At(s.Now())
	f := &featureflag.Flag{ID: 1, ProjectID: p.ID, Name: "sample", Active: true, CreatedAt: now, UpdatedAt: now}
	body, err := s.FeatureFlag(ctx, p, f, as.UserID)
	m.Body = body
	return err
}
