package notify

import "testing"

// Which levels hear of what: by how an event concerns a user, and what the user chose for the
// thing.
func TestRecipient_wants(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, c := range []struct {
		name   string
		way    way
		chosen *bool
		want   map[Level]bool // of all levels but Custom with the event chosen
		custom bool           // Custom with the event chosen
	}{
		{"named", named, nil, map[Level]bool{Participating: true, Watch: true, OnMention: true, Custom: true}, true},
		{"part", part, nil, map[Level]bool{Participating: true, Watch: true, Custom: true}, true},
		{"watcher", watcher, nil, map[Level]bool{Watch: true}, true},
		{"label", labeled, nil, map[Level]bool{Disabled: true, Participating: true, Watch: true, OnMention: true, Custom: true}, true},
		{"subscribed", part, &yes, map[Level]bool{Disabled: true, Participating: true, Watch: true, OnMention: true, Custom: true}, true},
		{"unsubscribed", part | watcher | labeled, &no, map[Level]bool{}, false},
		{"unsubscribed and named", named | part, &no, map[Level]bool{Participating: true, Watch: true, OnMention: true, Custom: true}, true},
		{"starter", starter, nil, map[Level]bool{Participating: true, Watch: true}, true},
		{"member", member, nil, map[Level]bool{Participating: true, Watch: true}, true},
		{"none", 0, nil, map[Level]bool{}, false},
	} {
		r := recipient{way: c.way, chosen: c.chosen}
		for _, level := range []Level{Disabled, Participating, Watch, OnMention, Custom} {
			if got := r.wants("new_note", &Setting{Level: level, Chosen: map[string]bool{"new_issue": true}}); got != c.want[level] {
				t.Errorf("%s at level %s: %t, want %t", c.name, level, got, c.want[level])
			}
		}
		if got := r.wants("new_note", &Setting{Level: Custom, Chosen: map[string]bool{"new_note": true}}); got != c.custom {
			t.Errorf("%s with the event chosen: %t, want %t", c.name, got, c.custom)
		}
	}
}
