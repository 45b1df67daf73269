package award

import "testing"

func TestAward_Emoji(t *testing.T) {
	for _, c := range []struct {
		name string
		want Emoji
	}{
		{"tea", Emoji{"teacup without handle", "\U0001f375", "6.0"}},
		{"thumbsup", Emoji{"thumbs up", "\U0001f44d", "6.0"}},
		{"fr", Emoji{"flag: France", "\U0001f1eb\U0001f1f7", "6.0"}},
		{"octocat", Emoji{Description: "octocat"}},
		{"melting_face", Emoji{"melting face", "\U0001fae0", "14.0"}},
	} {
		a := Award{Name: c.name}
		if got := a.Emoji(); got != c.want {
			t.Errorf("%s: got %+q, want %+q", c.name, got, c.want)
		}
	}
}
