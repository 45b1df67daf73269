package importexport

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/scratch"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// RelationRun is the job that exports the relations of one request, one after the other.
type RelationRun struct {
	NamespaceID authz.NamespaceID `json:"namespace_id" db:"namespace_id"`
	UserID      authz.UserID      `json:"user_id" db:"user_id"`
	Run         string            `json:"run" db:"run"`
}

// Kind names the job.
func (RelationRun) Kind() string { return "relation_export" }

// batchLines is how many lines a batch has.
const batchLines = 1000

// runRelations exports the relations that are not finished. One that the end of the process interrupts is exported again.
func (s *Service) runRelations(ctx context.Context, args RelationRun) error {
	if _, twice := s.running.LoadOrStore(args.Run, true); twice {
		return nil
	}
	defer s.running.Delete(args.Run)
	limited, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for {
		waiting, err := db.Select[RelationExport](limited, s.DB, "SELECT "+db.Columns[RelationExport]("e")+` FROM relation_exports e WHERE e.namespace_id = ? AND e.user_id = ?
			AND e.run = ? AND e.status = ? ORDER BY e.id LIMIT 1`, args.NamespaceID, args.UserID, args.Run, RelationStarted)
		if err != nil {
			return fmt.Errorf("read exports of relations: %w", err)
		}
		if len(waiting) == 0 {
			return nil
		}
		e := &waiting[0]
		err = s.exportRelation(limited, e)
		if errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, errs.ErrAway) {
			return err
		}
		if err := s.finishRelation(context.WithoutCancel(ctx), e, err); err != nil {
			return err
		}
	}
}

// exportRelation makes the files of one relation.
func (s *Service) exportRelation(ctx context.Context, e *RelationExport) error {
	as, at, err := s.admitted(ctx, e.UserID, e.NamespaceID)
	if err != nil {
		return err
	}
	r, err := s.reading(as, at)
	if err != nil {
		return err
	}
	m := &made{s: s, e: e}
	if rel, known := portableOf(at.Group, e.Relation); known && rel.tar {
		err = m.carried(ctx, r, rel)
	} else if known {
		err = m.relation(ctx, r, rel)
	}
	if lost := r.Lost[e.Relation]; lost > 0 {
		s.Log.WarnContext(ctx, "rows left out of an export: their line would be too long", slog.String("relation", e.Relation), slog.Int("rows", lost))
	}
	return err
}

// finishRelation writes down how the export of a relation ended.
func (s *Service) finishRelation(ctx context.Context, e *RelationExport, err error) error {
	status, text := RelationFinished, ""
	if known, ok := errors.AsType[failure](err); ok {
		status, text = RelationFailed, known.text
	} else if err != nil {
		status, text = RelationFailed, "The relation could not be exported."
		s.Log.ErrorContext(ctx, "export of a relation failed", slog.String("relation", e.Relation), slog.Any("error", err))
	}
	row := db.Row{
		Table: "relation_exports", ID: int64(e.ID), Now: s.Now, Columns: db.Columns[RelationExport]("e"), From: "relation_exports e", Alias: "e",
		Missing: errs.Missing("Export"),
	}
	_, err = db.Update(ctx, s.DB, row, func(_ context.Context, row *RelationExport) error {
		row.Status, row.Objects, row.UpdatedAt = status, e.Objects, db.At(s.Now())
		if text != "" {
			row.Error = &text
		}
		return nil
	})
	if errs.Is(err, errs.NotFound) {
		return nil // another request replaced it, or what it is of was deleted
	}
	return err
}

// made is the files of a relation that are being made.
type made struct {
	s *Service
	e *RelationExport
}

// relation writes the rows of a relation as lines: to one file, or a new one for each thousand.
func (m *made) relation(ctx context.Context, r *tree.Reading, rel portable) error {
	number, name := int64(0), rel.file()
	if m.e.Batched {
		number = 1
	}
	source := r.All.Find(rel.relation())
	var after tree.Mark
	for {
		batch, whole := name, true
		if m.e.Batched {
			batch = fmt.Sprintf("%s_%d.ndjson.gz", rel.name, number)
		}
		var lines int64
		err := m.file(ctx, number, batch, func(to io.Writer) (int64, error) {
			lines = 0
			if source == nil {
				if rel.single {
					_, err := io.WriteString(to, "null")
					return 0, err
				}
				return 0, nil
			}
			most := math.MaxInt
			if m.e.Batched && number < maxBatches {
				most = batchLines
			}
			var err error
			after, whole, err = r.Some(ctx, source, after, most, func(line []byte) error {
				if lines++; !rel.self {
					line = append(line, '\n')
				}
				_, err := to.Write(line)
				return err
			})
			return lines, err
		})
		if err != nil {
			return err
		}
		m.e.Objects += lines
		if whole {
			return nil
		}
		number++
	}
}

// carried writes the files of a kind as an archive.
func (m *made) carried(ctx context.Context, r *tree.Reading, rel portable) (err error) {
	dir, err := scratch.Make(m.s.Scratch, "export-")
	if err != nil {
		return fmt.Errorf("export relation: %w", err)
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	return m.file(ctx, 0, rel.file(), func(to io.Writer) (int64, error) {
		a := &archive{ctx: ctx, tar: tar.NewWriter(to), dir: dir.Path, now: m.s.Now().UTC().Truncate(time.Second), seen: map[string]bool{}}
		var n int64
		for _, carrier := range m.s.Carriers() {
			for _, files := range carrier.Moving() {
				if files.Relation != rel.name {
					continue
				}
				put := func(name string, size int64, open func(ctx context.Context) (io.ReadCloser, error)) error {
					if _, list := files.Replace[name]; !list || strings.HasSuffix(name, ".bundle") {
						n++
					}
					return a.put(ctx, files.NameIn(name), size, open)
				}
				if err := files.Each(ctx, r, put); err != nil {
					return 0, fmt.Errorf("export %s: %w", files.Name, err)
				}
			}
		}
		m.e.Objects = n
		return n, errors.Join(a.folders("./"), a.tar.Close())
	})
}

// file makes one file, compressed. Its key is stored before it is, so that one of an attempt that was interrupted is known.
func (m *made) file(ctx context.Context, number int64, name string, write func(to io.Writer) (int64, error)) error {
	key := Objects + "/" + blob.Random()
	row := RelationFile{ExportID: m.e.ID, Number: number, Object: key, Name: name, CreatedAt: db.At(m.s.Now())}
	err := m.s.DB.InTx(ctx, func(ctx context.Context) error {
		objects, err := db.Select[string](ctx, m.s.DB, "DELETE FROM relation_export_files WHERE export_id = ? AND number >= ? RETURNING object", m.e.ID, number)
		if err != nil {
			return err
		}
		m.s.DB.AfterCommit(ctx, func() {
			for _, old := range objects {
				m.s.remove(ctx, old)
			}
		})
		return db.Create(ctx, m.s.DB, "relation_export_files", &row)
	})
	if err != nil {
		return fmt.Errorf("note file of relation: %w", err)
	}
	var lines int64
	from, to := io.Pipe()
	done := make(chan struct{})
	go func() { // ends when the file is written, or nothing reads it any more
		defer close(done)
		out := bufio.NewWriterSize(to, 64<<10)
		zip := gzip.NewWriter(out)
		n, err := write(zip)
		lines = n
		to.CloseWithError(errors.Join(err, zip.Close(), out.Flush()))
	}()
	_, err = m.s.Objects.Put(ctx, key, from, blob.Wanted{Limit: int64(m.s.Settings.Current().MaxExportSize) << 20})
	from.CloseWithError(err)
	<-done
	if err != nil {
		return err
	}
	if lines == 0 {
		return nil
	}
	if _, err := m.s.DB.Exec(ctx, "UPDATE relation_export_files SET objects = ? WHERE id = ?", lines, row.ID); err != nil {
		return fmt.Errorf("note file of relation: %w", err)
	}
	return nil
}

// portable is a relation that destinations of direct transfers ask for.
type portable struct {
	name   string
	single bool   // one object or null
	self   bool   // of the project or group itself
	root   string // its relation, of self
	tar    bool   // files in an archive
}

// lines reports whether the file has a line for each row.
func (p portable) lines() bool { return !p.self && !p.tar }

// file is the name of the file.
func (p portable) file() string {
	switch {
	case p.self:
		return p.name + ".json.gz"
	case p.tar:
		return p.name + ".tar.gz"
	}
	return p.name + ".ndjson.gz"
}

// relation is the name in the catalogue.
func (p portable) relation() string {
	if p.self {
		return p.root
	}
	return p.name
}

// labels is the relation that each project and group has.
const labels = "labels"

// portables are the relations of a project or group. Members are asked for by GraphQL.
func portables(group bool) (out []portable) {
	list, but := files, "project_members"
	if group {
		list, but = groupFiles, "members"
	}
	for _, f := range list {
		if f.name != but {
			out = append(out, portable{name: f.name, single: f.single})
		}
	}
	if group {
		return append(out, portable{name: "uploads", tar: true}, portable{name: "self", self: true, root: groupRoot})
	}
	return append(out, portable{name: "vulnerabilities"}, portable{name: "uploads", tar: true}, portable{name: "lfs_objects", tar: true},
		portable{name: "repository", tar: true}, portable{name: "design", tar: true}, portable{name: "self", self: true, root: root})
}

// portableOf finds a relation of a project or group by its name.
func portableOf(group bool, name string) (portable, bool) {
	list := portables(group)
	i := slices.IndexFunc(list, func(p portable) bool { return p.name == name })
	if i < 0 {
		return portable{}, false
	}
	return list[i], true
}
