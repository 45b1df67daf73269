package setting

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

// Each setting says all that is to be known of it, and its default is one of its values.
func TestTable(t *testing.T) {
	t.Parallel()
	defaults := Defaults()
	if problems := defaults.problems(); len(problems) > 0 {
		t.Errorf("the defaults are refused: %v", problems)
	}
	for _, e := range Table() {
		reasons := 0
		for _, given := range []bool{e.Effect != "", e.Area != "", e.Later != ""} {
			if given {
				reasons++
			}
		}
		if e.Name == "" || e.Doc == "" || reasons != 1 {
			t.Errorf("%s: doc %q, and %d places where it is in force or reasons why not, want 1", e.Field, e.Doc, reasons)
		}
		if (e.Secret || e.Hidden) && (!e.Secret || e.Type != reflect.TypeFor[*string]()) {
			t.Errorf("%s: a secret is a text that may be null, and what is hidden is a secret", e.Name)
		}
		if (len(e.With) > 0 || len(e.Needs) > 0) && e.Type.Kind() != reflect.Bool {
			t.Errorf("%s has companions and is no switch", e.Name)
		}
		for _, name := range slices.Concat(e.With, e.Needs) {
			if of := Lookup(name); of == nil || of.Name != name {
				t.Errorf("%s needs %s, which is no setting", e.Name, name)
			}
		}
		if _, known := formats[e.format]; e.format != "" && !known {
			t.Errorf("%s has the format %q, which is none", e.Name, e.format)
		}
		if e.Raw != "" && e.Type != reflect.TypeFor[[]string]() {
			t.Errorf("%s is no list", e.Name)
		}
		again := Defaults()
		if err := e.set(&again, json.RawMessage(e.fallback)); err != nil {
			t.Errorf("%s: its default: %v", e.Name, err)
		}
	}
	if n := len(Table()); n < 460 {
		t.Errorf("only %d settings", n)
	}
}
