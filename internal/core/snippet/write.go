package snippet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// Action is what a call does to a file.
type Action string

// The actions.
const (
	CreateFile Action = "create"
	UpdateFile Action = "update"
	DeleteFile Action = "delete"
	MoveFile   Action = "move"
)

// File is a change of one file.
type File struct {
	Action   Action
	Path     string
	Previous string  // path, of a move
	Content  *string // nil keeps what a moved file holds
}

// Input describes a new snippet.
type Input struct {
	Title       string
	Description *string
	Visibility  authz.Visibility
	Files       []File // all of them are created
}

// Changes are those of Update; nil leaves alone.
type Changes struct {
	Title       *string
	Description *string
	Visibility  *authz.Visibility
	Files       []File

	// Of the only file of a snippet, instead of Files.
	FileName *string
	Content  *string
}

// Texts that the contract has for refusals.
const (
	textManyFiles   = "To update Snippets with multiple files, you must use the `files` parameter"
	textBadActions  = "Snippet actions have invalid data"
	textCommitted   = "Create snippet"
	textUpdated     = "Update snippet"
	textTooMany     = "The repository can have at most %d files."
	textNoFiles     = "The repository must have a file."
	textTooLarge    = "The files take more than %s."
	textOtherBranch = "A snippet has one branch, %q: nothing else can be pushed."
	textDelete      = "The branch of a snippet cannot be deleted."
	textNoUpdate    = "You are not allowed to update this snippet."
)

// Create makes a snippet: in a project, or the actor's own where the project is nil.
func (s *Service) Create(ctx context.Context, as authz.Actor, p *project.Project, in Input) (*Snippet, error) {
	if err := s.mayCreate(ctx, as, p); err != nil {
		return nil, err
	}
	now := db.At(s.Now())
	sn := Snippet{
		AuthorID: as.UserID, Title: strings.TrimSpace(in.Title), Description: in.Description, Visibility: in.Visibility,
		Branch: s.Settings.Current().Branch(), Agent: as.Agent, Address: as.Address, CreatedAt: now, UpdatedAt: now,
	}
	if p != nil {
		sn.ProjectID, sn.ProjectPath = &p.ID, p.FullPath
	}
	if err := s.check(as, &sn, authz.Private); err != nil {
		return nil, err
	}
	actions, err := fileActions(in.Files)
	if err != nil {
		return nil, err
	}
	// The repository comes first: one that gets no snippet is removed later.
	if sn.RepositoryID, err = s.Repos.NewAttached(ctx, repo.OfSnippet); err != nil {
		return nil, err
	}
	a := s.attached(&sn)
	a.Owner = &newRepository{s}
	if _, err := s.Repos.CommitAttached(ctx, as, a, repo.AttachedInput{Message: textCommitted, Actions: actions}); err != nil {
		return nil, err
	}
	if err := s.look(ctx, &sn); err != nil {
		return nil, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context) error {
		if err := db.Create(ctx, s.DB, "snippets", &sn); err != nil {
			return fmt.Errorf("create snippet: %w", err)
		}
		return s.Bus.Publish(ctx, Created{change.Created(as, s.Now(), sn.place(), &sn)})
	})
	if err != nil {
		return nil, err
	}
	return &sn, nil
}

func (s *Service) mayCreate(ctx context.Context, as authz.Actor, p *project.Project) error {
	if p != nil {
		return s.Policy.Require(ctx, as, authz.CreateSnippet, p.Subject())
	}
	if err := s.Policy.Require(ctx, as, authz.CreatePersonalSnippet, authz.Subject{}); err != nil {
		return err
	}
	if as.External && !as.Admin {
		return errs.Denied("")
	}
	return nil
}

// check validates a snippet whose visibility was another one before.
func (s *Service) check(as authz.Actor, sn *Snippet, was authz.Visibility) error {
	switch {
	case sn.Title == "":
		return errs.Plain("Title can't be blank")
	case utf8.RuneCountInString(sn.Title) > maxTitle:
		return errs.Plain(fmt.Sprintf("Title is too long (maximum is %d characters)", maxTitle))
	case sn.Description != nil && utf8.RuneCountInString(*sn.Description) > maxDescription:
		return errs.Plain(fmt.Sprintf("Description is too long (maximum is %d characters)", maxDescription))
	case !as.Admin && (sn.ID == 0 || sn.Visibility != was) && slices.Contains(s.Settings.Current().RestrictedVisibilityLevels, sn.Visibility.String()):
		return errs.Plain("Visibility level has been restricted by your GitLab administrator")
	}
	return nil
}

// fileActions turns changes of files into those of a commit.
func fileActions(files []File) ([]repo.Action, error) {
	if len(files) == 0 || len(files) > maxFiles {
		return nil, errs.Plain(fmt.Sprintf("Snippet files count must be from 1 to %d", maxFiles))
	}
	out := make([]repo.Action, len(files))
	for i, f := range files {
		switch {
		case f.Path == "", (f.Action == CreateFile || f.Action == UpdateFile) && (f.Content == nil || *f.Content == ""),
			f.Action == MoveFile && (f.Previous == "" || f.Previous == f.Path):
			return nil, errs.Plain(textBadActions)
		case utf8.RuneCountInString(f.Path) > maxPath:
			return nil, errs.Plain(fmt.Sprintf("File path is too long (maximum is %d characters)", maxPath))
		}
		out[i] = repo.Action{Kind: string(f.Action), Path: f.Path, PreviousPath: f.Previous, Content: f.Content}
		if f.Action == DeleteFile {
			out[i].Content = nil
		}
	}
	return out, nil
}

// Update changes a snippet and its files.
func (s *Service) Update(ctx context.Context, as authz.Actor, p *project.Project, id ID, c Changes) (*Snippet, error) {
	sn, _, err := s.find(ctx, as, p, id, authz.UpdateSnippet)
	if err != nil {
		return nil, err
	}
	if err := as.UnmodifiedAt(sn.UpdatedAt.Time); err != nil {
		return nil, err
	}
	checked := *sn
	c.apply(&checked)
	if err := s.check(as, &checked, sn.Visibility); err != nil {
		return nil, err
	}
	files, err := c.files(sn)
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		actions, err := fileActions(files)
		if err != nil {
			return nil, err
		}
		if _, err := s.Repos.CommitAttached(ctx, as, s.attached(sn), repo.AttachedInput{Message: textUpdated, Actions: actions}); err != nil {
			return nil, err
		}
	}
	if len(files) > 0 {
		as = as.Unconditional() // the files are written already
	}
	return s.set(ctx, as, id, func(now *Snippet) error {
		was := now.Visibility
		c.apply(now)
		return s.check(as, now, was)
	})
}

// set changes the row of a snippet and publishes Updated.
func (s *Service) set(ctx context.Context, as authz.Actor, id ID, edit func(*Snippet) error) (*Snippet, error) {
	var out db.Change[Snippet]
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		var err error
		out, err = db.Update(ctx, s.DB, s.row(id).Provided(as.UnmodifiedAt), func(_ context.Context, sn *Snippet) error { return edit(sn) })
		if err != nil || !out.Any() {
			return err
		}
		return s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), out.After.place(), &out)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "update snippet")
	}
	return &out.After, nil
}

func (c Changes) apply(sn *Snippet) {
	if c.Title != nil {
		sn.Title = strings.TrimSpace(*c.Title)
	}
	if c.Description != nil {
		sn.Description = c.Description
	}
	if c.Visibility != nil {
		sn.Visibility = *c.Visibility
	}
}

// files returns the changes of files, those of the only file in the other form.
func (c Changes) files(sn *Snippet) ([]File, error) {
	if c.FileName == nil && c.Content == nil {
		return c.Files, nil
	}
	there := sn.Files()
	if len(there) > 1 {
		return nil, errs.Plain(textManyFiles)
	}
	f := File{Action: UpdateFile, Content: c.Content}
	switch {
	case len(there) == 0:
		f.Action = CreateFile
	default:
		f.Path = there[0]
	}
	if c.FileName != nil && *c.FileName != f.Path {
		if f.Action == UpdateFile {
			f.Action, f.Previous = MoveFile, f.Path
		}
		f.Path = *c.FileName
	}
	if f.Action == UpdateFile && c.Content == nil {
		return nil, nil
	}
	return []File{f}, nil
}

// Delete removes a snippet with its repository.
func (s *Service) Delete(ctx context.Context, as authz.Actor, p *project.Project, id ID) error {
	sn, _, err := s.find(ctx, as, p, id, authz.UpdateSnippet)
	if err != nil {
		return err
	}
	return s.remove(ctx, as, sn)
}

func (s *Service) remove(ctx context.Context, as authz.Actor, sn *Snippet) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		was, err := db.Delete[Snippet](ctx, s.DB, s.row(sn.ID).Provided(as.UnmodifiedAt), nil)
		if err != nil {
			return errs.Wrap(err, "delete snippet")
		}
		if err := s.Repos.DropAttached(ctx, was.RepositoryID); err != nil {
			return err
		}
		return s.Bus.Publish(ctx, Deleted{change.Deleted(as, s.Now(), was.place(), &was)})
	})
}
