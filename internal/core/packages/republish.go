package packages

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
)

// republishGroups is the job that has the distributions of groups published, after a change of what many of them show. What readers may no longer see
// is not served meanwhile, see fits.
type republishGroups struct {
	Groups []authz.NamespaceID `json:"groups,omitempty"`
	Open   bool                `json:"open,omitempty"` // all groups above projects with a public registry
}

// Kind names the job.
func (republishGroups) Kind() string { return "debian_publish_groups" }

const (
	republishBatch = 100 // distributions that are enqueued in one transaction
	groupBatch     = 100 // groups that are looked for at a time
)

// republish has distributions published.
func (s *Service) republish(ctx context.Context, ids ...DistributionID) error {
	for _, id := range ids {
		if err := s.Jobs.Enqueue(ctx, publishRelease{id}); err != nil {
			return err
		}
	}
	return nil
}

// republishOf has the distribution published that a package is in, or a part of it was.
func (s *Service) republishOf(ctx context.Context, id ID) error {
	in, err := db.Select[DistributionID](ctx, s.DB, `UPDATE debian_distributions SET deletions = deletions + 1
		WHERE id IN (SELECT u.distribution_id FROM debian_publications u WHERE u.package_id = ?) RETURNING id`, id)
	if err != nil {
		return fmt.Errorf("count deletions: %w", err)
	}
	return s.republish(ctx, in...)
}

// republishAbove has the distributions published of the groups above a project that show what one of its shows: those with its codename, one of each
// group.
func (s *Service) republishAbove(ctx context.Context, d *Distribution) error {
	list, err := db.Select[DistributionID](ctx, s.DB, `SELECT d.id FROM debian_distributions d JOIN namespaces n ON n.id = d.namespace_id
		WHERE d.namespace_id IN (SELECT a.ancestor_id FROM namespace_ancestors a WHERE a.namespace_id = ?) AND n.kind = 'group' AND d.codename = ? ORDER BY d.id`,
		d.NamespaceID, d.Codename)
	if err != nil {
		return fmt.Errorf("look for distributions of groups: %w", err)
	}
	return s.republish(ctx, list...)
}

// groupsOf has a job publish all distributions of groups, and of those above them or above projects. The groups are those of this moment.
func (s *Service) groupsOf(ctx context.Context, of ...authz.NamespaceID) error {
	var w db.Where
	w.In("a.namespace_id", of)
	w.Raw("n.kind = 'group' AND EXISTS (SELECT 1 FROM debian_distributions d WHERE d.namespace_id = n.id)")
	groups, err := db.Select[authz.NamespaceID](ctx, s.DB, "SELECT DISTINCT n.id FROM namespace_ancestors a JOIN namespaces n ON n.id = a.ancestor_id"+w.SQL()+" ORDER BY n.id", w.Args()...)
	if err != nil {
		return fmt.Errorf("look for groups with distributions: %w", err)
	}
	if len(groups) == 0 {
		return nil
	}
	return s.Jobs.Enqueue(ctx, republishGroups{Groups: groups})
}

// publishGroups has the distributions of groups published, in batches. Doing it twice is harmless.
func (s *Service) publishGroups(ctx context.Context, args republishGroups) error {
	if !args.Open {
		return s.republishIn(ctx, args.Groups)
	}
	for after := authz.NamespaceID(0); ; {
		groups, err := db.Select[authz.NamespaceID](ctx, s.DB, `SELECT n.id FROM namespaces n WHERE n.id > ? AND n.kind = 'group'
			AND EXISTS (SELECT 1 FROM debian_distributions d WHERE d.namespace_id = n.id)
			AND EXISTS (SELECT 1 FROM namespace_ancestors a JOIN projects p ON p.namespace_id = a.namespace_id WHERE a.ancestor_id = n.id AND p.features LIKE '%"package_registry":"public"%')
			ORDER BY n.id LIMIT ?`, after, groupBatch)
		if err != nil {
			return fmt.Errorf("look for groups above public registries: %w", err)
		}
		if err := s.republishIn(ctx, groups); err != nil {
			return err
		}
		if len(groups) < groupBatch {
			return nil
		}
		after = groups[len(groups)-1]
	}
}

// republishIn has all distributions of groups published.
func (s *Service) republishIn(ctx context.Context, groups []authz.NamespaceID) error {
	for after := DistributionID(0); ; {
		var w db.Where
		w.In("d.namespace_id", groups)
		w.And("d.id > ?", after)
		list, err := db.Select[DistributionID](ctx, s.DB, "SELECT d.id FROM debian_distributions d"+w.SQL()+" ORDER BY d.id LIMIT ?", append(w.Args(), republishBatch)...)
		if err != nil {
			return fmt.Errorf("look for distributions of groups: %w", err)
		}
		if err := s.DB.InTx(ctx, func(ctx context.Context) error { return s.republish(ctx, list...) }); err != nil {
			return errs.Wrap(err, "publish distributions of groups")
		}
		if len(list) < republishBatch {
			return nil
		}
		after = list[len(list)-1]
	}
}

// dropRetiredKeys deletes keys that were replaced long enough ago, in batches, and has their distributions signed without them.
func (s *Service) dropRetiredKeys(ctx context.Context) error {
	for {
		var of []DistributionID
		err := s.DB.InTx(ctx, func(ctx context.Context) error {
			var err error
			of, err = db.Select[DistributionID](ctx, s.DB, `DELETE FROM debian_distribution_keys WHERE id IN (SELECT k.id FROM debian_distribution_keys k
				WHERE k.retire_at <= ? ORDER BY k.id LIMIT ?) RETURNING distribution_id`, db.At(s.Now()), republishBatch)
			if err != nil {
				return fmt.Errorf("delete retired keys: %w", err)
			}
			signed := slices.Clone(of)
			slices.Sort(signed)
			return s.republish(ctx, slices.Compact(signed)...)
		})
		if err != nil || len(of) < republishBatch {
			return errs.Wrap(err, "drop signing keys")
		}
	}
}
