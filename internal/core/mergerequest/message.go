package mergerequest

import (
	"strings"

	"tenon/internal/base/budget"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/repo"
)

// The templates of projects that have none of their own.
const (
	defaultMergeTemplate = "Merge branch '%{source_branch}' into '%{target_branch}'\n\n%{title}\n\n%{issues}\n\n" +
		"See merge request %{reference}"
	defaultSquashTemplate = "%{title}"
)

// maxListedMessage bounds the messages that %{all_commits} gives whole, in bytes; of longer ones it
// gives the title.
const maxListedMessage = 100 << 10

// messageData is what templates of commit messages may show.
type messageData struct {
	request   *MergeRequest
	issues    []ClosedIssue // that the merge closes
	path      string        // of the target project
	url       string
	author    gitstore.Signature // of the request
	merger    gitstore.Signature
	reviewers []gitstore.Signature // those that reviewed
	approvers []gitstore.Signature // those that approved, the first first, where a template asks for them
	commits   []*gitstore.Commit   // of the request, oldest first, as far as they are listed
}

// message fills a template. What it quotes of commits in an encoding that they do not name is not UTF-8. Placeholders are written %{name}; unknown ones stay as they
// are. A line that consists of one placeholder without a value goes away, and with it
// the paragraph that it was. The message has repo.MaxMessage bytes at most.
func (d *messageData) message(template string) string {
	lines := strings.Split(strings.ReplaceAll(template, "\r\n", "\n"), "\n")
	var out []string
	dropped, size := false, 0 // whether the line before was taken out; bytes of out
	for _, line := range lines {
		if size > repo.MaxMessage {
			break
		}
		name, alone := strings.CutPrefix(line, "%{")
		name, closed := strings.CutSuffix(name, "}")
		if value, known := d.value(name); alone && closed && known && value == "" {
			dropped = true
			continue
		}
		blank := line == ""
		if blank && dropped && (len(out) == 0 || out[len(out)-1] == "") {
			continue // the blank line that ended the paragraph taken out
		}
		dropped = false
		out = append(out, d.fill(line))
		size += len(out[len(out)-1]) + len("\n")
	}
	return strings.TrimRight(budget.Begin(strings.Join(out, "\n"), repo.MaxMessage), "\n")
}

// fill replaces the placeholders of one line, none of them in a value again. It ends with the value that makes the message too long.
func (d *messageData) fill(line string) string {
	var b strings.Builder
	for b.Len() <= repo.MaxMessage {
		start := strings.Index(line, "%{")
		if start < 0 {
			break
		}
		end := strings.IndexByte(line[start:], '}')
		if end < 0 {
			break
		}
		value, known := d.value(line[start+2 : start+end])
		b.WriteString(line[:start])
		if known {
			b.WriteString(value)
		} else {
			b.WriteString(line[start : start+end+1])
		}
		line = line[start+end+1:]
	}
	if b.Len() <= repo.MaxMessage {
		b.WriteString(line)
	}
	return b.String()
}

// value returns the text of a placeholder.
func (d *messageData) value(name string) (string, bool) {
	m := d.request
	switch name {
	case "source_branch":
		return m.SourceBranch, true
	case "target_branch":
		return m.TargetBranch, true
	case "title":
		return m.Title, true
	case "description":
		return m.Text(), true
	case "issues":
		if len(d.issues) == 0 {
			return "", true
		}
		return "Closes " + issueList(d.issues), true
	case "reference":
		return d.path + m.IID.Reference(), true
	case "local_reference":
		return m.IID.Reference(), true
	case "url":
		return d.url, true
	case "source_project_id":
		if m.SourceProjectID == nil {
			return "", true
		}
		return decimal(int64(*m.SourceProjectID)), true
	case "merged_by":
		return mailbox(d.merger), true
	case "merge_request_author":
		return mailbox(d.author), true
	}
	return d.commitValue(name)
}

// commitValue returns the placeholders that are made of commits and reviews.
func (d *messageData) commitValue(name string) (string, bool) {
	switch name {
	case "first_commit":
		if len(d.commits) == 0 {
			return "", true
		}
		return strings.TrimSpace(d.commits[0].Quote()), true
	case "first_multiline_commit":
		if c := d.firstMultiline(); c != "" {
			return c, true
		}
		return d.request.Title, true
	case "first_multiline_commit_description":
		_, rest, _ := strings.Cut(d.firstMultiline(), "\n")
		return strings.TrimSpace(rest), true
	case "all_commits":
		var parts []string
		size := 0
		for _, c := range d.commits {
			switch {
			case size > repo.MaxMessage: // is cut anyway
			case len(c.Parents) > 1:
			case len(c.Message) > maxListedMessage:
				parts = append(parts, "* "+c.QuoteTitle())
				size += len(parts[len(parts)-1])
			default:
				parts = append(parts, "* "+strings.TrimSpace(c.Quote()))
				size += len(parts[len(parts)-1])
			}
		}
		return strings.Join(parts, "\n\n"), true
	case "co_authored_by":
		return d.coAuthors(), true
	case "reviewed_by":
		return trailers("Reviewed-by: ", d.reviewers), true
	case "approved_by":
		return trailers("Approved-by: ", d.approvers), true
	}
	return "", false
}

func (d *messageData) firstMultiline() string {
	for _, c := range d.commits {
		text := strings.TrimSpace(c.Quote())
		if len(c.Parents) < 2 && strings.Contains(text, "\n") {
			return text
		}
	}
	return ""
}

// coAuthors lists who else wrote the commits, each address once.
func (d *messageData) coAuthors() string {
	seen := map[string]bool{strings.ToLower(d.author.Email): true}
	var others []string
	size := 0
	for _, c := range d.commits {
		if size > repo.MaxMessage {
			break
		}
		if key := strings.ToLower(c.Author.Email); !seen[key] {
			seen[key] = true
			others = append(others, "Co-authored-by: "+c.QuoteAuthor())
			size += len(others[len(others)-1])
		}
	}
	return strings.Join(others, "\n")
}

func trailers(prefix string, people []gitstore.Signature) string {
	lines := make([]string, len(people))
	for i, p := range people {
		lines[i] = prefix + mailbox(p)
	}
	return strings.Join(lines, "\n")
}

func mailbox(s gitstore.Signature) string { return s.Name + " <" + s.Email + ">" }
