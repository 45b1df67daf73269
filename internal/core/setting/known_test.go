package setting

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A setting is either stored or refused, and the refused ones are listed once, in order.
func TestUnstored(t *testing.T) {
	t.Parallel()
	names := strings.Fields(unstoredNames)
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error("the names are not sorted, or one is there twice")
	}
	for f := range reflect.TypeFor[Settings]().Fields() {
		if name := f.Tag.Get("setting"); unstored()[name] {
			t.Errorf("%s is stored and refused", name)
		}
	}
}
