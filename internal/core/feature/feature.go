// Package feature says which features are enabled: for all, for users, groups and projects, or for a percentage.
package feature

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/cached"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// Bounds of what is stored.
const (
	maxFeatures = 500
	maxActors   = 1_000 // of one feature
	maxName     = 255
)

// ofActors is the key of a percentage of actors.
const ofActors = "percentage_of_actors"

// Deps is what a Service is made of.
type Deps struct {
	DB     *db.DB
	Policy *authz.Policy
	Bus    *event.Bus
	Now    func() time.Time
}

// Service reads and sets the gates of features. It holds them in memory.
type Service struct {
	Deps
	*cached.Value[stored]
}

// stored are the features whose gates were set.
type stored map[string]*Feature

// New builds the service.
func New(d Deps) *Service {
	s := &Service{Deps: d}
	s.Value = cached.New(s.read)
	return s
}

func (s *Service) read(ctx context.Context) (*stored, error) {
	list, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	out := make(stored, len(list))
	for i := range list {
		out[list[i].Name] = &list[i]
	}
	return &out, nil
}

func (s *Service) all(ctx context.Context) ([]Feature, error) {
	list, err := db.Select[Feature](ctx, s.DB, "SELECT "+db.Columns[Feature]("")+" FROM features ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("read features: %w", err)
	}
	return list, nil
}

// Enabled reports whether a feature is enabled for one of the actors, as its definition says where no gate was set. It takes no
// statement and asks for no permission.
func (s *Service) Enabled(name string, actors ...Actor) bool {
	if f, ok := (*s.Current())[name]; ok {
		return f.open(actors)
	}
	d := Define(name)
	return d != nil && d.DefaultEnabled
}

// List returns the features whose gates were set, by name.
func (s *Service) List(ctx context.Context, as authz.Actor) ([]Feature, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadFeatures, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.all(ctx)
}

// Definitions returns the features of this release, by name.
func (s *Service) Definitions(ctx context.Context, as authz.Actor) ([]Definition, error) {
	return definitions, s.Policy.Require(ctx, as, authz.ReadFeatures, authz.Subject{})
}

// The events of a feature.
type (
	// Created says that gates of a feature were set for the first time.
	Created struct{ change.Of[Feature] }

	// Updated says that the gates of a feature changed.
	Updated struct{ change.Of[Feature] }

	// Deleted says that the gates of a feature are gone, so that its definition decides.
	Deleted struct{ change.Of[Feature] }
)

// Audit is what the audit trail records of it.
func (e Created) Audit() []change.Entry {
	return change.Record("feature_created", "Set feature {title}: "+e.After.words())
}

// Audit is what the audit trail records of it.
func (e Updated) Audit() []change.Entry {
	return change.Record("feature_updated", "Set feature {title}: "+e.After.words())
}

// Audit is what the audit trail records of it.
func (Deleted) Audit() []change.Entry {
	return change.Record("feature_deleted", "Deleted the gates of feature {title}")
}

// words are the gates in words.
func (f *Feature) words() string {
	out := []string{f.State()}
	for _, list := range [][]string{f.Actors, f.Groups} {
		if n := len(list); n > 10 {
			list = append(slices.Clone(list[:10]), fmt.Sprintf("and %d more", n-10))
		}
		out = append(out, list...)
	}
	if f.OfActors > 0 {
		out = append(out, fmt.Sprintf("%d%% of actors", f.OfActors))
	}
	if f.OfTime > 0 {
		out = append(out, fmt.Sprintf("%d%% of time", f.OfTime))
	}
	return strings.Join(out, ", ")
}

// Set sets gates of a feature: of the actors that are named, a percentage, or for all, which replaces all other gates. A feature
// without a definition is made.
func (s *Service) Set(ctx context.Context, as authz.Actor, name string, g Gates) (*Feature, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminFeatures, authz.Subject{}); err != nil {
		return nil, err
	}
	apply, err := s.gates(ctx, g)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(name) == "" || len(name) > maxName {
		return nil, errs.New(errs.BadRequest, "The name of a feature has 1 to 255 characters")
	}
	var out Feature
	err = s.Change(ctx, s.DB, func(ctx context.Context) error {
		now := s.Now()
		if err := s.DB.Lock(ctx, "features"); err != nil {
			return err
		}
		made := Feature{Name: name, CreatedAt: db.At(now), UpdatedAt: db.At(now)}
		id, err := db.Get[ID](ctx, s.DB, "SELECT id FROM features WHERE name = ?", name)
		switch {
		case errors.Is(err, db.ErrNotFound):
			if err := apply(&made); err != nil {
				return err
			}
			if err := db.Create(ctx, s.DB, "features", &made, db.Bound{Table: "features", Most: maxFeatures, Full: errs.New(errs.Unprocessable, "There are 500 features already")}); err != nil {
				return err
			}
			out = made
			return s.Bus.Publish(ctx, Created{change.Created(as, now, authz.Place{}, &made)})
		case err != nil:
			return err
		}
		changed, err := db.Update(ctx, s.DB, s.row(as, id), func(_ context.Context, f *Feature) error { return apply(f) })
		if err != nil || !changed.Any() {
			out = changed.After
			return err
		}
		out = changed.After
		return s.Bus.Publish(ctx, Updated{change.Updated(as, now, authz.Place{}, &changed)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "set feature")
	}
	return &out, nil
}

func (s *Service) row(as authz.Actor, id ID) db.Row {
	return db.Row{Table: "features", ID: id, Now: s.Now, If: as.UnmodifiedAt}
}

// Delete deletes the gates of a feature, and is no error where there are none.
func (s *Service) Delete(ctx context.Context, as authz.Actor, name string) error {
	if err := s.Policy.Require(ctx, as, authz.AdminFeatures, authz.Subject{}); err != nil {
		return err
	}
	err := s.Change(ctx, s.DB, func(ctx context.Context) error {
		id, err := db.Get[ID](ctx, s.DB, "SELECT id FROM features WHERE name = ?", name)
		if err != nil {
			return err
		}
		gone, err := db.Delete[Feature](ctx, s.DB, s.row(as, id), nil)
		if err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), authz.Place{}, &gone)})
	})
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	return errs.Wrap(err, "delete feature")
}

// gates returns what sets the gates of a feature.
func (s *Service) gates(ctx context.Context, g Gates) (func(f *Feature) error, error) {
	percentage, err := strconv.ParseInt(g.Value, 10, 64)
	boolean := g.Value == "true" || g.Value == "false"
	switch {
	case g.Key != "" && g.Key != ofActors && g.Key != "percentage_of_time":
		return nil, errs.New(errs.BadRequest, "key is percentage_of_actors or percentage_of_time")
	case !boolean && (err != nil || percentage < 0 || percentage > whole):
		return nil, errs.New(errs.BadRequest, "value is true, false or a percentage from 0 to 100")
	case !boolean && g.targeted():
		return nil, errs.New(errs.BadRequest, "a percentage is not for some actors: name no user, group, namespace, project, repository or feature group")
	case !g.targeted() && (boolean || percentage == 0 || percentage == whole):
		return func(f *Feature) error {
			f.Enabled, f.Actors, f.Groups, f.OfActors, f.OfTime = g.Value == "true" || percentage == whole, db.List[string]{}, db.List[string]{}, 0, 0
			return nil
		}, nil
	case !boolean:
		return func(f *Feature) error {
			f.Enabled = false
			if g.Key == ofActors {
				f.OfActors = percentage
			} else {
				f.OfTime = percentage
			}
			return nil
		}, nil
	}
	groups := names(g.FeatureGroups)
	for _, name := range groups {
		if name != Administrators {
			return nil, missing("Feature group", name)
		}
	}
	actors, err := s.actors(ctx, g)
	if err != nil {
		return nil, err
	}
	return func(f *Feature) error {
		for list, named := range map[*db.List[string]][]string{&f.Actors: actors, &f.Groups: groups} {
			*list = slices.DeleteFunc(slices.Clone(*list), func(one string) bool { return slices.Contains(named, one) })
			if g.Value == "true" {
				*list = append(*list, named...)
			}
		}
		if len(f.Actors) > maxActors {
			return errs.New(errs.Unprocessable, "A feature is set for 1,000 actors at most")
		}
		return nil
	}, nil
}

func missing(kind, name string) error {
	return errs.New(errs.BadRequest, kind+" "+name+" is not found!")
}

// actors finds those that gates name.
func (s *Service) actors(ctx context.Context, g Gates) ([]string, error) {
	var out []string
	for _, kind := range []struct{ noun, names, query string }{
		{"User", g.Users, "SELECT u.id, 'User' AS kind FROM users u WHERE u.username_fold = ?"},
		{"Group", g.Groups, placed("n.kind = 'group'")},
		{"Namespace", g.Namespaces, placed("n.kind <> 'project'")},
		{"Project", g.Projects, placed("n.kind = 'project'")},
		{"Repository", g.Repositories, placed("n.kind = 'project'")},
	} {
		list := names(kind.names)
		if len(list) > 100 {
			return nil, errs.New(errs.BadRequest, "100 names of a kind at most")
		}
		for _, name := range list {
			path := name
			if kind.noun == "Repository" {
				path = strings.TrimSuffix(name, ".git")
			}
			found, err := db.Get[struct {
				ID   int64  `db:"id"`
				Kind string `db:"kind"`
			}](ctx, s.DB, kind.query, db.Fold(path))
			if errors.Is(err, db.ErrNotFound) {
				return nil, missing(kind.noun, name)
			}
			if err != nil {
				return nil, fmt.Errorf("find actor: %w", err)
			}
			if id := actorID(found.Kind, found.ID); !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out, nil
}

// placed finds a namespace by its path.
func placed(condition string) string {
	return `SELECT COALESCE(p.id, n.id) AS id, CASE n.kind WHEN 'group' THEN 'Group' WHEN 'project' THEN 'Project' ELSE 'Namespaces::UserNamespace' END AS kind
		FROM routes r JOIN namespaces n ON n.id = r.namespace_id LEFT JOIN projects p ON p.namespace_id = n.id WHERE ` + condition + " AND r.path_fold = ?"
}
