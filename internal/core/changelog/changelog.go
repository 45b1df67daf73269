// Package changelog writes what a release changed from the trailers of its commits.
package changelog

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	strftime "github.com/ncruces/go-strftime"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/feature"
	"tenon/internal/core/limit"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// Deps are what the service is built on.
type Deps struct {
	DB            *db.DB
	Policy        *authz.Policy
	Accounts      *account.Service
	Namespaces    *namespace.Service
	Repos         *repo.Service
	MergeRequests *mergerequest.Service
	Limits        *limit.Service
	Features      *feature.Service
	Now           func() time.Time
}

// Service makes changelogs.
type Service struct {
	Deps
}

// New builds the service.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// Input says what a section of a changelog is about. Empty fields have defaults.
type Input struct {
	Version    string
	From, To   string // commits after From up to To; the tag of the version before, and Branch
	Branch     string // the default branch
	Trailer    string // "Changelog"
	Date       time.Time
	ConfigFile string // ".gitlab/changelog_config.yml"
	ConfigRef  string // where ConfigFile is read; the default branch
	File       string // "CHANGELOG.md"
	Message    string // of the commit
}

// Bounds of the commits of a section: with the feature for it, which is enabled by default, and without.
const (
	maxCommits     = 15_000
	maxCommitsEver = 150_000
)

// failed is the error of everything that keeps a changelog from being made.
func failed(reason string) error {
	return errs.New(errs.Unprocessable, "Failed to generate the changelog: "+reason)
}

func (i *Input) complete(p *project.Project, now time.Time) {
	set := func(field *string, fallback string) {
		if *field == "" {
			*field = fallback
		}
	}
	if p.DefaultBranch != nil {
		set(&i.Branch, *p.DefaultBranch)
	}
	if i.Branch != "" {
		set(&i.To, gitstore.Branches+i.Branch) // in full, as a tag may have the same name
	}
	set(&i.Trailer, "Changelog")
	set(&i.ConfigFile, ".gitlab/changelog_config.yml")
	set(&i.File, "CHANGELOG.md")
	i.Version = strings.TrimPrefix(i.Version, "v")
	set(&i.Message, "Add changelog for version "+i.Version)
	if i.Date.IsZero() {
		i.Date = now.UTC()
	}
}

// Generate returns the section of a version as Markdown.
func (s *Service) Generate(ctx context.Context, as authz.Actor, p *project.Project, in Input) (string, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadCode, p.Subject()); err != nil {
		return "", err
	}
	if err := s.Limits.CheckAt(limit.Changelog, as, p.Place()); err != nil {
		return "", err
	}
	in.complete(p, s.Now())
	return s.section(ctx, as, p, &in)
}

// Add commits the section of a version to the changelog of a branch: before the section
// of the version below it, else at the end. A version that the file has already is left
// as it is.
func (s *Service) Add(ctx context.Context, as authz.Actor, p *project.Project, in Input) error {
	in.complete(p, s.Now())
	if err := s.Repos.MayCommit(ctx, as, p, in.Branch); err != nil {
		if errs.Is(err, errs.Forbidden) {
			return errs.Denied("You are not allowed to commit a changelog on this branch")
		}
		return err
	}
	if err := s.Limits.CheckAt(limit.Changelog, as, p.Place()); err != nil {
		return err
	}
	section, err := s.section(ctx, as, p, &in)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		err := s.insert(ctx, as, p, &in, section)
		switch {
		case err == nil:
			return nil
		case repo.IsStale(err) && try < 3:
			continue // a user changed the file between reading and writing
		case errs.Is(err, errs.Invalid), errs.Is(err, errs.BadRequest):
			return failed(err.Error())
		}
		return err
	}
}

// insert makes the commit with the section.
func (s *Service) insert(ctx context.Context, as authz.Actor, p *project.Project, in *Input, section string) error {
	action := repo.Action{Kind: repo.ActionCreate, Path: in.File}
	old, last, err := s.read(ctx, as, p, in.File, gitstore.Branches+in.Branch)
	switch {
	case errs.Is(err, errs.NotFound):
	case err != nil:
		return err
	default:
		action.Kind, action.LastCommitID = repo.ActionUpdate, last
	}
	v, _ := parseVersion(in.Version)
	content, changed := place(string(old), section, v)
	if !changed {
		return nil
	}
	action.Content = &content
	_, err = s.Repos.Commit(ctx, as, p, repo.CommitInput{Branch: in.Branch, Message: in.Message, Actions: []repo.Action{action}})
	return err
}

// maxFile bounds the files that are read.
const maxFile = 10 << 20

// read returns a small file with the last commit that touched it.
func (s *Service) read(ctx context.Context, as authz.Actor, p *project.Project, path, ref string) ([]byte, string, error) {
	f, err := s.Repos.File(ctx, as, p, path, ref, repo.WithLastCommit)
	if err != nil {
		return nil, "", err
	}
	defer f.Blob.Close()
	if f.Blob.Size > maxFile {
		return nil, "", failed(path + " is too large")
	}
	content, err := io.ReadAll(f.Blob)
	if err != nil {
		return nil, "", fmt.Errorf("read file: %w", err)
	}
	return content, f.LastCommit.String(), nil
}

// place puts a section into a changelog; false where it has the version already.
func place(file, section string, v version) (string, bool) {
	heading := regexp.MustCompile(`(?m)^##[ \t]+(` + versionPattern + `)(?:[ \t]|\r?$)`)
	at := -1
	for _, m := range heading.FindAllStringSubmatchIndex(file, -1) {
		other, ok := parseVersion(file[m[2]:m[3]])
		switch {
		case !ok:
		case other == v:
			return file, false
		case other.less(v) && at < 0:
			at = m[0]
		}
	}
	switch {
	case file == "":
		return section, true
	case at >= 0:
		return file[:at] + section + "\n" + file[at:], true
	case !strings.HasSuffix(file, "\n"):
		file += "\n"
	}
	return file + "\n" + section, true
}

// section writes the heading and everything below it.
func (s *Service) section(ctx context.Context, as authz.Actor, p *project.Project, in *Input) (string, error) {
	if in.Version == "" {
		return "", failed("The `version` attribute is required.")
	}
	v, ok := parseVersion(in.Version)
	if !ok {
		return "", failed("The requested `version` attribute format is not correct. Use formats such as `1.0.0` or `v1.0.0`.")
	}
	config, err := s.config(ctx, as, p, in)
	if err != nil {
		return "", err
	}
	commits, err := s.commits(ctx, as, p, in, config, v)
	if err != nil {
		return "", err
	}
	data, err := s.data(ctx, as, p, config, in.Trailer, commits)
	if err != nil {
		return "", err
	}
	body, err := render(config.template, data)
	if err != nil {
		return "", failed(err.Error())
	}
	date := strftime.Format(config.dateFormat, in.Date)
	return "## " + in.Version + " (" + date + ")\n\n" + strings.TrimSpace(body) + "\n", nil
}

// config reads the configuration. What is not there is the configuration without any word.
func (s *Service) config(ctx context.Context, as authz.Actor, p *project.Project, in *Input) (*config, error) {
	content, _, err := s.read(ctx, as, p, in.ConfigFile, in.ConfigRef)
	if err != nil && !errs.Is(err, errs.NotFound) {
		return nil, err
	}
	if len(content) > 4*maxTemplate {
		return nil, failed(errTooLong.Error())
	}
	c, err := readConfig(in.ConfigFile, content)
	if err != nil {
		return nil, failed(err.Error())
	}
	return c, nil
}

// commits returns the commits of the section, newest first.
func (s *Service) commits(ctx context.Context, as authz.Actor, p *project.Project, in *Input, c *config, v version) ([]*gitstore.Commit, error) {
	unknown := failed("Invalid or not found commit value in the given range")
	to, err := s.Repos.FindCommit(ctx, as, p, in.To)
	if errs.Is(err, errs.NotFound) {
		return nil, unknown
	}
	if err != nil {
		return nil, err
	}
	from := in.From
	if from == "" {
		if from, err = s.previous(ctx, as, p, c, v); err != nil {
			return nil, err
		}
	}
	start, err := s.Repos.FindCommit(ctx, as, p, from)
	if errs.Is(err, errs.NotFound) {
		return nil, unknown
	}
	if err != nil {
		return nil, err
	}
	most := maxCommitsEver
	if s.Features.Enabled(feature.ChangelogLimit, feature.By(as), feature.In(p.Place())) {
		most = maxCommits
	}
	list, err := s.Repos.Commits(ctx, as, p, repo.CommitFilter{
		Ref: start.ID.String() + ".." + to.ID.String(), Range: page.Range{Limit: most},
	})
	if err != nil {
		return nil, err
	}
	if list.HasNext {
		return nil, failed(fmt.Sprintf("The commits range exceeds %d elements.", most))
	}
	return list.Items, nil
}

// previous finds the tag of the greatest version below one.
func (s *Service) previous(ctx context.Context, as authz.Actor, p *project.Project, c *config, v version) (string, error) {
	tags, err := s.Repos.Tags(ctx, as, p, repo.TagFilter{OrderBy: repo.TagsByName, Asc: true})
	if err != nil {
		return "", err
	}
	var best *repo.Tag
	var highest version
	for _, t := range tags.Items {
		other, ok := c.tagVersion(t.Name)
		if ok && other.less(v) && (best == nil || highest.less(other)) {
			best, highest = t, other
		}
	}
	if best == nil {
		return "", failed("The commit start range is unspecified, and no previous tag could be found to use instead")
	}
	return best.Commit.ID.String(), nil
}

// reverted finds the commits that a commit says it undoes.
func reverted(c *gitstore.Commit) (gitstore.ObjectID, bool) {
	_, rest, ok := strings.Cut(c.Message, "This reverts commit ")
	if !ok || len(rest) < 40 {
		return gitstore.ObjectID{}, false
	}
	id, err := gitstore.ParseObjectID(rest[:40])
	return id, err == nil
}
