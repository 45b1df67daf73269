package setting

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
)

// Deps is what a Service is made of.
type Deps struct {
	Store  *Store
	Policy *authz.Policy
	Bus    *event.Bus

	Integrations []string // slugs of the kinds of integrations, such as emails-on-push
}

// Service lets administrators read and change the settings.
type Service struct {
	Deps
}

// NewService builds the service.
func NewService(d Deps) *Service {
	return &Service{Deps: d}
}

// Changed is published for each setting that a call gives another value. From and To
// are values of its type; of a secret they only say whether it was set.
type Changed struct {
	authz.Stamp

	Name     string
	From, To any
}

// Find returns the settings in force. The result is shared: do not change it.
func (s *Service) Find(ctx context.Context, as authz.Actor) (*Settings, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminSettings, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.Store.Current(), nil
}

// RequireVersion is nil where the actor may learn the version of the instance.
func (s *Service) RequireVersion(ctx context.Context, as authz.Actor) error {
	return s.Policy.Require(ctx, as, authz.ReadVersion, authz.Subject{})
}

// ErrNothing is the error of a change that names no setting.
var ErrNothing = errs.Plain("no setting is named")

// Update returns settings other values by their API names, all of them or, where one is
// refused, none; a nil value is null. Names that are no setting are ignored. Values are
// as requests send them: see the tag megabytes, for one. It returns the settings as they are then.
func (s *Service) Update(ctx context.Context, as authz.Actor, values map[string]any) (*Settings, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminSettings, authz.Subject{}); err != nil {
		return nil, err
	}
	changes, err := changesOf(values)
	if err != nil {
		return nil, err
	}
	store := s.Store
	err = store.change(ctx, func(ctx context.Context) error {
		if err := as.Unmodified(ctx, store.db, "SELECT updated_at FROM settings"); err != nil {
			return err
		}
		// One call after the other, so that each tells what it found and not what was there
		// before another user's.
		if err := store.db.Lock(ctx, "settings"); err != nil {
			return err
		}
		old, err := store.read(ctx)
		if err != nil {
			return err
		}
		next := *old
		for _, c := range changes {
			if err := c.to(&next); err != nil {
				return err
			}
		}
		if err := s.barGroup(ctx, values, &next); err != nil {
			return err
		}
		if next.DefaultBranchProtection != old.DefaultBranchProtection && values["default_branch_protection_defaults"] == nil {
			next.DefaultBranchProtectionDefaults = protectionDefaults(next.DefaultBranchProtection)
		}
		if _, sent := values["local_markdown_version"]; !sent && assetsDiffer(old, &next) {
			next.LocalMarkdownVersion = (next.LocalMarkdownVersion + 1) % mostMarkdownVersions
		}
		if !slices.Equal(next.AllowedIntegrations, old.AllowedIntegrations) && !next.knowsIntegrations(s.Integrations) {
			return wrong("allowed_integrations", "contains unknown integration names")
		}
		return s.write(ctx, as, old, &next)
	})
	if err != nil {
		return nil, fmt.Errorf("change settings: %w", err)
	}
	return s.Store.Current(), nil
}

const mostMarkdownVersions = 1 << 16

// assetsDiffer reports whether images are written otherwise by other settings, so that what was rendered is out of date.
func assetsDiffer(a, b *Settings) bool {
	return a.AssetProxyEnabled != b.AssetProxyEnabled || !reflect.DeepEqual(
		[]any{a.AssetProxyURL, a.AssetProxySecretKey, a.AssetProxyAllowlist}, []any{b.AssetProxyURL, b.AssetProxySecretKey, b.AssetProxyAllowlist})
}

// write stores what next has other than old, in the transaction of ctx.
func (s *Service) write(ctx context.Context, as authz.Actor, old, next *Settings) error {
	if err := added(old.problems(), next.problems()).Err(); err != nil {
		return err
	}
	for _, e := range old.differences(next) {
		if err := s.Store.put(ctx, e, e.Value(next)); err != nil {
			return err
		}
		c := Changed{Stamp: as.Stamp(s.Store.now()), Name: e.Name, From: e.Shown(old), To: e.Shown(next)}
		if err := s.Bus.Publish(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// change is a value that a request sends for a setting.
type change struct {
	entry *Entry
	value any
}

func (c change) to(s *Settings) error {
	value := c.entry.normalize(c.value)
	if some, ok := value.(map[string]bool); ok { // the others stay
		all := maps.Clone(c.entry.Value(s).(map[string]bool))
		maps.Copy(all, some)
		value = all
	}
	return c.entry.set(s, value)
}

// changesOf finds the settings that values name, in the order of the names. Without any the
// error is ErrNothing.
func changesOf(values map[string]any) ([]change, error) {
	var out []change
	known := false
	for _, name := range slices.Sorted(maps.Keys(values)) {
		e := Lookup(name)
		known = known || e != nil || Legacy(name)
		if e != nil && !e.ReadOnly && !e.Ignored {
			out = append(out, change{e, values[name]})
		}
	}
	if !known {
		return nil, ErrNothing
	}
	return out, nil
}

// The names of what a request may send and the server keeps in other settings, or nowhere.
const (
	barGroupPath = "performance_bar_allowed_group_path"
	barEnabled   = "performance_bar_enabled"
)

// LegacyNames lists the names that a request may send and that are no settings.
func LegacyNames() []string {
	return []string{"housekeeping_bitmaps_enabled", "housekeeping_full_repack_period", "housekeeping_gc_period", barEnabled, barGroupPath}
}

// Legacy reports whether a request may send a name that is no setting.
func Legacy(name string) bool { return slices.Contains(LegacyNames(), name) }

// barGroup sets the group of the performance bar by its path or, as older clients do, the path
// under the name of its id.
func (s *Service) barGroup(ctx context.Context, values map[string]any, next *Settings) error {
	const name = "performance_bar_allowed_group_id"
	if on, ok := values[barEnabled].(bool); ok && !on {
		next.PerformanceBarAllowedGroupID = nil
		return nil
	}
	path, sent := values[barGroupPath]
	if !sent {
		path, sent = values[name]
	}
	if !sent {
		return nil
	}
	text := fmt.Sprint(path)
	if path == nil || text == "" {
		next.PerformanceBarAllowedGroupID = nil
		return nil
	}
	ids, err := db.Select[int](ctx, s.Store.db, `SELECT n.id FROM namespaces n JOIN routes r ON r.namespace_id = n.id
		WHERE n.kind = 'group' AND r.path_fold = ? ORDER BY n.id LIMIT 1`, strings.ToLower(text))
	if err != nil {
		return fmt.Errorf("find group: %w", err)
	}
	if len(ids) == 0 {
		return wrong(name, "not found")
	}
	next.PerformanceBarAllowedGroupID = &ids[0]
	return nil
}
