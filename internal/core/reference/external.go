package reference

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/base/markdown"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// external is a reference to an issue of a tracker elsewhere. Only texts of projects with one have them; Name identifies the issue.
const external Kind = "external_issue"

// trackerOf returns the tracker elsewhere that texts of a scope refer to, nil for none.
func (s *Service) trackerOf(in Scope) *project.Tracker {
	if in.Project == nil || in.Project.ExternalJSON == nil {
		return nil
	}
	tracker, _ := in.Project.Links(s.Settings.Current())
	return tracker
}

// trackerKey tells texts apart that are rendered for different trackers.
func (s *Service) trackerKey(in Scope) string {
	if s.trackerOf(in) == nil {
		return ""
	}
	return strconv.Itoa(int(in.Project.IssuesAccess)) + *in.Project.ExternalJSON
}

// withExternal adds the references to issues of a tracker elsewhere in runs of a text, where no other reference is. What would be an
// issue of the project itself is one of the tracker where the project has no issues.
func withExternal(t *project.Tracker, p *project.Project, runs []markdown.Run, text string, refs []Reference) []Reference {
	if t.Hash && p.IssuesAccess == authz.FeatureDisabled {
		for i := range refs {
			if ref := &refs[i]; ref.Kind == Issue && ref.Place == "" && !ref.URL && strings.HasPrefix(text[ref.Start:ref.End], "#") {
				*ref = Reference{Kind: external, Name: strconv.FormatInt(ref.Number, 10), Start: ref.Start, End: ref.End}
			}
		}
	}
	pattern, err := regexp.Compile(t.Reference)
	if err != nil {
		return refs
	}
	var found []Reference
	for _, run := range runs {
		if len(found) >= MaxReferences {
			break
		}
		for _, m := range pattern.FindAllStringSubmatchIndex(run.Text, MaxReferences) {
			name := firstGroup(run.Text, m)
			if name == "" || !(&scanner{text: run.Text}).alone(m[0], m[1]) {
				continue
			}
			found = append(found, Reference{Kind: external, Name: name, Start: run.Start + m[0], End: run.Start + m[1]})
		}
	}
	return merged(refs, found)
}

// firstGroup returns what the first group of a match that matched something matched.
func firstGroup(text string, match []int) string {
	for i := 2; i+1 < len(match); i += 2 {
		if match[i] >= 0 && match[i] < match[i+1] {
			return strings.Clone(text[match[i]:match[i+1]])
		}
	}
	return ""
}

// alone reports whether a part of the text is no part of a longer word, path or URL.
func (s *scanner) alone(start, end int) bool {
	if start > 0 && strings.IndexByte("-./", s.text[start-1]) >= 0 {
		return false
	}
	return s.open(start) && closed(s.text[end:]) && !strings.HasPrefix(s.text[end:], "://")
}

// merged adds references to others, where they do not overlap.
func merged(refs, more []Reference) []Reference {
	room := MaxReferences - len(refs)
	out := refs
	for _, ref := range more {
		if room == 0 {
			break
		}
		if !slices.ContainsFunc(refs, func(o Reference) bool { return ref.Start < o.End && o.Start < ref.End }) {
			out = append(out, ref)
			room--
		}
	}
	return inOrder(out)
}

// writeExternal writes a link to an issue of the tracker elsewhere.
func writeExternal(out *strings.Builder, t *project.Tracker, in project.ID, ref *Reference, text string) {
	address := strings.ReplaceAll(t.IssueURL, ":id", url.PathEscape(html.UnescapeString(ref.Name)))
	shown := html.EscapeString(html.UnescapeString(text))
	out.WriteString(`<a href="` + html.EscapeString(address) + `" title="Issue in ` + html.EscapeString(t.Title) + `" class="gfm gfm-issue" data-original="` + shown +
		`" data-reference-type="external_issue" data-project="` + strconv.FormatInt(int64(in), 10) + `" data-external-issue="` + html.EscapeString(ref.Name) +
		`" rel="nofollow noreferrer noopener" target="_blank">` + shown + `</a>`)
}
