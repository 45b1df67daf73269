package change_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

type tag struct {
	ID    int64  `db:"id"`
	Title string `db:"title"`
}

type totals struct {
	Spent int64 `db:"total_time_spent"`
}

type row struct {
	ID     int64          `db:"id"`
	Name   string         `db:"name" fold:"name_fold"`
	Text   *string        `db:"text"`
	Sealed *string        `db:"sealed" change:"secret,secret"`
	Kind   string         `db:"kind_of" change:"kind"`
	At     *db.Time       `db:"at"`
	Level  int64          `db:"actor_level,readonly" change:"-"`
	Path   string         `db:"path,readonly"`
	Tags   []tag          `db:"-" change:"tags"`
	People []authz.UserID `db:"-" change:"people"`
	Votes  int64          `db:"-"`
	hidden int64
	totals
}

func (r row) About() change.Subject { return change.Subject{Type: "Row", ID: r.ID, Title: r.Name} }

type happened struct{ change.Of[row] }

// TestOf compares rows by what they hold, and names what differs as the API does.
func TestOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at, same := db.At(now), db.At(now.In(time.FixedZone("there", 3600)))
	was := row{
		ID: 3, Name: "a", Kind: "k", At: &at, Level: 10, Path: "old/a", Sealed: new("s"), Text: new("t"),
		Tags: []tag{{1, "one"}, {2, "two"}}, People: []authz.UserID{5}, Votes: 1, hidden: 1,
	}
	as, in := authz.Actor{UserID: 7}, authz.Place{ID: 9}
	for _, tt := range []struct {
		name    string
		edit    func(r *row)
		changes map[string]change.Values
		columns []string
	}{
		{"nothing", func(*row) {}, nil, nil},
		{"what is no column", func(r *row) { r.Votes, r.hidden, r.Level, r.At, r.Text = 2, 2, 50, &same, new("t") }, nil, nil},
		{"other titles of the same rows", func(r *row) { r.Tags = []tag{{1, "uno"}, {2, "due"}} }, nil, nil},
		{
			"values",
			func(r *row) { r.Name, r.Text, r.Kind, r.Path, r.Spent = "b", nil, "l", "new/b", 60 },
			map[string]change.Values{
				"name": {"a", "b"}, "text": {was.Text, (*string)(nil)}, "kind": {"k", "l"}, "path": {"old/a", "new/b"}, "total_time_spent": {int64(0), int64(60)},
			},
			[]string{"name", "text", "kind", "path", "total_time_spent"},
		},
		{"a secret", func(r *row) { r.Sealed = new("x") }, nil, []string{"secret"}},
		{
			"rows of other tables",
			func(r *row) { r.Tags, r.People = []tag{{1, "one"}, {3, "three"}}, nil },
			map[string]change.Values{"tags": {was.Tags, []tag{{1, "one"}, {3, "three"}}}, "people": {was.People, []authz.UserID(nil)}},
			[]string{"tags", "people"},
		},
	} {
		is := was
		tt.edit(&is)
		var e change.Event = happened{change.Updated(as, now, in, &db.Change[row]{Before: was, After: is})}
		f := e.Changed()
		if f.Subject != (change.Subject{Type: "Row", ID: 3, Title: is.Name}) || f.Place.ID != 9 || f.By.UserID != 7 || !f.At.Equal(now) {
			t.Errorf("%s: %+v", tt.name, f)
		}
		if got := f.Columns(); !slices.Equal(got, tt.columns) {
			t.Errorf("%s: columns %q, want %q", tt.name, got, tt.columns)
		}
		if tt.changes == nil {
			tt.changes = map[string]change.Values{}
		}
		if diff := cmp.Diff(tt.changes, f.Changes()); diff != "" {
			t.Errorf("%s: changes (-want +got):\n%s", tt.name, diff)
		}
		if got := e.(happened).Has("name", "secret"); got != (slices.Contains(tt.columns, "name") || slices.Contains(tt.columns, "secret")) {
			t.Errorf("%s: Has is %v", tt.name, got)
		}
		if got, want := change.HasOther(&was, &is, "name", "text", "kind", "path", "total_time_spent"), len(tt.columns) > 0 && tt.name != "values"; got != want {
			t.Errorf("%s: HasOther is %v", tt.name, got)
		}
	}
	added, removed := change.Sets(was.Tags, []tag{{2, "due"}, {4, "four"}})
	if !slices.Equal(added, []tag{{4, "four"}}) || !slices.Equal(removed, []tag{{1, "one"}}) {
		t.Errorf("added %v, removed %v", added, removed)
	}
	for name, o := range map[string]change.Of[row]{"created": change.Created(as, now, in, &was), "deleted": change.Deleted(as, now, in, &was)} {
		f := o.Changed()
		if o.Row() != &was || f.Subject.ID != 3 || len(f.Columns()) != 0 || len(f.Changes()) != 0 || (f.Before == nil) != (name == "created") || (f.After == nil) != (name == "deleted") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value any
		want  string
	}{
		{nil, ""},
		{(*string)(nil), ""},
		{new("x"), "x"},
		{[]string(nil), ""},
		{[]string{"a", "b"}, `["a","b"]`},
		{map[string]int(nil), ""},
		{true, "true"},
		{int64(7), "7"},
	} {
		if got := change.Text(tt.value); got != tt.want {
			t.Errorf("Text(%#v) = %q, want %q", tt.value, got, tt.want)
		}
	}
}
