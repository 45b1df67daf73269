package pattern_test

import (
	"testing"

	"tenon/internal/base/pattern"
)

func TestNew(t *testing.T) {
	t.Parallel()
	word := pattern.New(`^\w+$`)
	if !word().MatchString("word") || word().MatchString("two words") {
		t.Errorf("got %v, want an expression that matches words", word())
	}
	wrong := pattern.New(`(`)
	defer func() {
		if recover() == nil {
			t.Error("an expression that cannot be compiled does not panic when it is used")
		}
	}()
	wrong()
}
