package snippet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/noteable"
	"tenon/internal/core/tree"
)

// exported is a snippet as it moves. Its files are in a bundle, and the first of them here as well, as importers ask for some content.
type exported struct {
	Title       string  `db:"title" tree:"title,max=255"`
	Content     string  `tree:"content"`
	AuthorID    int64   `db:"author_id" tree:"author_id,user"`
	ProjectID   int64   `db:"project_id" tree:"project_id,project"`
	CreatedAt   db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt   db.Time `db:"updated_at" tree:"updated_at"`
	FileName    string  `tree:"file_name,max=255"`
	Visibility  int64   `db:"visibility" tree:"visibility_level"`
	Description *string `db:"description" tree:"description"`
	Type        string  `db:"type" tree:"type,names=ProjectSnippet"`
	ID          ID      `db:"id"`
	FilesJSON   string  `db:"files"`
}

const maxContent = 1 << 20 // bytes of the content beside the bundle

// exportedWhere selects the snippets of the project that the reader may see.
func (s *Service) exportedWhere(ctx context.Context, r *tree.Reading) (*db.Where, error) {
	w, err := r.Within(ctx, authz.ReadSnippet, "s.project_id = ?", r.At.ID)
	if w == nil || err != nil {
		return nil, err
	}
	cond, args := s.readable(r.As)
	w.And(cond, args...)
	return w, nil
}

// Relations describes the snippets of a project.
func (s *Service) Relations() []tree.Relation {
	return []tree.Relation{
		tree.Rows(tree.Relation{
			Name: "snippets", Parts: true, Kind: string(noteable.Snippet), Children: []string{"award_emoji", "snippet_notes"}, Tables: []string{"snippets"},
		}, tree.Query[exported]{
			Columns: "s.title, s.author_id, s.project_id, s.created_at, s.updated_at, s.visibility, s.description, 'ProjectSnippet' AS type, s.id, s.files",
			From:    from[len(" FROM "):], ID: "s.id", Where: func(ctx context.Context, r *tree.Reading, _ string) (*db.Where, error) {
				return s.exportedWhere(ctx, r)
			},
			Fill: func(ctx context.Context, r *tree.Reading, rows []exported) error {
				var names []Name
				for i := range rows {
					row := Snippet{FilesJSON: rows[i].FilesJSON}
					if files := row.Files(); len(files) > 0 {
						rows[i].FileName = files[0]
						names = append(names, Name{ID: rows[i].ID, Path: files[0]})
					}
				}
				found, err := s.Files(ctx, r.As, names, func(size int64) bool { return size <= maxContent })
				if err != nil {
					return err
				}
				for i := range rows {
					if c := found[Name{ID: rows[i].ID, Path: rows[i].FileName}]; c != nil {
						rows[i].Content = string(c.Data)
					}
				}
				return nil
			},
		}),
	}
}

// bundleName is the name of the bundle of a snippet, which importers find it by.
func bundleName(sn *Snippet) string {
	at := func(t db.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }
	description := ""
	if sn.Description != nil {
		description = *sn.Description
	}
	sum := sha256.Sum256([]byte(sn.Title + description + at(sn.CreatedAt) + at(sn.UpdatedAt)))
	return "snippets/" + hex.EncodeToString(sum[:]) + ".bundle"
}

// movingBatch is how many rows are read at a time.
const movingBatch = 200

// Moving describes the repositories of a project's snippets.
func (s *Service) Moving() []tree.Files {
	return []tree.Files{{Name: "snippets", Each: func(ctx context.Context, r *tree.Reading, put tree.Put) error {
		if err := put("snippets/", 0, nil); err != nil {
			return err
		}
		named := map[string]bool{} // snippets that are alike to the second have one name, and one bundle
		for last := ID(0); ; {
			w, err := s.exportedWhere(ctx, r)
			if w == nil || err != nil {
				return err
			}
			w.And("s.id > ?", last)
			rows, err := db.Select[Snippet](ctx, s.DB, "SELECT "+columns+from+w.SQL()+" ORDER BY s.id LIMIT ?", append(w.Args(), movingBatch)...)
			if err != nil {
				return fmt.Errorf("read snippets: %w", err)
			}
			for i := range rows {
				last = rows[i].ID
				name := bundleName(&rows[i])
				if named[name] {
					continue
				}
				named[name] = true
				if err := s.Repos.PutBundle(ctx, s.attached(&rows[i]), put, name); err != nil {
					return err
				}
			}
			if len(rows) < movingBatch {
				return nil
			}
		}
	}, Fetch: elsewhere}}
}

// elsewhere are the repositories of a project's snippets at another server.
func elsewhere(ctx context.Context, from tree.Elsewhere) (out []tree.Repository, err error) {
	if from.IsGroup() {
		return nil, nil
	}
	const query = `query($full_path: ID!, $cursor: String) { project(fullPath: $full_path) { snippets(first: 100, after: $cursor) { pageInfo { endCursor hasNextPage }
		nodes { title description createdAt updatedAt httpUrlToRepo } } } }`
	err = from.Query(ctx, query, func(data json.RawMessage) (string, error) {
		var got struct {
			Project *struct {
				Snippets struct {
					Page struct {
						End  string `json:"endCursor"`
						More bool   `json:"hasNextPage"`
					} `json:"pageInfo"`
					Nodes []struct {
						Title       string    `json:"title"`
						Description *string   `json:"description"`
						CreatedAt   time.Time `json:"createdAt"`
						UpdatedAt   time.Time `json:"updatedAt"`
						Address     *string   `json:"httpUrlToRepo"`
					} `json:"nodes"`
				} `json:"snippets"`
			} `json:"project"`
		}
		if err := json.Unmarshal(data, &got); err != nil {
			return "", fmt.Errorf("snippets of the source: %w", err)
		}
		if got.Project == nil {
			return "", nil
		}
		for _, n := range got.Project.Snippets.Nodes {
			if n.Address != nil {
				out = append(out, tree.Repository{
					Address: *n.Address, Name: bundleName(&Snippet{Title: n.Title, Description: n.Description, CreatedAt: db.At(n.CreatedAt), UpdatedAt: db.At(n.UpdatedAt)}),
				})
			}
		}
		if page := got.Project.Snippets.Page; page.More {
			return page.End, nil
		}
		return "", nil
	})
	return out, err
}
