package payload

import (
	"reflect"
	"strings"

	"tenon/internal/core/change"
	"tenon/internal/core/label"
	"tenon/internal/core/project"
)

// changes are what a change of a row has changed of attributes, a struct of the body, and of labels. Rows are pointers of one type, either of
// which may be nil.
func (s *Service) changes(p *project.Project, before, after, attributes any) map[string]change.Values {
	f := change.Fact{Before: before, After: after}
	out := map[string]change.Values{}
	known := names(attributes)
	for name, v := range f.Changes() {
		if name == "labels" {
			out[name] = change.Values{Before: labels(p, v.Before.([]label.Label)), After: labels(p, v.After.([]label.Label))}
		} else if known[name] {
			out[name] = v
		}
	}
	return out
}

// names are those of the attributes of a struct.
func names(attributes any) map[string]bool {
	out := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(attributes)) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out[name] = true
	}
	return out
}
