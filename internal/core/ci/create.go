package ci

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/planlimit"
	"tenon/internal/core/project"
	"tenon/internal/core/trigger"
)

// RunInput says what a pipeline is made for.
type RunInput struct {
	Ref       string // branch or tag: short, or a full reference name
	SHA       string // commit; "" is where Ref stands
	Before    string // where Ref stood before a push, "" where it is new or nothing was pushed
	Source    Source
	Variables []Variable
	Inputs    map[string]any // of the header spec:inputs
	Skip      bool           // the push asked for no pipeline
	Schedule  *ScheduleID    // the schedule that starts it

	MergeRequest *MergeRequest // that it runs for, with its commit; Ref and SHA do not count then

	upstream *StatusID   // the job that starts it
	trigger  *trigger.ID // the token that starts it
	text     []byte      // the configuration, nil for that of the commit
}

// Refusals of Run, as the errors of a pipeline's base.
const (
	noReference = "Reference not found"
	noConfig    = "Missing CI config file"
)

func refused(text string) error {
	return errs.Broken("", "base", text)
}

// errNothing says that a push makes no pipeline.
var errNothing = errors.New("no pipeline")

// draft is a pipeline that is being made.
type draft struct {
	*Service
	as      authz.Actor
	project *project.Project
	in      RunInput
	row     *Pipeline
	commit  *gitstore.Commit
	reader  *reader
	config  *ciconfig.Config
	made    *ciconfig.Pipeline

	names       []names  // of the jobs
	definitions []string // of the jobs, see Build
}

// Run makes a pipeline of a branch or tag from its configuration. It requires CreatePipeline, and the right to push to a
// protected reference or merge into it; variables of the actor require the role that the project asks for. What the configuration does not
// allow is Invalid, with its errors.
func (s *Service) Run(ctx context.Context, as authz.Actor, p *project.Project, in RunInput) (*Pipeline, error) {
	if err := s.Policy.Require(ctx, as, authz.CreatePipeline, p.Subject()); err != nil {
		return nil, err
	}
	if err := checkVariables(in.Variables); err != nil {
		return nil, err
	}
	if in.brings() {
		if err := s.requireVariables(ctx, as, p, refused(noVariables)); err != nil {
			return nil, err
		}
	}
	d, err := s.draft(ctx, as, p, in)
	if err != nil {
		return nil, err
	}
	if in.MergeRequest != nil {
		return d.create(ctx)
	}
	if err := s.mayRun(ctx, as, p, d.row.Ref, d.row.Tag); errs.Is(err, errs.Forbidden) {
		return nil, refused(cannotRun(d.row.Ref))
	} else if err != nil {
		return nil, err
	}
	return d.create(ctx)
}

// draft finds the commit that a pipeline is made for.
func (s *Service) draft(ctx context.Context, as authz.Actor, p *project.Project, in RunInput) (*draft, error) {
	if in.MergeRequest != nil {
		return s.draftFor(ctx, as, p, in)
	}
	g, err := s.Repos.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	ref, err := findRef(ctx, g, in.Ref)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil, refused(noReference)
	}
	if err != nil {
		return nil, fmt.Errorf("find reference: %w", err)
	}
	id := ref.Commit
	if in.SHA != "" {
		named, err := gitstore.ParseObjectID(in.SHA)
		if err != nil {
			return nil, refused(noReference)
		}
		info, err := g.Peel(ctx, named) // an annotated tag was pushed as an object of its own
		if errors.Is(err, gitstore.ErrNotFound) || err == nil && info.Kind != gitstore.KindCommit {
			return nil, refused(noReference)
		}
		if err != nil {
			return nil, fmt.Errorf("find commit: %w", err)
		}
		id = info.ID
	}
	c, err := g.Commit(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read commit: %w", err)
	}
	row := s.newRow(as, p, in)
	row.SHA, row.Ref, row.Tag = id.String(), ref.Ref.Short(), ref.Ref.IsTag()
	if in.Before != "" {
		row.BeforeSHA = &in.Before
	}
	if row.Protected, err = s.protects(ctx, as, p, row.Ref, row.Tag); err != nil {
		return nil, err
	}
	return &draft{Service: s, as: as, project: p, in: in, row: row, commit: c, reader: s.newReader(as, p)}, nil
}

// newRow makes the row of a pipeline that is not stored yet.
func (s *Service) newRow(as authz.Actor, p *project.Project, in RunInput) *Pipeline {
	user, now := as.UserID, db.At(s.Now())
	return &Pipeline{
		ProjectID: p.ID, Source: in.Source, State: Created, UserID: &user, CreatedAt: now, UpdatedAt: now, AutoCancel: CancelConservative,
		UpstreamJobID: in.upstream, TriggerID: in.trigger, ScheduleID: in.Schedule,
	}
}

// findRef finds a branch or tag by its short or full name; a branch stands before a tag of the same name.
func findRef(ctx context.Context, g *gitcmd.Repo, name string) (gitcmd.Revision, error) {
	names := []string{name}
	if !strings.HasPrefix(name, "refs/") {
		names = []string{"refs/heads/" + name, "refs/tags/" + name}
	}
	for _, full := range names {
		rev, err := g.Resolve(ctx, full)
		if err == nil && (rev.Ref.IsBranch() || rev.Ref.IsTag()) {
			return rev, nil
		}
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return gitcmd.Revision{}, err
		}
	}
	return gitcmd.Revision{}, gitstore.ErrNotFound
}

// skips matches commit messages that ask for no pipeline.
var skips = regexp.MustCompile(`(?i)\[(ci[ _-]skip|skip[ _-]ci)\]`)

// skips reports whether the push or the message of its commit asks for no pipeline. The commits of merge trains are not pushed.
func (d *draft) skips() bool {
	switch d.row.Source {
	case ByPush:
		return d.in.Skip || skips.MatchString(d.commit.Message)
	case ByMergeRequest:
		return d.in.MergeRequest.Event != MergeTrain && (d.in.Skip || skips.MatchString(d.commit.Message))
	}
	return d.in.Skip
}

// keepsErrors reports whether a configuration that is wrong leaves a failed pipeline, for no user waits for the answer.
func (d *draft) keepsErrors() bool {
	return slices.Contains([]Source{ByPush, ByMergeRequest, BySchedule}, d.row.Source)
}

// create reads the configuration and writes what it makes. A push or merge request whose configuration is wrong leaves a failed
// pipeline with the errors; every other source is refused with them. A merge request has a skipped pipeline only where the
// configuration has jobs for it.
func (d *draft) create(ctx context.Context) (*Pipeline, error) {
	if err := d.count(); err != nil {
		return nil, err
	}
	text, place, err := d.in.text, ciconfig.Location{Project: d.project.FullPath, Commit: d.row.SHA}, error(nil)
	if text == nil {
		text, place, err = d.reader.configuration(ctx, d.project, d.row.SHA)
	}
	switch {
	case errors.Is(err, ciconfig.ErrNoFile) && d.row.Source == ByPush:
		return nil, errNothing
	case errors.Is(err, ciconfig.ErrNoFile), errors.Is(err, ciconfig.ErrNoReference), errors.Is(err, ciconfig.ErrNoProject):
		return nil, refused(noConfig)
	case errors.Is(err, ciconfig.ErrTooLarge):
		return nil, refused("The configuration is too large")
	case err != nil:
		return nil, err
	}
	if d.row.Source != ByMergeRequest && d.skips() {
		d.row.State = Skipped
		return d.write(ctx)
	}
	vars, err := d.known(ctx)
	if err != nil {
		return nil, err
	}
	if d.config, err = ciconfig.Compose(ctx, text, d.options(place, vars)); err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if !d.config.Valid() {
		return d.invalid(ctx, d.config.Problems)
	}
	if d.made, err = d.config.Evaluate(ctx, d.run(vars)); err != nil {
		return nil, fmt.Errorf("evaluate configuration: %w", err)
	}
	switch {
	case d.made.Filtered && d.row.Source == ByPush:
		return nil, errNothing
	case len(d.made.Problems) > 0 && d.made.Filtered:
		return nil, refused(d.made.Problems[0].Text)
	case len(d.made.Problems) > 0:
		return d.invalid(ctx, d.made.Problems)
	case d.skips():
		d.row.State = Skipped
	}
	problems, err := d.nameCaches(ctx)
	if err != nil {
		return nil, err
	}
	if problems = append(problems, d.expand(vars)...); len(problems) > 0 {
		return d.invalid(ctx, problems)
	}
	if d.row.State != Skipped && !d.accepted(ctx) {
		return d.refuse(ctx, RejectedPipeline, []string{rejected})
	}
	return d.write(ctx)
}

// known are the variables that rules may ask about.
type known struct{ above, predefined list }

// known reads the variables that are there before jobs are: predefined ones, and those above the configuration.
func (d *draft) known(ctx context.Context) (known, error) {
	var k known
	if err := d.pipelineList(ctx, &k.predefined, d.row.UserID, d.project, occasion{d.row, d.commit, d.in.MergeRequest}); err != nil {
		return k, err
	}
	if err := d.userVariables(ctx, &k.predefined, d.row.UserID); err != nil {
		return k, err
	}
	set, err := d.configured(ctx, d.project, "", d.row.Protected)
	if err != nil {
		return k, err
	}
	k.above = append(set, d.in.Variables...)
	return k, nil
}

func (d *draft) options(at ciconfig.Location, k known) ciconfig.Options {
	set, limits := d.Settings.Current(), d.Plans.InForce()
	return ciconfig.Options{
		MaxJobs: planlimit.Least(limits.CIPipelineSize, ciconfig.MaxJobs), MaxNeeds: planlimit.Least(limits.CINeedsSizeLimit, ciconfig.MaxNeeds),
		Files: d.reader, Location: at, Variables: ciconfig.First(k.above.lookup(), k.predefined.lookup()), Inputs: d.in.Inputs,
		Unmasked: ciconfig.First(k.above.unmasked().lookup(), k.predefined.lookup()), Changes: d.changes,
		MaxBytes: set.MaxYAMLSizeBytes, MaxTotal: set.CIMaxTotalYAMLSizeBytes, MaxDepth: set.MaxYAMLDepth, Includes: &set.CIMaxIncludes, HelpURL: d.URLs.Root() + "/help",
	}
}

// run is what the rules are asked with.
func (d *draft) run(k known) ciconfig.Run {
	ref := d.row.Ref
	if m := d.in.MergeRequest; m != nil {
		ref = m.Source.Branch
	}
	return ciconfig.Run{
		Variables: k.above.lookup(), Secret: k.above.confidential(), Predefined: k.predefined.lookup(), Source: string(d.row.Source), Ref: ref, Tag: d.row.Tag,
		MergeRequest: d.in.MergeRequest != nil, Project: d.project.FullPath, Changes: d.changes,
		Files: func(ctx context.Context, in, ref string) ([]string, error) {
			if in == "" {
				in, ref = d.project.FullPath, d.row.SHA
			}
			return d.reader.Paths(ctx, ciconfig.Location{Project: in, Commit: ref})
		},
	}
}

// changes lists the paths that a push or a merge request changed, or that differ from another reference. A new branch or tag has
// nothing to be compared with.
func (d *draft) changes(ctx context.Context, compareTo string) ([]string, bool, error) {
	g, err := d.Repos.Open(ctx, d.project)
	if err != nil {
		return nil, false, err
	}
	from, to := gitstore.ObjectID{}, d.commit.ID
	switch {
	case compareTo != "":
		rev, err := g.Resolve(ctx, compareTo)
		if errors.Is(err, gitstore.ErrNotFound) {
			return nil, false, ciconfig.ErrNoReference
		}
		if err != nil {
			return nil, false, fmt.Errorf("find reference: %w", err)
		}
		from, err = g.MergeBase(ctx, rev.Commit, d.commit.ID)
		if errors.Is(err, gitstore.ErrNotFound) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("compare with reference: %w", err)
		}
	case d.in.MergeRequest != nil:
		if from, err = gitstore.ParseObjectID(d.in.MergeRequest.BaseSHA); err != nil {
			return nil, false, nil
		}
		if to, err = gitstore.ParseObjectID(d.in.MergeRequest.Source.SHA); err != nil {
			return nil, false, fmt.Errorf("head of merge request: %w", err)
		}
	case d.in.Before != "" && d.row.Source == ByPush:
		if from, err = gitstore.ParseObjectID(d.in.Before); err != nil || from.IsZero() {
			return nil, false, nil
		}
	default:
		return nil, false, nil
	}
	diff, err := g.Diff(ctx, from, to, gitcmd.DiffOptions{NoPatch: true, NoRenames: true, MaxFiles: maxListed})
	if err != nil {
		return nil, false, fmt.Errorf("changed files: %w", err)
	}
	paths := make([]string, len(diff.Files))
	for i := range diff.Files {
		paths[i] = diff.Files[i].NewPath
	}
	return paths, true, nil
}

// invalid keeps a failed pipeline for a push or merge request and refuses everything else.
func (d *draft) invalid(ctx context.Context, problems []ciconfig.Problem) (*Pipeline, error) {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.Text
	}
	if d.keepsErrors() {
		all := strings.Join(texts, " ")
		d.row.YAMLErrors = &all
	}
	return d.refuse(ctx, ConfigError, texts)
}

// refuse keeps a pipeline that failed for a reason where keepsErrors says so, and refuses everything else with the texts.
func (d *draft) refuse(ctx context.Context, reason string, texts []string) (*Pipeline, error) {
	if !d.keepsErrors() {
		return nil, &errs.Error{Kind: errs.Invalid, Fields: []errs.Field{{Name: "base", Messages: texts}}}
	}
	now := db.At(d.Now())
	d.row.State, d.row.FailureReason, d.row.FinishedAt, d.row.HasFailed = Failed, &reason, &now, true
	return d.write(ctx)
}
