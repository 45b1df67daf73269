package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tenon/internal/core/tree"
)

// movingElsewhere are nested copies of rows that have a file.
var movingElsewhere = strings.Fields("label milestone merge_request iteration epic parent_epic user author")

// flattened are the values of attributes in a file, by their paths, as the catalogue knows them. Users are named by name, and what belongs to
// the project or group alone by a word.
type flattened struct {
	all   *tree.Catalogue
	users map[string]string // names, by number
	out   map[string][]string
}

func (f *flattened) add(rel *tree.Relation, at string, o map[string]any) {
	for _, part := range partsOf(f.all, rel) {
		for _, a := range part.Attributes {
			v, ok := o[a.Name]
			if !ok {
				f.out[at+"."+a.Name] = append(f.out[at+"."+a.Name], "absent")
				continue
			}
			text, err := json.Marshal(v)
			if err != nil {
				panic(err)
			}
			is := string(text)
			switch {
			case v == nil:
			case a.Type == tree.User:
				is = cmp.Or(f.users[is], "user "+is)
			case a.Type == tree.Project, a.Type == tree.Group:
				is = "its own"
			}
			f.out[at+"."+a.Name] = append(f.out[at+"."+a.Name], is)
		}
	}
	for _, name := range rel.Children {
		child := f.all.Find(name)
		switch nested := o[cmp.Or(child.Key, child.Name)].(type) {
		case []any:
			for _, one := range nested {
				f.add(child, name, one.(map[string]any))
			}
		case map[string]any:
			if slices.Contains(movingElsewhere, name) { // a copy of a row that is compared where it is at home
				f.out[at+"."+name] = append(f.out[at+"."+name], fmt.Sprint(nested["iid"], nested["title"], nested["username"], nested["public_email"], nested["name"]))
				continue
			}
			f.add(child, name, nested)
		}
	}
}

// flatten reads the files of a tree in a folder of an archive.
func flatten(t *testing.T, all *tree.Catalogue, users, files map[string]string, root, folder string) map[string][]string {
	t.Helper()
	f := &flattened{all, users, map[string][]string{}}
	for _, rel := range all.All() {
		if !rel.File || rel.Extends != "" {
			continue
		}
		name := folder + rel.Name + ".ndjson"
		if rel.Name == "project" || rel.Name == "group" {
			name = root
		}
		for _, one := range lines(t, strings.TrimPrefix(files[name], "null")) {
			if user, _ := one["user"].(map[string]any); user["username"] == "root" { // the importing user is a member as well
				continue
			}
			f.add(rel, rel.Name, one)
		}
	}
	for _, values := range f.out {
		slices.Sort(values)
	}
	return f.out
}

// differences compares what was written with what is there, but for paths with a reason. A reason that nothing needs is an error.
func sameColumns(t *testing.T, what string, want, got map[string][]string, reasons map[string]string) {
	t.Helper()
	except, needed := map[string]string{}, map[string]bool{}
	for reason, paths := range reasons {
		for path := range strings.FieldsSeq(paths) {
			except[path] = reason
		}
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if slices.Equal(want[path], got[path]) {
			continue
		}
		all, _, _ := strings.Cut(path, ".")
		if _, ok := except[all+".*"]; ok {
			path = all + ".*"
		}
		if _, ok := except[path]; ok {
			needed[path] = true
			continue
		}
		is, was := fmt.Sprintf("%q", got[path]), fmt.Sprintf("%q", want[path])
		same := 0
		for same < min(len(is), len(was)) && is[same] == was[same] {
			same++
		}
		same = max(0, same-60)
		t.Errorf("%s: %s: ...%.300s, want ...%.300s", what, path, is[min(same, len(is)):], was[min(same, len(was)):])
	}
	for path, reason := range except {
		if !needed[path] {
			t.Errorf("%s: %s is as it was, which needs no reason (%s)", what, path, reason)
		}
	}
}
