package npm

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/packages"
	"tenon/internal/core/project"
)

const (
	maxMessage  = 3000 // characters of a deprecation
	maxMessages = 20   // of one request
)

// deprecate deprecates the versions of a document that have a message, and those no more whose message is empty. Others are left alone.
func (s *Service) deprecate(ctx context.Context, as authz.Actor, p *project.Project, name string, d *document) error {
	if err := s.Packages.Require(ctx, as, authz.DestroyPackage, p.Place()); err != nil {
		return err
	}
	var sent struct {
		Versions map[string]struct {
			Deprecated json.RawMessage `json:"deprecated"`
		} `json:"versions"`
	}
	if err := d.parse(&sent); err != nil {
		return err
	}
	if len(sent.Versions) == 0 {
		return errVersion
	}
	messages := map[string]string{} // of versions
	for version, v := range sent.Versions {
		var message string
		if v.Deprecated == nil {
			continue
		}
		if json.Unmarshal(v.Deprecated, &message) != nil || len(message) > maxMessage {
			return errs.Plain("Deprecation message is invalid.")
		}
		messages[version] = message
	}
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.lock(ctx, p.ID, name); err != nil {
			return err
		}
		known, err := s.describe(ctx, name, named, p.ID)
		if err != nil {
			return err
		}
		if len(known.versions) == 0 {
			return errNoPackages
		}
		changed := map[string][]packages.ID{} // by message
		for i := range known.versions {
			e := &known.versions[i]
			message, ok := messages[e.Version]
			if before := deref(e.Deprecated); ok && message != before {
				changed[message] = append(changed[message], e.ID)
			}
		}
		if len(changed) > maxMessages {
			return errs.Plain(fmt.Sprintf("Maximum number of deprecation messages (%d) exceeded", maxMessages))
		}
		for message, ids := range changed {
			if err := s.setDeprecated(ctx, message, ids); err != nil {
				return err
			}
			if err := s.Packages.Deprecate(ctx, ids, message); err != nil {
				return err
			}
		}
		if len(changed) == 0 {
			return nil
		}
		return s.render(ctx, p.ID, name)
	})
}

func (s *Service) setDeprecated(ctx context.Context, message string, ids []packages.ID) error {
	var value *string
	if message != "" {
		value = &message
	}
	for part := range slices.Chunk(ids, db.MaxArgs) {
		var w db.Where
		w.In("package_id", part)
		if _, err := s.DB.Exec(ctx, "UPDATE npm_versions SET deprecated = ?"+w.SQL(), append([]any{value}, w.Args()...)...); err != nil {
			return fmt.Errorf("deprecate versions: %w", err)
		}
	}
	return nil
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
