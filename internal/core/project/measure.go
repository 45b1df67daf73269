package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"tenon/internal/base/db"
)

// Measure is what a look at the repository of a project found.
type Measure struct {
	Commit      string // the tip of the default branch, "" for none
	Commits     int64
	Size        int64  // bytes
	Readme      string // path, "" for none
	License     string // path, "" for none
	LicenseKey  string
	LanguagesOf map[string]int64 // bytes by language
}

type measureRow struct {
	ProjectID  ID     `db:"project_id"`
	Commit     string `db:"commit_id"`
	Commits    int64  `db:"commit_count"`
	Size       int64  `db:"repository_size"`
	Readme     string `db:"readme_path"`
	License    string `db:"license_path"`
	LicenseKey string `db:"license_key"`
}

type languageRow struct {
	ProjectID ID     `db:"project_id"`
	Name      string `db:"name"`
	Fold      string `db:"name_fold"`
	Bytes     int64  `db:"bytes"`
}

// MeasuredAt returns the commit that a project was last measured at; ok is false where it
// never was. It asks for no permission.
func (s *Service) MeasuredAt(ctx context.Context, id ID) (commit string, ok bool, err error) {
	commit, err = db.Get[string](ctx, s.DB, "SELECT commit_id FROM project_measures WHERE project_id = ?", id)
	if errors.Is(err, db.ErrNotFound) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("find measure: %w", err)
	}
	return commit, true, nil
}

// RecordSize stores the size of the repository of a project that was measured before.
// It asks for no permission.
func (s *Service) RecordSize(ctx context.Context, id ID, size int64) error {
	if _, err := s.DB.Exec(ctx, "UPDATE project_measures SET repository_size = ? WHERE project_id = ?", size, id); err != nil {
		return fmt.Errorf("record size: %w", err)
	}
	return nil
}

// RecordMeasure stores what was found in the repository of a project; one that is gone
// is no error. It asks for no permission.
func (s *Service) RecordMeasure(ctx context.Context, id ID, m Measure) error {
	err := s.DB.InTx(ctx, func(ctx context.Context) error {
		for _, table := range []string{"project_measures", "project_languages"} {
			if _, err := s.DB.Exec(ctx, "DELETE FROM "+table+" WHERE project_id = ?", id); err != nil {
				return err
			}
		}
		row := measureRow{id, m.Commit, m.Commits, m.Size, m.Readme, m.License, m.LicenseKey}
		if _, err := db.InsertRow(ctx, s.DB, "project_measures", row, ""); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(m.LanguagesOf)) {
			row := languageRow{id, name, db.Fold(name), m.LanguagesOf[name]}
			if _, err := db.InsertRow(ctx, s.DB, "project_languages", row, ""); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, db.ErrReference) || db.Duplicate(err, "project_measures") {
		return nil // the project is gone, or another job measured it at the same moment
	}
	if err != nil {
		return fmt.Errorf("record measure: %w", err)
	}
	return nil
}

// LanguageShare is how much of a project's code is in one language.
type LanguageShare struct {
	Name    string
	Percent float64 // of all that counts, to two places
}

// Languages returns the shares of the languages as they were last measured, the greatest
// first. It asks for no permission.
func (s *Service) Languages(ctx context.Context, id ID) ([]LanguageShare, error) {
	rows, err := db.Select[languageRow](ctx, s.DB, "SELECT project_id, name, name_fold, bytes FROM project_languages WHERE project_id = ?", id)
	if err != nil {
		return nil, fmt.Errorf("list languages: %w", err)
	}
	slices.SortFunc(rows, func(a, b languageRow) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name)) })
	var sum int64
	for _, r := range rows {
		sum += r.Bytes
	}
	out := make([]LanguageShare, 0, len(rows))
	for _, r := range rows {
		out = append(out, LanguageShare{Name: r.Name, Percent: math.Round(float64(r.Bytes)*10000/float64(max(sum, 1))) / 100})
	}
	return out, nil
}
