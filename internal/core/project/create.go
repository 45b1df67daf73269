package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/limit"
	"tenon/internal/core/namespace"
)

// Input is a new project; one of name and path is needed, a blank one counts as none.
type Input struct {
	NamespaceID  *authz.NamespaceID // nil is the personal namespace of the actor, or of Owner
	Owner        authz.UserID       // make it for this user; administrators only
	Readme       bool
	ObjectFormat string // sha1 or sha256, "" is sha1
	ImportURL    string
	Template     string // name of a built-in template, see package starter
	TemplateID   *ID    // project whose branches and tags the new one starts with
	File         *FromFile
	ImportID     string // of the request, for an import
	Changes
}

// Create makes a project and its repository. Where the actor may not create in the
// namespace, or does not see it, that is an Invalid namespace; a full personal
// namespace is Forbidden with a list of one sentence.
func (s *Service) Create(ctx context.Context, as authz.Actor, in Input) (*Project, error) {
	parent, err := s.requireCreate(ctx, as, &in)
	if err != nil {
		return nil, err
	}
	if in.ImportURL != "" {
		if err := s.Limits.Check(limit.ProjectImport, as); err != nil {
			return nil, err
		}
	}
	from, err := s.checkImport(in.ImportURL)
	if err != nil {
		return nil, err
	}
	in.ImportURL = from.address
	if from.template, err = s.template(ctx, as, in); err != nil {
		return nil, err
	}
	if from.builtin, err = builtin(in); err != nil {
		return nil, err
	}
	p, err := s.build(as, in, parent)
	if err != nil {
		return nil, err
	}
	from.file = in.File
	if from != (origin{}) {
		p.ImportStatus, in.Readme = ImportScheduled, false
	}
	fields := append(check(p, nil), s.checkLabel(ctx, as, p.Settings().ExternalAuthorizationLabel)...)
	namespace.CheckArtifactsSize(&fields, as, nil, p.Settings().MaxArtifactsSize, s.Settings)
	s.checkPipelineAge(&fields, nil, p.Settings().CIDeletePipelinesInSeconds)
	if in.DefaultBranch != nil && *in.DefaultBranch != "" {
		fields.Check(gitstore.ValidBranchName(*in.DefaultBranch), "default_branch", messageBranch)
	}
	in.Mirror.check(&fields, p)
	storages := s.Settings.Current().RepositoryStorages
	fields.Check(slices.Contains(storages, p.Storage) && (in.Storage == nil || slices.Contains(storages, *in.Storage)), "repository_storage", messageNotListed)
	s.checkVisibility(&fields, as, p, parent)
	if err := s.checkFree(ctx, &fields, p, parent, 0); err != nil {
		return nil, err
	}
	if err := fields.Err(); err != nil {
		return nil, err
	}
	if err := s.insert(ctx, as, p, func(ctx context.Context) error { return s.scheduleImport(ctx, as, p, from) }); err != nil {
		return nil, err
	}
	return s.makeRepository(ctx, as, p, in)
}

// insert writes a new project with its place in the tree, and whatever more belongs into
// the same transaction.
func (s *Service) insert(ctx context.Context, as authz.Actor, p *Project, more func(ctx context.Context) error) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := s.personalRoom(ctx, as, p.ParentID, s.DB.Room); err != nil {
			return err
		}
		ns, err := s.Namespaces.Plant(ctx, namespace.Entry{
			Kind: namespace.ProjectKind, Parent: &p.ParentID, Path: p.Path, Name: p.Name, Visibility: p.Visibility,
		})
		if err != nil {
			return err
		}
		p.ID, p.NamespaceID = 0, ns
		topics, err := s.spell(ctx, p)
		if err != nil {
			return err
		}
		if err := db.Create(ctx, s.DB, "projects", p); err != nil {
			return fmt.Errorf("insert project: %w", err)
		}
		if err := s.link(ctx, p.ID, topics); err != nil {
			return err
		}
		err = s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), p.Place(), p)})
		if err != nil {
			return err
		}
		return more(ctx)
	})
	if f := takenFields(err); f != nil {
		return f.Err()
	}
	if err != nil {
		return fmt.Errorf("create project: %w", err)
	}
	return nil
}

// makeRepository runs after the commit. Should the server stop before, the first use
// of the repository makes it.
func (s *Service) makeRepository(ctx context.Context, as authz.Actor, p *Project, in Input) (*Project, error) {
	branch := p.InitialBranch()
	if branch == "" {
		branch = s.Settings.Current().Branch()
	}
	made, err := s.FindByID(ctx, as, p.ID)
	if err != nil {
		return nil, err
	}
	err = s.above.Repositories.Create(ctx, made, CreateOptions{
		By: as, DefaultBranch: branch, Readme: in.Readme, ObjectFormat: p.Settings().ObjectFormat,
	})
	if err != nil {
		return nil, fmt.Errorf("create repository: %w", err)
	}
	if !in.Readme {
		return made, nil
	}
	return s.FindByID(ctx, as, p.ID)
}

// requireCreate finds the namespace of a new project and checks that the actor may
// create there. What a group gives its new projects, the name of the default branch and
// whether instance runners run their jobs, goes into the input.
func (s *Service) requireCreate(ctx context.Context, as authz.Actor, in *Input) (*namespace.Namespace, error) {
	if in.Owner != 0 {
		if err := s.Policy.Require(ctx, as, authz.AdminUsers, authz.Subject{}); err != nil {
			return nil, err
		}
	}
	if !as.SignedIn() && !as.Admin {
		return nil, errs.New(errs.Unauthorized, "")
	}
	var id authz.NamespaceID
	if in.NamespaceID != nil {
		id = *in.NamespaceID
	} else {
		owner := in.Owner
		if owner == 0 {
			owner = as.UserID
		}
		own, err := db.Get[*authz.NamespaceID](ctx, s.DB, "SELECT namespace_id FROM users WHERE id = ?", owner)
		switch {
		case errors.Is(err, db.ErrNotFound):
			return nil, errs.Missing("User")
		case err != nil:
			return nil, fmt.Errorf("personal namespace: %w", err)
		case own == nil:
			return nil, badNamespace()
		}
		id = *own
	}
	all, err := s.Namespaces.Load(ctx, []authz.NamespaceID{id})
	if err != nil {
		return nil, err
	}
	parent := all[id]
	switch {
	case parent == nil || parent.Kind == namespace.ProjectKind:
		return nil, badNamespace()
	case parent.Kind == namespace.UserKind:
		return parent, s.requirePersonal(ctx, as, parent)
	}
	return parent, s.requireGroup(ctx, as, in, parent)
}

// RequireCreate refuses an actor who may not make a project in a namespace, nil for its own, as Create does.
func (s *Service) RequireCreate(ctx context.Context, as authz.Actor, in *authz.NamespaceID) error {
	_, err := s.requireCreate(ctx, as, &Input{NamespaceID: in})
	return err
}

func (s *Service) requirePersonal(ctx context.Context, as authz.Actor, parent *namespace.Namespace) error {
	err := s.Policy.Require(ctx, as, authz.CreateProject, authz.Subject{Namespace: parent.ID, Visibility: authz.Public})
	if errs.Is(err, errs.Forbidden) {
		return badNamespace()
	}
	if err != nil {
		return err
	}
	switch mine := as.Owns(parent.OwnerID); {
	case as.Admin && !mine:
		return nil
	case as.External && !as.Admin:
		return errs.Denied("")
	}
	if err := s.Namespaces.RequireMoreThanGuest(ctx, as); err != nil {
		return err
	}
	return s.personalRoom(ctx, as, parent.ID, s.DB.Fits)
}

// personalRoom refuses one more project in the actor's own namespace where it is full, as Room
// or Fits of the database counts. Other namespaces have no limit.
func (s *Service) personalRoom(ctx context.Context, as authz.Actor, parent authz.NamespaceID, count func(context.Context, db.Bound, int) error) error {
	limit, err := db.Get[int](ctx, s.DB, "SELECT projects_limit FROM users WHERE id = ? AND namespace_id = ?", as.UserID, parent)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("limit of projects: %w", err)
	case limit == 0:
		return errs.Sentences(errs.Forbidden, "You cannot create projects in your personal namespace. Contact your GitLab administrator.")
	}
	full := errs.Sentences(errs.Forbidden, fmt.Sprintf("You've reached your limit of %d projects created. Contact your GitLab administrator.", limit))
	most := db.Bound{Table: "projects", Most: limit, Full: full}
	most.Of.And("parent_id = ? AND NOT pending_delete", parent)
	return count(ctx, most, 1)
}

func (s *Service) requireGroup(ctx context.Context, as authz.Actor, in *Input, parent *namespace.Namespace) error {
	g, err := s.Namespaces.FindByID(ctx, as, parent.ID)
	if errs.Is(err, errs.NotFound) {
		return badNamespace()
	}
	if err != nil {
		return err
	}
	if err := s.Policy.Require(ctx, as, authz.CreateProject, g.Subject()); err != nil {
		if errs.Is(err, errs.Forbidden) {
			return badNamespace()
		}
		return err
	}
	if !createsIn(as, g) {
		return badNamespace()
	}
	if in.DefaultBranch == nil || *in.DefaultBranch == "" {
		in.DefaultBranch = g.DefaultBranch
	}
	if in.SharedRunnersEnabled == nil && !g.SharedRunners() {
		in.SharedRunnersEnabled = new(bool)
	}
	return nil
}

// creationLevels say what level a group's project_creation_level asks for; the words
// that are missing leave it to administrators.
var creationLevels = map[string]authz.Level{
	"developer": authz.Developer, "maintainer": authz.Maintainer, "owner": authz.Owner,
}

// createsIn reports whether the setting of a group lets the actor create projects there.
func createsIn(as authz.Actor, g *namespace.Group) bool {
	least, known := creationLevels[g.ProjectCreationLevel]
	return as.Admin || known && g.Level >= least
}

// MayCreateIn reports whether the actor may create projects in a group that was read for it with
// its level.
func (s *Service) MayCreateIn(ctx context.Context, as authz.Actor, g *namespace.Group) (bool, error) {
	may, err := s.Policy.Can(ctx, as, authz.CreateProject, g.Subject())
	return may && createsIn(as, g), err
}

func badNamespace() error {
	var f errs.Fields
	f.Add("namespace", "is not valid")
	return f.Err()
}

func (s *Service) build(as authz.Actor, in Input, parent *namespace.Namespace) (*Project, error) {
	set := s.Settings.Current()
	v, ok := authz.ParseVisibility(set.DefaultProjectVisibility)
	if !ok {
		v = authz.Private
	}
	if parent.Kind == namespace.GroupKind {
		v = min(v, parent.Visibility)
	}
	p := &Project{
		ParentID: parent.ID, Visibility: v, Storage: "default", TopicsJSON: "[]", Features: authz.AllEnabled(),
		MergeSettings: MergeSettings{
			MergeMethod: MergeCommit, SquashOption: SquashDefaultOff, RemoveSourceBranchAfterMerge: true, PrintingMergeRequestLinkEnabled: true,
		},
		OtherSettings: OtherSettings{
			RequestAccessEnabled: true, LFSEnabled: true, AutocloseReferencedIssues: true, EmailsEnabled: true, FeaturesJSON: "{}",
			SharedRunnersEnabled: set.SharedRunnersEnabled, GroupRunnersEnabled: true,
		},
		ImportState: ImportState{ImportStatus: ImportNone},
	}
	if len(set.RepositoryStorages) > 0 {
		p.Storage = set.RepositoryStorages[0]
	}
	if in.Storage != nil && as.Admin {
		p.Storage = *in.Storage
	}
	if in.SizeLimit != nil && as.Admin {
		p.RepositorySizeLimit = in.SizeLimit.Bytes
	}
	creator := as.UserID
	if in.Owner != 0 {
		creator = in.Owner
	}
	if creator != 0 {
		p.CreatorID = &creator
	}
	if blank(in.Name) && !blank(in.Path) {
		in.Name = in.Path
	}
	if blank(in.Path) && !blank(in.Name) {
		path := slug(*in.Name)
		in.Path = &path
	}
	in.Settings.At = s.Now()
	if err := in.apply(p); err != nil {
		return nil, err
	}
	own := p.Settings()
	if in.DefaultBranch != nil {
		own.InitialBranch = *in.DefaultBranch
	}
	if in.ObjectFormat != "" {
		own.ObjectFormat = in.ObjectFormat
	}
	own.ImportURL, own.ImportID = in.ImportURL, in.ImportID
	if in.File != nil {
		own.ImportType, p.Visibility = cmp.Or(in.File.Type, ImportTypeFile), authz.Private // until everything is there
	}
	text, err := own.with(SettingsChanges{})
	if err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}
	p.SettingsJSON = text
	p.FullPath, p.FullName = parent.FullPath+"/"+p.Path, parent.FullName+" / "+p.Name
	now := db.At(s.Now())
	p.CreatedAt, p.UpdatedAt, p.LastActivityAt = now, now, now
	return p, nil
}

// blank reports whether a name or path counts as not sent.
func blank(text *string) bool { return text == nil || strings.TrimSpace(*text) == "" }

// restricted reports whether the instance keeps a visibility to administrators.
func (s *Service) restricted(v authz.Visibility) bool {
	return slices.Contains(s.Settings.Current().RestrictedVisibilityLevels, v.String())
}

func (s *Service) checkVisibility(f *errs.Fields, as authz.Actor, p *Project, parent *namespace.Namespace) {
	if !as.Admin && s.restricted(p.Visibility) {
		f.Add("visibility_level", namespace.RestrictedVisibility(p.Visibility))
	}
	if parent.Kind == namespace.GroupKind && p.Visibility > parent.Visibility {
		f.Add("visibility_level", fmt.Sprintf("%s is not allowed in a %s namespace.", p.Visibility, parent.Visibility))
	}
}

// checkFree looks for something that holds the path or the name beside it already; but
// is the project's own namespace, 0 for a new one.
func (s *Service) checkFree(ctx context.Context, f *errs.Fields, p *Project, parent *namespace.Namespace, but authz.NamespaceID) error {
	type held struct {
		Path bool `db:"path_held"`
		Name bool `db:"name_held"`
	}
	h, err := db.Get[held](ctx, s.DB, `SELECT
		EXISTS (SELECT 1 FROM routes WHERE path_fold = ? AND namespace_id <> ?) AS path_held,
		EXISTS (SELECT 1 FROM namespaces WHERE parent_id = ? AND kind = 'project' AND name = ? AND id <> ?) AS name_held`,
		db.Fold(parent.FullPath+"/"+p.Path), but, parent.ID, p.Name, but)
	if err != nil {
		return fmt.Errorf("look for path and name: %w", err)
	}
	if h.Name {
		f.Add("project_namespace.name", namespace.MessageTaken)
		f.Add("name", namespace.MessageTaken)
	}
	if h.Path {
		f.Add("path", namespace.MessageTaken)
	}
	return nil
}

// takenFields says what a refused Plant or Rename is about, nil for nothing: a user
// was faster after checkFree.
func takenFields(err error) errs.Fields {
	var f errs.Fields
	switch {
	case errors.Is(err, namespace.ErrTaken):
		f.Add("path", namespace.MessageTaken)
	case errors.Is(err, namespace.ErrNameTaken):
		f.Add("project_namespace.name", namespace.MessageTaken)
		f.Add("name", namespace.MessageTaken)
	}
	return f
}
