package snippet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/repo"
	"tenon/internal/core/tree"
)

// imported is a snippet of an archive. Its files are taken after its row is written.
type imported struct {
	Title       string  `tree:"title,max=255"`
	Content     *string `tree:"content"`
	AuthorID    int64   `tree:"author_id,user"`
	CreatedAt   db.Time `tree:"created_at"`
	UpdatedAt   db.Time `tree:"updated_at"`
	FileName    *string `tree:"file_name"`
	Visibility  int64   `tree:"visibility_level"`
	Description *string `tree:"description"`
}

// Writers says how the snippets of a project are imported.
func (s *Service) Writers() []tree.Writer {
	return []tree.Writer{tree.Write("snippets", s.importAll)}
}

func (s *Service) importAll(ctx context.Context, w *tree.Writing, rows []*tree.Row[imported]) error {
	var made []Snippet
	var of []*tree.Row[imported]
	for _, r := range rows {
		v := r.Value
		sn := Snippet{
			ProjectID: new(project.ID(w.At.ID)), AuthorID: authz.UserID(v.AuthorID), Title: strings.TrimSpace(v.Title), Description: v.Description, Visibility: authz.Visibility(v.Visibility),
			Branch: s.Settings.Current().Branch(), CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt, Origin: w.Origin(),
		}
		if sn.Visibility != authz.Private && s.check(w.As, &sn, authz.Private) != nil {
			sn.Visibility = authz.Private
			r.Change("its visibility is not allowed here: it is private")
		}
		if err := s.check(w.As, &sn, authz.Private); err != nil {
			r.Fail(err.Error())
			continue
		}
		if r.Unmatched("author_id") {
			r.Change(r.NotFound("its author", "author_id"))
		}
		if err := sn.setFiles(nil); err != nil {
			return err
		}
		id, err := s.Repos.NewAttached(ctx, repo.OfSnippet)
		if err != nil {
			return err
		}
		sn.RepositoryID = id
		made, of = append(made, sn), append(of, r)
	}
	ids, err := db.InsertAll(ctx, s.DB, "snippets", made)
	if err != nil {
		return fmt.Errorf("insert snippets: %w", err)
	}
	for i, id := range ids {
		of[i].ID = id
	}
	return nil
}

// Taking describes how the files of snippets are taken from an archive: from the bundle of each, or from its row where there is none.
func (s *Service) Taking() []tree.Taking {
	return []tree.Taking{{Name: "snippets", After: true, Take: s.take}}
}

func (s *Service) take(ctx context.Context, w *tree.Writing, root *os.Root) error {
	for last := ID(0); ; {
		rows, err := db.Select[Snippet](ctx, s.DB, "SELECT "+columns+from+" WHERE s.project_id = ? AND s.commit_id = '' AND s.id > ? ORDER BY s.id LIMIT ?", w.At.ID, last, movingBatch)
		if err != nil {
			return fmt.Errorf("read snippets: %w", err)
		}
		without := map[string][]*Snippet{}
		for i := range rows {
			sn := &rows[i]
			last = sn.ID
			name := bundleName(sn)
			filled, err := s.takeBundle(ctx, w, root, sn, name)
			if err != nil {
				return err
			}
			if !filled {
				without[name] = append(without[name], sn)
			}
		}
		if err := s.takeContents(ctx, w, root, without); err != nil {
			return err
		}
		if len(rows) < movingBatch {
			return nil
		}
	}
}

// takeBundle fills the repository of a snippet from its bundle; false where there is none that may be used.
func (s *Service) takeBundle(ctx context.Context, w *tree.Writing, root *os.Root, sn *Snippet, name string) (bool, error) {
	if _, err := root.Stat(name); err != nil {
		return false, nil
	}
	a := s.attached(sn)
	branch, err := s.Repos.TakeBundle(ctx, w, a, root, name)
	if branch == "" || err != nil {
		return false, err
	}
	r, err := s.Repos.OpenAttached(ctx, a)
	if err != nil {
		return false, err
	}
	refs, err := r.Refs(ctx, "refs/")
	if err != nil {
		return false, err
	}
	var gone []gitstore.RefUpdate
	refused := false
	for _, ref := range refs {
		if ref.Name.Short() == branch {
			if err := judgeFiles(ctx, r, repo.RefChange{Ref: ref.Name, New: ref.ID}, s.MaxBytes()); err == nil {
				continue
			}
			refused = true
		}
		gone = append(gone, gitstore.RefUpdate{Ref: ref.Name, AnyOld: true})
	}
	if err := r.UpdateRefs(ctx, gone); err != nil {
		return false, fmt.Errorf("remove references of snippet: %w", err)
	}
	if refused {
		w.Leave("files", name, "the snippet has no files, too many or too large ones")
		return false, nil
	}
	sn.Branch = branch
	if err := s.look(ctx, sn); err != nil {
		return false, err
	}
	w.Took("snippet files")
	return true, s.filled(ctx, sn)
}

// filled writes down what the repository of an imported snippet has.
func (s *Service) filled(ctx context.Context, sn *Snippet) error {
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		_, err := db.Update(ctx, s.DB, db.Row{Table: "snippets", ID: int64(sn.ID)}, func(_ context.Context, row *Snippet) error {
			row.Branch, row.FilesJSON, row.CommitID = sn.Branch, sn.FilesJSON, sn.CommitID
			return nil
		})
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return fmt.Errorf("record files of snippet: %w", err)
		}
		return nil
	})
}

// takeContents makes the one file of snippets without a bundle from their rows.
func (s *Service) takeContents(ctx context.Context, w *tree.Writing, root *os.Root, without map[string][]*Snippet) error {
	if len(without) == 0 {
		return nil
	}
	f, err := root.Open("tree/project/snippets.ndjson")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("contents of snippets: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := readContent(in)
		if err != nil {
			return err
		}
		if line == nil {
			return nil
		}
		var v struct {
			Title       string  `json:"title"`
			Description *string `json:"description"`
			CreatedAt   db.Time `json:"created_at"`
			UpdatedAt   db.Time `json:"updated_at"`
			FileName    string  `json:"file_name"`
			Content     string  `json:"content"`
		}
		if json.Unmarshal(line, &v) != nil {
			continue
		}
		name := bundleName(&Snippet{Title: strings.TrimSpace(v.Title), Description: v.Description, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt})
		if len(without[name]) == 0 {
			continue
		}
		sn := without[name][0]
		without[name] = without[name][1:]
		if err := s.takeContent(ctx, w, sn, v.FileName, v.Content); err != nil {
			return err
		}
	}
}

// takeContent makes a file.
func (s *Service) takeContent(ctx context.Context, w *tree.Writing, sn *Snippet, name, content string) error {
	if name == "" {
		name = "snippetfile1.txt"
	}
	actions, err := fileActions([]File{{Path: name, Action: CreateFile, Content: &content}})
	if err == nil {
		a := s.attached(sn)
		a.Owner = &newRepository{s}
		_, err = s.Repos.CommitAttached(ctx, w.As, a, repo.AttachedInput{Message: textCommitted, Actions: actions})
	}
	if refused, ok := errors.AsType[*errs.Error](err); ok {
		w.Leave("files", sn.Title, refused.Error())
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.look(ctx, sn); err != nil {
		return err
	}
	w.Took("snippet files")
	return s.filled(ctx, sn)
}

// maxImportedLine bounds a line with a snippet, in bytes.
const maxImportedLine = 50 << 20

// readContent reads a line; nil is the end. One that is too long is empty.
func readContent(in *bufio.Reader) ([]byte, error) {
	out := []byte{}
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(out)+len(part) > maxImportedLine; long {
			out = out[:0]
		} else {
			out = append(out, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(out) == 0:
			return nil, nil
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("contents of snippets: %w", err)
		}
		return out, nil
	}
}
