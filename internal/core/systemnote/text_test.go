package systemnote

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTitle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to, want string }{
		{"Old", "New", "changed title from **{-Old-}** to **{+New+}**"},
		{"Fix bug", "Fix the bug", "changed title from **Fix bug** to **Fix {+the +}bug**"},
		{"aa", "aaa", "changed title from **aa** to **aa{+a+}**"},
		{"caf\u00e9", "caf\u00ea", "changed title from **caf{-\u00e9-}** to **caf{+\u00ea+}**"},
		{"x", "xyx", "changed title from **x** to **x{+yx+}**"},
	} {
		if got := Title(tt.from, tt.to); got != tt.want {
			t.Errorf("Title(%q, %q) = %q, want %q", tt.from, tt.to, got, tt.want)
		}
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	day, other := "2023-05-22", "2023-06-01"
	for _, tt := range []struct{ name, got, want string }{
		{"one", Assigned([]string{"a"}, nil), "assigned to @a"},
		{"two", Assigned([]string{"a", "b"}, nil), "assigned to @a and @b"},
		{"three and one gone", Assigned([]string{"a", "b", "c"}, []string{"d"}), "assigned to @a, @b, and @c and unassigned @d"},
		{"gone", Assigned(nil, []string{"b"}), "unassigned @b"},
		{"reviewers", Reviewers([]string{"a"}, []string{"b"}), "requested review from @a and removed review request for @b"},
		{"lock", Locked(true, "issue"), "locked the discussion in this issue"},
		{"unlock", Locked(false, "merge request"), "unlocked the discussion in this merge request"},
		{"confidential", Confidential(true), "made the issue confidential"},
		{"open", Confidential(false), "made the issue visible to everyone"},
		{"due", DueDate(nil, &day), "changed due date to May 22, 2023"},
		{"later", DueDate(&day, &other), "changed due date to June 1, 2023"},
		{"not due", DueDate(&day, nil), "removed due date May 22, 2023"},
		{"type", Type("issue", "test_case"), "changed type from issue to test case"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestDescription(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, from, to string
		want           []string
	}{
		{"text", "a", "b", []string{"changed the description"}},
		{"ticked", "- [ ] one\n- [x] two", "- [x] one\n- [ ] two", []string{
			"marked the checklist item **one** as completed", "marked the checklist item **two** as incomplete",
		}},
		{"ticked and changed", "- [ ] one", "- [x] one!", []string{"changed the description"}},
	} {
		if diff := cmp.Diff(tt.want, Description(tt.from, tt.to)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
