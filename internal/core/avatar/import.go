package avatar

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"tenon/internal/base/errs"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// Taking describes how the avatar of a project is taken from an archive, or that of a group from a direct transfer, by the rules for those that
// are uploaded. Archives of groups have none.
func (s *Service) Taking() []tree.Taking {
	return []tree.Taking{{Name: "avatar", In: tree.Both, Take: s.take}}
}

func (s *Service) take(ctx context.Context, w *tree.Writing, from *os.Root) (err error) {
	if w.At.Group && !w.Transfer {
		return nil
	}
	files, err := fs.ReadDir(from.FS(), "avatar")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list avatar: %w", err)
	}
	for i, file := range files {
		if i > 0 || !file.Type().IsRegular() {
			w.Leave("avatar", file.Name(), "there is one avatar")
			continue
		}
		if err := s.takeOne(ctx, w, from, file.Name()); err != nil {
			refused, ok := errors.AsType[*errs.Error](err)
			if !ok {
				return err
			}
			w.Leave("avatar", file.Name(), refused.Error())
			continue
		}
		w.Took("avatar")
	}
	return nil
}

func (s *Service) takeOne(ctx context.Context, w *tree.Writing, from *os.Root, name string) (err error) {
	f, err := from.Open("avatar/" + name)
	if err != nil {
		return fmt.Errorf("open avatar: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	p, err := s.Read(name, f)
	if err != nil {
		return err
	}
	if w.At.Group {
		_, err = s.SetGroup(ctx, w.As, namespace.ID(w.At.ID), p)
		return err
	}
	_, err = s.SetProject(ctx, w.As, project.ID(w.At.ID), p)
	return err
}
