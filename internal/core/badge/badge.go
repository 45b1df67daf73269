// Package badge holds the pictures with links that projects and groups show about
// themselves.
package badge

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/base/pattern"
	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// ID identifies a badge.
type ID int64

// Badge is one badge of a project or group.
type Badge struct {
	ID          ID                `db:"id"`
	NamespaceID authz.NamespaceID `db:"namespace_id"`  // of the project or group
	Kind        namespace.Kind    `db:"kind,readonly"` // of that namespace
	Name        *string           `db:"name"`
	LinkURL     string            `db:"link_url"` // with placeholders such as %{project_path}
	ImageURL    string            `db:"image_url"`
	CreatedAt   db.Time           `db:"created_at"`
	UpdatedAt   db.Time           `db:"updated_at"`
}

func read(at authz.Place) authz.Ability  { return at.Ability(authz.ReadProject, authz.ReadGroup) }
func admin(at authz.Place) authz.Ability { return at.Ability(authz.AdminProject, authz.AdminGroup) }

// Changes are the attributes of a badge that a call sets; nil leaves one alone.
type Changes struct {
	Name, LinkURL, ImageURL *string
}

// Filter selects from a list of badges.
type Filter struct {
	Name string // "" is any
	page.Range
}

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Now    func() time.Time
	Host   string // what %{gitlab_server} stands for

	// Tip returns the commit at the tip of a project's default branch, "" for none.
	Tip func(ctx context.Context, p *project.Project) (string, error)
}

// Service reads and changes badges.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

var columns = db.Columns[Badge]("b") + ", n.kind"

const tables = "badges b JOIN namespaces n ON n.id = b.namespace_id"

// within is the condition for the badges that a place shows: a project those of the
// groups above it as well.
func within(w *db.Where, at authz.Place) {
	if !at.IsProject() {
		w.And("b.namespace_id = ?", at.Namespace)
		return
	}
	w.And("b.namespace_id IN "+namespace.AboveSQL, at.Namespace)
}

// List returns a page of the badges that a place shows by id.
func (s *Service) List(ctx context.Context, as authz.Actor, at authz.Place, f Filter) (page.Page[Badge], error) {
	if err := s.Policy.Require(ctx, as, read(at), at.Subject); err != nil {
		return page.Page[Badge]{}, err
	}
	var w db.Where
	within(&w, at)
	if f.Name != "" {
		w.And("b.name = ?", f.Name)
	}
	list, err := page.Select[Badge](ctx, s.DB, page.Query{Columns: columns, From: tables, Where: w, Order: page.Order{page.ID("b.id")}}, f.Range)
	if err != nil {
		return list, fmt.Errorf("list badges: %w", err)
	}
	return list, nil
}

// Find returns a badge that a place shows.
func (s *Service) Find(ctx context.Context, as authz.Actor, at authz.Place, id ID) (*Badge, error) {
	if err := s.Policy.Require(ctx, as, read(at), at.Subject); err != nil {
		return nil, err
	}
	return s.find(ctx, at, id)
}

func (s *Service) find(ctx context.Context, at authz.Place, id ID) (*Badge, error) {
	var w db.Where
	within(&w, at)
	w.And("b.id = ?", id)
	b, err := db.Get[Badge](ctx, s.DB, "SELECT "+columns+" FROM "+tables+w.SQL(), w.Args()...)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errs.Missing("Badge")
	}
	if err != nil {
		return nil, fmt.Errorf("find badge: %w", err)
	}
	return &b, nil
}

// Create adds a badge to a place.
func (s *Service) Create(ctx context.Context, as authz.Actor, at authz.Place, c Changes) (*Badge, error) {
	if err := s.Policy.Require(ctx, as, admin(at), at.Subject); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	b := Badge{NamespaceID: at.Namespace, CreatedAt: now, UpdatedAt: now}
	c.apply(&b)
	if err := check(&b); err != nil {
		return nil, err
	}
	if err := db.Create(ctx, s.DB, "badges", &b); err != nil {
		return nil, fmt.Errorf("create badge: %w", err)
	}
	return s.find(ctx, at, b.ID)
}

// row is a badge of the place itself.
func (s *Service) row(as authz.Actor, at authz.Place, id ID) db.Row {
	r := db.Row{Table: "badges", ID: id, Now: s.Now, Columns: columns, From: tables, Alias: "b", If: as.UnmodifiedAt, Missing: errs.Missing("Badge")}
	r.And.And("b.namespace_id = ?", at.Namespace)
	return r
}

// Update changes a badge of the place itself.
func (s *Service) Update(ctx context.Context, as authz.Actor, at authz.Place, id ID, c Changes) (*Badge, error) {
	if err := s.Policy.Require(ctx, as, admin(at), at.Subject); err != nil {
		return nil, err
	}
	out, err := db.Update(ctx, s.DB, s.row(as, at, id), func(_ context.Context, b *Badge) error {
		c.apply(b)
		return check(b)
	})
	if err != nil {
		return nil, errs.Wrap(err, "update badge")
	}
	return &out.After, nil
}

// CodeOfGroup is the error of a badge that a project has from a group.
const CodeOfGroup errs.Code = "badge_of_group"

// Delete removes a badge of the place itself. It returns an error with CodeOfGroup for one of a group above.
func (s *Service) Delete(ctx context.Context, as authz.Actor, at authz.Place, id ID) error {
	if err := s.Policy.Require(ctx, as, admin(at), at.Subject); err != nil {
		return err
	}
	b, err := s.find(ctx, at, id)
	if err != nil {
		return err
	}
	if b.NamespaceID != at.Namespace {
		return errs.Coded(errs.BadRequest, CodeOfGroup, "the badge is one of a group above")
	}
	_, err = db.Delete[Badge](ctx, s.DB, s.row(as, at, id), nil)
	return errs.Wrap(err, "delete badge")
}

// Preview checks and renders a badge that is not stored.
func (s *Service) Preview(ctx context.Context, as authz.Actor, at authz.Place, c Changes) (*Badge, error) {
	if err := s.Policy.Require(ctx, as, admin(at), at.Subject.Reading()); err != nil {
		return nil, err
	}
	var b Badge
	c.apply(&b)
	return &b, check(&b)
}

func (c Changes) apply(b *Badge) {
	if c.Name != nil {
		b.Name = c.Name
	}
	if c.LinkURL != nil {
		b.LinkURL = *c.LinkURL
	}
	if c.ImageURL != nil {
		b.ImageURL = *c.ImageURL
	}
}

var placeholder = pattern.New(`%\{(project_path|project_title|project_name|project_id|project_namespace|group_name|gitlab_server|` +
	`gitlab_pages_domain|default_branch|commit_sha|latest_tag)\}`)

const maxURL = 255

func check(b *Badge) error {
	var f errs.Fields
	for _, field := range [][2]string{{"link_url", b.LinkURL}, {"image_url", b.ImageURL}} {
		name, address := field[0], field[1]
		u, err := url.Parse(placeholder().ReplaceAllString(address, "x"))
		switch {
		case strings.TrimSpace(address) == "":
			f.Add(name, "can't be blank")
		case err != nil || strings.Contains(u.RawQuery+u.Fragment, "%{") || u.Host == "" && u.Scheme != "" && u.Opaque == "":
			f.Add(name, "is blocked: URI is invalid")
		case u.Scheme != "http" && u.Scheme != "https":
			f.Add(name, "is blocked: Only allowed schemes are http, https")
		}
		f.Check(len([]rune(address)) <= maxURL, name, "is too long (maximum is 255 characters)")
	}
	f.Length("name", b.Name, maxURL)
	return f.Err()
}

// Render fills in the placeholders of addresses for a project. Without one, as for the
// badge of a group by itself, they stay. The commit is for those who may read code.
func (s *Service) Render(ctx context.Context, as authz.Actor, p *project.Project, addresses ...string) ([]string, error) {
	out := make([]string, len(addresses))
	if p == nil {
		copy(out, addresses)
		return out, nil
	}
	tip := ""
	if s.Tip != nil && strings.Contains(strings.Join(addresses, " "), "%{commit_sha}") {
		reads, err := s.Policy.Can(ctx, as, authz.ReadCode, p.Subject())
		if err == nil && reads {
			tip, err = s.Tip(ctx, p)
		}
		if err != nil {
			return nil, err
		}
	}
	group, _, _ := strings.Cut(p.FullPath, "/")
	branch := ""
	if p.DefaultBranch != nil {
		branch = *p.DefaultBranch
	}
	values := map[string]string{
		"project_path": p.FullPath, "project_title": p.Name, "project_name": p.Path, "project_id": strconv.FormatInt(int64(p.ID), 10),
		"project_namespace": strings.TrimSuffix(p.FullPath, "/"+p.Path), "group_name": group, "gitlab_server": s.Host,
		"default_branch": branch, "commit_sha": tip,
	}
	for i, address := range addresses {
		out[i] = placeholder().ReplaceAllStringFunc(address, func(word string) string {
			value, ok := values[strings.TrimSuffix(strings.TrimPrefix(word, "%{"), "}")]
			if !ok {
				return word
			}
			return (&url.URL{Path: value}).EscapedPath()
		})
	}
	return out, nil
}
