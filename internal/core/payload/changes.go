package payload

import (
	"reflect"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/label"
	"tenon/internal/core/project"
)

// Changes are what an event has changed of the attributes of a body, by their names.
type Changes map[string]change.Values

// differences compares two states of the attributes of a body, structs of one type, by the names of their fields. What a body makes
// of other attributes, as its address of a row, has the tag change:"-".
func differences(before, after any) Changes {
	out := Changes{}
	was, is := reflect.ValueOf(before), reflect.ValueOf(after)
	for _, f := range reflect.VisibleFields(was.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || f.Tag.Get("change") == "-" {
			continue
		}
		a, b := was.FieldByIndex(f.Index).Interface(), is.FieldByIndex(f.Index).Interface()
		if !reflect.DeepEqual(a, b) {
			out[name] = change.Values{Before: a, After: b}
		}
	}
	return out
}

// labels adds the labels of a row where they have changed.
func (c Changes) labels(p *project.Project, before, after []label.Label) {
	if added, removed := change.Sets(before, after); len(added)+len(removed) > 0 {
		c["labels"] = change.Values{Before: labels(p, before), After: labels(p, after)}
	}
}

// people adds users of a row where they have changed.
func (c Changes) people(name string, blocks func([]authz.UserID) []*UserBlock, before, after []authz.UserID) {
	if added, removed := change.Sets(before, after); len(added)+len(removed) > 0 {
		c[name] = change.Values{Before: blocks(before), After: blocks(after)}
	}
}
