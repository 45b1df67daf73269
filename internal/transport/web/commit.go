package web

import (
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/core/repo"
)

func (x *visit) getCommits() (templ.Component, error) {
	p, err := x.project("Commits")
	if err != nil {
		return nil, err
	}
	ref, file, tip, err := x.split(p, x.args["rest"])
	if err != nil {
		return nil, err
	}
	list, err := x.Repos.Commits(x.r.Context(), x.as, p, repo.CommitFilter{Ref: tip.ID.String(), Path: file, Range: x.part()})
	if err != nil {
		return nil, err
	}
	x.title("Commits of " + ref)
	if file != "" {
		x.title("Commits of " + file)
	}
	x.sheet.API += "/repository/commits"
	older, newer := around(x, &list)
	return commitList(p.FullPath, list.Items, older, newer), nil
}

func (x *visit) getCommit() (templ.Component, error) {
	p, err := x.project("Commits")
	if err != nil {
		return nil, err
	}
	c, err := x.named(p, x.args["sha"])
	if of, form := textForm(x.args["sha"]); form != "" && errs.Is(err, errs.NotFound) {
		if c, err = x.named(p, of); err == nil {
			return x.getCommitText(p, c, form)
		}
	}
	if err != nil {
		return nil, err
	}
	list, err := x.Repos.CommitDiffs(x.r.Context(), x.as, p, c, x.countedPart())
	if err != nil {
		return nil, err
	}
	x.title(shownTitle(c.Title()))
	x.sheet.API += "/repository/commits/" + c.ID.String()
	d := shownDiff(list.Items, list.Total)
	d.Older, d.Newer = around(x, &list)
	return commit(p.FullPath, c, d), nil
}

func (x *visit) getCompare() (templ.Component, error) {
	p, err := x.project("Commits")
	if err != nil {
		return nil, err
	}
	from, to, ok := strings.Cut(x.args["rest"], "...")
	straight := !ok
	if straight {
		if from, to, ok = strings.Cut(x.args["rest"], ".."); !ok {
			return nil, errs.Missing("")
		}
	}
	first, err := x.named(p, from)
	if err != nil {
		return nil, err
	}
	second, err := x.named(p, to)
	if err != nil {
		return nil, err
	}
	in := repo.CompareInput{From: first.ID.String(), To: second.ID.String(), Straight: straight, Commits: perPage}
	c, err := x.Repos.Compare(x.r.Context(), x.as, p, in)
	if err != nil {
		return nil, err
	}
	x.title(from + " and " + to)
	files := c.Diff.Files
	return comparison(p.FullPath, c, shownDiff(files[:min(len(files), perPage)], len(files))), nil
}

func (x *visit) getBranches() (templ.Component, error) {
	p, err := x.project("Branches")
	if err != nil {
		return nil, err
	}
	list, err := x.Repos.Branches(x.r.Context(), x.as, p, repo.BranchFilter{Range: x.part()})
	if err != nil {
		return nil, err
	}
	x.title("Branches")
	x.sheet.API += "/repository/branches"
	older, newer := around(x, &list.Page)
	return branchList(p.FullPath, list.Items, older, newer), nil
}

func (x *visit) getTags() (templ.Component, error) {
	p, err := x.project("Tags")
	if err != nil {
		return nil, err
	}
	list, err := x.Repos.Tags(x.r.Context(), x.as, p, repo.TagFilter{Range: x.part()})
	if err != nil {
		return nil, err
	}
	x.title("Tags")
	x.sheet.API += "/repository/tags"
	older, newer := around(x, &list.Page)
	return tagList(p.FullPath, list.Items, older, newer), nil
}

// getTag shows a tag, which may have slashes in its name.
func (x *visit) getTag() (templ.Component, error) {
	p, err := x.project("Tags")
	if err != nil {
		return nil, err
	}
	t, err := x.Repos.FindTag(x.r.Context(), x.as, p, x.args["rest"])
	if err != nil {
		return nil, err
	}
	r, err := x.releases().Find(x.r.Context(), x.as, p, t.Name)
	if err != nil && errs.KindOf(err) == errs.Internal {
		return nil, err
	}
	x.title(t.Name)
	if t.Protected {
		x.sheet.Badge = "protected"
	}
	x.sheet.API += "/repository/tags/" + url.PathEscape(t.Name)
	return tagPage(p.FullPath, t, r), nil
}
