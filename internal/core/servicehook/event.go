package servicehook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/internal/core/integration/kind"
)

// body is what messages read of the bodies of webhooks, of whatever kind.
type body struct {
	Kind       string     `json:"object_kind"`
	UserID     int64      `json:"user_id"` // of pushes
	UserName   string     `json:"user_name"`
	Username   string     `json:"user_username"`
	UserAvatar string     `json:"user_avatar"`
	User       person     `json:"user"`
	Project    place      `json:"project"`
	Group      group      `json:"group"` // of the wiki of a group
	Ref        string     `json:"ref"`
	Protected  bool       `json:"ref_protected"`
	Before     string     `json:"before"`
	After      string     `json:"after"`
	Commits    []commit   `json:"commits"`
	Total      int        `json:"total_commits_count"`
	Attributes attributes `json:"object_attributes"`
	Labels     []label    `json:"labels"`
	Builds     []build    `json:"builds"`
	Commit     *commit    `json:"commit"`

	// Of deployments.
	Status        string          `json:"status"`
	Environment   json.RawMessage `json:"environment"` // an object of jobs
	DeployableID  int64           `json:"deployable_id"`
	DeployableURL string          `json:"deployable_url"`
	ShortSHA      string          `json:"short_sha"`
	CommitURL     string          `json:"commit_url"`
	CommitTitle   string          `json:"commit_title"`

	MergeRequest *numbered `json:"merge_request"`
	Issue        *numbered `json:"issue"`
	Snippet      *numbered `json:"snippet"`
}

type person struct {
	Name     string `json:"name"`
	Username string `json:"username"`
	Avatar   string `json:"avatar_url"`
}

type place struct {
	Name          string `json:"name"`
	Namespace     string `json:"namespace"`
	Path          string `json:"path_with_namespace"`
	URL           string `json:"web_url"`
	Avatar        string `json:"avatar_url"`
	DefaultBranch string `json:"default_branch"`
}

type group struct {
	Name string `json:"group_name"`
	Path string `json:"full_path"`
}

type commit struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Message string `json:"message"`
	URL     string `json:"url"`
	Author  struct {
		Name  string `json:"name"`
		Email string `json:"email"`
	} `json:"author"`
}

type attributes struct {
	ID          int64   `json:"id"`
	IID         int64   `json:"iid"`
	Title       string  `json:"title"`
	Description string  `json:"description"`
	Note        string  `json:"note"`
	On          string  `json:"noteable_type"`
	Action      string  `json:"action"`
	URL         string  `json:"url"`
	DiffURL     string  `json:"diff_url"`
	Message     string  `json:"message"`
	Source      string  `json:"source_branch"`
	Ref         string  `json:"ref"`
	Tag         bool    `json:"tag"`
	SHA         string  `json:"sha"`
	Status      string  `json:"status"`
	Type        string  `json:"type"`
	Duration    float64 `json:"duration"`
	Protected   bool    `json:"protected_ref"`
}

type label struct {
	Title string `json:"title"`
}

type build struct {
	Stage        string `json:"stage"`
	Name         string `json:"name"`
	Status       string `json:"status"`
	AllowFailure bool   `json:"allow_failure"`
}

type numbered struct {
	ID     int64   `json:"id"`
	IID    int64   `json:"iid"`
	Title  string  `json:"title"`
	Labels []label `json:"labels"`
}

// The longest texts of users in messages, in characters, and how many jobs and stages are named.
const (
	maxText  = 3000
	maxTitle = 255
	maxNames = 10
)

// cut shortens a text of a user.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// event reads the body of a webhook as integrations get it, with the labels of what it is about, nil where that has none.
func (s *Service) event(trigger string, text []byte, at time.Time) (*kind.Event, []string, error) {
	var b body
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, nil, fmt.Errorf("read body of event: %w", err)
	}
	e := &kind.Event{
		Flag: trigger, Kind: b.Kind, Action: b.Attributes.Action, At: at, URL: b.Attributes.URL, Body: text, Before: b.Before, After: b.After,
		Author: kind.Person{
			ID: b.UserID, Name: cmp.Or(b.User.Name, b.UserName), Username: cmp.Or(b.User.Username, b.Username), Avatar: s.absolute(cmp.Or(b.User.Avatar, b.UserAvatar)),
		},
		Project: kind.Project{
			Name: b.Project.Namespace + " / " + b.Project.Name, Path: b.Project.Path, URL: b.Project.URL, Avatar: s.absolute(b.Project.Avatar), Instance: s.URLs.Root(),
		},
		Message: kind.Message{Color: "#345"},
	}
	if b.Group.Path != "" {
		e.Project.Name, e.Project.Path, e.Project.URL = b.Group.Name, b.Group.Path, s.URLs.Group(b.Group.Path)
	}
	switch b.Kind {
	case "push", "tag_push":
		s.push(&b, e)
	case "issue":
		issue(&b, e)
	case "merge_request":
		request(&b, e)
	case "note":
		note(&b, e)
	case "pipeline":
		s.pipeline(&b, e)
	case "wiki_page":
		wikiPage(&b, e)
	case "deployment":
		deployment(&b, e)
	}
	return e, b.labels(), nil
}

// absolute is the URL of a picture, which bodies may name without the server.
func (s *Service) absolute(address string) string {
	if strings.HasPrefix(address, "/") {
		return s.URLs.Root() + address
	}
	return address
}

// labels are the titles of the labels of what the event is about, nil where that has none.
func (b *body) labels() []string {
	from := b.Labels
	switch {
	case b.Kind == "issue" || b.Kind == "merge_request":
	case b.Kind == "note" && b.MergeRequest != nil:
		from = b.MergeRequest.Labels
	case b.Kind == "note" && b.Issue != nil:
		from = b.Issue.Labels
	default:
		return nil
	}
	out := make([]string, 0, len(from))
	for _, l := range from {
		out = append(out, l.Title)
	}
	return out
}

// who is a person as messages name them.
func who(p kind.Person) string {
	if p.Username == "" {
		return p.Name
	}
	return p.Name + " (" + p.Username + ")"
}

// nothing reports whether an object id says that there is no object.
func nothing(id string) bool { return strings.Trim(id, "0") == "" }

func (s *Service) push(b *body, e *kind.Event) {
	what, name := "branch", strings.TrimPrefix(b.Ref, "refs/heads/")
	if b.Kind == "tag_push" {
		what, name = "tag", strings.TrimPrefix(b.Ref, "refs/tags/")
	}
	e.Ref = kind.Ref{
		Name: name, Tag: what == "tag", Default: what == "branch" && name == b.Project.DefaultBranch, Protected: b.Protected,
		Created: nothing(b.Before), Deleted: nothing(b.After),
	}
	for _, c := range b.Commits {
		e.Commits = append(e.Commits, kind.Commit{ID: c.ID, Title: cut(c.Title, maxTitle), Message: cut(c.Message, maxText), URL: c.URL, Author: c.Author.Name, Email: c.Author.Email})
	}
	m, at := &e.Message, s.URLs.Commits(b.Project.Path, name, "")
	switch {
	case e.Ref.Created:
		m.Text = kind.Say(who(e.Author)+" pushed new "+what+" ").Link(name, at).And(" to ").Link(e.Project.Name, e.Project.URL)
	case e.Ref.Deleted:
		m.Text = kind.Say(who(e.Author)+" removed "+what+" "+name+" from ").Link(e.Project.Name, e.Project.URL)
	default:
		m.Text = kind.Say(who(e.Author)+" pushed to "+what+" ").Link(name, at).And(" of ").Link(e.Project.Name, e.Project.URL).
			And(" (").Link("Compare changes", s.URLs.Compare(b.Project.Path, b.Before, "...", b.After)).And(")")
		for _, c := range e.Commits {
			m.Lines = append(m.Lines, kind.Line{}.Link(c.ID[:min(8, len(c.ID))], c.URL).And(": "+c.Title+" - "+c.Author))
		}
	}
}

// past are the actions as messages say them.
var past = map[string]string{
	"open": "opened", "close": "closed", "reopen": "reopened", "merge": "merged", "approved": "approved", "unapproved": "unapproved",
	"approval": "added their approval to", "unapproval": "removed their approval from", "create": "created", "update": "edited", "delete": "deleted",
}

func issue(b *body, e *kind.Event) {
	a := b.Attributes
	noun := "Issue"
	if a.Type == "Incident" {
		e.Incident, noun = true, "Incident"
	}
	title := "#" + strconv.FormatInt(a.IID, 10) + " " + cut(a.Title, maxTitle)
	e.Message.Text = kind.Say("[").Link(e.Project.Name, e.Project.URL).And("] "+noun+" ").Link(title, a.URL).And(" " + past[a.Action] + " by " + who(e.Author))
	e.Message.Color, e.Message.Thread = "#C95823", "issue "+e.Project.Path+" #"+strconv.FormatInt(a.IID, 10)
	if a.Action == "open" {
		e.Message.Title = kind.Line{}.Link(title, a.URL)
		e.Message.Lines = lines(a.Description)
	}
}

// lines are those of a text of a user.
func lines(text string) []kind.Line {
	if text == "" {
		return nil
	}
	var out []kind.Line
	for line := range strings.SplitSeq(cut(text, maxText), "\n") {
		out = append(out, kind.Say(line))
	}
	return out
}

func request(b *body, e *kind.Event) {
	a := b.Attributes
	name := "!" + strconv.FormatInt(a.IID, 10)
	e.Source = kind.Ref{Name: a.Source}
	e.Message.Text = kind.Say(who(e.Author)+" "+past[a.Action]+" merge request ").Link(name+" "+cut(a.Title, maxTitle), a.URL).And(" in ").Link(e.Project.Name, e.Project.URL)
	e.Message.Thread = "merge request " + e.Project.Path + " " + name
	if a.Action == "open" {
		e.Message.Title = kind.Line{}.Link(name+" "+cut(a.Title, maxTitle), a.URL)
		e.Message.Lines = lines(a.Description)
	}
}

func note(b *body, e *kind.Event) {
	on, title := "", ""
	switch {
	case b.MergeRequest != nil:
		on, title = "merge request !"+strconv.FormatInt(b.MergeRequest.IID, 10), b.MergeRequest.Title
	case b.Issue != nil:
		on, title = "issue #"+strconv.FormatInt(b.Issue.IID, 10), b.Issue.Title
	case b.Snippet != nil:
		on, title = "snippet $"+strconv.FormatInt(b.Snippet.ID, 10), b.Snippet.Title
	case b.Commit != nil:
		on, title = "commit "+b.Commit.ID[:min(8, len(b.Commit.ID))], cmp.Or(b.Commit.Title, firstLine(b.Commit.Message))
	}
	e.Message.Text = kind.Say(who(e.Author)+" ").Link("commented on "+on, b.Attributes.URL).And(" in ").Link(e.Project.Name, e.Project.URL).And(": ").Strong(cut(title, maxTitle))
	e.Message.Lines = lines(b.Attributes.Note)
	kindOf, number, _ := cutLast(on, " ")
	e.Message.Thread = kindOf + " " + e.Project.Path + " " + number
}

// cutLast cuts a text at the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func (s *Service) pipeline(b *body, e *kind.Event) {
	a := b.Attributes
	e.Ref = kind.Ref{Name: a.Ref, Tag: a.Tag, Default: !a.Tag && a.Ref == b.Project.DefaultBranch, Protected: a.Protected}
	e.Status, e.After, e.Number = a.Status, a.SHA, a.ID
	e.URL = cmp.Or(a.URL, s.URLs.Pipeline(b.Project.Path, a.ID))
	what, at := "branch", s.URLs.Commits(b.Project.Path, a.Ref, "")
	if a.Tag {
		what = "tag"
	}
	outcome, color := "has "+map[string]string{"success": "passed", "failed": "failed", "canceled": "been canceled", "skipped": "been skipped"}[a.Status], "danger"
	if outcome == "has " {
		outcome = "is " + a.Status
	}
	if a.Status == "success" {
		color = "good"
	}
	seconds := int64(a.Duration)
	m := &e.Message
	m.Text = kind.Line{}.Link(e.Project.Name, e.Project.URL).And(": Pipeline ").Link("#"+strconv.FormatInt(a.ID, 10), e.URL).And(" of "+what+" ").Link(a.Ref, at).
		And(fmt.Sprintf(" by %s %s in %02d:%02d", who(e.Author), outcome, seconds/60, seconds%60))
	m.Color, m.Thread = color, "pipeline "+e.Project.Path+" "+strconv.FormatInt(a.ID, 10)
	m.Fields = append(m.Fields, kind.Field{Name: strings.ToUpper(what[:1]) + what[1:], Text: kind.Line{}.Link(a.Ref, at)})
	if b.Commit != nil {
		m.Fields = append(m.Fields, kind.Field{Name: "Commit", Text: kind.Line{}.Link(cut(cmp.Or(b.Commit.Title, firstLine(b.Commit.Message)), maxTitle), b.Commit.URL)})
	}
	var stages, jobs []string
	seen := map[string]bool{}
	for _, one := range b.Builds {
		if one.Status != "failed" || one.AllowFailure {
			continue
		}
		jobs = append(jobs, one.Name)
		if !seen[one.Stage] {
			seen[one.Stage], stages = true, append(stages, one.Stage)
		}
	}
	if a.Status == "failed" && len(jobs) > 0 {
		m.Fields = append(m.Fields, named("Failed stage", stages), named("Failed job", jobs))
	}
}

func deployment(b *body, e *kind.Event) {
	name := ""
	_ = json.Unmarshal(b.Environment, &name) // a text in bodies of deployments
	e.Status, e.URL = b.Status, b.DeployableURL
	e.Ref = kind.Ref{Name: b.Ref, Default: b.Ref == b.Project.DefaultBranch, Protected: true} // the body does not say whether it is
	text := "Deploy to " + name + " " + map[string]string{"success": "succeeded", "failed": "failed", "canceled": "canceled"}[b.Status]
	if b.Status == "running" {
		text = "Starting deploy to " + name
	}
	m := &e.Message
	m.Text, m.Thread = kind.Say(text), "environment "+e.Project.Path+" "+name
	if color := map[string]string{"success": "good", "failed": "danger", "canceled": "warning"}[b.Status]; color != "" {
		m.Color = color
	}
	m.Fields = append(m.Fields,
		kind.Field{Name: "Project", Text: kind.Line{}.Link(e.Project.Name, e.Project.URL)},
		kind.Field{Name: "Environment", Text: kind.Say(name)},
		kind.Field{Name: "Commit", Text: kind.Line{}.Link(b.ShortSHA, b.CommitURL).And(": " + cut(b.CommitTitle, maxTitle))},
	)
	if b.DeployableID != 0 {
		m.Fields = append(m.Fields, kind.Field{Name: "Job", Text: kind.Line{}.Link("#"+strconv.FormatInt(b.DeployableID, 10), b.DeployableURL)})
	}
}

// named is a field with at most maxNames names.
func named(title string, names []string) kind.Field {
	if len(names) > 1 {
		title += "s"
	}
	more := ""
	if len(names) > maxNames {
		more = fmt.Sprintf(" and %d more", len(names)-maxNames)
		names = names[:maxNames]
	}
	return kind.Field{Name: title, Text: kind.Say(strings.Join(names, ", ") + more)}
}

func wikiPage(b *body, e *kind.Event) {
	a := b.Attributes
	e.Message.Text = kind.Say(who(e.Author)+" "+past[a.Action]+" ").Link("wiki page", a.URL)
	if a.DiffURL != "" {
		e.Message.Text = e.Message.Text.And(" (").Link("Compare changes", a.DiffURL).And(")")
	}
	e.Message.Text = e.Message.Text.And(" in ").Link(e.Project.Name, e.Project.URL).And(": ").Strong(cut(a.Title, maxTitle))
	e.Message.Lines = lines(a.Message)
}
