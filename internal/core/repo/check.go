package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/project"
)

// CheckOptions say what is checked.
type CheckOptions struct {
	Project project.ID // zero checks all projects, and looks for repositories of none
	Fsck    bool       // reads every object, which takes long
	Repair  bool       // gives a project without a default branch the one that its repository has
}

// Problem is one thing that is wrong with a repository.
type Problem struct {
	ProjectID project.ID `json:"project_id,omitempty"` // zero where the repository is not a project's own
	Path      string     `json:"path"`                 // full path of the project, the wiki or snippet, or the folder
	Text      string     `json:"problem"`
	Repaired  bool       `json:"repaired,omitempty"`
}

// Check looks at repositories and tells after each how many are done. It changes nothing
// but what Repair says, and asks for no permission.
func (s *Service) Check(ctx context.Context, o CheckOptions, tell func(done, all int, path string)) ([]Problem, error) {
	var w db.Where
	w.And("NOT p.pending_delete")
	if o.Project != 0 {
		w.And("p.id = ?", o.Project)
	}
	rows, err := db.Select[checkRow](ctx, s.DB, "SELECT p.id, r.path, p.default_branch FROM projects p JOIN routes r ON r.namespace_id = p.namespace_id"+
		w.SQL()+" ORDER BY p.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("list projects: %w", err)
	}
	var out []Problem
	for i, p := range rows {
		found, err := s.checkProject(ctx, o, p)
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", p.Path, err)
		}
		out = append(out, found...)
		tell(i+1, len(rows), p.Path)
	}
	stuck, err := s.stuck(ctx, o.Project)
	if err != nil {
		return nil, err
	}
	out = append(out, stuck...)
	if o.Project != 0 {
		return out, nil
	}
	attached, err := s.checkAttached(ctx, o, tell)
	if err != nil {
		return nil, err
	}
	out = append(out, attached...)
	strays, err := s.strays(ctx)
	return append(out, strays...), err
}

// checkRow is a project whose repository is checked.
type checkRow struct {
	ID     project.ID `db:"id"`
	Path   string     `db:"path"`
	Branch *string    `db:"default_branch"`
}

// checkProject looks at the repository of a project.
func (s *Service) checkProject(ctx context.Context, o CheckOptions, p checkRow) ([]Problem, error) {
	var out []Problem
	r := s.Git.Repo(diskPath(p.ID))
	found, err := r.Inspect(ctx, s.Now())
	if err != nil {
		return nil, err
	}
	if p.Branch != nil && r.Exists() {
		if _, err := r.Branch(ctx, *p.Branch); errors.Is(err, gitstore.ErrNotFound) {
			found = append(found, fmt.Sprintf("the default branch %q is not there", *p.Branch))
		}
	}
	if p.Branch == nil && r.Exists() {
		lost, err := s.branchless(ctx, r, p.ID, o.Repair)
		if err != nil {
			return nil, err
		}
		if lost != nil {
			lost.Path = p.Path
			out = append(out, *lost)
		}
	}
	if o.Fsck && r.Exists() {
		text, err := fsck(ctx, r)
		if err != nil {
			return nil, err
		}
		found = append(found, text...)
	}
	if r.Exists() {
		lost, err := s.unkept(ctx, p.ID, r)
		if err != nil {
			return nil, err
		}
		found = append(found, lost...)
	}
	for _, text := range found {
		out = append(out, Problem{ProjectID: p.ID, Path: p.Path, Text: text})
	}
	return out, nil
}

// checkAttached looks at the repositories of wikis and snippets. One that was never opened is
// not there, which is no problem as long as nothing was written to it.
func (s *Service) checkAttached(ctx context.Context, o CheckOptions, tell func(done, all int, path string)) ([]Problem, error) {
	all, err := s.attachedAll(ctx)
	if err != nil {
		return nil, err
	}
	var out []Problem
	for i, st := range all {
		r := s.stored(st)
		if !r.Exists() {
			size, err := db.Get[int64](ctx, s.DB, "SELECT COALESCE(MAX(size), 0) FROM attached_repositories WHERE name = ?", st.Attached)
			if err != nil {
				return nil, fmt.Errorf("check %s: %w", st.Path, err)
			}
			if size > 0 {
				out = append(out, Problem{Path: st.Path, Text: "the repository is not there"})
			}
			continue
		}
		found, err := r.Inspect(ctx, s.Now())
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", st.Path, err)
		}
		if o.Fsck {
			text, err := fsck(ctx, r)
			if err != nil {
				return nil, fmt.Errorf("check %s: %w", st.Path, err)
			}
			found = append(found, text...)
		}
		for _, text := range found {
			out = append(out, Problem{Path: st.Path, Text: text})
		}
		tell(i+1, len(all), st.Path)
	}
	return out, nil
}

// fsck reads every object and returns what is wrong, nothing where all is well.
func fsck(ctx context.Context, r *gitcmd.Repo) ([]string, error) {
	err := r.Fsck(ctx)
	if e, ok := errors.AsType[*gitcmd.Error](err); ok && ctx.Err() == nil {
		return []string{"fsck: " + strings.Join(strings.Fields(e.Stderr), " ")}, nil
	}
	return nil, err
}

// branchless says that a project has no default branch although its repository has
// branches, and makes the one that HEAD names the default, or else the first one.
func (s *Service) branchless(ctx context.Context, r *gitcmd.Repo, id project.ID, repair bool) (*Problem, error) {
	refs, err := r.Refs(ctx, "refs/heads/")
	if err != nil {
		return nil, fmt.Errorf("list branches: %w", err)
	}
	if len(refs) == 0 {
		return nil, nil
	}
	under, err := db.Get[bool](ctx, s.DB, `SELECT p.default_branch IS NOT NULL OR p.import_status IN ('scheduled', 'started')
		OR EXISTS (SELECT 1 FROM ref_intents i WHERE i.project_id = p.id) FROM projects p WHERE p.id = ?`, id)
	if errors.Is(err, db.ErrNotFound) || err == nil && under {
		return nil, nil // gone, or just being filled
	}
	if err != nil {
		return nil, fmt.Errorf("look for pushes: %w", err)
	}
	out := &Problem{ProjectID: id, Text: fmt.Sprintf("the project has no default branch, and its repository %d branches", len(refs))}
	if !repair {
		return out, nil
	}
	branch := refs[0].Name
	head, err := r.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("read HEAD: %w", err)
	}
	if slices.ContainsFunc(refs, func(ref gitstore.Ref) bool { return ref.Name == head }) {
		branch = head
	} else if err := r.SetHead(ctx, branch); err != nil {
		return nil, fmt.Errorf("set default branch: %w", err)
	}
	if err := s.Projects.AdoptBranch(ctx, id, branch.Short()); err != nil {
		return nil, err
	}
	out.Text += fmt.Sprintf(": it is %q now", branch.Short())
	out.Repaired = true
	return out, nil
}

// unkept says which commits that comments, statuses or merge requests name are not there,
// and which of the former two are not kept from being pruned.
func (s *Service) unkept(ctx context.Context, id project.ID, r *gitcmd.Repo) ([]string, error) {
	named, err := db.Select[string](ctx, s.DB, `SELECT n.commit_id AS id FROM notes n WHERE n.project_id = ? AND n.commit_id IS NOT NULL
		UNION SELECT p.sha AS id FROM pipelines p WHERE p.project_id = ? ORDER BY id`, id, id)
	if err != nil {
		return nil, fmt.Errorf("list commits that are named: %w", err)
	}
	shown, err := db.Select[string](ctx, s.DB, `SELECT DISTINCT v.head_sha FROM merge_request_versions v
		JOIN merge_requests m ON m.id = v.merge_request_id WHERE m.target_project_id = ? ORDER BY v.head_sha`, id)
	if err != nil {
		return nil, fmt.Errorf("list commits that are shown: %w", err)
	}
	there, err := holding(ctx, r, slices.Concat(named, shown))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range named {
		if !there[name] {
			out = append(out, "a comment or status names the commit "+name+", which is not there")
			continue
		}
		_, err = r.Ref(ctx, gitstore.RefName(keepAround+name))
		if errors.Is(err, gitstore.ErrNotFound) {
			out = append(out, "nothing keeps the commit "+name+", which a comment or status names")
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for commits that are kept: %w", err)
		}
	}
	for _, name := range shown {
		if !there[name] {
			out = append(out, "a merge request shows the commit "+name+", which is not there")
		}
	}
	return out, nil
}

// holding says which of the objects a repository has; what is no name has none. Of a
// repository that git cannot read at all, which Inspect tells, it says that of all.
func holding(ctx context.Context, r *gitcmd.Repo, names []string) (map[string]bool, error) {
	there := make(map[string]bool, len(names))
	ids := make([]gitstore.ObjectID, 0, len(names))
	for _, name := range names {
		if id, err := gitstore.ParseObjectID(name); err == nil {
			there[name] = true
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return there, nil
	}
	absent, err := r.Absent(ctx, ids)
	if _, ok := errors.AsType[*gitcmd.Error](err); ok && ctx.Err() == nil {
		return there, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for commits: %w", err)
	}
	for id := range absent {
		there[id.String()] = false
	}
	return there, nil
}

// stuck lists pushes that were recorded long ago and never settled.
func (s *Service) stuck(ctx context.Context, id project.ID) ([]Problem, error) {
	type row struct {
		ID   project.ID `db:"id"`
		Path string     `db:"path"`
		At   db.Time    `db:"created_at"`
	}
	var w db.Where
	w.And("i.created_at < ?", s.Now().Add(-2*time.Hour))
	if id != 0 {
		w.And("i.project_id = ?", id)
	}
	rows, err := db.Select[row](ctx, s.DB, `SELECT p.id, r.path, i.created_at FROM ref_intents i JOIN projects p ON p.id = i.project_id
		JOIN routes r ON r.namespace_id = p.namespace_id`+w.SQL()+" ORDER BY i.id LIMIT 100", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("list pushes that are not settled: %w", err)
	}
	var out []Problem
	for _, r := range rows {
		out = append(out, Problem{ProjectID: r.ID, Path: r.Path, Text: "a push of " + r.At.Format(time.RFC3339) + " is not settled"})
	}
	return out, nil
}

// strays lists repositories on disk that belong to no project. Those of projects that
// are being deleted still belong to a project.
func (s *Service) strays(ctx context.Context) ([]Problem, error) {
	ids, err := db.Select[project.ID](ctx, s.DB, "SELECT id FROM projects")
	if err != nil {
		return nil, fmt.Errorf("list projects: %w", err)
	}
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[s.Git.Repo(diskPath(id)).Path()] = true
	}
	attached, err := db.Select[AttachedID](ctx, s.DB, "SELECT name FROM attached_repositories")
	if err != nil {
		return nil, fmt.Errorf("list repositories of wikis and snippets: %w", err)
	}
	for _, id := range attached {
		known[s.Git.Repo(attachedPath(id)).Path()] = true
	}
	out, err := s.straysIn(s.Git.Repo("@hashed").Path(), known, "the repository belongs to no project")
	if err != nil {
		return nil, err
	}
	more, err := s.straysIn(s.Git.Repo(attachedFolder).Path(), known, "the repository belongs to no wiki or snippet")
	return append(out, more...), errors.Join(err, ctx.Err())
}

func (s *Service) straysIn(root string, known map[string]bool, text string) ([]Problem, error) {
	var out []Problem
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !d.IsDir() || !strings.HasSuffix(path, ".git"):
			return nil
		case !known[path]:
			out = append(out, Problem{Path: path, Text: text})
		}
		return fs.SkipDir
	})
	if err != nil {
		return nil, fmt.Errorf("look for stray repositories: %w", err)
	}
	return out, nil
}
