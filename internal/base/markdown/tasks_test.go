package markdown_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenon/internal/base/markdown"
)

func TestTasks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       []markdown.Task
	}{
		{"none", "text [link](x)", nil},
		{"dash", "- [ ] one\n- [x] two\r\n* [X] three", []markdown.Task{{Text: "one"}, {Text: "two", Done: true}, {Text: "three", Done: true}}},
		{"numbered and nested", "1. [ ] one\n   - [x] two", []markdown.Task{{Text: "one"}, {Text: "two", Done: true}}},
		{"quoted", "> - [ ] one", []markdown.Task{{Text: "one"}}},
		{"code", "```\n- [ ] no\n```\n- [ ] yes\n~~~~\n- [ ] no\n~~~\n- [ ] no", []markdown.Task{{Text: "yes"}}},
		{"does not apply", "- [~] one\n- [ ] two", []markdown.Task{{Text: "two"}}},
		{"no item", "[ ] one\n-[ ] two\n- [y] three\n- [ ]", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, markdown.Tasks(tt.text)); diff != "" {
				t.Errorf("Tasks(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}
