package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// Measuring is the job that finds out what a project's repository holds: how much, in
// which languages, under which license.
type Measuring struct {
	ProjectID project.ID `json:"project_id"`
}

// Kind names the job.
func (Measuring) Kind() string { return "repository_measure" }

// What a measurement looks at, at most; what comes after in a larger repository does not
// count.
const (
	maxMeasured = 50_000   // files
	maxHeads    = 32 << 20 // bytes of files whose name does not tell their language
)

// Measure looks at the repository of a project and records what it finds. It asks for no
// permission.
func (s *Service) Measure(ctx context.Context, args Measuring) error {
	all, err := s.Projects.Load(ctx, []project.ID{args.ProjectID})
	if err != nil {
		return err
	}
	p := all[args.ProjectID]
	if p == nil {
		return nil
	}
	return s.measure(ctx, p)
}

// measure does it once however many ask for it: the others wait and find it done.
func (s *Service) measure(ctx context.Context, p *project.Project) error {
	defer s.locks.lock(lockKey{p.ID, "\x00measure"})()
	r, err := s.Open(ctx, p)
	if err != nil {
		return err
	}
	var tip gitstore.ObjectID
	if p.DefaultBranch != nil {
		if tip, err = r.Branch(ctx, *p.DefaultBranch); err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return fmt.Errorf("read default branch: %w", err)
		}
	}
	m := project.Measure{LanguagesOf: map[string]int64{}}
	added, limited, err := s.sizes.begin(ctx, p.ID)
	if err != nil {
		return err
	}
	if m.Size, err = r.Size(ctx); err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	if limited {
		if err := s.sizes.end(ctx, p.ID, m.Size, added, s.Now()); err != nil {
			return err
		}
	}
	if !tip.IsZero() {
		m.Commit = tip.String()
		at, _, err := s.Projects.MeasuredAt(ctx, p.ID)
		if err != nil {
			return err
		}
		if at == m.Commit {
			return s.Projects.RecordSize(ctx, p.ID, m.Size)
		}
		if err := s.look(ctx, r, tip, &m); err != nil {
			return err
		}
	}
	return s.Projects.RecordMeasure(ctx, p.ID, m)
}

// look fills in what the commit at the tip of the default branch holds.
func (s *Service) look(ctx context.Context, r *gitcmd.Repo, tip gitstore.ObjectID, m *project.Measure) error {
	commits, err := r.Count(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{tip}})
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	m.Commits = int64(commits)
	root, err := r.List(ctx, tip, "")
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	m.Readme = readmeOf(root)
	if m.License, m.LicenseKey, err = licenseOf(ctx, r, root); err != nil {
		return err
	}
	if err := s.countLanguages(ctx, r, tip, m.LanguagesOf); err != nil {
		return fmt.Errorf("measure languages: %w", err)
	}
	return nil
}

// readmeEndings are those of a README, the best first.
var readmeEndings = []string{".md", ".markdown", ".mkd", ".mdown", ".rst", ".adoc", ".asciidoc", ".org", ".textile", ".rdoc", ".creole", ".wiki", ".pod", "", ".txt"}

// readmeOf returns the path of the file that explains a project, "" for none.
func readmeOf(root []gitcmd.PathEntry) string {
	best, at := "", len(readmeEndings)
	for _, e := range root {
		if e.Kind() != gitstore.KindBlob {
			continue
		}
		ending, ok := strings.CutPrefix(strings.ToLower(e.Path), "readme")
		if i := slices.Index(readmeEndings, ending); ok && i >= 0 && i < at {
			best, at = e.Path, i
		}
	}
	return best
}

// Tip returns the commit at the tip of the default branch, "" for none. It asks for no
// permission.
func (s *Service) Tip(ctx context.Context, p *project.Project) (string, error) {
	if p.DefaultBranch == nil {
		return "", nil
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return "", err
	}
	tip, err := r.Branch(ctx, *p.DefaultBranch)
	if errors.Is(err, gitstore.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read default branch: %w", err)
	}
	return tip.String(), nil
}

// Languages returns the languages of the default branch, measured now where that has not
// been done since it moved. It requires ReadCode.
func (s *Service) Languages(ctx context.Context, as authz.Actor, p *project.Project) ([]project.LanguageShare, error) {
	r, err := s.Read(ctx, as, p)
	if err != nil {
		return nil, err
	}
	if p.DefaultBranch == nil {
		return []project.LanguageShare{}, nil
	}
	tip, err := r.Branch(ctx, *p.DefaultBranch)
	if errors.Is(err, gitstore.ErrNotFound) {
		return []project.LanguageShare{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read default branch: %w", err)
	}
	at, _, err := s.Projects.MeasuredAt(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	if at != tip.String() {
		if err := s.measure(ctx, p); err != nil {
			return nil, err
		}
	}
	return s.Projects.Languages(ctx, p.ID)
}
