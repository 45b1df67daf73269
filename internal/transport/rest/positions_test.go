package rest

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"tenon/internal/base/db"
	"tenon/internal/base/db/dbtest"
	"tenon/internal/base/event"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/note"
	"tenon/internal/core/systemnote"
)

// numbered returns lines of text, some of them replaced; "" leaves one out.
func numbered(n int, other map[int]string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		line, changed := other[i]
		if !changed {
			line = "line " + strconv.Itoa(i) + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// reviewed has a merge request from topic that changes line 5 of code.txt, adds two lines
// after line 10 and removes line 15 of its 20 lines.
func (p *planning) reviewed() map[string]any {
	p.t.Helper()
	p.commit("maint", "main", "", "create", "code.txt", numbered(20, nil))
	p.commit("dev", "topic", "main", "update", "code.txt", numbered(20, map[int]string{5: "five\n", 10: "line 10\nnew a\nnew b\n", 15: ""}))
	return p.do("dev", "POST", requestsPath, `{"source_branch":"topic","target_branch":"main","title":"Topic"}`)
}

// at returns the JSON of a position in the newest version of the first merge request.
func (p *planning) at(more string) string {
	p.t.Helper()
	refs := p.do("dev", "GET", requestsPath+"/1", "")["diff_refs"].(map[string]any)
	return fmt.Sprintf(`{"base_sha":%q,"start_sha":%q,"head_sha":%q,"position_type":"text","old_path":"code.txt","new_path":"code.txt",%s}`,
		refs["base_sha"], refs["start_sha"], refs["head_sha"], more)
}

// place sums up the position of the first note of a discussion: old and new line, "outdated".
func (p *planning) place(id string) string {
	p.t.Helper()
	notes := p.do("dev", "GET", requestsPath+"/1/discussions/"+id, "")["notes"].([]any)
	at := notes[0].(map[string]any)["position"].(map[string]any)
	refs := p.do("dev", "GET", requestsPath+"/1", "")["diff_refs"].(map[string]any)
	out := fmt.Sprint(at["old_line"], " ", at["new_line"])
	if at["head_sha"] != refs["head_sha"] || at["base_sha"] != refs["base_sha"] {
		out += " old"
	}
	if r, ok := at["line_range"].(map[string]any); ok {
		start, end := r["start"].(map[string]any), r["end"].(map[string]any)
		out += fmt.Sprint(" ", start["new_line"], "-", end["new_line"])
	}
	return out
}

// TestPositions begins threads on lines of a diff, with every refusal, and follows them through
// pushes to the source branch, a rewritten one and one that changes their lines.
func TestPositions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		event.On(p.Bus, "system notes", systemnote.New(systemnote.Deps{Times: p.Times, Notes: p.Notes, Users: p.Accounts}).LinesChanged)
		p.reviewed()
		const path = requestsPath + "/1/discussions"
		body := func(position string) string { return `{"body":"Why?","position":` + position + `}` }
		const invalid = `"400 Bad request - Note {:line_code=>[\"can't be blank\", \"must be a valid line code\"]}"`
		const incomplete = `"400 Bad request - Note {:line_code=>[\"can't be blank\", \"must be a valid line code\"], :position=>[\"is incomplete\"]}"`
		good := p.at(`"new_line":5`)
		for _, tt := range []struct{ name, position, message, detail string }{
			{"no line", p.at(`"width":1`), incomplete, "new_line and old_line are missing"},
			{"no path", strings.ReplaceAll(good, "code.txt", ""), incomplete, "new_path and old_path are missing"},
			{"unchanged, one line", p.at(`"new_line":3`), invalid, "new_line 3 is not an added line; an unchanged line has old_line 3 as well"},
			{"unchanged, old line", p.at(`"old_line":16`), invalid, "old_line 16 is not a removed line; an unchanged line has new_line 17 as well"},
			{"not the same line", p.at(`"old_line":3,"new_line":4`), invalid, "old_line 3 and new_line 4 are not the same unchanged line"},
			{"beyond the end", p.at(`"old_line":21,"new_line":22`), invalid, "the file has 21 lines"},
			{"zero", p.at(`"new_line":0`), invalid, "new_line 0 is not in the diff"},
			{"other file", strings.ReplaceAll(good, "code.txt", "a.txt"), invalid, `the diff of base_sha and head_sha does not change "a.txt"`},
			{"no sha", strings.Replace(good, `"head_sha":"`, `"head_sha":"x`, 1), invalid, "head_sha is not the SHA of a commit"},
			{"unknown sha", strings.Replace(good, `"head_sha":"`, `"head_sha":"0000000000000000000000000000000000000001","other":"`, 1), invalid, "head_sha is no commit of the merge request"},
		} {
			w := p.send("guest", "POST", path, body(tt.position))
			want := fmt.Sprintf(`{"message":%s,"detail":%s}`, tt.message, mustJSON(t, tt.detail))
			if w.Code != 400 || w.Body.String() != want {
				t.Errorf("%s:\n got %d %s\nwant %s", tt.name, w.Code, w.Body, want)
			}
		}
		p.want("guest", "POST", path, body(`{"position_type":"text"}`), 400,
			`{"error":"position[base_sha] is missing, position[start_sha] is missing, position[head_sha] is missing"}`)

		file := fmt.Sprintf("%x", sha1.Sum([]byte("code.txt")))
		threads := map[string]string{}
		for _, tt := range []struct{ name, position, code string }{
			{"added", p.at(`"new_line":5`), "_6_5"},
			{"removed", p.at(`"old_line":5`), "_5_5"},
			{"first", p.at(`"old_line":1,"new_line":1`), "_1_1"},
			{"last", p.at(`"old_line":20,"new_line":21`), "_20_21"},
			{"range", p.at(`"new_line":12,"line_range":{"start":{"type":"new","new_line":11},"end":{"type":"new","new_line":12}}`), "_11_12"},
			{"renamed wrongly", strings.Replace(p.at(`"new_line":11`), `"old_path":"code.txt"`, `"old_path":"none"`, 1), "_11_11"},
		} {
			w := p.send("guest", "POST", path, body(tt.position))
			var made discussion
			if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != 201 {
				t.Fatalf("%s: %d %s", tt.name, w.Code, w.Body)
			}
			threads[tt.name] = made.ID
			code, err := db.Get[string](t.Context(), d, "SELECT line_code FROM notes WHERE discussion_id = ?", made.ID)
			if err != nil || code != file+tt.code {
				t.Errorf("%s: line code %s, %v, want %s", tt.name, code, err, tt.code)
			}
		}
		p.want("dev", "POST", path+"/"+threads["range"]+"/notes", `{"body":"Reply"}`, 201, "")
		one := p.do("dev", "GET", path+"/"+threads["range"], "")["notes"].([]any)
		reply := one[1].(map[string]any)
		if reply["type"] != "DiffNote" || reply["resolvable"] != true || fmt.Sprint(reply["position"]) != fmt.Sprint(one[0].(map[string]any)["position"]) {
			t.Errorf("reply: %v", reply)
		}
		if raw := p.send("dev", "GET", path+"/"+threads["added"], "").Body.String(); !strings.Contains(raw, `"commit_id":null,"position":{"base_sha":`) ||
			!strings.Contains(raw, `"position_type":"text","old_line":null,"new_line":5,"line_range":null},"resolvable":true`) {
			t.Errorf("keys: %s", raw)
		}
		start := one[0].(map[string]any)["position"].(map[string]any)["line_range"].(map[string]any)["start"].(map[string]any)
		if start["line_code"] != file+"_11_11" || start["old_line"] != nil {
			t.Errorf("start of the range: %v", start)
		}
		p.checkCounters()

		follow := func() {
			t.Helper()
			m := p.do("dev", "GET", requestsPath+"/1", "")
			if err := p.Notes.FollowPositions(t.Context(), note.FollowPositions{RequestID: mergerequest.ID(m["id"].(float64)), UserID: p.users["dev"].UserID}); err != nil {
				t.Fatal(err)
			}
		}
		check := func(when string, want map[string]string) {
			t.Helper()
			for name, want := range want {
				if got := p.place(threads[name]); got != want {
					t.Errorf("%s: %s is at %s, want %s", when, name, got, want)
				}
			}
		}
		// Two lines in front move everything but what is removed.
		p.commit("dev", "topic", "", "update", "code.txt", "top 1\ntop 2\n"+numbered(20, map[int]string{5: "five\n", 10: "line 10\nnew a\nnew b\n", 15: ""}))
		follow()
		check("after a push", map[string]string{"added": "<nil> 7", "removed": "5 <nil>", "first": "1 3", "last": "20 23", "range": "<nil> 14 13-14"})
		follow() // twice changes nothing
		check("again", map[string]string{"added": "<nil> 7", "range": "<nil> 14 13-14"})

		// The target moves on, the source is rewritten on top of it, and the added line is another one.
		p.commit("maint", "main", "", "update", "code.txt", "intro\n"+numbered(20, nil))
		p.do("dev", "POST", appPath+"/repository/commits", fmt.Sprintf(
			`{"branch":"topic","start_branch":"main","force":true,"commit_message":"Again","actions":[{"action":"update","file_path":"code.txt","content":%s}]}`,
			mustJSON(t, "intro\n"+numbered(20, map[int]string{5: "cinq\n", 10: "line 10\nnew a\nnew b\n", 15: ""}))))
		follow()
		check("after a rebase", map[string]string{
			"added": "<nil> 7 old", "removed": "6 <nil>", "first": "2 2", "last": "21 22", "range": "<nil> 13 12-13",
		})
		history := p.do("dev", "GET", path+"/"+threads["added"], "")["notes"].([]any)
		last := history[len(history)-1].(map[string]any)
		if text := fmt.Sprint(last["system"], last["body"]); !strings.HasPrefix(text, "truechanged this line in [version 3 of the diff](/team/app/-/merge_requests/1/diffs?diff_id=") {
			t.Errorf("history: %s", text)
		}
		changed, err := db.Get[string](t.Context(), d, "SELECT change_position FROM notes WHERE discussion_id = ? AND type IS NOT NULL", threads["added"])
		if err != nil || !strings.Contains(changed, `"old_line":7,"new_line":null`) {
			t.Errorf("change position: %s, %v", changed, err)
		}
		if n, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM notes WHERE original_position IS NULL AND type IS NOT NULL"); err != nil || n != 0 {
			t.Errorf("%d notes have no original position, %v", n, err)
		}

		// A note on one commit stays on it; so do notes on other diffs.
		head := p.do("dev", "GET", requestsPath+"/1", "")["sha"].(string)
		parent := p.do("dev", "GET", appPath+"/repository/commits/"+head, "")["parent_ids"].([]any)[0]
		commit := fmt.Sprintf(`{"base_sha":%[1]q,"start_sha":%[1]q,"head_sha":%[2]q,"position_type":"text","new_path":"code.txt","new_line":6}`, parent, head)
		w := p.send("dev", "POST", path, fmt.Sprintf(`{"body":"x","commit_id":%q,"position":%s}`, head, commit))
		if w.Code != 201 || !strings.Contains(w.Body.String(), `"commit_id":"`+head+`","position":{`) {
			t.Errorf("note on a commit: %d %s", w.Code, w.Body)
		}
		p.want("dev", "POST", path, fmt.Sprintf(`{"body":"x","commit_id":"main","position":%s}`, commit), 400, `{"message":"400 Bad request - Note {:commit_id=>[\"does not match the diff refs\"]}"}`)
		onCommit := appPath + "/repository/commits/" + head + "/discussions"
		w = p.send("dev", "POST", onCommit, body(commit))
		if w.Code != 201 || !strings.Contains(w.Body.String(), `"type":"DiffNote"`) || strings.Contains(w.Body.String(), `"commit_id"`) {
			t.Errorf("thread on a commit: %d %s", w.Code, w.Body)
		}
		p.want("dev", "POST", onCommit, body(strings.Replace(commit, `"new_line":6`, `"new_line":7`, 1)), 400, "")
		p.want("dev", "POST", path, body(strings.Replace(p.at(`"x":1.5,"y":2,"width":10`), `"text"`, `"image"`, 1)), 400, `{"message":"400 Bad request - Note {:position=>[\"is incomplete\"]}"}`)
		if w := p.send("dev", "POST", path, body(strings.Replace(p.at(`"x":1.5,"y":2,"width":10,"height":20`), `"text"`, `"image"`, 1))); w.Code != 201 ||
			!strings.Contains(w.Body.String(), `"position_type":"image","width":10,"height":20,"x":1.5,"y":2}`) {
			t.Errorf("image: %d %s", w.Code, w.Body)
		}
		p.checkCounters()
	})
}

// TestPositions_many follows 500 threads on one file with as many statements as 20, and without a
// process for each.
func TestPositions_many(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const lines, threads = 600, 500
		p := newMerging(t, d)
		event.On(p.Bus, "system notes", systemnote.New(systemnote.Deps{Times: p.Times, Notes: p.Notes, Users: p.Accounts}).LinesChanged)
		p.commit("maint", "main", "", "create", "code.txt", "first\n")
		p.commit("dev", "topic", "main", "update", "code.txt", numbered(lines, nil))
		m := p.do("dev", "POST", requestsPath, `{"source_branch":"topic","target_branch":"main","title":"Topic"}`)
		made := p.do("dev", "POST", requestsPath+"/1/discussions", `{"body":"Why?","position":`+p.at(`"new_line":2`)+`}`)
		at, err := db.Get[string](t.Context(), d, "SELECT position FROM notes WHERE discussion_id = ?", made["id"])
		if err != nil || !strings.Contains(at, `"new_line":2`) {
			t.Fatal(at, err)
		}
		begin := func(from, to int) {
			for line := from; line <= to; line++ {
				if _, err := d.Exec(t.Context(), `INSERT INTO notes (discussion_id, noteable_type, noteable_id, project_id, author_id, body, type, system, internal, created_at,
						updated_at, position, line_code)
					SELECT ?, noteable_type, noteable_id, project_id, author_id, body, type, system, internal, created_at, updated_at, ?, line_code
					FROM notes WHERE discussion_id = ?`, fmt.Sprintf("%040d", line), strings.Replace(at, `"new_line":2`, fmt.Sprintf(`"new_line":%d`, line), 1), made["id"]); err != nil {
					t.Fatal(err)
				}
			}
		}
		follow := func() (statements uint64) {
			before := d.Statements()
			if err := p.Notes.FollowPositions(t.Context(), note.FollowPositions{RequestID: mergerequest.ID(m["id"].(float64)), UserID: p.users["dev"].UserID}); err != nil {
				t.Fatal(err)
			}
			return d.Statements() - before
		}
		begin(3, 20)
		p.commit("dev", "topic", "", "update", "code.txt", "top\n"+numbered(lines, map[int]string{5: "five\n"}))
		p.do("dev", "GET", requestsPath+"/1", "")
		few := follow()
		begin(21, threads)
		if many := follow(); many > few || few > 14 {
			t.Errorf("statements: got %d for 19 threads and %d for %d, want the same, 14 at most", few, many, threads)
		}
		for line, want := range map[int]string{3: "4", 21: "22", threads: strconv.Itoa(threads + 1)} {
			got, err := db.Get[string](t.Context(), d, "SELECT position FROM notes WHERE discussion_id = ?", fmt.Sprintf("%040d", line))
			if err != nil || !strings.Contains(got, `"new_line":`+want+`,`) && !strings.Contains(got, `"new_line":`+want+`}`) {
				t.Errorf("thread on line %d: got %s, %v, want line %s", line, got, err, want)
			}
		}
		outdated, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM notes WHERE change_position IS NOT NULL")
		if err != nil || outdated != 1 {
			t.Errorf("%d threads are outdated, %v, want that on line 5", outdated, err)
		}
		told, err := db.Get[int](t.Context(), d, "SELECT COUNT(*) FROM notes WHERE system AND discussion_id = ? AND body LIKE 'changed this line%'", fmt.Sprintf("%040d", 5))
		if err != nil || told != 1 {
			t.Errorf("the outdated thread has %d notes about it, %v, want 1", told, err)
		}
	})
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPositions_wholeFiles comments on lines of a file that a merge request, and a commit, adds or deletes.
func TestPositions_wholeFiles(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		p := newMerging(t, d)
		p.commit("maint", "main", "", "create", "old.txt", "formerly\n")
		p.commit("dev", "topic", "main", "create", "new.txt", "one\ntwo\n")
		p.commit("dev", "topic", "", "delete", "old.txt", "")
		p.do("dev", "POST", requestsPath, `{"source_branch":"topic","target_branch":"main","title":"Topic"}`)
		for path, tt := range map[string]struct{ line, code string }{
			"new.txt": {`"new_line":2,"line_range":{"start":{"type":"new","new_line":1},"end":{"type":"new","new_line":2}}`, "_0_2"},
			"old.txt": {`"old_line":1`, "_1_0"},
		} {
			body := fmt.Sprintf(`{"body":"Here","position":%s}`, strings.ReplaceAll(p.at(tt.line), "code.txt", path))
			made := p.do("guest", "POST", requestsPath+"/1/discussions", body)
			want := fmt.Sprintf("%x", sha1.Sum([]byte(path))) + tt.code
			code, err := db.Get[string](t.Context(), d, "SELECT line_code FROM notes WHERE discussion_id = ?", made["id"])
			if err != nil || code != want {
				t.Errorf("%s: line code %s, %v, want %s", path, code, err, want)
			}
			if path == "new.txt" && !strings.Contains(mustJSON(t, made), strings.TrimSuffix(want, "2")+`1"`) {
				t.Errorf("%s: the range has other line codes: %s", path, mustJSON(t, made))
			}
		}
		head := p.do("dev", "GET", requestsPath+"/1", "")["diff_refs"].(map[string]any)["head_sha"]
		comment := fmt.Sprintf("%s/repository/commits/%s/comments", strings.TrimSuffix(requestsPath, "/merge_requests"), head)
		p.do("dev", "POST", comment, `{"note":"Why?","path":"old.txt","line":1,"line_type":"old"}`)
		code, err := db.Get[string](t.Context(), d, "SELECT line_code FROM notes WHERE commit_id = ? AND line_code IS NOT NULL", head)
		if want := fmt.Sprintf("%x", sha1.Sum([]byte("old.txt"))) + "_1_0"; err != nil || code != want {
			t.Errorf("on the commit: line code %s, %v, want %s", code, err, want)
		}
	})
}
