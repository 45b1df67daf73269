package gitstore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Small objects wait in memory up to these sizes, one and all.
const (
	stagedObject = 256 << 10
	stagedTotal  = 4 << 20
)

// staging holds the small objects of a quarantine in memory. Most quarantines hold a
// few, are read by no other process and are kept at once; the folder is made for the others
// only, and when a git process is to see it.
type staging struct {
	mu      sync.Mutex
	made    bool                  // the folder exists
	order   []ObjectID            // as they were written: what is named before what names it
	objects map[ObjectID]stagedIn // those of order
	size    int
}

type stagedIn struct {
	kind    Kind
	content []byte
}

// keep holds an object; it says no where there is no room.
func (s *staging) keep(id ObjectID, kind Kind, content []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.objects[id]; ok {
		return true
	}
	if len(content) > stagedObject || s.size+len(content) > stagedTotal {
		return false
	}
	if s.objects == nil {
		s.objects = make(map[ObjectID]stagedIn)
	}
	s.order, s.size = append(s.order, id), s.size+len(content)
	s.objects[id] = stagedIn{kind, bytes.Clone(content)}
	return true
}

// find returns an object that is held as if it had been read from its file.
func (s *staging) find(id ObjectID) (*Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[id]
	if !ok {
		return nil, false
	}
	return &Object{
		Info: Info{ID: id, Kind: o.kind, Size: int64(len(o.content))},
		in:   bufio.NewReader(bytes.NewReader(o.content)),
	}, true
}

// blobs returns the contents of the blobs of these sizes that are held, which no process
// changes, and says whether there are others in the folder.
func (s *staging) blobs(least, most int64) (contents [][]byte, made bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.order {
		o := s.objects[id]
		if n := int64(len(o.content)); o.kind == KindBlob && n >= least && n <= most {
			contents = append(contents, o.content)
		}
	}
	return contents, s.made
}

// Spill makes the quarantine's folder and writes what is held in memory into it, for a git
// process to see. It does nothing for a view that holds nothing in memory.
func (r *Repo) Spill(ctx context.Context) error {
	s := r.staging
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.made {
		if err := os.Mkdir(r.objects, 0o750); err != nil {
			return fmt.Errorf("make quarantine: %w", err)
		}
		s.made = true
	}
	for _, id := range s.order {
		tmp, err := r.writeStaged(ctx, r.objects, s.objects[id])
		if err == nil {
			err = placeObject(tmp, r.objects, id, false)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", id, err)
		}
	}
	s.drop()
	return nil
}

func (s *staging) drop() { s.order, s.objects, s.size = nil, nil, 0 }

// writeStaged writes an object to a temporary file in a folder.
func (r *Repo) writeStaged(ctx context.Context, dir string, o stagedIn) (string, error) {
	f, err := os.CreateTemp(dir, "tmp_obj_*")
	if err != nil {
		return "", err
	}
	_, err = r.store.encodeLoose(ctx, f, o.kind, int64(len(o.content)), bytes.NewReader(o.content))
	err = errors.Join(err, f.Chmod(0o440))
	if err == nil && dir != r.objects { // into the repository itself
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// settle makes what is held in memory part of the repository, durably and in the order
// in which it was written.
func (r *Repo) settle(ctx context.Context) error {
	s := r.staging
	s.mu.Lock()
	defer s.mu.Unlock()
	to := filepath.Join(r.path, "objects")
	tmp := make([]string, len(s.order))
	defer func() {
		for _, name := range tmp {
			if name != "" {
				_ = os.Remove(name) // gone already when all went well
			}
		}
	}()
	var files errgroup.Group
	files.SetLimit(8)
	for i, id := range s.order {
		files.Go(func() error {
			var err error
			tmp[i], err = r.writeStaged(ctx, to, s.objects[id])
			return err
		})
	}
	if err := files.Wait(); err != nil {
		return err
	}
	place := placeIn(to)
	for i, id := range s.order {
		if err := place.put(tmp[i], loosePath(to, id)); err != nil {
			return err
		}
		tmp[i] = ""
	}
	if err := place.sync(); err != nil {
		return err
	}
	s.drop()
	return nil
}
