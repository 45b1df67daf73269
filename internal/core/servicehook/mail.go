package servicehook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"time"

	"tenon/internal/base/errs"
	"tenon/internal/base/mail"
	"tenon/internal/core/authz"
	"tenon/internal/core/ci"
	"tenon/internal/core/integration/kind"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
)

const (
	mailTimeout  = 10 * time.Minute
	maxDiffFiles = 30
	maxDiffLines = 5000
)

// letter is a mail without its recipient.
type letter struct {
	subject string
	text    string
	headers []mail.Header
	from    string // address; "" for that of the server
	name    string // of the sender
	replyTo string
}

// mail writes to the recipients of an integration, each of which gets a mail of its own. Each that was sent is written down, so that another
// attempt leaves them out.
func (s *Service) mail(ctx context.Context, c *Call, at authz.NamespaceID, v kind.Values, e *kind.Event) error {
	if s.Sender == nil {
		return nil
	}
	p, err := s.project(ctx, at)
	if p == nil || err != nil || !p.EmailsEnabled {
		return err
	}
	out, err := s.compose(ctx, p, v, e)
	if out == nil || err != nil {
		return err
	}
	to := recipients(v.Text("recipients"))
	if c.Done >= len(to) {
		return nil
	}
	conn, err := s.Sender.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for n := c.Done; n < len(to); n++ {
		err := conn.Send(mail.Message{
			FromName: out.name, From: out.from, To: netmail.Address{Address: to[n]}, ReplyTo: netmail.Address{Address: out.replyTo}, Date: e.At, Subject: out.subject,
			ID: fmt.Sprintf("integration_%d_%d@%s", c.ID, n, s.URLs.Host()), Headers: out.headers, Text: s.framed(out.text),
		})
		if _, refused := errors.AsType[*mail.RefusedError](err); err != nil && !refused {
			return err
		}
		if _, err := s.DB.Exec(context.WithoutCancel(ctx), "UPDATE integration_calls SET done = ? WHERE id = ?", n+1, c.ID); err != nil {
			return fmt.Errorf("write down mail of integration: %w", err)
		}
	}
	return nil
}

// project is the project of a namespace, nil where it no longer exists.
func (s *Service) project(ctx context.Context, at authz.NamespaceID) (*project.Project, error) {
	found, err := s.Projects.ByNamespaces(ctx, authz.System(), []authz.NamespaceID{at})
	return found[at], err
}

// recipients are the addresses in a list; other words are left out.
func recipients(list string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
		if a, err := netmail.ParseAddress(word); err == nil && a.Address == word {
			out = append(out, word)
		}
	}
	return out
}

// framed adds what the appearance of the instance says in mail.
func (s *Service) framed(text string) string {
	a := s.Appearance.Current()
	if !a.InMail {
		return text
	}
	return strings.TrimSpace(a.HeaderMessage + "\n\n" + text + "\n\n" + a.FooterMessage)
}

// compose makes the mail about an event, nil where there is nothing to say.
func (s *Service) compose(ctx context.Context, p *project.Project, v kind.Values, e *kind.Event) (*letter, error) {
	var out *letter
	var err error
	if e.Kind == "pipeline" {
		out, err = s.pipelineMail(ctx, p, e)
	} else {
		out, err = s.pushMail(ctx, p, v, e)
	}
	if out == nil || err != nil {
		return nil, err
	}
	out.headers = append(out.headers, mail.Header{Name: "X-GitLab-Project", Value: p.Name}, mail.Header{Name: "X-GitLab-Project-Id", Value: fmt.Sprint(p.ID)},
		mail.Header{Name: "X-GitLab-Project-Path", Value: p.FullPath}, mail.Header{Name: "Auto-Submitted", Value: "auto-generated"})
	return out, nil
}

func (s *Service) pipelineMail(ctx context.Context, p *project.Project, e *kind.Event) (*letter, error) {
	heading := map[string]string{"failed": "Failed pipeline", "success": "Successful pipeline"}[e.Status]
	if e.Status == "success" {
		of, err := s.CI.Find(ctx, authz.System(), p, ci.PipelineID(e.Number))
		if errs.Is(err, errs.NotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		before, _, err := s.CI.Precedent(ctx, of)
		if err != nil {
			return nil, err
		}
		if of.HasFailed || before == ci.Failed {
			heading = "Fixed pipeline"
		}
	}
	text := e.Message.Text.Plain() + "\n\n" + e.URL + "\n"
	for _, f := range e.Message.Fields {
		text += "\n" + f.Name + ": " + f.Text.Plain()
	}
	return &letter{
		subject: p.Name + " | " + heading + " for " + e.Ref.Name + " | " + e.After[:min(8, len(e.After))], text: text, name: who(e.Author),
		headers: []mail.Header{{Name: "X-GitLab-Pipeline-Ref", Value: e.Ref.Name}, {Name: "X-GitLab-Pipeline-Status", Value: e.Status}},
	}, nil
}

// pushMail writes about a push: its commits, or those that a rewritten branch has lost, and their diff.
func (s *Service) pushMail(ctx context.Context, p *project.Project, v kind.Values, e *kind.Event) (*letter, error) {
	out := &letter{name: who(e.Author), headers: []mail.Header{{Name: "X-GitLab-Author", Value: e.Author.Username}}}
	what := "branch"
	out.subject = "[Git][" + p.FullPath + "]"
	if e.Ref.Tag {
		what = "tag"
	} else if !e.Ref.Created && !e.Ref.Deleted {
		out.subject += "[" + e.Ref.Name + "]"
	}
	out.subject += " "
	out.text = e.Author.Name + " pushed to " + what + " " + e.Ref.Name + " at " + e.Project.Name + "\n\n" + s.URLs.Tree(p.FullPath, e.Ref.Name) + "\n"
	switch {
	case e.Ref.Created:
		out.subject += "Pushed new " + what + " " + e.Ref.Name
	case e.Ref.Deleted:
		out.subject += "Deleted " + what + " " + e.Ref.Name
		out.text = e.Author.Name + " deleted " + what + " " + e.Ref.Name + " at " + e.Project.Name + "\n"
	default:
		said, err := s.compared(ctx, p, v, e, out)
		if !said || err != nil {
			return nil, err
		}
	}
	return out, s.sender(ctx, v, e, out)
}

// compared adds what lies between the two ends of a push. It reports whether there is anything.
func (s *Service) compared(ctx context.Context, p *project.Project, v kind.Values, e *kind.Event, out *letter) (bool, error) {
	between := func(from, to string) (*repo.Comparison, error) {
		c, err := s.Repos.Compare(ctx, authz.System(), p, repo.CompareInput{From: from, To: to})
		if errs.Is(err, errs.NotFound) {
			return &repo.Comparison{}, nil // pushed over, and swept away
		}
		return c, err
	}
	from, to, deleted := e.Before, e.After, ""
	c, err := between(from, to)
	if err == nil && len(c.Commits) == 0 {
		from, to, deleted = to, from, "Deleted "
		c, err = between(from, to)
	}
	if err != nil || len(c.Commits) == 0 {
		return false, err
	}
	first := c.Commits[len(c.Commits)-1]
	n := len(c.Commits) + c.Older
	switch {
	case n > 1:
		out.subject += fmt.Sprintf("%s%d commits: %s", deleted, n, cut(c.Commits[0].Title(), maxTitle))
	case deleted != "":
		out.subject += "Deleted 1 commit: " + cut(first.Title(), maxTitle)
	default:
		out.subject += cut(first.Title(), maxTitle)
	}
	var b strings.Builder
	b.WriteString(s.URLs.Compare(p.FullPath, from, "...", to) + "\n\n")
	if deleted != "" {
		b.WriteString("Deleted commits:\n\n")
	} else {
		b.WriteString("Commits:\n\n")
	}
	for _, one := range c.Commits[max(0, len(c.Commits)-maxCommits):] {
		fmt.Fprintf(&b, "%.8s by %s at %s\n%s\n\n", one.ID.String(), one.Author.Name, one.Author.When.Format(time.RFC3339), cut(strings.TrimSpace(one.Message), maxText))
	}
	changed(&b, c, v["disable_diffs"] != true)
	out.text += "\n" + b.String()
	return true, nil
}

// maxCommits is how many commits a mail lists.
const maxCommits = 100

// changed lists the files of a comparison, and their diffs where these are wanted and within bounds.
func changed(b *strings.Builder, c *repo.Comparison, diffs bool) {
	if c.Diff == nil {
		return
	}
	files := c.Diff.Files
	fmt.Fprintf(b, "%d changed files:\n\n", len(files))
	marks := map[byte]string{'A': "+ ", 'D': "- ", 'R': "~ "}
	for i := range files[:min(len(files), 10*maxDiffFiles)] {
		f := &files[i]
		name := f.NewPath
		if f.Renamed() {
			name = f.OldPath + " -> " + f.NewPath
		}
		b.WriteString(cmp.Or(marks[f.Status], "  ") + valid(name) + "\n")
	}
	if !diffs {
		return
	}
	const tooLarge = "The diff is too large to be in this mail.\n"
	b.WriteString("\nChanges:\n\n")
	lines := 0
	for i := range files {
		f := &files[i]
		if i == maxDiffFiles {
			b.WriteString(tooLarge)
			return
		}
		lines += strings.Count(string(f.Patch), "\n")
		fmt.Fprintf(b, "=====================================\n%s\n=====================================\n", valid(f.NewPath))
		switch {
		case f.TooLarge || lines > maxDiffLines:
			b.WriteString(tooLarge)
		case f.Binary:
			b.WriteString("Binary files differ.\n")
		default:
			b.WriteString(valid(string(f.Patch)))
		}
		if lines > maxDiffLines {
			return
		}
		b.WriteString("\n")
	}
}

// valid is a text of git as mail has it.
func valid(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// sender says who a mail is from: the user who pushed, where the integration wants it and the address is of the domain of the instance or of one
// above it. Answers go to an address that the user shows.
func (s *Service) sender(ctx context.Context, v kind.Values, e *kind.Event, out *letter) error {
	if e.Author.ID == 0 {
		return nil
	}
	id := authz.UserID(e.Author.ID)
	found, err := s.Accounts.Load(ctx, []authz.UserID{id})
	if err != nil || found[id] == nil {
		return err
	}
	out.replyTo = found[id].PublicEmail
	if v["send_from_committer_email"] != true {
		return nil
	}
	address := found[id].CommitAddress(s.Accounts.CommitHost())
	_, domain, _ := strings.Cut(address, "@")
	host, _, _ := strings.Cut(s.URLs.Host(), ":")
	if domain != "" && (strings.EqualFold(domain, host) || strings.HasSuffix(strings.ToLower(host), "."+strings.ToLower(domain))) {
		out.from, out.replyTo = address, address
	}
	return nil
}
