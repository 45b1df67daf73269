package reference

import "strings"

// Moved returns a text in Markdown that stood in the project at a path so that it refers to the same
// things from anywhere: what it names in that project gets the path.
func (r Reader) Moved(text, path string) string {
	var out strings.Builder
	done := 0
	for _, ref := range inOrder(r.Parse(text)) {
		switch ref.Kind {
		case Issue, MergeRequest, Snippet, Milestone, Label, Commit, CommitRange:
		default:
			continue
		}
		if ref.URL || ref.Place != "" || ref.Start < done {
			continue
		}
		out.WriteString(text[done:ref.Start])
		out.WriteString(path)
		done = ref.Start
		switch {
		case ref.Kind == Commit || ref.Kind == CommitRange:
			out.WriteByte('@')
		case strings.HasPrefix(text[done:], "GL-"): // another way to write #
			out.WriteByte('#')
			done += len("GL-")
		}
	}
	if out.Len() == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}
