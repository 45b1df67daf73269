package core_test

import (
	"strings"
	"testing"

	"tenon/internal/base/event"
	"tenon/internal/core"
)

func TestNew_missing(t *testing.T) {
	t.Parallel()
	_, err := core.New(core.Deps{Bus: &event.Bus{}, BaseURL: "https://tenon.example"})
	if err == nil {
		t.Fatal("built without a database")
	}
	for _, name := range []string{"DB", "Git", "Jobs", "Objects", "Archives", "Packs", "Box", "Log", "Now"} {
		if want := "core.Deps: " + name + " is missing"; !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want %q in it", err, want)
		}
	}
	for _, name := range []string{"Bus", "Refused"} {
		if strings.Contains(err.Error(), name+" is missing") {
			t.Errorf("got %q, which names %s", err, name)
		}
	}
}
