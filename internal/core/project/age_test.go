package project_test

import (
	"fmt"
	"strings"
	"testing"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// TestService_Update_pipeline_age bounds the age after which pipelines are deleted by the setting of the instance: an age that is stored
// stays when that falls.
func TestService_Update_pipeline_age(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, f *fixture) {
		ann := f.user("ann", 10)
		ref := fmt.Sprint(f.project(ann, "App", nil, authz.Public).ID)
		const day = 24 * 3600
		for _, c := range []struct {
			limit string
			age   int64
			want  string // in the refusal
		}{
			{"1 year", 365 * day, ""},
			{"1 year", 400 * day, "less than or equal to"},
			{"30 days", 365 * day, ""}, // which it is
			{"30 days", 31 * day, "less than or equal to 2592000"},
			{"30 days", 30 * day, ""},
			{"2 years", 700 * day, ""},
		} {
			if err := f.settings.Set(t.Context(), "ci_delete_pipelines_in_seconds_limit_human_readable", c.limit); err != nil {
				t.Fatal(err)
			}
			var in project.Changes
			in.Settings.CIDeletePipelinesInSeconds = &namespace.Number{N: &c.age}
			_, err := f.Update(t.Context(), ann, ref, in)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d days of at most %s: got %v, want %q", c.age/day, c.limit, err, c.want)
			}
		}
	})
}
