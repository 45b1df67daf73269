package project

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
)

// ForkInput says what a fork is like; what is left out is as in the source.
type ForkInput struct {
	Namespace         string // number or path of where it stands, "" for the actor's own
	Name, Path        *string
	Description       *string
	Visibility        *authz.Visibility // lowered to what source and namespace allow
	DefaultTargetSelf *bool             // merge requests from the fork go to the fork unless they say otherwise
	Branch            string            // copy this branch only, "" for all branches and tags
}

// Forked says that a fork was made, whose repository is still empty.
type Forked struct {
	Fact

	Source *Project
	Branch string // the only one to copy, or ""
}

// Fork makes a project like the one that ref names, whose repository is copied in the
// background. A caller who may not fork it finds nothing. What is wrong with the fork itself,
// such as a name that is taken, is a Conflict with a list of sentences.
func (s *Service) Fork(ctx context.Context, as authz.Actor, ref string, in ForkInput) (*Project, error) {
	source, err := s.Find(ctx, as, ref)
	if err != nil {
		return nil, err
	}
	if err := s.requireFork(ctx, as, source); err != nil {
		return nil, err
	}
	if err := s.checkBranch(ctx, source, in.Branch); err != nil {
		return nil, err
	}
	into, err := s.forkInto(ctx, as, in.Namespace)
	if err != nil {
		return nil, conflicting(err)
	}
	if kept, err := s.Namespaces.KeepsForks(ctx, source.NamespaceID, into.ID); err != nil || kept && !as.Admin {
		return nil, errors.Join(err, errs.Sentences(errs.Conflict, "Forked from project is forbidden"))
	}
	p, err := s.build(as, Input{Changes: in.changes(source)}, into)
	if err != nil {
		return nil, err
	}
	p.Visibility = s.forkVisibility(as, in.Visibility, source, into)
	p.ImportStatus = ImportScheduled
	fields := check(p, nil)
	if err := s.checkFree(ctx, &fields, p, into, 0); err != nil {
		return nil, err
	}
	if err := fields.Err(); err != nil {
		return nil, conflicting(err)
	}
	err = s.insert(ctx, as, p, func(ctx context.Context) error {
		if err := s.join(ctx, p, source.ID); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Forked{Fact: change.About(as, s.Now(), p.Place(), p), Source: source, Branch: in.Branch})
	})
	if err != nil {
		return nil, conflicting(err)
	}
	return s.FindByID(ctx, as, p.ID)
}

// requireFork checks that the actor may copy the source; otherwise it is not found.
// No user copies what is marked for deletion.
func (s *Service) requireFork(ctx context.Context, as authz.Actor, source *Project) error {
	for _, ability := range []authz.Ability{authz.ForkProject, authz.ReadCode} {
		err := s.Policy.Require(ctx, as, ability, source.Subject())
		if errs.Is(err, errs.Forbidden) {
			return errs.Missing("")
		}
		if err != nil {
			return err
		}
	}
	if source.Marked() {
		return errs.Missing("")
	}
	return nil
}

func (s *Service) checkBranch(ctx context.Context, source *Project, branch string) error {
	if branch == "" {
		return nil
	}
	there, err := s.above.Heads.HasBranch(ctx, source, branch)
	if err != nil {
		return fmt.Errorf("look for branch to fork: %w", err)
	}
	if !there {
		return errs.Missing("Source Branch")
	}
	return nil
}

// forkInto finds the namespace of a new fork. One in which the actor may not make it is
// not found.
func (s *Service) forkInto(ctx context.Context, as authz.Actor, ref string) (*namespace.Namespace, error) {
	gone := errs.Missing("Target Namespace")
	if ref == "" {
		own, err := db.Get[*authz.NamespaceID](ctx, s.DB, "SELECT namespace_id FROM users WHERE id = ?", as.UserID)
		if err != nil {
			return nil, fmt.Errorf("personal namespace: %w", err)
		}
		if own == nil {
			return nil, gone
		}
		ref = fmt.Sprint(*own)
	}
	into, err := s.Namespaces.FindNamespace(ctx, as, ref)
	if err == nil {
		err = s.mayReceive(ctx, as, into)
	}
	if refused, ok := errors.AsType[*errs.Error](err); ok && len(refused.List) == 0 && refused.Kind != errs.Unauthorized {
		return nil, gone
	}
	return into, err
}

// conflicting turns a refusal with fields or a list into the Conflict that forks answer.
func conflicting(err error) error {
	refused, ok := errors.AsType[*errs.Error](err)
	if !ok || len(refused.Fields)+len(refused.List) == 0 {
		return err
	}
	list := refused.List
	for _, f := range refused.Fields {
		name := strings.NewReplacer("_", " ", ".", " ").Replace(f.Name)
		for _, message := range f.Messages {
			list = append(list, strings.ToUpper(name[:1])+name[1:]+" "+message)
		}
	}
	return errs.Sentences(errs.Conflict, list...)
}

// changes returns what a fork takes over from its source.
func (f *ForkInput) changes(source *Project) Changes {
	c := Changes{DefaultBranch: source.DefaultBranch, Features: map[string]string{}, Attributes: Attributes{
		Name: &source.Name, Path: &source.Path, Description: source.Description,
		MergeCommitTemplate: source.MergeCommitTemplate, SquashCommitTemplate: source.SquashCommitTemplate,
		SuggestionCommitMessage: source.SuggestionCommitMessage, LFSEnabled: &source.LFSEnabled,
		SharedRunnersEnabled: &source.SharedRunnersEnabled,
	}}
	c.Settings.MRDefaultTargetSelf, c.Settings.CIConfigPath = f.DefaultTargetSelf, source.Settings().CIConfigPath
	c.Settings.ExternalAuthorizationLabel = source.Settings().ExternalAuthorizationLabel
	for feature := range columnFeatures {
		c.Features[feature] = source.Access(feature)
	}
	for feature := range otherDefaults {
		c.Features[feature] = source.Access(feature)
	}
	if f.Name != nil {
		c.Name = f.Name
	}
	if f.Path != nil {
		c.Path = f.Path
	}
	if f.Description != nil {
		c.Description = f.Description
	}
	if f.Branch != "" {
		c.DefaultBranch = &f.Branch
	}
	return c
}

// forkVisibility lowers the wish to what source, namespace and instance allow.
func (s *Service) forkVisibility(as authz.Actor, wish *authz.Visibility, source *Project, into *namespace.Namespace) authz.Visibility {
	v := source.Visibility
	if wish != nil {
		v = min(v, *wish)
	}
	if into.Kind == namespace.GroupKind {
		v = min(v, into.Visibility)
	}
	for v > authz.Private && !as.Admin && s.restricted(v) {
		v -= authz.Internal
	}
	return v
}

// Sources returns the projects that those of a list were forked from, as far as the actor
// may see them, by their ids.
func (s *Service) Sources(ctx context.Context, as authz.Actor, list []*Project) (map[ID]*Project, error) {
	out := make(map[ID]*Project)
	var ids []ID
	for _, p := range list {
		if p.ForkedFromID != nil {
			ids = append(ids, *p.ForkedFromID)
		}
	}
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("p.id", ids)
	seen, args := s.Policy.VisibleProjectsSQL(as, "n")
	w.And(seen, args...)
	w.Raw("NOT p.pending_delete")
	level, args := s.Policy.LevelSQL(as, "p.namespace_id")
	rows, err := db.Select[row](ctx, s.DB, "SELECT "+columns+", "+level+" AS actor_level"+from+w.SQL(), append(args, w.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("sources of forks: %w", err)
	}
	for i := range rows {
		p := rows[i].project()
		out[p.ID] = p
	}
	return out, nil
}

// The states of an import or of the copy of a fork.
const (
	ImportNone      = "none"
	ImportScheduled = "scheduled"
	ImportStarted   = "started"
	ImportFinished  = "finished"
	ImportFailed    = "failed"
)

// Filling reports whether the repository is still to be filled from elsewhere, so that
// no other user may write to it.
func (p *Project) Filling() bool {
	return p.ImportStatus == ImportScheduled || p.ImportStatus == ImportStarted
}

// RecordImport notes how far the filling of a repository has come; message says why it
// failed, or what did not come along with one that is finished, "" for neither. It asks for no permission.
func (s *Service) RecordImport(ctx context.Context, id ID, status, message string) error {
	var text *string
	if message != "" {
		text = &message
	}
	row := s.lock(id)
	row.Now = nil
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		_, err := db.Update(ctx, s.DB, row, func(_ context.Context, p *Project) error {
			p.ImportStatus, p.ImportError = status, text
			return nil
		})
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return fmt.Errorf("record import: %w", err)
		}
		if status != ImportFinished && status != ImportFailed {
			return nil
		}
		return s.endImport(ctx, id)
	})
}
