package project

import (
	"context"
	"fmt"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/core/authz"
)

// Updated says that a project has other attributes; the names are the API's.
type Updated struct {
	ProjectID ID
	Name      string
	FullPath  string // before the change
	Changed   []string
	By        authz.Actor
}

// Update changes a project, also in the archive: what clients keep of a project they
// write in one call, before they take it out of there. Visibility asks for the owner; a
// default branch must exist. Neither changes in the archive, and nothing changes of a
// project that is marked for deletion, or was archived or marked with its group.
func (s *Service) Update(ctx context.Context, as authz.Actor, ref string, c Changes) (*Project, error) {
	old, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.policy.Require(ctx, as, authz.EditProject, old.Subject()); err != nil {
		return nil, err
	}
	if old.Marked() || old.Archived && !old.ArchivedSelf || c.DefaultBranch != nil {
		if err := s.policy.Require(ctx, as, authz.AdminProject, old.Subject()); err != nil {
			return nil, err
		}
	}
	if c.Visibility != nil {
		if err := s.policy.Require(ctx, as, authz.ChangeVisibility, old.Subject()); err != nil {
			return nil, err
		}
	}
	p := *old
	c.Settings.At = s.now()
	changed, err := c.apply(&p)
	if err != nil {
		return nil, err
	}
	if c.Storage != nil {
		p.Storage = *c.Storage
	}
	if err := s.checkUpdate(ctx, as, &p, old, c.Mirror); err != nil {
		return nil, err
	}
	if c.DefaultBranch != nil && *c.DefaultBranch != "" && (old.DefaultBranch == nil || *c.DefaultBranch != *old.DefaultBranch) {
		if err := s.moveHead(ctx, old, *c.DefaultBranch); err != nil {
			return nil, err
		}
		p.DefaultBranch = c.DefaultBranch
		changed = append(changed, "default_branch")
	}
	if len(changed) == 0 {
		return old, nil
	}
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		if p.Path != old.Path || p.Name != old.Name {
			if err := s.namespaces.Rename(ctx, p.NamespaceID, p.Path, p.Name); err != nil {
				return err
			}
		}
		if p.Visibility != old.Visibility {
			if err := s.show(ctx, &p); err != nil {
				return err
			}
		}
		if err := s.store(ctx, &p); err != nil {
			return err
		}
		if slices.Contains(changed, "topics") {
			if err := s.link(ctx, &p); err != nil {
				return err
			}
		}
		return s.bus.Publish(ctx, Updated{ProjectID: p.ID, Name: p.Name, FullPath: old.FullPath, Changed: changed, By: as})
	})
	if f := takenFields(err); f != nil {
		return nil, f.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("update project: %w", err)
	}
	return s.FindByID(ctx, as, p.ID)
}

func (s *Service) checkUpdate(ctx context.Context, as authz.Actor, p, old *Project, m Mirror) error {
	fields := check(p, old)
	m.check(&fields, old)
	fields.Check(p.Storage == old.Storage, "repository_storage", "is invalid") // there is no other to move to
	if p.Visibility != old.Visibility || p.Path != old.Path || p.Name != old.Name {
		all, err := s.namespaces.ByIDs(ctx, []authz.NamespaceID{p.ParentID})
		if err != nil {
			return err
		}
		parent := all[p.ParentID]
		if parent == nil {
			return errs.Missing("Namespace")
		}
		if p.Visibility != old.Visibility {
			s.checkVisibility(&fields, as, p, parent)
		}
		if p.Path != old.Path || p.Name != old.Name {
			if err := s.checkFree(ctx, &fields, p, parent, p.NamespaceID); err != nil {
				return err
			}
		}
	}
	return fields.Err()
}

func (s *Service) moveHead(ctx context.Context, p *Project, branch string) error {
	if !gitcmd.ValidBranchName(branch) {
		var f errs.Fields
		f.Add("default_branch", messageBranch)
		return f.Err()
	}
	if s.above.Heads == nil {
		return fmt.Errorf("change default branch of project %d: no repositories", p.ID)
	}
	err := s.above.Heads.SetHead(ctx, p, branch)
	if errs.Is(err, errs.NotFound) {
		var f errs.Fields
		f.Add("base", fmt.Sprintf("Could not change HEAD: branch '%s' does not exist", branch))
		return f.Err()
	}
	if err != nil {
		return fmt.Errorf("change default branch: %w", err)
	}
	return nil
}

// store writes what Changes can change.
func (s *Service) store(ctx context.Context, p *Project) error {
	r := p.row(p.NamespaceID)
	_, err := s.db.Exec(ctx, `UPDATE projects SET name = ?, name_fold = ?, path = ?, description = ?, description_fold = ?,
		default_branch = ?, topics = ?, issues_access = ?, merge_requests_access = ?, repository_access = ?, forking_access = ?,
		wiki_access = ?, builds_access = ?, snippets_access = ?, features = ?, merge_method = ?, squash_option = ?,
		only_allow_merge_if_pipeline_succeeds = ?, allow_merge_on_skipped_pipeline = ?,
		only_allow_merge_if_all_discussions_are_resolved = ?, remove_source_branch_after_merge = ?,
		printing_merge_request_link_enabled = ?, merge_commit_template = ?, squash_commit_template = ?,
		suggestion_commit_message = ?, issue_branch_template = ?, request_access_enabled = ?, lfs_enabled = ?,
		autoclose_referenced_issues = ?, emails_enabled = ?, approvals_before_merge = ?, settings = ?, updated_at = ? WHERE id = ?`,
		r.Name, r.NameFold, r.Path, r.Description, r.DescriptionFold, p.DefaultBranch, r.Topics, r.IssuesAccess,
		r.MergeRequestsAccess, r.RepositoryAccess, r.ForkingAccess, r.WikiAccess, r.BuildsAccess, r.SnippetsAccess, r.FeaturesJSON,
		r.MergeMethod, r.SquashOption, r.OnlyIfPipeline, r.SkippedPipeline, r.OnlyIfDiscussions, r.RemoveSource, r.PrintLink,
		r.MergeTemplate, r.SquashTemplate, r.SuggestionMessage, r.BranchTemplate, r.RequestAccess, r.LFS, r.Autoclose, r.Emails,
		r.Approvals, r.SettingsJSON, db.At(s.now()), p.ID)
	if err != nil {
		return fmt.Errorf("store project: %w", err)
	}
	return nil
}

// Archived says that a project was made read-only, or, where Undone, writable again.
type Archived struct {
	ProjectID ID
	Name      string
	FullPath  string
	Undone    bool
	By        authz.Actor
}

// Archive makes a project read-only.
func (s *Service) Archive(ctx context.Context, as authz.Actor, ref string) (*Project, error) {
	return s.archive(ctx, as, ref, Archived{})
}

// Unarchive makes a project writable again.
func (s *Service) Unarchive(ctx context.Context, as authz.Actor, ref string) (*Project, error) {
	return s.archive(ctx, as, ref, Archived{Undone: true})
}

func (s *Service) archive(ctx context.Context, as authz.Actor, ref string, e Archived) (*Project, error) {
	p, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.policy.Require(ctx, as, authz.ArchiveProject, p.Subject()); err != nil {
		return nil, err
	}
	if p.MarkedForDeletionOn != nil && e.Undone {
		return nil, errs.Plain("Project is marked for deletion")
	}
	if p.ArchivedSelf != e.Undone {
		return p, nil
	}
	e.ProjectID, e.Name, e.FullPath, e.By = p.ID, p.Name, p.FullPath, as
	err = s.db.InTx(ctx, func(ctx context.Context) error {
		if _, err := s.db.Exec(ctx, "UPDATE projects SET archived = ?, updated_at = ? WHERE id = ?", !e.Undone, db.At(s.now()), p.ID); err != nil {
			return fmt.Errorf("archive project: %w", err)
		}
		return s.bus.Publish(ctx, e)
	})
	if err != nil {
		return nil, err
	}
	return s.FindByID(ctx, as, p.ID)
}
