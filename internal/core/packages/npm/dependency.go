package npm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/packages"
)

// Dependency is a package that a version of a package needs.
type Dependency struct {
	Kind     string // DEPENDENCIES, DEV_DEPENDENCIES, PEER_DEPENDENCIES or BUNDLE_DEPENDENCIES
	Name     string
	Versions string // a pattern, * where the version names none
}

// declared are the dependencies in a manifest. Bundled ones are names, or names with patterns, or all.
type declared struct {
	Dependencies, DevDependencies, PeerDependencies json.RawMessage
	BundleDependencies, BundledDependencies         json.RawMessage
}

// list returns what a manifest declares, by name in each kind. Whatever has another form than npm documents declares nothing.
func (d *declared) list() []Dependency {
	var out []Dependency
	for _, of := range []struct {
		kind string
		raw  json.RawMessage
	}{
		{"DEPENDENCIES", d.Dependencies},
		{"DEV_DEPENDENCIES", d.DevDependencies},
		{"PEER_DEPENDENCIES", d.PeerDependencies},
		{"BUNDLE_DEPENDENCIES", d.BundleDependencies},
		{"BUNDLE_DEPENDENCIES", d.BundledDependencies},
	} {
		var names []string
		patterns := map[string]json.RawMessage{}
		if json.Unmarshal(of.raw, &names) != nil && json.Unmarshal(of.raw, &patterns) != nil {
			continue
		}
		for _, name := range names {
			patterns[name] = nil
		}
		for _, name := range slices.Sorted(maps.Keys(patterns)) {
			versions := "*"
			_ = json.Unmarshal(patterns[name], &versions)
			out = append(out, Dependency{of.kind, name, versions})
		}
	}
	return out
}

// Dependencies returns what packages need that were read for the caller.
func (s *Service) Dependencies(ctx context.Context, ids []packages.ID) (map[packages.ID][]Dependency, error) {
	var w db.Where
	w.In("v.package_id", ids)
	rows, err := db.Select[versionRow](ctx, s.DB, "SELECT v.package_id, '' AS manifest, v.summary, v.deprecated FROM npm_versions v"+w.SQL()+" ORDER BY v.package_id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read dependencies of npm packages: %w", err)
	}
	out := make(map[packages.ID][]Dependency, len(rows))
	for _, r := range rows {
		var d declared
		if err := json.Unmarshal([]byte(strings.ReplaceAll(r.Summary, root, "")), &d); err != nil {
			return nil, fmt.Errorf("read manifest of package %d: %w", r.PackageID, err)
		}
		out[r.PackageID] = d.list()
	}
	return out, nil
}
