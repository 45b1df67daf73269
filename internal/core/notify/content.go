package notify

import (
	"context"
	"fmt"
	netmail "net/mail"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/budget"
	"tenon/internal/base/mail"
	"tenon/internal/core/authz"
	"tenon/internal/core/label"
	"tenon/internal/core/noteable"
)

// maxText is how many bytes of a description or a note stand in a mail.
const maxText = 64 << 10

//go:generate go run tenon/internal/tools/templ

// content is what the templates of a mail show.
type content struct {
	lead        string // says what happened
	url         string
	html        string // the text, rendered
	rows        []string
	why         string // the reader gets it
	unsubscribe string // "" where there is nothing to unsubscribe from
	additional  string // of the instance; "" for nothing
	brand       brand
	host        string
	noun        string
}

// compose makes the mail of an event for one user, who may read what it is about.
func (s *Service) compose(ctx context.Context, as authz.Actor, m Mailing, t *topic, r *recipient, p *person) (*mail.Message, error) {
	l := content{url: t.URL, rows: t.rows, why: t.why(r), host: s.URLs.Host(), noun: t.noun}
	if m.Event == movedProject {
		l.rows = s.remotes(t.Place.Path)
	}
	if m.Event == exportedProject {
		l.url = s.URLs.ProjectExport(t.Place.Path)
	}
	if m.Event == exportedGroup {
		l.url = s.URLs.GroupExport(t.Place.Path)
	}
	var err error
	if l.lead, err = s.lead(ctx, m, t); err != nil {
		return nil, err
	}
	body := ""
	switch {
	case t.note != nil:
		body, l.url = strings.Join(append([]string{t.note.Body}, t.more...), "\n\n---\n\n"), t.URL+"#note_"+strconv.FormatInt(int64(t.note.ID), 10)
	case m.begins(), m.Event == newMention, m.Event == issueDue, m.Event == newRelease:
		body = t.Description
	}
	body = short(body)
	if body != "" {
		rendered, err := s.References.HTML(ctx, as, t.references, body)
		if err != nil {
			return nil, err
		}
		l.html = rendered[0]
	}
	thread := Thread{User: p.ID, On: t.ref}
	if t.root != "" {
		l.unsubscribe = s.URLs.Unsubscribe(s.key(unsubscribeKey, thread))
	}
	set := s.Settings.Current()
	if set.EmailAuthorInBody && t.by != nil {
		l.lead = t.by.Name + " (@" + t.by.Username + "): " + l.lead
	}
	if set.EmailAdditionalText != nil {
		l.additional = *set.EmailAdditionalText
	}
	l.brand = s.brand()
	var html strings.Builder
	if set.HTMLEmailsEnabled {
		if err := document(&l).Render(ctx, &html); err != nil {
			return nil, fmt.Errorf("render mail: %w", err)
		}
	}
	out := &mail.Message{
		To: netmail.Address{Name: p.Name, Address: p.Email}, Date: s.Now(), Subject: subject(m, t),
		Headers: s.headers(t, r, l.unsubscribe), Text: l.text(body), HTML: html.String(),
	}
	if t.by != nil {
		out.FromName = t.by.Name + " (@" + t.by.Username + ")"
	}
	s.join(out, m, t)
	s.answerable(out, thread, t)
	return out, nil
}

// short cuts a text where it is longer than a mail should be.
func short(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= maxText {
		return text
	}
	return budget.Begin(text, maxText) + " [...]"
}

func subject(m Mailing, t *topic) string {
	switch m.Event {
	case movedProject:
		return t.Place.Name + " | Project was moved"
	case pausedHook:
		return t.Place.Name + " | Webhook is paused"
	case disabledHook:
		return t.Place.Name + " | Webhook is disabled"
	case exportedProject:
		return t.Place.Name + " | Project was exported"
	case failedExport:
		return t.Place.Name + " | Project export error"
	case exportedGroup:
		return t.Place.Name + " | Group was exported"
	case failedGroupExport:
		return t.Place.Name + " | Group export error"
	case refusedPackage:
		return t.Place.Name + " | Package could not be published"
	case newRelease:
		return t.Place.Name + " | New release: " + t.Title
	case inactiveProject:
		return t.Place.Name + " | Project will be deleted on " + m.Day
	}
	if heading := headings[m.Event]; heading != "" {
		return t.Place.Name + " | " + heading + " for " + t.Title
	}
	line := t.Place.Name + " | " + t.Title + " (" + t.short() + ")"
	if m.begins() {
		return line
	}
	return "Re: " + line
}

// join puts the mail into the thread of its thing, and of its discussion.
func (s *Service) join(out *mail.Message, m Mailing, t *topic) {
	at := "@" + s.URLs.Host()
	number := func(id int64) string { return strconv.FormatInt(id, 10) }
	root := t.root + t.id() + at
	switch {
	case t.root == "":
		out.ID = m.Event + "_" + m.ID + at
		return
	case m.begins():
		out.ID = root
		return
	case t.note == nil:
		out.ID = m.Event + "_" + m.ID + at
	default:
		out.ID = "note_" + number(int64(t.note.ID)) + at
	}
	out.InReplyTo, out.References = root, []string{root}
	if t.first != 0 {
		out.InReplyTo = "note_" + number(int64(t.first)) + at
		out.References = append(out.References, out.InReplyTo)
	}
}

// answerable says where answers go. The key of the thread is among the references, too, for
// clients that answer to another address.
func (s *Service) answerable(out *mail.Message, thread Thread, t *topic) {
	if s.Out.Incoming == "" || t.root == "" {
		if a, err := netmail.ParseAddress(s.Out.ReplyTo); err == nil {
			out.ReplyTo = *a
		}
		return
	}
	if t.note != nil {
		thread.Note = t.note.ID
	}
	key := s.key(replyKey, thread)
	out.ReplyTo = netmail.Address{Name: t.Place.FullName, Address: strings.Replace(s.Out.Incoming, s.Out.IncomingKey, key, 1)}
	out.References = append(out.References, "reply-"+key+"@"+s.URLs.Host())
	out.Headers = append(out.Headers, mail.Header{Name: "X-GitLab-Reply-Key", Value: key})
}

// headers are those that readers filter by, and those that keep machines from answering.
func (s *Service) headers(t *topic, r *recipient, unsubscribe string) []mail.Header {
	number := func(id int64) string { return strconv.FormatInt(id, 10) }
	parts := strings.Split(t.Place.Path, "/")
	id := number(int64(t.Place.Namespace))
	if t.Place.IsProject() {
		id = number(int64(t.projectID()))
	}
	slices.Reverse(parts)
	prefix := "X-GitLab-" + t.header
	out := []mail.Header{
		{Name: "List-Id", Value: t.Place.Path + " <" + id + "." + strings.Join(parts, ".") + "." + s.URLs.Host() + ">"},
		{Name: "Auto-Submitted", Value: "auto-generated"},
		{Name: "X-Auto-Response-Suppress", Value: "All"},
		{Name: "X-GitLab-NotificationReason", Value: string(r.reason)},
	}
	if t.header != "" {
		out = append(out, mail.Header{Name: prefix + "-ID", Value: t.id()})
	}
	if unsubscribe != "" {
		out = append(out, mail.Header{Name: "List-Unsubscribe", Value: "<" + unsubscribe + ">"}, mail.Header{Name: "List-Unsubscribe-Post", Value: "List-Unsubscribe=One-Click"})
	}
	out = append(out, t.headers...)
	if t.Number != 0 {
		out = append(out, mail.Header{Name: prefix + "-IID", Value: number(t.Number)}, mail.Header{Name: prefix + "-State", Value: t.State})
	}
	if t.Place.Group {
		out = append(out, mail.Header{Name: "X-GitLab-Group-Id", Value: id}, mail.Header{Name: "X-GitLab-Group-Path", Value: t.Place.Path})
	} else {
		out = append(out, mail.Header{Name: "X-GitLab-Project", Value: t.Place.Name}, mail.Header{Name: "X-GitLab-Project-Id", Value: id},
			mail.Header{Name: "X-GitLab-Project-Path", Value: t.Place.Path})
	}
	if t.ref.Kind == noteable.Issue {
		out = append(out, mail.Header{Name: "X-GitLab-ConfidentialIssue", Value: strconv.FormatBool(t.Confidential)})
	}
	if t.note != nil {
		out = append(out, mail.Header{Name: "X-GitLab-Discussion-ID", Value: t.note.DiscussionID})
	}
	return out
}

// why says to the reader what the header of the reason says to programs.
func (t *topic) why(r *recipient) string {
	if r.way&asker != 0 {
		return "you asked for the export"
	}
	if r.way&starter != 0 {
		return "you started the pipeline"
	}
	if r.way&warned != 0 && t.Place.Group {
		return "you own the group"
	}
	if r.way&warned != 0 {
		return "you maintain the project"
	}
	if r.way&member != 0 {
		return "you are a member of the project"
	}
	switch r.reason {
	case Assigned:
		return "you are assigned"
	case ReviewRequested:
		return "your review was requested"
	case MentionedThere:
		return "you were mentioned"
	case Subscribed:
		return "you subscribed"
	}
	return "of your notification settings"
}

// lead says in a sentence what happened.
func (s *Service) lead(ctx context.Context, m Mailing, t *topic) (string, error) {
	who, it := "The server", t.noun+" "+t.short()
	if t.by != nil {
		who = t.by.Name
	}
	switch m.Event {
	case failedPipeline, fixedPipeline, successPipeline:
		return ended(m.Event, t), nil
	case pausedHook, disabledHook:
		return stopped(m.Event, t), nil
	case exportedProject, failedExport, exportedGroup, failedGroupExport:
		return exportLead(m, t), nil
	case refusedPackage:
		return "A package that you uploaded to " + t.Place.FullName + " could not be published: " + m.Failure, nil
	case issueDue:
		return strings.ToUpper(it[:1]) + it[1:] + " is due on " + t.Due + ": " + t.Title, nil
	case inactiveProject:
		return "There was no activity in project " + t.Place.FullName + " since " + t.Due + ". It will be deleted on " + m.Day +
			" or later, unless there is activity in it before, such as a push or a comment.", nil
	case newRelease:
		return who + " released " + t.Title + " of " + t.Place.FullName + ".", nil
	case movedProject:
		return who + " moved project " + t.Place.Name + " from " + m.Path + " to " + t.Place.Path + ".", nil
	case "new_issue", "new_merge_request", newEpic:
		return who + " created " + it + ": " + t.Title, nil
	case "close_issue", "close_merge_request", closeEpic:
		return who + " closed " + it + ": " + t.Title, nil
	case "reopen_issue", "reopen_merge_request", reopenEpic:
		return who + " reopened " + it + ": " + t.Title, nil
	case "merge_merge_request":
		return who + " merged " + it + ": " + t.Title, nil
	case approved:
		return who + " approved " + it + ": " + t.Title, nil
	case unapproved:
		return who + " no longer approves " + it + ": " + t.Title, nil
	case "new_note":
		if len(m.Review) > 0 {
			return who + " reviewed " + it + ":", nil
		}
		if t.note.Internal {
			return who + " wrote an internal note on " + it + ":", nil
		}
		return who + " commented on " + it + ":", nil
	case newMention:
		return who + " mentioned you in " + it + ": " + t.Title, nil
	case "push_to_merge_request":
		return who + " pushed new commits to " + it + ": " + t.Title, nil
	case unmergeable:
		return strings.ToUpper(it[:1]) + it[1:] + " can no longer be merged because of conflicts: " + t.Title, nil
	case relabeled:
		return who + " labeled " + it + " " + t.labelsOf(m.Labels) + ": " + t.Title, nil
	}
	now, err := s.people(ctx, m.Users)
	if err != nil {
		return "", err
	}
	former, err := s.people(ctx, m.Former)
	begun, ended := " assigned "+it+" to ", " unassigned "
	if m.Event == "change_reviewer_merge_request" {
		begun, ended = " requested a review of "+it+" from ", " no longer requests a review from "
	}
	switch {
	case former == "":
		return who + begun + now + ".", err
	case now == "":
		return who + ended + former + " (" + it + ").", err
	}
	return who + begun + now + ", and" + ended + former + ".", err
}

// maxNamed is how many users a sentence names.
const maxNamed = 20

// people joins the names of users.
func (s *Service) people(ctx context.Context, ids []authz.UserID) (string, error) {
	more := ""
	if len(ids) > maxNamed {
		ids, more = ids[:maxNamed], " and others"
	}
	users, err := s.Accounts.Load(ctx, ids)
	if err != nil {
		return "", err
	}
	var names []string
	for _, id := range ids {
		if u := users[id]; u != nil {
			names = append(names, u.Name)
		}
	}
	return strings.Join(names, ", ") + more, nil
}

// labelsOf joins the titles of those of the labels that the thing still has.
func (t *topic) labelsOf(ids []label.ID) string {
	var titles []string
	for _, l := range t.Labels {
		if slices.Contains(ids, label.ID(l.ID)) && len(titles) < maxNamed {
			titles = append(titles, l.Title)
		}
	}
	return strings.Join(titles, ", ")
}

// text is the mail without HTML; body is in Markdown.
func (l *content) text(body string) string {
	out := l.lead + "\n\n"
	if l.brand.header != "" {
		out = l.brand.header + "\n\n" + out
	}
	if body != "" {
		out += body + "\n\n"
	}
	for _, row := range l.rows {
		out += "- " + row + "\n"
	}
	if len(l.rows) > 0 {
		out += "\n"
	}
	out += l.url + "\n\n-- \nYou get this mail from " + l.host + " because " + l.why + ".\n"
	if l.unsubscribe != "" {
		out += "To get no more about this " + l.noun + ": " + l.unsubscribe + "\n"
	}
	if l.additional != "" {
		out += "\n" + l.additional + "\n"
	}
	if l.brand.footer != "" {
		out += "\n" + l.brand.footer + "\n"
	}
	return out
}
