package mergerequest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/milestone"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

// maxOptionBranches is how many branches of one push may use options for requests.
const maxOptionBranches = 10

// pushOptions are what a push says about the requests of its branches.
type pushOptions struct {
	given  []string // as they were typed
	vain   []string // those whose subject the server does not have; what it lacks is in lacking
	create bool
	target string // branch
	into   string // project, by path or number

	title, description string
	milestone          *string // title; "" is none
	noMilestone        bool    // none has this title; the other options are followed
	draft              bool
	removeSource       *bool
	squash             *bool
	autoMerge          bool
	labels, unlabels   []string
	assign, unassign   []string
}

// lacking says of the documented options that nothing here can follow why that is so.
func lacking(name string) string {
	switch name {
	case "ci.input", "integrations.skip_ci":
		return "this server does not take them from pushes"
	case "secret_push_protection.skip_all":
		return "this server does not look for secrets inside pushed files"
	}
	return ""
}

// parsePushOptions picks those that are about requests and those that cannot be followed.
// Unknown ones are ignored.
func parsePushOptions(options []string) *pushOptions {
	o := &pushOptions{}
	for _, option := range options {
		if name, _, _ := strings.Cut(option, "="); lacking(name) != "" {
			o.vain = append(o.vain, option)
			continue
		}
		rest, ok := strings.CutPrefix(option, "merge_request.")
		if !ok {
			if rest, ok = strings.CutPrefix(option, "mr."); !ok {
				continue
			}
		}
		name, value, _ := strings.Cut(rest, "=")
		yes := value != "false"
		switch name {
		case "create":
			o.create = true
		case "target":
			o.target = value
		case "target_project":
			o.into = value
		case "title":
			o.title = value
		case "description":
			o.description = strings.ReplaceAll(value, `\n`, "\n")
		case "milestone":
			o.milestone = &value
		case "draft":
			o.draft = yes
		case "remove_source_branch":
			o.removeSource = &yes
		case "squash":
			o.squash = &yes
		case "merge_when_pipeline_succeeds", "auto_merge":
			o.autoMerge = yes
		case "label":
			o.labels = append(o.labels, value)
		case "unlabel":
			o.unlabels = append(o.unlabels, value)
		case "assign":
			o.assign = append(o.assign, value)
		case "unassign":
			o.unassign = append(o.unassign, value)
		default:
			continue
		}
		o.given = append(o.given, option)
	}
	return o
}

// PushOptions opens or changes the requests of pushed branches as the options of the push
// ask for, and returns what the person who pushed is warned of, "" for nothing. The push is
// done by then, whatever comes of this.
func (s *Service) PushOptions(ctx context.Context, as authz.Actor, p *project.Project, changes []repo.RefChange, options []string) (string, error) {
	o := parsePushOptions(options)
	if len(o.given) == 0 {
		return strings.Join(o.told(), "\n"), nil
	}
	target, err := s.optionTarget(ctx, as, p, o)
	if err == nil {
		err = s.applyOptions(ctx, as, p, target, changes, o)
	}
	refused, ok := errors.AsType[*errs.Error](err)
	if err != nil && !ok {
		return "", err
	}
	told := o.told()
	if o.noMilestone {
		named := slices.DeleteFunc(slices.Clone(o.given), func(g string) bool { return !strings.Contains(g, ".milestone=") })
		told = append([]string{encountered(named, "Milestone "+*o.milestone+" does not exist")}, told...)
	}
	if ok {
		told = append([]string{encountered(o.given, refused.Error())}, told...)
	}
	return strings.Join(told, "\n"), nil
}

// encountered words what is wrong with options.
func encountered(options []string, what string) string {
	return "Error encountered with push options '" + strings.Join(options, "' '") + "': " + what
}

// told returns a line for each reason why options were given in vain.
func (o *pushOptions) told() (lines []string) {
	var reasons []string
	of := map[string][]string{}
	for _, option := range o.vain {
		name, _, _ := strings.Cut(option, "=")
		reason := lacking(name)
		if of[reason] == nil {
			reasons = append(reasons, reason)
		}
		of[reason] = append(of[reason], option)
	}
	for _, reason := range reasons {
		lines = append(lines, encountered(of[reason], reason))
	}
	return lines
}

// optionTarget finds the project that the requests go to.
func (s *Service) optionTarget(ctx context.Context, as authz.Actor, p *project.Project, o *pushOptions) (*project.Project, error) {
	if o.into != "" {
		target, err := s.Projects.Find(ctx, as, o.into)
		if errs.Is(err, errs.NotFound) {
			return nil, errs.Plain("Target project " + o.into + " does not exist")
		}
		if err == nil && !project.Related(p, target) {
			err = errs.Plain("Projects " + p.FullPath + " and " + target.FullPath + " are not in the same network")
		}
		return target, err
	}
	if p.ForkedFromID == nil || p.Settings().MRDefaultTargetSelf {
		return p, nil
	}
	target, err := s.Projects.FindByID(ctx, as, *p.ForkedFromID)
	if errs.Is(err, errs.NotFound) {
		return p, nil
	}
	return target, err
}

func (s *Service) applyOptions(ctx context.Context, as authz.Actor, p, target *project.Project, changes []repo.RefChange, o *pushOptions) error {
	if o.target == "" && target.DefaultBranch != nil {
		o.target = *target.DefaultBranch
	}
	var branches []repo.RefChange
	for _, c := range changes {
		if c.Ref.IsBranch() && !c.Deleted() && (p.ID != target.ID || c.Ref.Short() != o.target) {
			branches = append(branches, c)
		}
	}
	if len(branches) > maxOptionBranches {
		return errs.Plain(fmt.Sprintf("Too many branches pushed (%d were pushed, limit is %d)", len(branches), maxOptionBranches))
	}
	tip, err := s.tip(ctx, target, o.target)
	if err != nil {
		return err
	}
	if tip.IsZero() {
		return errs.Plain("Branch " + o.target + " does not exist")
	}
	var refused []error
	for _, c := range branches {
		err := s.optionRequest(ctx, as, p, target, c, o)
		if _, known := errors.AsType[*errs.Error](err); err != nil && !known {
			return err
		}
		refused = append(refused, err)
	}
	var texts []string
	for _, err := range refused {
		if err != nil {
			texts = append(texts, err.Error())
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return errs.Plain(strings.Join(texts, ", "))
}

// optionRequest opens the request of one branch, or changes the one there is.
func (s *Service) optionRequest(ctx context.Context, as authz.Actor, p, target *project.Project, c repo.RefChange, o *pushOptions) error {
	branch := c.Ref.Short()
	rows, err := s.rows(ctx, ` WHERE m.source_project_id = ? AND m.source_branch = ? AND m.target_project_id = ? AND m.state = 'opened'
		ORDER BY m.id`, p.ID, branch, target.ID)
	if err != nil {
		return fmt.Errorf("look for request of branch: %w", err)
	}
	people, err := s.optionPeople(ctx, o.assign)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return s.optionUpdate(ctx, as, target, rows[0], o, people)
	}
	if !o.create {
		return errs.Plain("A merge_request.create push option is required to create a merge request for branch " + branch)
	}
	in := Input{
		Target: target.ID, SourceBranch: branch, TargetBranch: o.target, Title: o.title, Labels: o.labels,
		RemoveSource: o.removeSource, Squash: o.squash, Assignees: append(people, as.UserID),
	}
	if in.MilestoneID, err = s.optionMilestone(ctx, as, target, o); err != nil {
		return err
	}
	title, text, err := s.optionText(ctx, p, target, c, o.target)
	if err != nil {
		return err
	}
	if in.Title == "" {
		in.Title = title
	}
	create := s.create // the text of a commit is no command of who pushes it
	if o.description != "" {
		text, create = o.description, s.Create
	}
	if text != "" {
		in.Description = &text
	}
	if o.draft && !IsDraft(in.Title) {
		in.Title = "Draft: " + in.Title
	}
	m, _, err := create(ctx, as, p, in)
	if err != nil || !o.autoMerge {
		return err
	}
	return s.MergeLater(ctx, as, target, m.IID)
}

func (s *Service) optionUpdate(ctx context.Context, as authz.Actor, p *project.Project, m *MergeRequest, o *pushOptions, people []authz.UserID) error {
	c := Changes{RemoveSource: o.removeSource, Squash: o.squash, Labels: label.Assignment{Add: o.labels, Remove: o.unlabels}}
	if o.target != m.TargetBranch && slices.ContainsFunc(o.given, func(g string) bool { return strings.Contains(g, ".target=") }) {
		c.TargetBranch = &o.target
	}
	var err error
	if c.MilestoneID, err = s.optionMilestone(ctx, as, p, o); err != nil {
		return err
	}
	title := m.Title
	if o.title != "" {
		title = o.title
	}
	if o.draft && !IsDraft(title) {
		title = "Draft: " + title
	}
	if title != m.Title {
		c.Title = &title
	}
	if o.description != "" {
		c.Description = &o.description
	}
	if len(o.assign)+len(o.unassign) > 0 {
		if err := s.attach(ctx, []*MergeRequest{m}); err != nil {
			return err
		}
		gone, err := s.optionPeople(ctx, o.unassign)
		if err != nil {
			return err
		}
		all := without(append(slices.Clone(m.Assignees), people...), gone)
		c.Assignees = &all
	}
	if _, err := s.Update(ctx, as, p, m.IID, c); err != nil || !o.autoMerge {
		return err
	}
	return s.MergeLater(ctx, as, p, m.IID)
}

// optionMilestone finds the milestone of the options, of the project or a group above: nil for none
// that is named, 0 for an empty title. One that the actor may not read is as one that does not exist.
func (s *Service) optionMilestone(ctx context.Context, as authz.Actor, p *project.Project, o *pushOptions) (*milestone.ID, error) {
	if o.milestone == nil {
		return nil, nil
	}
	if *o.milestone == "" {
		return new(milestone.ID), nil
	}
	found, err := s.Milestones.List(ctx, as, p.Place(), milestone.Filter{Title: *o.milestone, Ancestors: true, Range: page.Range{Limit: 1}})
	if err != nil && !errs.Is(err, errs.NotFound) && !errs.Is(err, errs.Forbidden) {
		return nil, err
	}
	if len(found.Items) == 0 {
		o.noMilestone = true
		return nil, nil
	}
	return &found.Items[0].ID, nil
}

// optionPeople finds users by name or number; unknown ones are left out.
func (s *Service) optionPeople(ctx context.Context, names []string) ([]authz.UserID, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var numbers []int64
	var folded []string
	for _, name := range names {
		if n, err := strconv.ParseInt(name, 10, 64); err == nil {
			numbers = append(numbers, n)
			continue
		}
		folded = append(folded, db.Fold(strings.TrimPrefix(name, "@")))
	}
	var out []authz.UserID
	for _, q := range []struct {
		column string
		where  func(w *db.Where)
		n      int
	}{
		{"id", func(w *db.Where) { w.In("id", numbers) }, len(numbers)},
		{"username_fold", func(w *db.Where) { w.In("username_fold", folded) }, len(folded)},
	} {
		if q.n == 0 {
			continue
		}
		var w db.Where
		q.where(&w)
		found, err := db.Select[authz.UserID](ctx, s.DB, "SELECT id FROM users"+w.SQL()+" ORDER BY id", w.Args()...)
		if err != nil {
			return nil, fmt.Errorf("find users to assign: %w", err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// optionText returns title and description of a new request: those of its only commit, or a
// title made of the branch's name.
func (s *Service) optionText(ctx context.Context, p, target *project.Project, c repo.RefChange, into string) (title, text string, err error) {
	r, err := s.Repos.Open(ctx, p)
	if err != nil {
		return "", "", err
	}
	base, err := s.tip(ctx, target, into)
	if err != nil {
		return "", "", err
	}
	if _, err := r.Info(ctx, base); errors.Is(err, gitstore.ErrNotFound) && p.DefaultBranch != nil {
		if base, err = s.tip(ctx, p, *p.DefaultBranch); err != nil { // the fork has not caught up with its source
			return "", "", err
		}
	}
	commits, err := r.LogCommits(ctx, gitcmd.LogOptions{From: []gitstore.ObjectID{c.New}, Not: []gitstore.ObjectID{base}, Limit: 2})
	if err != nil {
		return "", "", fmt.Errorf("read pushed commits: %w", err)
	}
	if len(commits) == 1 {
		return commits[0].Title(), commits[0].Description(), nil
	}
	name := []rune(strings.ToLower(strings.NewReplacer("-", " ", "_", " ").Replace(c.Ref.Short())))
	name[0] = unicode.ToUpper(name[0])
	return string(name), "", nil
}
