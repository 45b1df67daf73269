package web

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/a-h/templ"

	"tenon/internal/base/errs"
	"tenon/internal/core/ci"
	"tenon/internal/core/project"
)

func (x *visit) getPipeline() (templ.Component, error) {
	p, err := x.project("Commits")
	if err != nil {
		return nil, err
	}
	id, err := x.arg("id")
	if err != nil {
		return nil, err
	}
	one, err := x.CI.Find(x.r.Context(), x.as, p, ci.PipelineID(id))
	if err != nil {
		return nil, err
	}
	jobs, err := x.CI.InPipelines(x.r.Context(), x.as, []ci.PipelineID{one.ID})
	if err != nil {
		return nil, err
	}
	wants, err := x.preferences()
	if err != nil {
		return nil, err
	}
	x.title("Pipeline " + wants.pipeline(one))
	state := stateOf(one.State, ci.CourseOf(one, jobs[one.ID]).Warned)
	x.sheet.Badge, x.sheet.BadgeKind = state.Text, state.Kind
	x.sheet.API += "/pipelines/" + itoa(id)
	x.poll(one.State.Active())
	return pipeline(p.FullPath, one, state, ci.Stages(jobs[one.ID])), nil
}

// stateView is how pages show the state of a pipeline or a job, in the same words everywhere.
type stateView struct {
	Text string
	Kind string // good, bad or ""
	Icon string // name of its picture, "" for none
}

// stateOf words a state. Warned is for a success although jobs failed that may, and for such jobs.
func stateOf(s ci.State, warned bool) stateView {
	d := s.Detail(warned)
	out := stateView{Text: strings.ToUpper(d.Label[:1]) + d.Label[1:], Icon: d.Favicon}
	switch {
	case warned:
		out.Icon = "" // there are pictures of the states alone
	case s == ci.Success:
		out.Kind = "good"
	case s == ci.Failed:
		out.Kind = "bad"
	}
	return out
}

// jobState is stateOf for a job.
func jobState(j *ci.Job) stateView { return stateOf(j.State, j.AllowFailure && j.State == ci.Failed) }

func (x *visit) getJob() (templ.Component, error) {
	p, err := x.project("Commits")
	if err != nil {
		return nil, err
	}
	id, err := x.arg("id")
	if err != nil {
		return nil, err
	}
	ctx := x.r.Context()
	j, of, err := x.CI.FindJob(ctx, x.as, p, ci.StatusID(id))
	if err != nil {
		return nil, err
	}
	views, err := x.CI.Views(ctx, x.as, p, []*ci.Job{j})
	if err != nil {
		return nil, err
	}
	x.title(shownTitle(j.Name))
	state := jobState(j)
	x.sheet.Badge, x.sheet.BadgeKind = state.Text, state.Kind
	x.sheet.API += "/jobs/" + itoa(id)
	log, err := x.jobLog(p, j)
	if err != nil {
		return nil, err
	}
	wants, err := x.preferences()
	if err != nil {
		return nil, err
	}
	x.poll(j.State.Active())
	body := jobPage(p.FullPath, views[0], of, wants, log)
	if j.State == ci.Pending && p.SharedRunnersEnabled {
		body = templ.Join(body, x.ownText(x.Settings.Current().SharedRunnersText))
	}
	return body, nil
}

// jobLog is the end of a job's log as its page shows it; nil without one.
func (x *visit) jobLog(p *project.Project, j *ci.Job) (*fileView, error) {
	if j.Kind != ci.JobKind {
		return nil, nil
	}
	log, err := x.CI.Log(x.r.Context(), x.as, p, j.ID)
	if errs.Is(err, errs.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	if log.Size == 0 {
		return nil, nil
	}
	from := max(log.Size-maxShown, 0)
	if _, err := log.Seek(from, io.SeekStart); err != nil {
		return nil, fmt.Errorf("seek in log: %w", err)
	}
	text := make([]byte, log.Size-from)
	if _, err := io.ReadFull(log, text); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read log: %w", err)
	}
	return &fileView{Name: "Log", Size: counted(log.Size, "byte"), Raw: at.JobLog(p.FullPath, int64(j.ID)), Lines: logLines(string(text), from > 0)}, nil
}

var (
	// section is what runners write where a part of the log begins or ends that can be folded.
	section = regexp.MustCompile(`section_(?:start|end):\d+:[^\r\n]*\r`)
	// escapes are what terminals take for colors and movements.
	escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])`)
)

// logLines are the lines of a log without what is meant for a terminal, and of a long log its last. cut says that text is not its beginning.
func logLines(text string, cut bool) []line {
	if _, rest, ok := strings.Cut(text, "\n"); cut && ok {
		text = rest
	}
	text = escapes.ReplaceAllString(section.ReplaceAllString(text, ""), "")
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(all) > maxLines {
		all, cut = all[len(all)-maxLines:], true
	}
	out := make([]line, 0, len(all)+1)
	if cut {
		out = append(out, line{Text: "The beginning is not shown."})
	}
	for i, text := range all {
		text = strings.TrimRight(text, "\r")
		text = text[strings.LastIndexByte(text, '\r')+1:] // what a terminal shows in the end
		one := line{Text: strings.Map(printable, strings.ToValidUTF8(text, "\ufffd"))}
		if !cut {
			one.Number = itoa(int64(i) + 1)
		}
		out = append(out, one)
	}
	return out
}

// printable leaves out what controls terminals.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\t' {
		return -1
	}
	return r
}

// lasted is how long a job has run, "" for one that has not started.
func lasted(j *ci.Job) string {
	if j.StartedAt == nil || j.FinishedAt == nil {
		return ""
	}
	return j.FinishedAt.Sub(j.StartedAt.Time).Round(time.Second).String()
}

// aboutJob says how long a job ran, why it failed and whether it may.
func aboutJob(j *ci.Job) []string {
	var out []string
	if text := lasted(j); text != "" {
		out = append(out, text)
	}
	if j.FailureReason != nil {
		out = append(out, *j.FailureReason)
	}
	if j.AllowFailure {
		out = append(out, "allowed to fail")
	}
	return out
}
