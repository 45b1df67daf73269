package graphql

import (
	"embed"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"

	"tenon/internal/core/limit"
	"tenon/internal/transport/graphql/exec"
)

//go:embed schema/*.graphql
var files embed.FS

// sources are the files of the schema.
func sources() ([]*ast.Source, error) {
	entries, err := files.ReadDir("schema")
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	out := make([]*ast.Source, len(entries))
	for i, e := range entries {
		raw, err := files.ReadFile(path.Join("schema", e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the schema: %w", err)
		}
		out[i] = &ast.Source{Name: e.Name(), Input: string(raw)}
	}
	return out, nil
}

// sourceOf is a schema in one text.
func sourceOf(text string) *ast.Source { return &ast.Source{Name: "schema", Input: text} }

// binder binds the fields of one schema.
type binder struct {
	*exec.Schema
	Deps

	targetKinds []targetKind
}

// newSchema reads the types and binds their fields, without what is deprecated where that is
// wanted.
func newSchema(d Deps, pruned bool) (*exec.Schema, error) {
	files, err := sources()
	if err != nil {
		return nil, err
	}
	s, err := exec.New(files...)
	if err != nil {
		return nil, err
	}
	b := &binder{Schema: s, Deps: d}
	b.all()
	if err := s.Wrong(); err != nil {
		return nil, err
	}
	s.Trim()
	if pruned {
		s.Prune()
	}
	return s, nil
}

// all binds every subject.
func (b *binder) all() {
	b.scalars()
	b.roots()
	b.requestParties()
	b.users()
	b.groups()
	b.namespaces()
	b.members()
	b.topics()
	b.userLists()
	b.preferences()
	b.placesOfProjects()
	b.repositories()
	b.projectFacts()
	b.labels()
	b.milestones()
	b.projects()
	b.issues()
	b.iterations()
	b.epics()
	b.workItems()
	b.todos()
	b.requests()
	b.requestMutations()
	b.requestReview()
	b.requestState()
	b.notes()
	b.noteMutations()
	b.subscriptions()
	b.awards()
	b.boards()
	b.snippets()
	b.timelogs()
	b.jobs()
	b.ciConfigs()
	b.runners()
	b.schedules()
	b.variables()
	b.events()
	b.environments()
	b.releases()
	b.packages()
	b.dora()
}

func (h *Handler) schemaFor(in *incoming) (*exec.Schema, error) {
	if in.current {
		return h.current()
	}
	return h.pruned()
}

// schema answers with the types in the language of GraphQL.
func (h *Handler) schema(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		h.refuse(w, http.StatusMethodNotAllowed, "Method not allowed")
		return
	}
	if h.NoAnonymousIntrospection {
		as, known, err := h.signOn(r, r.URL.Query().Get)
		if err == nil && !known {
			as, err = h.session(r, "")
		}
		if h.SignOn.Throttled(w, limit.API, as) {
			return
		}
		if err == nil && !as.Known() {
			err = &refusal{http.StatusUnauthorized, messageSchema}
		}
		if err != nil {
			h.fail(w, r, err)
			return
		}
	}
	text, err := h.sdl()
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text))
}

// SDL writes the types of a schema in the language of GraphQL.
func SDL(s *exec.Schema) string {
	var out strings.Builder
	formatter.NewFormatter(&out, formatter.WithIndent("  ")).FormatSchema(s.Types())
	return out.String()
}
