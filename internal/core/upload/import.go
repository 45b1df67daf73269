package upload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/project"
	"tenon/internal/core/quota"
	"tenon/internal/core/tree"
)

var secretPattern = regexp.MustCompile(`\A[0-9a-f]{32}\z`)

// Taking describes how files that were attached to texts are taken from an archive of a project, or from a direct transfer, under their addresses.
// Archives of groups have none.
func (s *Service) Taking() []tree.Taking {
	return []tree.Taking{{Name: "uploads", In: tree.Both, Take: s.take}}
}

func (s *Service) take(ctx context.Context, w *tree.Writing, from *os.Root) error {
	if w.At.Group && !w.Transfer {
		return nil
	}
	folders, err := fs.ReadDir(from.FS(), "uploads")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list uploads: %w", err)
	}
	for _, folder := range folders {
		if !folder.IsDir() || !secretPattern.MatchString(folder.Name()) {
			w.Leave("uploads", folder.Name(), "its name is no address")
			continue
		}
		files, err := fs.ReadDir(from.FS(), "uploads/"+folder.Name())
		if err != nil {
			return fmt.Errorf("list uploads: %w", err)
		}
		for _, file := range files {
			name := folder.Name() + "/" + file.Name()
			if file.IsDir() || blob.CleanName(file.Name()) != file.Name() {
				w.Leave("uploads", name, "its name is not allowed")
				continue
			}
			err := s.takeOne(ctx, w, from, Upload{NamespaceID: w.At.Namespace, Secret: folder.Name(), Name: file.Name(), UserID: &w.As.UserID, CreatedAt: w.Now})
			if refused, ok := errors.AsType[*errs.Error](err); ok {
				w.Leave("uploads", name, refused.Error())
				continue
			}
			if err != nil {
				return err
			}
			w.Took("uploads")
		}
	}
	return nil
}

// takeOne stores a file, unless it is there already.
func (s *Service) takeOne(ctx context.Context, w *tree.Writing, from *os.Root, u Upload) (err error) {
	there, err := db.Get[Upload](ctx, s.DB, "SELECT "+db.Columns[Upload]("")+" FROM uploads WHERE secret = ?", u.Secret)
	switch {
	case err == nil && there.NamespaceID == u.NamespaceID && there.Name == u.Name:
		return nil
	case err == nil: // such as of the project that was exported from this server
		return errs.Plain("its address is taken")
	case !errors.Is(err, db.ErrNotFound):
		return fmt.Errorf("look for address: %w", err)
	}
	f, err := from.Open("uploads/" + u.Secret + "/" + u.Name)
	if err != nil {
		return fmt.Errorf("open upload: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	staged, err := s.Objects.Stage(ctx, f, blob.Wanted{Limit: max(s.MaxSize(), 1)})
	if errors.Is(err, blob.ErrTooLarge) {
		return errs.Plain("the file is too large")
	}
	if err != nil {
		return err
	}
	defer staged.Discard()
	storing := quota.Storing{As: w.As, Subject: w.At.Subject, Namespace: w.At.Namespace, Bytes: staged.Size}
	if !w.At.Group {
		storing.Project = project.ID(w.At.ID)
	}
	release, err := s.Quota.Reserve(ctx, storing)
	if err != nil {
		return err
	}
	defer release()
	u.Size = staged.Size
	if err := staged.Keep(ctx, u.key()); err != nil {
		return err
	}
	if err := db.Create(ctx, s.DB, "uploads", &u); err != nil {
		return fmt.Errorf("record upload: %w", err)
	}
	return nil
}
