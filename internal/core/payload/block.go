package payload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/project"
)

// UserBlock is a user.
type UserBlock struct {
	ID       authz.UserID `json:"id"`
	Name     string       `json:"name"`
	Username string       `json:"username"`
	Avatar   *string      `json:"avatar_url"`
	Email    string       `json:"email"` // hidden unless the user shows it
}

// PlainProjectBlock is a project in bodies of pipelines and jobs.
type PlainProjectBlock struct {
	ID            project.ID `json:"id"`
	Name          string     `json:"name"`
	Description   *string    `json:"description"`
	WebURL        string     `json:"web_url"`
	Avatar        *string    `json:"avatar_url"`
	SSH           string     `json:"git_ssh_url"`
	HTTP          string     `json:"git_http_url"`
	Namespace     string     `json:"namespace"` // its name
	Visibility    int        `json:"visibility_level"`
	Path          string     `json:"path_with_namespace"`
	DefaultBranch *string    `json:"default_branch"`
	CIConfigPath  *string    `json:"ci_config_path"`
}

// ProjectBlock is a project in all other bodies.
type ProjectBlock struct {
	PlainProjectBlock

	Homepage string `json:"homepage"`
	URL      string `json:"url"`
	SSHURL   string `json:"ssh_url"`
	HTTPURL  string `json:"http_url"`
}

// RepositoryBlock is a project as older releases have it.
type RepositoryBlock struct {
	Name        string  `json:"name"`
	URL         string  `json:"url"`
	Description *string `json:"description"`
	Homepage    string  `json:"homepage"`
}

// LabelBlock is a label.
type LabelBlock struct {
	ID          label.ID    `json:"id"`
	Title       string      `json:"title"`
	Color       string      `json:"color"`
	ProjectID   *project.ID `json:"project_id"`
	CreatedAt   string      `json:"created_at"` // RFC 3339
	UpdatedAt   string      `json:"updated_at"`
	Template    bool        `json:"template"`
	Description *string     `json:"description"`
	Type        string      `json:"type"`
	GroupID     *int64      `json:"group_id"`
}

// CommitBlock is a commit.
type CommitBlock struct {
	ID        string      `json:"id"`
	Message   string      `json:"message"`
	Title     string      `json:"title"`
	Timestamp string      `json:"timestamp"` // RFC 3339, in the zone of the author
	URL       string      `json:"url"`
	Author    AuthorBlock `json:"author"`
}

// AuthorBlock is the author of a commit.
type AuthorBlock struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// Stamp writes a time as payloads have it.
func Stamp(t db.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// stampOf is Stamp for a time that may be missing.
func stampOf(t *db.Time) *string {
	if t == nil {
		return nil
	}
	text := Stamp(*t)
	return &text
}

// stampAt is stampOf for a time of no row.
func stampAt(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return new(Stamp(db.At(*t)))
}

// names are the names of namespaces by their ids.
func (s *Service) namesOf(ctx context.Context, ids []authz.NamespaceID) (map[authz.NamespaceID]string, error) {
	type row struct {
		ID   authz.NamespaceID `db:"id"`
		Name string            `db:"name"`
	}
	var w db.Where
	w.In("n.id", ids)
	rows, err := db.Select[row](ctx, s.DB, "SELECT n.id, n.name FROM namespaces n"+w.SQL()+" ORDER BY n.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read names of namespaces: %w", err)
	}
	out := make(map[authz.NamespaceID]string, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Name
	}
	return out, nil
}

func (s *Service) project(p *project.Project, parents map[authz.NamespaceID]string) *ProjectBlock {
	web := s.URLs.Project(p.FullPath)
	out := &ProjectBlock{Homepage: web, PlainProjectBlock: PlainProjectBlock{
		ID: p.ID, Name: p.Name, Description: p.Description, WebURL: web, SSH: s.URLs.SSHRepository(p.FullPath), HTTP: s.URLs.HTTPRepository(p.FullPath),
		Visibility: int(p.Visibility), Path: p.FullPath, Namespace: parents[p.ParentID], DefaultBranch: p.DefaultBranch, CIConfigPath: p.Settings().CIConfigPath,
	}}
	out.URL, out.SSHURL, out.HTTPURL = out.SSH, out.SSH, out.HTTP
	if p.Avatar != "" {
		address := s.URLs.Avatar("project", int64(p.ID), p.Avatar)
		out.Avatar = &address
	}
	return out
}

// user renders a user, nil for one who no longer exists.
func (s *Service) user(u *account.User) *UserBlock {
	if u == nil {
		return nil
	}
	out := &UserBlock{ID: u.ID, Name: u.Name, Username: u.Username, Avatar: s.Accounts.AvatarURL(u), Email: u.PublicEmail}
	if out.Email == "" {
		out.Email = "[REDACTED]"
	}
	return out
}

func (s *Service) users(known map[authz.UserID]*account.User, ids []authz.UserID) []*UserBlock {
	out := []*UserBlock{}
	for _, id := range ids {
		if u := s.user(known[id]); u != nil {
			out = append(out, u)
		}
	}
	return out
}

func labels(p *project.Project, of []label.Label) []LabelBlock {
	out := make([]LabelBlock, len(of))
	for i, l := range of {
		out[i] = LabelBlock{
			ID: l.ID, Title: l.Title, Color: l.Color, CreatedAt: at(l.CreatedAt.Time), UpdatedAt: at(l.UpdatedAt.Time), Description: l.Description, Type: "GroupLabel",
		}
		if l.NamespaceID == p.NamespaceID {
			out[i].Type, out[i].ProjectID = "ProjectLabel", &p.ID
		} else {
			id := int64(l.NamespaceID)
			out[i].GroupID = &id
		}
	}
	return out
}

// repository is a project as older releases have it.
func repository(p *project.Project, of *ProjectBlock) RepositoryBlock {
	return RepositoryBlock{p.Name, of.SSH, p.Description, of.WebURL}
}

// commit reads a commit, nil where there is none.
func (s *Service) commit(ctx context.Context, p *project.Project, sha string) (*CommitBlock, error) {
	id, err := gitstore.ParseObjectID(sha)
	if err != nil {
		return nil, nil // of a branch that has none
	}
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	c, err := r.Commit(ctx, id)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, nil // pushed over, and swept away
	}
	if err != nil {
		return nil, fmt.Errorf("read commit: %w", err)
	}
	return s.commitBlock(p, c), nil
}

func (s *Service) commitBlock(p *project.Project, c *gitstore.Commit) *CommitBlock {
	sha := c.ID.String()
	return &CommitBlock{
		ID: sha, Message: c.Message, Title: c.Title(), Timestamp: at(c.Author.When), URL: s.URLs.Commit(p.FullPath, sha),
		Author: AuthorBlock{c.Author.Name, c.Author.Email},
	}
}
