package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/core/authz"
	"tenon/internal/core/note"
)

func TestCommitComments(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		p.commit("maint", "main", "", "create", "doc/b.txt", "one\ntwo\nthree\n")
		p.commit("maint", "main", "", "update", "doc/b.txt", "one\nTWO\nthree\nfour\n")
		sha := p.do("dev", "GET", appPath+"/repository/commits/main", "")["id"].(string)
		path := appPath + "/repository/commits/" + sha + "/comments"
		var heard []string
		event.On(p.Bus, "test", func(_ context.Context, e note.Created) error {
			heard = append(heard, fmt.Sprint(*e.Row().CommitID == sha, e.Target.Title, e.Row().Body))
			return nil
		})
		p.rows("", []codeRow{
			{"", "GET", path, "", 200, `[]`},
			{"", "POST", path, `{"note":"x"}`, 401, `{"message":"401 Unauthorized"}`},
			{"dev", "POST", path, `{}`, 400, `{"error":"note is missing"}`},
			{"dev", "POST", path, `{"note":" "}`, 400, `{"message":"400 Bad request - Note {:note=>[\"can't be blank\"]}"}`},
			{"dev", "POST", path, `{"note":"x","path":"doc/b.txt"}`, 400, `{"error":"line is missing"}`},
			{"dev", "POST", path, `{"note":"x","path":"doc/b.txt","line":"q"}`, 400, `{"error":"line is invalid"}`},
			{"dev", "POST", path, `{"note":"x","path":"doc/b.txt","line":1,"line_type":"mid"}`, 400, `{"error":"line_type does not have a valid value"}`},
			{"dev", "POST", appPath + "/repository/commits/none/comments", `{"note":"x"}`, 404, `{"message":"404 Commit Not Found"}`},
			{"dev", "GET", appPath + "/repository/commits/" + strings.Repeat("0", 40) + "/comments", "", 404, `{"message":"404 Commit Not Found"}`},
			{"guest", "GET", "/projects/99/repository/commits/main/comments", "", 404, `{"message":"404 Project Not Found"}`},
		})
		if n, err := db.Get[int](t.Context(), d, "SELECT count(*) FROM notes"); err != nil || n != 0 {
			t.Fatalf("%d notes after refusals, %v", n, err)
		}
		for _, tt := range []struct{ as, ref, body, want string }{
			{"guest", "main", `{"note":"whole"}`, "whole null null null"},
			{"dev", sha, `{"note":"added","path":"doc/b.txt","line":2}`, `added "doc/b.txt" 2 "new"`},
			{"dev", sha[:8], `{"note":"gone","path":"doc/b.txt","line":2,"line_type":"old"}`, `gone "doc/b.txt" 2 "old"`},
			{"dev", sha, `{"note":"same","path":"doc/b.txt","line":1}`, "same null null null"},
			{"dev", sha, `{"note":"else","path":"none","line":1}`, "else null null null"},
			{"dev", sha, `{"note":":+1:","path":null,"line":null,"line_type":null}`, ":+1: null null null"}, // as the Go client sends it; no caller reacts to commits
		} {
			w := p.send(tt.as, "POST", appPath+"/repository/commits/"+tt.ref+"/comments", tt.body)
			var got struct {
				Note           string
				Path, LineType json.RawMessage
				Line           json.RawMessage
				Kind           json.RawMessage `json:"line_type"`
				Author         struct{ Username string }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 201 {
				t.Fatalf("%s: %d %s %v", tt.body, w.Code, w.Body, err)
			}
			if line := fmt.Sprintf("%s %s %s %s", got.Note, got.Path, got.Line, got.Kind); line != tt.want || got.Author.Username != tt.as {
				t.Errorf("%s: got %s by %s, want %s", tt.body, line, got.Author.Username, tt.want)
			}
			if strings.Join(keys(t, w.Body.String()), " ") != "note path line line_type author created_at" {
				t.Errorf("fields of %s", w.Body)
			}
		}
		if got := p.pick("", path, "note"); got != "whole added gone same else :+1:" {
			t.Errorf("comments: %s", got)
		}
		if w := p.send("", "GET", path+"?per_page=2&page=2", ""); w.Header().Get("X-Total") != "6" || p.pick("", path+"?per_page=2&page=2", "note") != "gone same" {
			t.Errorf("page: %v", w.Header())
		}
		if len(heard) != 6 || heard[0] != "trueChange doc/b.txtwhole" {
			t.Errorf("events: %q", heard)
		}
		type row struct {
			Type     *string `db:"type"`
			LineCode *string `db:"line_code"`
			Position *string `db:"position"`
			ID       int64   `db:"noteable_id"`
		}
		rows, err := db.Select[row](t.Context(), d, "SELECT type, line_code, position, noteable_id FROM notes WHERE commit_id = ? ORDER BY id", sha)
		if err != nil || len(rows) != 6 || rows[0].Type != nil || *rows[1].Type != "DiffNote" || rows[1].ID != 0 {
			t.Fatalf("rows %+v, %v", rows, err)
		}
		if path := "9afeee69398830e2ea770c25dd69bc50e4fe837f"; *rows[1].LineCode != path+"_3_2" || *rows[2].LineCode != path+"_2_2" {
			t.Errorf("line codes %s %s", *rows[1].LineCode, *rows[2].LineCode)
		}
		if !strings.Contains(*rows[1].Position, `"new_path":"doc/b.txt","position_type":"text","old_line":null,"new_line":2`) {
			t.Errorf("position %s", *rows[1].Position)
		}
	})
}

// A fork has the commits of its origin, but what people say of them stays where it was said.
func TestCommitComments_elsewhere(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newCode(t, d)
		sha := p.do("dev", "GET", appPath+"/repository/commits/main", "")["id"].(string)
		p.do("dev", "POST", appPath+"/repository/commits/"+sha+"/comments", `{"note":"here"}`)
		other := p.World.Project("team/other", authz.Public, p.World.Group("crowd", authz.Public, 0))
		if _, err := d.Exec(t.Context(), `UPDATE notes SET project_id = ? WHERE body = 'here'`, other); err != nil {
			t.Fatal(err)
		}
		if got := p.pick("dev", appPath+"/repository/commits/"+sha+"/comments", "note"); got != "" {
			t.Errorf("comments of another project: %s", got)
		}
		if _, err := d.Exec(t.Context(), `UPDATE notes SET project_id = ? WHERE body = 'here'`, p.id); err != nil {
			t.Fatal(err)
		}
		if got := p.pick("dev", appPath+"/repository/commits/"+sha+"/comments", "note"); got != "here" {
			t.Errorf("comments: %s", got)
		}
	})
}
