package namespace

import (
	"context"
	"errors"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/limit"
)

// ArchivedAbove is the condition that a group is archived which the place is in or
// is; namespace is the SQL of the place's id.
func ArchivedAbove(namespace string) string {
	return `EXISTS (SELECT 1 FROM groups ag JOIN namespace_ancestors aa ON aa.ancestor_id = ag.namespace_id
		WHERE ag.archived AND aa.namespace_id = ` + namespace + ")"
}

// MarkedAbove is the condition that a group is marked for deletion which the place stands
// in or is. No user writes there until it is restored.
func MarkedAbove(namespace string) string {
	return `EXISTS (SELECT 1 FROM groups dg JOIN namespace_ancestors da ON da.ancestor_id = dg.namespace_id
		WHERE dg.marked_for_deletion_on IS NOT NULL AND da.namespace_id = ` + namespace + ")"
}

// InArchived is ArchivedAbove for the condition of a list: what is archived is looked up
// once for all rows.
func InArchived(namespace string) string {
	return namespace + ` IN (SELECT aa.namespace_id FROM groups ag JOIN namespace_ancestors aa ON aa.ancestor_id = ag.namespace_id
		WHERE ag.archived)`
}

// InMarked is MarkedAbove for the condition of a list.
func InMarked(namespace string) string {
	return namespace + ` IN (SELECT da.namespace_id FROM groups dg JOIN namespace_ancestors da ON da.ancestor_id = dg.namespace_id
		WHERE dg.marked_for_deletion_on IS NOT NULL)`
}

// PipelineAbove is the condition that a group which the place is in lets nothing be
// merged without a pipeline that succeeded; namespace is the SQL of the place's id.
func PipelineAbove(namespace string) string {
	return above("only_allow_merge_if_pipeline_succeeds", namespace)
}

// SkippedAbove is the condition that such a group takes a skipped pipeline for one that
// succeeded.
func SkippedAbove(namespace string) string {
	return above("allow_merge_on_skipped_pipeline", namespace)
}

// ResolvedAbove is the condition that such a group lets nothing be merged before all threads are resolved.
func ResolvedAbove(namespace string) string {
	return above("only_allow_merge_if_all_discussions_are_resolved", namespace)
}

func above(column, namespace string) string {
	return `EXISTS (SELECT 1 FROM groups mg JOIN namespace_ancestors ma ON ma.ancestor_id = mg.namespace_id
		WHERE mg.` + column + ` AND ma.namespace_id = ` + namespace + ")"
}

// Archive makes a group read-only, with its subgroups and projects.
func (s *Service) Archive(ctx context.Context, as authz.Actor, ref string) (*Group, error) {
	return s.archive(ctx, as, ref, GroupArchived{})
}

// Unarchive makes a group writable again, unless a group above it is archived.
func (s *Service) Unarchive(ctx context.Context, as authz.Actor, ref string) (*Group, error) {
	return s.archive(ctx, as, ref, GroupArchived{Undone: true})
}

func (s *Service) archive(ctx context.Context, as authz.Actor, ref string, e GroupArchived) (*Group, error) {
	g, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.Policy.Require(ctx, as, authz.ArchiveGroup, g.Subject()); err != nil {
		return nil, err
	}
	if err := s.Limits.Check(limit.GroupArchive, as); err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		out, err := db.Update(ctx, s.DB, groupRow(g.ID), func(_ context.Context, g *Group) error {
			g.ArchivedSelf = !e.Undone
			return nil
		})
		if errors.Is(err, db.ErrNotFound) {
			return errs.Missing("Group")
		}
		if err != nil || !out.Any() {
			return err
		}
		e.GroupFact = s.groupFact(as, &out)
		return s.Bus.Publish(ctx, e)
	})
	if err != nil {
		return nil, errs.Wrap(err, "archive group")
	}
	return s.FindByID(ctx, as, g.ID)
}
