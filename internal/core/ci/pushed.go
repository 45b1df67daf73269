package ci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/ciconfig"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/runner"
)

// Subscribe registers what pipelines react to.
func (s *Service) Subscribe(b *event.Bus) {
	event.On(b, "pipelines", s.OnPushed)
	event.On(b, "waiting runners", func(ctx context.Context, e runner.Updated) error { return s.onRunner(ctx, e.Row().ID) })
	event.On(b, "waiting runners", func(ctx context.Context, e runner.Assigned) error { return s.onRunner(ctx, e.Row().ID) })
	event.On(b, "waiting runners", func(ctx context.Context, e runner.Deleted) error { return s.onRunner(ctx, e.Row().ID) })
}

// onRunner lets a runner that waits for a job look again once the change is committed.
func (s *Service) onRunner(ctx context.Context, id runner.ID) error {
	s.changed(ctx, id)
	return nil
}

// pushed is the job that makes the pipeline of a branch or tag that was pushed.
type pushed struct {
	ProjectID project.ID   `json:"project_id"`
	UserID    authz.UserID `json:"user_id"`
	Ref       string       `json:"ref"` // full name
	SHA       string       `json:"sha"`
	Before    string       `json:"before"`
	Options   string       `json:"options,omitempty"` // JSON of what the user gave to git push, sealed
	At        time.Time    `json:"at,omitzero"`       // of the push
}

// Kind names the job.
func (pushed) Kind() string { return "create_pipeline" }

// OnPushed makes the pipelines of a push: of at most as many branches and as many tags as the setting says. What a job pushes with its
// token gets none, so that no job runs itself again; the tag of a release that a job creates by the API gets one.
func (s *Service) OnPushed(ctx context.Context, e repo.Pushed) error {
	if e.Project == nil || !e.By.SignedIn() || e.By.Job.ID != 0 && e.Source != repo.ByAPI || e.Project.BuildsAccess == authz.FeatureDisabled {
		return nil
	}
	options, err := s.sealOptions(e.Options)
	if err != nil {
		return err
	}
	branches, tags := 0, 0
	for _, c := range e.Changes {
		counter := &branches
		switch {
		case c.Deleted():
			continue
		case c.Ref.IsTag():
			counter = &tags
		case !c.Ref.IsBranch():
			continue
		}
		most := s.Settings.Current().GitPushPipelineLimit
		if *counter++; most > 0 && *counter > most {
			continue
		}
		args := pushed{
			ProjectID: e.ProjectID, UserID: e.By.UserID, Ref: string(c.Ref), SHA: c.New.String(), Before: c.Old.String(), Options: options, At: e.At,
		}
		if err := s.Deps.Jobs.Enqueue(ctx, args); err != nil {
			return fmt.Errorf("enqueue pipeline: %w", err)
		}
	}
	return nil
}

// runPushed makes the pipeline of a pushed branch or tag, where it has not moved on and its configuration makes one.
func (s *Service) runPushed(ctx context.Context, args pushed) error {
	p, err := s.Projects.Load(ctx, []project.ID{args.ProjectID})
	if err != nil || p[args.ProjectID] == nil {
		return err
	}
	as, err := s.Accounts.ActorFor(ctx, strconv.FormatInt(int64(args.UserID), 10))
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	in := RunInput{Ref: args.Ref, SHA: args.SHA, Before: args.Before, Source: ByPush}
	if strings.Trim(in.Before, "0") == "" {
		in.Before = ""
	}
	options, err := s.openOptions(args.Options)
	if err != nil {
		return err
	}
	in.Skip, in.Variables = pushOptions(options)
	may, err := s.Policy.Can(ctx, as, authz.CreatePipeline, p[args.ProjectID].Subject())
	if err != nil || !may {
		return err
	}
	if made, err := s.madeOf(ctx, args); err != nil || made {
		return err
	}
	d, err := s.draft(ctx, as, p[args.ProjectID], in)
	if err != nil {
		return ignoreRefused(err)
	}
	if in.brings() {
		may, err := s.MaySetVariables(ctx, as, p[args.ProjectID])
		if err != nil {
			return err
		}
		if !may {
			_, err = d.invalid(ctx, []ciconfig.Problem{{Text: noVariables}})
			return err
		}
	}
	_, err = d.create(ctx)
	if errs.Is(err, errs.TooMany) {
		s.Deps.Log.InfoContext(ctx, "push made no pipeline", "project_id", args.ProjectID, "ref", args.Ref, "error", err)
	}
	return ignoreRefused(err)
}

// madeOf reports whether the job has made its pipeline: a server that is killed may have written that, but not that the job is done.
func (s *Service) madeOf(ctx context.Context, args pushed) (bool, error) {
	if args.At.IsZero() {
		return false, nil
	}
	ref := gitstore.RefName(args.Ref)
	made, err := db.Get[bool](ctx, s.DB, `SELECT EXISTS (SELECT 1 FROM pipelines p WHERE p.project_id = ? AND p.sha = ? AND p.ref = ? AND p.tag = ? AND p.source = ?
		AND p.created_at >= ?)`, args.ProjectID, args.SHA, ref.Short(), ref.IsTag(), ByPush, db.At(args.At))
	if err != nil {
		return false, fmt.Errorf("look for pipeline of push: %w", err)
	}
	return made, nil
}

// ignoreRefused drops what no user waits to read: a push that makes no pipeline, a reference that is gone.
func ignoreRefused(err error) error {
	if errors.Is(err, errNothing) || errs.KindOf(err) != errs.Internal {
		return nil
	}
	return err
}

// optionsSeal is the context in which options of a push are sealed.
const optionsSeal = "options of a push"

// sealOptions seals the options of a push, among which may be values of variables; "" is none.
func (s *Service) sealOptions(options []string) (string, error) {
	if len(options) == 0 {
		return "", nil
	}
	text, err := json.Marshal(options)
	if err != nil {
		return "", fmt.Errorf("options of push: %w", err)
	}
	return s.Box.Seal(optionsSeal, string(text)), nil
}

func (s *Service) openOptions(sealed string) (out []string, err error) {
	if sealed == "" {
		return nil, nil
	}
	text, err := s.Box.Open(optionsSeal, sealed)
	if err == nil {
		err = json.Unmarshal([]byte(text), &out)
	}
	if err != nil {
		return nil, fmt.Errorf("options of push: %w", err)
	}
	return out, nil
}

// SkipOption is the option of a push that asks for no pipeline.
// SkipOption is the option of a push that makes no pipelines.
const SkipOption = "ci.skip"

// pushOptions reads what a push asks of its pipelines: ci.skip, and ci.variable="NAME=value".
func pushOptions(options []string) (skip bool, vars []Variable) {
	for _, o := range options {
		if o == SkipOption {
			skip = true
		}
		text, ok := strings.CutPrefix(o, "ci.variable=")
		if !ok || len(vars) == maxVariables {
			continue
		}
		key, value, ok := strings.Cut(strings.Trim(text, `"`), "=")
		if ok && keyFormat.MatchString(key) && len(key) <= maxKey {
			vars = append(vars, Variable{Key: key, Value: value})
		}
	}
	return skip, vars
}
