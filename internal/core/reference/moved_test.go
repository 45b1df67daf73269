package reference

import "testing"

func TestReader_Moved(t *testing.T) {
	t.Parallel()
	r := Reader{base: "https://tenon.example/"}
	for text, want := range map[string]string{
		"nothing":                                     "nothing",
		"See #1, !2 and `#3`, or GL-4.":               "See team/app#1, team/app!2 and `#3`, or team/app#4.",
		"other#1 far/off!2 @ann &3 #x":                "other#1 far/off!2 @ann &3 #x",
		"Fix ~bug ~\"two words\" %v1 $7":              "Fix team/app~bug team/app~\"two words\" team/app%v1 team/app$7",
		"in 0123456789abcdef0123456789abcdef01234567": "in team/app@0123456789abcdef0123456789abcdef01234567",
		"https://tenon.example/a/b/-/issues/1 #1":     "https://tenon.example/a/b/-/issues/1 team/app#1",
		"mentioned in issue #2":                       "mentioned in issue team/app#2",
		"#1":                                          "team/app#1",
	} {
		if got := r.Moved(text, "team/app"); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
