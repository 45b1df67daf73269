package lfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"tenon/internal/base/errs"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// maxListed bounds the list of large objects in an archive, in bytes.
const maxListed = 32 << 20

// Taking describes how large objects are taken from an archive: those whose content is what their name says.
func (s *Service) Taking() []tree.Taking {
	return []tree.Taking{{Name: "lfs objects", Take: s.take}}
}

func (s *Service) take(ctx context.Context, w *tree.Writing, from *os.Root) error {
	list, err := listed(from)
	if err != nil || len(list) == 0 {
		return err
	}
	for _, oid := range slices.Sorted(maps.Keys(list)) {
		if !(Pointer{OID: oid}).Valid() {
			w.Leave("lfs-objects", oid, "its name is no hash")
			continue
		}
		err := s.takeOne(ctx, w, from, oid)
		if refused, ok := errors.AsType[*errs.Error](err); ok {
			w.Leave("lfs-objects", oid, refused.Error())
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			w.Leave("lfs-objects", oid, "the archive does not have it")
			continue
		}
		if err != nil {
			return err
		}
		w.Took("lfs-objects")
	}
	return nil
}

func (s *Service) takeOne(ctx context.Context, w *tree.Writing, from *os.Root, oid string) (err error) {
	f, err := from.Open("lfs-objects/" + oid)
	if err != nil {
		return fmt.Errorf("open large object: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open large object: %w", err)
	}
	return s.Place(ctx, w.As, project.Of(w.At), Pointer{OID: oid, Size: info.Size()}, f)
}

// listed are the objects that an archive names.
func listed(from *os.Root) (out map[string]json.RawMessage, err error) {
	f, err := from.Open("lfs-objects.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list large objects: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out = map[string]json.RawMessage{}
	for lists := json.NewDecoder(io.LimitReader(f, maxListed)); ; { // each batch of a direct transfer has one
		if err := lists.Decode(&out); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, nil
		}
	}
}
