package gitstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// placing gives written files their names below an objects folder and makes the names
// durable. Housekeeping of git removes folders that it finds empty, at any moment: one
// that is gone is made again.
type placing struct {
	objects string
	touched map[string]bool // folders whose names are to be made durable
}

func placeIn(objects string) *placing { return &placing{objects: objects, touched: map[string]bool{}} }

// maxPlacing bounds the tries against a housekeeping that removes what we make.
const maxPlacing = 1000

// put renames a file to its place.
func (p *placing) put(tmp, target string) error {
	dir := filepath.Dir(target)
	p.touched[dir] = true
	for try := 0; ; try++ {
		err := os.Rename(tmp, target)
		if !errors.Is(err, fs.ErrNotExist) || try == maxPlacing {
			return err
		}
		if _, gone := os.Lstat(tmp); gone != nil {
			return err // it is the file that is missing, not the folder
		}
		switch err := os.Mkdir(dir, 0o750); {
		case err == nil:
			p.touched[p.objects] = true
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
}

// sync makes the names durable. A folder that is gone again held only what is in a pack
// by now.
func (p *placing) sync() error {
	var syncs errgroup.Group
	syncs.SetLimit(8)
	for dir := range p.touched {
		syncs.Go(func() error {
			if err := syncDir(dir); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		})
	}
	return syncs.Wait()
}
