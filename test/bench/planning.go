package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"tenon/test/scaletest"
)

// The project that is planned in: issues with notes, labels, milestones and assignees.
var (
	planned = scaletest.Size{
		Users: 1_000, Groups: 10, Projects: 100, Issues: 100_000, InLarge: 100_000, Requests: 1_000, RequestsInLarge: 1_000,
		Noted: 25_000, NotesEach: 20, LongNote: 1_000, Labels: 100, Milestones: 20, Joined: 2,
	}
	plannedQuick = scaletest.Size{
		Users: 1_000, Groups: 10, Projects: 100, Issues: 20_000, InLarge: 20_000, Requests: 1_000, RequestsInLarge: 1_000,
		Noted: 2_500, NotesEach: 20, LongNote: 1_000, Labels: 100, Milestones: 20, Joined: 2,
	}
)

// memoryGoal is how large the server may be at any time, in megabytes.
const memoryGoal = 250

// planning is such a project on a server that runs.
type planning struct {
	*world
	scaletest.Size
	documents int // bytes of the document that is rendered
}

// measurePlanning measures what is done with issues and notes of one large project.
func measurePlanning(ctx context.Context, o options, folder string, out *report) (err error) {
	data := filepath.Join(folder, "data")
	seeder := &scale{Seeder: &scaletest.Seeder{Size: planned, Step: timed}, tokens: map[string]string{}}
	if o.quick {
		seeder.Size = plannedQuick
	}
	s, err := startServer(ctx, o, data)
	if err != nil {
		return err
	}
	if o.data == "" {
		if err := seeder.prepare(ctx, newAPI(s.url, rootToken)); err != nil {
			return errors.Join(err, s.stop())
		}
		if err := s.stop(); err != nil {
			return err
		}
		if err := seeder.seed(ctx, o, data); err != nil {
			return fmt.Errorf("fill the database: %w", err)
		}
		if s, err = startServer(ctx, o, data); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	p := &planning{Size: seeder.Size, documents: 100_000, world: &world{
		url: s.url, id: scaletest.FirstProject, project: fmt.Sprintf("/projects/%d", scaletest.FirstProject),
	}}
	if err := p.maintainers(ctx, newAPI(s.url, rootToken)); err != nil {
		return err
	}
	if err := vacuum(ctx, o.database); err != nil {
		return err
	}
	l := &loader{server: s, length: o.length}
	if err := l.background(ctx); err != nil {
		return err
	}
	out.line("\n%d issues and %d notes in one project; p99 goals are for 8 clients.\n", p.InLarge, p.Noted*p.NotesEach+p.LongNote)
	failed, err := l.measureAll(ctx, o, p.operations(o), out) // the project has no repository that git could measure
	if err != nil {
		return err
	}
	peak, err := s.memory("VmHWM")
	if err != nil {
		return err
	}
	out.line("\nMemory at most: %.1f MB (%s).", peak, met(peak < memoryGoal, fmt.Sprintf("%d MB", memoryGoal)))
	if failed > 0 {
		return fmt.Errorf("%d requests failed", failed)
	}
	return nil
}

// maintainers gives eight users the large project and a token each.
func (p *planning) maintainers(ctx context.Context, root *api) error {
	for i := range 8 {
		id := scaletest.FirstUser + i
		t, err := root.post(ctx, fmt.Sprintf("/users/%d/personal_access_tokens", id), map[string]any{"name": "bench", "scopes": []string{"api"}})
		if err != nil {
			return err
		}
		p.tokens = append(p.tokens, t.Token)
		if _, err := root.post(ctx, p.project+"/members", map[string]any{"user_id": id, "access_level": 40}); err != nil && !strings.Contains(err.Error(), "409") {
			return err
		}
	}
	return nil
}

func (p *planning) operations(o options) []operation {
	const ms = time.Millisecond
	notes := goal{rate: 2500, busy: 20 * ms, statements: 8, noGit: true}
	if o.database != "" {
		notes.rate = 1500
	}
	filtered := goal{busy: 40 * ms, statements: 8, noGit: true}
	search := goal{busy: 80 * ms, statements: 8, noGit: true}
	at := func(format string, args ...any) string { return p.project + fmt.Sprintf(format, args...) }
	k := func(i int) int { return i * 3 % 999 } // the users who are assigned to issues
	return []operation{
		p.read("notes of an issue, page of 20", notes, rows(20), func(i int) string {
			return at("/issues/%d/notes?per_page=20", 2+i*7%p.Noted)
		}),
		p.read("issues by label, milestone, assignee and not", filtered, nil, func(i int) string {
			return at("/issues?labels=label-%d&milestone=milestone-%d&assignee_id=%d&not[labels]=label-%d&not[milestone]=milestone-%d&not[author_id]=%d",
				k(i)%p.Labels, k(i)%p.Milestones, scaletest.FirstUser+k(i), (k(i)+1)%p.Labels, (k(i)+1)%p.Milestones, scaletest.FirstUser+1)
		}),
		p.read("issues of anybody by label and milestone, and not", filtered, rows(20), func(i int) string {
			return at("/issues?labels=label-%d&milestone=milestone-%d&assignee_id=Any&not[labels]=label-%d&not[milestone]=milestone-%d",
				i%p.Labels, i%p.Milestones, (i+1)%p.Labels, (i+1)%p.Milestones)
		}),
		p.read("issues without a label and a milestone", filtered, rows(20), func(i int) string {
			return at("/issues?state=opened&not[labels]=label-%d&not[milestone]=milestone-%d&not[assignee_id]=%d",
				i%p.Labels, i%p.Milestones, scaletest.FirstUser+k(i))
		}),
		p.read("search of issues, a rare word", search, nil, func(int) string { return at("/issues?search=kumquat") }),
		p.read("search of issues, a word of all", search, rows(20), func(int) string { return at("/issues?search=service") }),
		p.read("search by rank, scope issues", search, nil, func(int) string { return at("/search?scope=issues&search=kumquat") }),
		p.read("search by rank, scope issues, a word of all", search, rows(20), func(int) string {
			return at("/search?scope=issues&search=service")
		}),
		p.read("search by rank, scope notes", search, nil, func(int) string { return at("/search?scope=notes&search=kumquat") }),
		p.read("search by rank, scope notes, a word of all", search, rows(20), func(int) string {
			return at("/search?scope=notes&search=service")
		}),
		p.read("issues of a board list, page of 100", goal{busy: 30 * ms, statements: 8, noGit: true}, rows(100), func(i int) string {
			return at("/issues?labels=label-%d&state=opened&order_by=relative_position&sort=asc&per_page=100", (i*5+3+i%2)%p.Labels)
		}),
		p.rendered("Markdown of 100 kB with 500 references, cold", goal{p99: 60 * ms}, func(i int) int { return i }),
		p.rendered("Markdown of 100 kB with 500 references, cached", goal{p99: 2 * ms}, func(i int) int { return -1 - i%8 }),
		p.write("create an issue", goal{rate: 1000}, http.MethodPost, http.StatusCreated, func(i int) (string, map[string]any) {
			return at("/issues"), map[string]any{
				"title": fmt.Sprintf("Made under load, %d", i), "description": text(i), "labels": fmt.Sprintf("label-%d", i%p.Labels),
				"assignee_ids": []int{scaletest.FirstUser + (i+1)%8}, "milestone_id": scaletest.FirstMilestone + i%p.Milestones,
			}
		}),
		p.write("note with three mentions and a reference", goal{rate: 700}, http.MethodPost, http.StatusCreated, func(i int) (string, map[string]any) {
			return at("/issues/%d/notes", 1+i*7%p.InLarge), map[string]any{"body": fmt.Sprintf("%s @person%d @person%d @person%d, see #%d.", text(i),
				(i+1)%8, (i+2)%8, (i+3)%8, 1+i*11%p.InLarge)}
		}),
	}
}

// rendered renders a document of the project, one text for each number.
func (p *planning) rendered(name string, g goal, number func(i int) int) operation {
	body := p.document()
	check := func(answer []byte) error {
		var out struct{ HTML string }
		if err := json.Unmarshal(answer, &out); err != nil {
			return err
		}
		if n := strings.Count(out.HTML, "<a "); n < 500 {
			return fmt.Errorf("the document has %d links, not 500", n)
		}
		return nil
	}
	return operation{name: name, goal: g, wants: http.StatusCreated, check: check, sends: func(i int) []byte {
		in, err := json.Marshal(map[string]any{"text": fmt.Sprintf("Document %d.\n\n%s", number(i), body), "gfm": true, "project": "group0/project0"})
		if err != nil {
			panic(err) // maps of texts can be written
		}
		return request(p.url, p.token(i), http.MethodPost, "/markdown", in)
	}}
}

// document has 500 references to issues, labels, milestones and people, in lists, tables
// and paragraphs with emphasis and code.
func (p *planning) document() string {
	var out strings.Builder
	for i := 0; out.Len() < p.documents; i++ {
		fmt.Fprintf(&out, "## Part %d\n\n", i)
		if i < 125 {
			fmt.Fprintf(&out, "- See #%d and ~label-%d for %%milestone-%d, with @person%d.\n\n", 1+i*101%p.InLarge, i%p.Labels, i%p.Milestones, i%8)
		}
		fmt.Fprintf(&out, "Some *words* about **what** was `seen` in [a page](https://example.com/%d).\n%s\n\n", i, strings.Repeat("And what was expected of it. ", 20))
		if i%10 == 0 {
			out.WriteString("| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nfunc main() { println(1) }\n```\n\n")
		}
	}
	return out.String()
}
