package gitcmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"tenon/internal/base/gitstore"
)

// maxArrived bounds how many small blobs of one push are read.
const maxArrived = 100_000

// ArrivedBlobs hands the content of the new blobs in the quarantine of a view to fn, as
// far as they have from least to most bytes. Of packs that hold more than a hundred
// thousand such blobs the rest is passed over. It starts no process for loose objects and
// for those that are still in memory.
func (r *Repo) ArrivedBlobs(ctx context.Context, least, most int64, fn func(content []byte) error) error {
	if err := r.NewLooseBlobs(least, most, fn); err != nil {
		return fmt.Errorf("look through new objects: %w", err)
	}
	if !r.HasNewPacks() {
		return nil
	}
	ids, err := r.blobsOf(ctx, []string{"GIT_OBJECT_DIRECTORY=" + r.NewObjects()}, least, most)
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

func (r *Repo) each(ctx context.Context, ids []gitstore.ObjectID, most int64, fn func(content []byte) error) error {
	for _, id := range ids {
		content, err := r.content(ctx, id, gitstore.KindBlob, most)
		if err != nil {
			return err
		}
		if err := fn(content); err != nil {
			return err
		}
	}
	return nil
}

// blobsOf lists the blobs of these sizes in the repository, or in the packs of the
// quarantine that env names. It is brief work: the pushes that wait for it must not be
// what it waits for.
func (r *Repo) blobsOf(ctx context.Context, env []string, least, most int64) ([]gitstore.ObjectID, error) {
	list, err := r.git.stream(ctx, call{
		repo: r.main(), env: env,
		args: []string{"cat-file", "--batch-all-objects", "--unordered", "--buffer", "--batch-check=%(objecttype) %(objectsize) %(objectname)"},
	})
	if err != nil {
		return nil, err
	}
	var ids []gitstore.ObjectID
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
		id, err := gitstore.ParseObjectID(name)
		if err != nil {
			return nil, errors.Join(err, list.Close())
		}
		ids = append(ids, id)
	}
	return ids, list.Close()
}
