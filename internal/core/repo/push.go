package repo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"tenon/internal/base/errs"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/broadcast"
	"tenon/internal/core/project"
	"tenon/internal/core/token"
)

// RefResult is the outcome for one reference; Reason is empty when it moved.
type RefResult struct {
	Ref    gitstore.RefName
	Reason string
}

// Push is one git push in progress, which is judged as a whole and then moves references.
type Push struct {
	service *Service
	repo    *gitcmd.Repo
	as      authz.Actor      // who is judged
	by      authz.Actor      // in whose name references move
	project *project.Project // nil where attached is set

	attached *Attached // the repository of a wiki or snippet

	mu      sync.Mutex
	options []string
	passed  map[RefChange]bool // what Check let through
}

// BeginPush prepares a push. It requires the right to push at all; what may move is
// judged reference by reference when git asks.
func (s *Service) BeginPush(ctx context.Context, as authz.Actor, p *project.Project) (*Push, error) {
	if err := s.requirePush(ctx, as, p); err != nil {
		return nil, err
	}
	by, err := s.pusher(ctx, as, p)
	if err != nil {
		return nil, err
	}
	r, err := s.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	return &Push{service: s, repo: r, as: as, by: by, project: p}, nil
}

// requirePush asks for the right to push anything and refuses with what people read.
// While the repository is being filled no push is accepted.
func (s *Service) requirePush(ctx context.Context, as authz.Actor, p *project.Project) error {
	err := s.Policy.Require(ctx, as, authz.PushCode, p.Subject())
	switch {
	case err == nil && p.Filling():
		return refuse("", textNotReady)
	case !errs.Is(err, errs.Forbidden):
		return err
	case p.Archived:
		return refuse("", textArchived)
	case p.Marked():
		return refuse("", textMarked)
	case as.Deploy.KeyID != 0:
		return refuse("", textNoWriteKey)
	case as.Job.ID != 0: // pushes to its own project at most, whatever its user may elsewhere
		return refuse("", textNoPush)
	}
	collaborates, err := s.Protections.Collaborates(ctx, as, p)
	if err != nil {
		return err
	}
	if !collaborates || p.Filling() {
		return refuse("", textNoPush)
	}
	return nil
}

// pusher returns the user in whose name the actor pushes: itself, or the maker of a deploy
// key, who must be able to see the project still.
func (s *Service) pusher(ctx context.Context, as authz.Actor, p *project.Project) (authz.Actor, error) {
	if as.Deploy.KeyID == 0 {
		return as, nil
	}
	by, err := s.Keys.Pusher(ctx, as, p)
	if errs.Is(err, errs.Forbidden) || errs.Is(err, errs.NotFound) {
		return authz.Actor{}, refuse("", textNoWriteKey)
	}
	return by, err
}

// Check judges the whole push. Its objects are read through inside: the view of a
// quarantine, or the repository itself where it brings none. A refusal is text for the
// person who pushes; err is a failure of the server.
func (p *Push) Check(ctx context.Context, inside *gitcmd.Repo, changes []RefChange, options []string) (refusal string, err error) {
	named := make(map[gitstore.RefName]bool, len(changes))
	for _, c := range changes {
		switch {
		case !c.Ref.Valid(): // git takes names that we do not
			return "GitLab: " + textBranchName, nil
		case named[c.Ref]:
			return "GitLab: " + string(c.Ref) + " cannot be changed twice in one push.", nil
		case c.Old.IsZero() && c.New.IsZero():
			return "GitLab: " + string(c.Ref) + " is not there and cannot be deleted.", nil
		}
		named[c.Ref] = true
	}
	if err = p.renewed(ctx); err == nil {
		err = readable(ctx, inside, changes)
	}
	if err == nil {
		err = p.judge(ctx, inside, changes)
	}
	if errors.Is(err, gitstore.ErrTooLarge) {
		err = refuse("", textTooLarge)
	}
	if refused, ok := errors.AsType[*Refusal](err); ok {
		text := "GitLab: " + refused.Text
		if len(changes) > 1 && refused.Ref != "" {
			text += "\nThis is because of " + string(refused.Ref) + "; none of the references was changed."
		}
		return text, nil
	}
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.options = options
	p.passed = make(map[RefChange]bool, len(changes))
	for _, c := range changes {
		p.passed[c] = true
	}
	return "", nil
}

// readable refuses commits and tags that are too large to be read.
func readable(ctx context.Context, inside *gitcmd.Repo, changes []RefChange) error {
	for _, c := range changes {
		if c.New.IsZero() {
			continue
		}
		info, err := inside.Info(ctx, c.New)
		switch {
		case errors.Is(err, gitstore.ErrNotFound): // see judge
		case err != nil:
			return err
		case info.Kind != gitstore.KindBlob && info.Kind != gitstore.KindTree && info.Size > gitcmd.MaxCommitBytes:
			return refuse(c.Ref, textTooLarge)
		}
	}
	return nil
}

func (p *Push) judge(ctx context.Context, inside *gitcmd.Repo, changes []RefChange) error {
	if p.attached != nil {
		return p.attached.Owner.Judge(ctx, p.as, inside, changes)
	}
	return p.service.Judge(ctx, p.as, p.project, ByPush, inside, changes)
}

// move moves the references that passed.
func (p *Push) move(ctx context.Context, changes []RefChange) error {
	if p.attached == nil {
		p.mu.Lock()
		options := p.options
		p.mu.Unlock()
		return p.service.moveRefs(ctx, p.by, p.project, ByPush, changes, options)
	}
	defer p.service.writing.lock(p.attached.ID)()
	return p.service.moveAttached(ctx, p.as, p.attached, p.repo, changes)
}

// renewed looks again at who pushes and where to. A push lasts as long as its client likes:
// meanwhile its user may have been blocked, its token revoked, the project archived.
func (p *Push) renewed(ctx context.Context) error {
	s, gone := p.service, refuse("", textNoPush)
	if p.as.TokenID != 0 {
		if good, err := s.Tokens.Good(ctx, token.ID(p.as.TokenID)); err != nil {
			return err
		} else if !good {
			return gone
		}
	}
	if p.as.SignedIn() {
		now, err := s.Accounts.Admit(ctx, p.as.UserID)
		if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Forbidden) {
			return gone
		}
		if err != nil {
			return err
		}
		p.as.Admin, p.as.Auditor, p.as.External = p.as.Admin && now.Admin, p.as.Auditor && now.Auditor, now.External
	}
	if p.attached != nil {
		return p.againAttached(ctx)
	}
	here, err := s.Projects.FindByID(ctx, p.as, p.project.ID)
	if errs.Is(err, errs.NotFound) {
		return gone
	}
	if err != nil {
		return err
	}
	p.project = here
	p.by, err = s.pusher(ctx, p.as, here)
	return err
}

// Apply moves the references that Check let through, all in one transaction, and returns
// a verdict for each and what the person who pushes should know.
func (p *Push) Apply(ctx context.Context, changes []RefChange) (results []RefResult, message string, err error) {
	p.mu.Lock()
	for _, c := range changes {
		if !p.passed[c] {
			p.mu.Unlock()
			return nil, "", fmt.Errorf("reference %q was not checked", c.Ref)
		}
	}
	p.mu.Unlock()
	results = make([]RefResult, len(changes))
	for i, c := range changes {
		results[i].Ref = c.Ref
	}
	wasEmpty := p.attached == nil && p.project.DefaultBranch == nil
	if err := p.move(ctx, changes); err != nil {
		reason := "failed to update ref: it was changed meanwhile"
		switch {
		case errors.Is(err, gitstore.ErrWrongKind):
			reason = "a branch must point at a commit"
		case errors.Is(err, gitstore.ErrRefConflict):
			reason = "another branch or tag stands where its name would be a folder"
		case !errors.Is(err, ErrMoved):
			return nil, "", err
		}
		for i := range results {
			results[i].Reason = reason
		}
		return results, "", nil
	}
	if p.attached != nil {
		return results, "", nil
	}
	note := p.broadcasts(ctx) + p.service.notices.take(noticeKey{p.as.UserID, p.project.ID}, p.service.Now())
	if wasEmpty {
		return results, note, nil
	}
	warnings := p.obey(ctx, changes)
	return results, note + warnings + p.hint(ctx, changes), nil
}

// broadcasts are the banners that are shown for the project.
func (p *Push) broadcasts(ctx context.Context) string {
	shown, err := p.service.Broadcasts.Shown(ctx, p.by, p.project.FullPath, p.project.Subject())
	if err != nil {
		p.service.Log.Warn("no broadcast messages after push", "project_id", p.project.ID, "error", err)
	}
	var out strings.Builder
	for i := range shown {
		if shown[i].Type == broadcast.Banner {
			out.WriteString(banner("", shown[i].Message))
		}
	}
	return out.String()
}

// obey does what the options of the push ask for and returns the warnings that come of it.
func (p *Push) obey(ctx context.Context, changes []RefChange) string {
	p.mu.Lock()
	options := p.options
	p.mu.Unlock()
	if len(options) == 0 {
		return ""
	}
	text, err := p.service.above.MergeRequests.PushOptions(ctx, p.by, p.project, changes, options)
	if err != nil {
		// The references have moved: the push itself has not failed.
		p.service.Log.Error("options of a push", "project_id", p.project.ID, "error", err)
		text = "The options of this push could not be followed."
	}
	if text == "" {
		return ""
	}
	return warning(text)
}

// Width of a block of warnings.
const bannerWidth = 72

// warning writes a text as a block under the word for warnings.
func warning(text string) string { return banner("WARNINGS:", text) }

// banner writes a text as a block between rules, its lines in the middle, under a heading where there is one.
func banner(heading, text string) string {
	rule := strings.Repeat("=", bannerWidth)
	var out strings.Builder
	out.WriteString("\n" + rule + "\n\n")
	line := heading
	put := func() {
		fmt.Fprintf(&out, "%s%s\n", strings.Repeat(" ", max(0, (bannerWidth-utf8.RuneCountInString(line))/2)), line)
	}
	if heading != "" {
		put()
	}
	line = ""
	for paragraph := range strings.Lines(text) {
		for word := range strings.FieldsSeq(paragraph) {
			if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > bannerWidth-4 {
				put()
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		put()
		line = ""
	}
	out.WriteString("\n" + rule + "\n")
	return out.String()
}

// hinted is for how many branches of a push people read something.
const hinted = 10

// hint returns what people read after pushing branches.
func (p *Push) hint(ctx context.Context, changes []RefChange) string {
	if !p.project.PrintingMergeRequestLinkEnabled {
		return ""
	}
	var branches []string
	for _, c := range changes {
		if c.Ref.IsBranch() && !c.Deleted() && c.Ref.Short() != *p.project.DefaultBranch {
			branches = append(branches, c.Ref.Short())
		}
	}
	if len(branches) == 0 || len(branches) > hinted {
		return ""
	}
	text, err := p.service.above.MergeRequests.PushHint(ctx, p.by, p.project, branches)
	if err != nil {
		// The references have moved; a missing hint must not make the push look failed.
		p.service.Log.Warn("no hint after push", "project_id", p.project.ID, "error", err)
		return ""
	}
	return text
}
