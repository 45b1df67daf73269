package gitcmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// maxArrived bounds how many small blobs of one push are read.
const maxArrived = 100_000

// ArrivedBlobs hands the content of the new blobs in the quarantine of a view to fn, as
// far as they have from least to most bytes. Of packs that hold more than a hundred
// thousand such blobs the rest is passed over. It starts no process for loose objects and
// for those that are still in memory.
func (r *Repo) ArrivedBlobs(ctx context.Context, least, most int64, fn func(content []byte) error) error {
	if r.objects == "" {
		return nil
	}
	if r.staging != nil {
		held, made := r.staging.blobs(least, most)
		for _, content := range held {
			if err := fn(content); err != nil {
				return err
			}
		}
		if !made {
			return nil
		}
	}
	if err := r.arrivedLoose(least, most, fn); err != nil {
		return fmt.Errorf("look through new objects: %w", err)
	}
	if !r.hasPacks() {
		return nil
	}
	ids, err := r.blobsOf(ctx, []string{"GIT_OBJECT_DIRECTORY=" + r.objects}, least, most)
	if err != nil {
		return fmt.Errorf("look through new packs: %w", err)
	}
	return r.each(ctx, ids, most, fn)
}

// SmallBlobs is ArrivedBlobs for all objects of the repository, whether or not anything
// refers to them.
func (r *Repo) SmallBlobs(ctx context.Context, least, most int64, fn func(content []byte) error) error {
	ids, err := r.blobsOf(ctx, nil, least, most)
	if err != nil {
		return fmt.Errorf("look through objects: %w", err)
	}
	return r.each(ctx, ids, most, fn)
}

func (r *Repo) each(ctx context.Context, ids []ObjectID, most int64, fn func(content []byte) error) error {
	for _, id := range ids {
		content, err := r.content(ctx, id, KindBlob, most)
		if err != nil {
			return err
		}
		if err := fn(content); err != nil {
			return err
		}
	}
	return nil
}

func (r *Repo) arrivedLoose(least, most int64, fn func(content []byte) error) error {
	folders, err := os.ReadDir(r.objects)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if len(folder.Name()) != 2 || !isHex(folder.Name()) {
			continue
		}
		files, err := os.ReadDir(r.objects + "/" + folder.Name())
		if err != nil {
			return err
		}
		for _, file := range files {
			id, err := ParseObjectID(folder.Name() + file.Name())
			if err != nil {
				continue // it is being written
			}
			if err := looseBlob(r.objects, id, least, most, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

func looseBlob(dir string, id ObjectID, least, most int64, fn func(content []byte) error) error {
	o, err := openLoose(dir, id)
	if err != nil {
		return err
	}
	defer o.close()
	if o.Kind != KindBlob || o.Size < least || o.Size > most {
		return nil
	}
	content, err := o.content()
	if err != nil {
		return err
	}
	return fn(content)
}

// blobsOf lists the blobs of these sizes in the repository, or in the packs of the
// quarantine that env names. It is brief work: the pushes that wait for it must not be
// what it waits for.
func (r *Repo) blobsOf(ctx context.Context, env []string, least, most int64) ([]ObjectID, error) {
	list, err := r.git.stream(ctx, call{
		repo: r.main(), env: env,
		args: []string{"cat-file", "--batch-all-objects", "--unordered", "--buffer", "--batch-check=%(objecttype) %(objectsize) %(objectname)"},
	})
	if err != nil {
		return nil, err
	}
	var ids []ObjectID
	in := bufio.NewReader(list)
	for len(ids) < maxArrived {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.Join(err, list.Close())
		}
		rest, isBlob := bytes.CutPrefix(line, []byte("blob "))
		if !isBlob {
			continue
		}
		digits, name, _ := strings.Cut(strings.TrimSpace(string(rest)), " ")
		size, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || size < least || size > most {
			continue
		}
		id, err := ParseObjectID(name)
		if err != nil {
			return nil, errors.Join(err, list.Close())
		}
		ids = append(ids, id)
	}
	return ids, list.Close()
}
