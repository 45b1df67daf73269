package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
)

// staged is a file as the actions so far leave it; a zero id is a file taken away.
type staged struct {
	mode gitstore.Mode
	id   gitstore.ObjectID
}

// treeEdit applies the actions of a commit to the tree of its parent.
type treeEdit struct {
	repo   *gitcmd.Repo // writes go into its quarantine
	parent gitstore.ObjectID
	staged map[string]staged
}

// apply plays the actions one after the other and returns the resulting tree.
func (t *treeEdit) apply(ctx context.Context, actions []Action) (gitstore.ObjectID, error) {
	for i := range actions {
		if err := t.action(ctx, &actions[i]); err != nil {
			return gitstore.ObjectID{}, err
		}
	}
	changes := make([]gitstore.TreeChange, 0, len(t.staged))
	for _, path := range slices.Sorted(maps.Keys(t.staged)) {
		file := t.staged[path]
		if file.id.IsZero() {
			// A file that came and went within the commit is no removal.
			if _, err := t.stored(ctx, path); errors.Is(err, gitstore.ErrNotFound) {
				continue
			}
		}
		changes = append(changes, gitstore.TreeChange{Path: path, Mode: file.mode, ID: file.id})
	}
	tree, err := t.repo.BuildTree(ctx, t.parent, changes)
	switch {
	case errors.Is(err, gitstore.ErrPathConflict):
		return gitstore.ObjectID{}, errs.Plain("A file or directory with this name already exists")
	case errors.Is(err, gitstore.ErrBadName):
		return gitstore.ObjectID{}, errs.Plain("Path is invalid")
	case err != nil:
		return gitstore.ObjectID{}, fmt.Errorf("build tree: %w", err)
	}
	return tree, nil
}

const (
	textFileExists  = "A file with this name already exists"
	textFileMissing = "A file with this name doesn't exist"
)

func (t *treeEdit) action(ctx context.Context, a *Action) error {
	from := a.Path
	if a.Kind == ActionMove {
		from = a.PreviousPath
	}
	old, err := t.file(ctx, from)
	exists := err == nil
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	if exists && a.LastCommitID != "" {
		if err := t.unchangedSince(ctx, from, a.LastCommitID); err != nil {
			return err
		}
	}
	if !a.Blob.IsZero() && (!exists || old.id != a.Blob) {
		return errs.Plain("A file has been changed.")
	}
	if a.Kind == actionSubmodule {
		return t.moveSubmodule(a, old, exists)
	}
	if a.Kind == ActionCreate {
		if exists {
			return errs.Plain(textFileExists)
		}
		return t.put(ctx, a, gitstore.ModeFile)
	}
	if !exists || old.mode == gitstore.ModeSubmodule && a.touches() {
		return errs.Plain(textFileMissing)
	}
	switch a.Kind {
	case ActionUpdate:
		if a.Content == nil {
			return errs.Bad("content is required for update action")
		}
		return t.put(ctx, a, old.mode)
	case ActionDelete:
		t.staged[a.Path] = staged{}
	case ActionChmod:
		old.mode = a.mode(old.mode)
		t.staged[a.Path] = old
	case ActionMove:
		if _, err := t.file(ctx, a.Path); err == nil {
			return errs.Plain(textFileExists)
		} else if !errors.Is(err, gitstore.ErrNotFound) {
			return err
		}
		t.staged[a.PreviousPath] = staged{}
		if a.Content != nil {
			return t.put(ctx, a, old.mode)
		}
		t.staged[a.Path] = old
	}
	return nil
}

// touches reports whether the action is about what is in a file, or what kind of file it
// is, which a submodule has neither of.
func (a *Action) touches() bool {
	return a.Kind == ActionUpdate || a.Kind == ActionChmod || a.Kind == ActionMove && a.Content != nil
}

// put stores an action's content at its path.
func (t *treeEdit) put(ctx context.Context, a *Action, mode gitstore.Mode) error {
	var content []byte
	if a.Content != nil {
		content = []byte(*a.Content)
		if a.Encoding == "base64" {
			var err error
			if content, err = unbase64(*a.Content); err != nil {
				return errs.Plain("content is not valid base64: " + a.Path)
			}
		}
	}
	id, err := t.repo.WriteBlob(ctx, content)
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	t.staged[a.Path] = staged{mode: a.mode(mode), id: id}
	return nil
}

// mode returns the mode of a file that had one after the action. A symbolic link stays one:
// what it names is no program.
func (a *Action) mode(old gitstore.Mode) gitstore.Mode {
	switch {
	case a.Executable == nil || old == gitstore.ModeSymlink:
		return old
	case *a.Executable:
		return gitstore.ModeExecutable
	}
	return gitstore.ModeFile
}

// file returns a file as the actions so far leave it.
func (t *treeEdit) file(ctx context.Context, path string) (staged, error) {
	if f, ok := t.staged[path]; ok {
		if f.id.IsZero() {
			return staged{}, gitstore.ErrNotFound
		}
		return f, nil
	}
	return t.stored(ctx, path)
}

// stored returns a file of the parent commit. A folder is no file.
func (t *treeEdit) stored(ctx context.Context, path string) (staged, error) {
	if t.parent.IsZero() {
		return staged{}, gitstore.ErrNotFound
	}
	entry, err := t.repo.Entry(ctx, t.parent, path)
	if err != nil {
		if errors.Is(err, gitstore.ErrWrongKind) || errors.Is(err, gitstore.ErrPathConflict) {
			return staged{}, gitstore.ErrNotFound
		}
		return staged{}, fmt.Errorf("read tree: %w", err)
	}
	if entry.Kind() == gitstore.KindTree {
		return staged{}, gitstore.ErrNotFound
	}
	return staged{mode: entry.Mode, id: entry.ID}, nil
}

var errStale = errors.New("file changed meanwhile")

// IsStale reports whether a commit was refused because a file has changed since the
// commit that the caller named.
func IsStale(err error) bool { return errors.Is(err, errStale) }

// unchangedSince refuses when another commit than the one named touched the file last.
func (t *treeEdit) unchangedSince(ctx context.Context, path, commit string) error {
	last, err := lastCommit(ctx, t.repo, t.parent, path)
	if err != nil {
		return err
	}
	if last.String() != commit {
		return &errs.Error{
			Kind: errs.Invalid, Message: "The file has changed since you started editing it: " + path, Err: errStale,
		}
	}
	return nil
}
