package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tenon/internal/base/db"
)

// linkRounds is how often a deployment ships all merge requests of a history.
const linkRounds = 5

// shipment is a project whose deployments ship the merge requests of many commits.
type shipment struct {
	*delivery

	base  *db.DB // of the server
	shas  []string
	links int64
}

// mergedRow is what is written of a merge request that was merged.
type mergedRow struct {
	IID                       int64   `db:"iid"`
	TargetProjectID           int     `db:"target_project_id"`
	SourceProjectID           int     `db:"source_project_id"`
	TargetBranch              string  `db:"target_branch"`
	SourceBranch              string  `db:"source_branch"`
	AuthorID                  int64   `db:"author_id"`
	Title                     string  `db:"title"`
	TitleFold                 string  `db:"title_fold"`
	DescriptionFold           string  `db:"description_fold"`
	State                     string  `db:"state"`
	Draft                     bool    `db:"draft"`
	MergedAt                  db.Time `db:"merged_at"`
	BaseSHA                   string  `db:"base_sha"`
	StartSHA                  string  `db:"start_sha"`
	HeadSHA                   string  `db:"head_sha"`
	CommitsCount              int64   `db:"commits_count"`
	TrialResult               string  `db:"trial_result"`
	TrialSourceSHA            string  `db:"trial_source_sha"`
	TrialTargetSHA            string  `db:"trial_target_sha"`
	MergeCommitSHA            string  `db:"merge_commit_sha"`
	Squash                    bool    `db:"squash"`
	AllowCollaboration        bool    `db:"allow_collaboration"`
	MergeWhenPipelineSucceeds bool    `db:"merge_when_pipeline_succeeds"`
	NotesCount                int64   `db:"notes_count"`
	PublicNotesCount          int64   `db:"public_notes_count"`
	CreatedAt                 db.Time `db:"created_at"`
	UpdatedAt                 db.Time `db:"updated_at"`
}

// measureLinks measures the job that links a deployment with the merge requests of many commits, and what the writes of another client wait for meanwhile.
func (d *delivery) measureLinks(ctx context.Context, o options, folder string, l *loader, out *report) (err error) {
	address := o.database
	if address == "" {
		address = filepath.Join(l.server.data, "tenon.db")
	}
	base, err := db.Open(ctx, db.Config{URL: address, Readers: 2})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, base.Close()) }()
	s := &shipment{delivery: &delivery{world: &world{url: d.url, tokens: d.tokens}, deliverySize: d.deliverySize, root: d.root}, base: base}
	for _, step := range []struct {
		name string
		run  func(ctx context.Context) (int, error)
	}{
		{"history", func(ctx context.Context) (int, error) { return s.pushHistory(ctx, folder) }},
		{"merged requests", s.writeRequests},
	} {
		if err := timed(ctx, step.name, step.run); err != nil {
			return err
		}
	}
	if err := errors.Join(vacuum(ctx, o.database), l.server.quiet(ctx)); err != nil {
		return err
	}
	note := s.write("create a note", goal{}, http.MethodPost, http.StatusCreated, func(i int) (string, map[string]any) {
		return s.project + "/issues/1/notes", map[string]any{"body": text(i)}
	})
	var next atomic.Int64
	alone := l.run(ctx, note, &next, 1, l.length)
	var took []time.Duration
	var beside figures
	for range linkRounds {
		f, lasted, err := s.ship(ctx, l, note, &next)
		if err != nil {
			return err
		}
		took = append(took, lasted)
		if beside.done == 0 || f.longest > beside.longest {
			beside = f
		}
	}
	slices.Sort(took)
	out.line("\n| merge requests of %d commits, linked with a deployment | median | longest | goal |\n|---|--:|--:|---|", d.commits)
	out.line("| from the request to the last link | %.2f s | %.2f s | %s |", took[len(took)/2].Seconds(), took[len(took)-1].Seconds(), met(took[len(took)-1] <= 2*time.Second, "2 s"))
	out.line("\n| a client that writes | p50 / p95 / p99 ms | longest | goal |\n|---|--:|--:|---|")
	out.line("| alone | %s | %.1f ms | |", percentiles(alone), alone.longest.Seconds()*1000)
	out.line("| while merge requests are linked, the slowest of %d rounds | %s | %.1f ms | %s |", linkRounds, percentiles(beside), beside.longest.Seconds()*1000,
		met(beside.longest-alone.p50 <= 20*time.Millisecond, "waits at most 20 ms"))
	return s.shipOne(ctx, l, out)
}

// shipOne measures by turns the processor time of deployments that ship one merge request each, and of those that ship a commit without one.
func (s *shipment) shipOne(ctx context.Context, l *loader, out *report) error {
	commit, count := len(s.shas)-1, s.oneSeries()
	if err := s.deploy(ctx, commit); err != nil {
		return err
	}
	var own, git [2]time.Duration // of those without, and of those with a merge request
	for series := range 4 {
		if err := l.server.quiet(ctx); err != nil {
			return err
		}
		before, err := l.server.usage(ctx)
		if err != nil {
			return err
		}
		for range count {
			commit--
			if err := s.deploy(ctx, commit); err != nil {
				return err
			}
		}
		if err := wait(ctx, 2*time.Second); err != nil { // their jobs
			return err
		}
		after, err := l.server.usage(ctx)
		if err != nil {
			return err
		}
		used := after.minus(before)
		own[series%2] += used.own
		git[series%2] += used.git
	}
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(2*count) }
	more := each(own[1]+git[1]) - each(own[0]+git[0])
	out.line("\n| a deployment, %d of each kind by turns | processor time, server + git | goal |\n|---|--:|---|", 2*count)
	out.line("| of a commit without a merge request | %.2f + %.2f ms | |", each(own[0]), each(git[0]))
	out.line("| that ships one merge request | %.2f + %.2f ms | %s |", each(own[1]), each(git[1]), met(more <= 1, "1 ms more"))
	return nil
}

// pushHistory makes a project with a history, and deploys its first commit.
func (s *shipment) pushHistory(ctx context.Context, folder string) (int, error) {
	f := &filler{world: &world{size: quickSize, url: s.url, source: filepath.Join(folder, "shipped.git")}, root: s.root}
	f.commits = s.deliverySize.commits + 1
	if _, err := f.makeRepository(ctx); err != nil {
		return 0, err
	}
	m, err := s.root.post(ctx, "/projects", map[string]any{"name": "Shipped"})
	if err != nil {
		return 0, err
	}
	s.id, s.world.project = m.ID, fmt.Sprintf("/projects/%d", m.ID)
	to, err := signedOn(s.url+"/root/shipped.git", rootToken)
	if err != nil {
		return 0, err
	}
	if _, err := git(ctx, f.source, "push", "-q", to, "refs/heads/main:refs/heads/main"); err != nil {
		return 0, err
	}
	list, err := git(ctx, f.source, "rev-list", "--first-parent", "main")
	if err != nil {
		return 0, err
	}
	s.shas = strings.Fields(list)
	if len(s.shas) <= s.deliverySize.commits {
		return 0, fmt.Errorf("the history has %d commits", len(s.shas))
	}
	s.shas = s.shas[:s.deliverySize.commits+1]
	for _, token := range s.tokens {
		if err := s.member(ctx, token); err != nil {
			return 0, err
		}
	}
	_, err = s.root.post(ctx, s.project+"/issues", map[string]any{"title": "Written to meanwhile"})
	return s.deliverySize.commits, errors.Join(err, s.deploy(ctx, len(s.shas)-1))
}

// member makes the user of a token a maintainer.
func (s *shipment) member(ctx context.Context, token string) error {
	u, err := s.root.as(token).user(ctx)
	if err != nil {
		return err
	}
	_, err = s.root.post(ctx, s.project+"/members", map[string]any{"user_id": u.ID, "access_level": 40})
	return err
}

// deploy records a deployment of one of the commits to production, and waits until it is linked where it ships something.
func (s *shipment) deploy(ctx context.Context, commit int) error {
	m, err := s.root.post(ctx, s.project+"/deployments", map[string]any{"environment": "production", "sha": s.shas[commit], "ref": "main", "tag": false, "status": "success"})
	for want := s.links; err == nil; {
		var n int64
		if n, err = db.Get[int64](ctx, s.base, "SELECT COUNT(*) FROM deployment_merge_requests WHERE deployment_id = ?", m.ID); n == want || commit > 0 {
			return err
		}
		err = errors.Join(err, wait(ctx, 5*time.Millisecond))
	}
	return err
}

// oneSeries is how many deployments in a row are measured that ship one merge request, or none.
func (s *shipment) oneSeries() int { return min(100, len(s.shas)/10) }

// plain tells whether a commit has no merge request: of the four series that shipOne deploys, which are the oldest commits, the first and the third.
func (s *shipment) plain(commit int) bool {
	series := (len(s.shas) - 2 - commit) / s.oneSeries()
	return series == 0 || series == 2
}

// writeRequests writes a merged request for each commit but the first and the plain ones.
func (s *shipment) writeRequests(ctx context.Context) (int, error) {
	now := db.At(time.Now())
	var merged []string
	for i, sha := range s.shas[:len(s.shas)-1] {
		if !s.plain(i) {
			merged = append(merged, sha)
		}
	}
	for chunk := range slices.Chunk(merged, 500) {
		rows := make([]mergedRow, len(chunk))
		for i, sha := range chunk {
			s.links++
			title := fmt.Sprint("merged request ", s.links)
			rows[i] = mergedRow{
				IID: s.links, TargetProjectID: s.id, SourceProjectID: s.id, TargetBranch: "main", SourceBranch: fmt.Sprint("topic-", s.links), AuthorID: 1, Title: title, TitleFold: title,
				State: "merged", MergedAt: now, MergeCommitSHA: sha, CreatedAt: now, UpdatedAt: now,
			}
		}
		if err := s.base.InTx(ctx, func(ctx context.Context) error { return db.InsertRows(ctx, s.base, "merge_requests", rows, "") }); err != nil {
			return 0, err
		}
	}
	return int(s.links), nil
}

// ship goes back to the first commit, and deploys the last one while a client writes. It returns the figures of that client, and how long the links took.
func (s *shipment) ship(ctx context.Context, l *loader, note operation, next *atomic.Int64) (figures, time.Duration, error) {
	if err := s.deploy(ctx, len(s.shas)-1); err != nil {
		return figures{}, 0, err
	}
	if err := wait(ctx, time.Second); err != nil { // its job
		return figures{}, 0, err
	}
	writing, stop := context.WithCancel(ctx)
	done := make(chan figures, 1)
	go func() { done <- l.run(writing, note, next, 1, time.Minute) }() // ends with stop
	began := time.Now()
	err := s.deploy(ctx, 0)
	took := time.Since(began)
	stop()
	f := <-done
	return f, took, cmp.Or(err, ctx.Err())
}
