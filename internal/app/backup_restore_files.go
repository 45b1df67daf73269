package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/job"
	"tenon/internal/core/repo"
)

// resume enqueues the jobs that waited.
func (r *restore) resume(ctx context.Context) error {
	const atOnce = 200
	rows := &jsonLines{from: r.from, part: partJobs}
	var batch []job.Saved
	left := map[string]int{}
	for {
		line, err := rows.next()
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return err
		}
		if !ended {
			var s job.Saved
			if err := json.Unmarshal(line, &s); err != nil {
				return fmt.Errorf("read job: %w", err)
			}
			batch = append(batch, s)
		}
		if len(batch) == atOnce || ended {
			unknown, err := r.jobs.Resume(ctx, batch)
			if err != nil {
				return fmt.Errorf("enqueue jobs: %w", err)
			}
			for _, kind := range unknown {
				left[kind]++
			}
			batch = batch[:0]
		}
		if ended {
			break
		}
	}
	for kind, n := range left {
		r.out.Notes = append(r.out.Notes, fmt.Sprintf("%d jobs of kind %q are left out: this program does not have it", n, kind))
	}
	slices.Sort(r.out.Notes)
	return nil
}

// files restores repositories and objects.
func (r *restore) files(ctx context.Context) error {
	list, err := r.core.Repos.Inventory(ctx)
	if err != nil {
		return err
	}
	known := make(map[string]repo.Stored, len(list))
	for _, st := range list {
		known[partOf(st)] = st
	}
	for {
		e, err := r.from.Peek()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(e.Part, partObjects) {
			if err := r.object(ctx); err != nil {
				return err
			}
			continue
		}
		st, ok := known[e.Part]
		if !ok {
			return fmt.Errorf("%s belongs to nothing in the database", e.Part)
		}
		r.out.Repositories++
		r.progress.line(int64(r.out.Repositories-1), int64(len(list)), "repositories: %d of %d (%s)", r.out.Repositories, len(list), st)
		part := e.Part
		if err := r.core.Repos.Restore(ctx, st, func() (string, io.Reader, error) {
			e, err := r.from.Peek()
			if err == nil && e.Part != part {
				err = io.EOF
			}
			if err != nil {
				return "", nil, err
			}
			_, err = r.from.Next()
			return e.Name, r.from, err
		}); err != nil {
			return err
		}
	}
}

func (r *restore) object(ctx context.Context) error {
	e, err := r.from.Next()
	if err != nil {
		return err
	}
	r.out.Objects++
	r.progress.line(0, 0, "objects: %d", r.out.Objects)
	return r.objects.Import(ctx, e.Name, e.Size, r.from)
}

// settle squares the database with repositories that are younger: pushes and merges that
// were under way, and projects that were being deleted.
func (r *restore) settle(ctx context.Context) error {
	if err := r.core.Repos.Complete(ctx, r.manifest.Deleted); err != nil {
		return err
	}
	if err := r.objects.Sweep(); err != nil {
		return err
	}
	return r.settleBefore(ctx, time.Time{})
}
