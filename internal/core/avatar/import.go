package avatar

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"tenon/internal/base/errs"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// Taking describes how the avatar of a project is taken from an archive, by the rules for those that are uploaded.
func (s *Service) Taking() []tree.Taking {
	return []tree.Taking{{Name: "avatar", Take: s.take}}
}

func (s *Service) take(ctx context.Context, w *tree.Writing, from *os.Root) (err error) {
	files, err := fs.ReadDir(from.FS(), "avatar")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list avatar: %w", err)
	}
	for i, file := range files {
		if i > 0 || !file.Type().IsRegular() {
			w.Leave("avatar", file.Name(), "a project has one avatar")
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
	_, err = s.SetProject(ctx, w.As, project.ID(w.At.ID), p)
	return err
}
