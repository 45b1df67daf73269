package mergerequest

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/base/gitcmd"
	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
	"tenon/internal/core/tree"
)

// exportedDiff is the newest version of a merge request as it moves.
type exportedDiff struct {
	State        string  `db:"state" tree:"state,names=collected"`
	CreatedAt    db.Time `db:"created_at" tree:"created_at"`
	UpdatedAt    db.Time `db:"updated_at" tree:"updated_at"`
	BaseSHA      *string `db:"base_sha" tree:"base_commit_sha"`
	RealSize     string  `tree:"real_size"`
	HeadSHA      *string `db:"head_sha" tree:"head_commit_sha"`
	StartSHA     *string `db:"start_sha" tree:"start_commit_sha"`
	CommitsCount int64   `db:"commits_count" tree:"commits_count"`
	FilesCount   int64   `db:"changes_count" tree:"files_count"`
	Sorted       bool    `db:"sorted" tree:"sorted"`
	Type         string  `db:"diff_type" tree:"diff_type,names=regular"`
}

// exportedCommit is a commit of a version as it moves.
type exportedCommit struct {
	AuthoredDate   db.Time        `tree:"authored_date"`
	CommittedDate  db.Time        `tree:"committed_date"`
	RelativeOrder  int64          `tree:"relative_order"`
	SHA            string         `tree:"sha"`
	Message        string         `tree:"message"`
	Trailers       struct{}       `tree:"trailers"`
	AuthorName     string         `tree:"author_name"`
	AuthorEmail    string         `tree:"author_email"`
	CommitterName  string         `tree:"committer_name"`
	CommitterEmail string         `tree:"committer_email"`
	Author         exportedPerson `tree:"commit_author"`
	Committer      exportedPerson `tree:"committer"`
}

// exportedPerson is who made a commit.
type exportedPerson struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// exportedFile is the change of a file in a version as it moves.
type exportedFile struct {
	RelativeOrder int64  `tree:"relative_order"`
	New           bool   `tree:"new_file"`
	Renamed       bool   `tree:"renamed_file"`
	Deleted       bool   `tree:"deleted_file"`
	TooLarge      bool   `tree:"too_large"`
	OldMode       string `tree:"a_mode"`
	NewMode       string `tree:"b_mode"`
	NewPath       string `tree:"new_path"`
	OldPath       string `tree:"old_path"`
	Binary        bool   `tree:"binary"`
	EncodedPath   bool   `tree:"encoded_file_path"`
	Patch         string `tree:"utf8_diff"`
}

// maxCommits bounds the commits of a version that move with it. All of them are in the bundle.
const maxCommits = 1000

// diffRelations describes the newest versions of merge requests. Commits and files are read from the repository, one version at a time.
func (s *Service) diffRelations() []tree.Relation {
	return []tree.Relation{
		tree.Rows(tree.Relation{
			Name: "merge_request_diff", Parts: true, Single: true, Children: []string{"merge_request_diff_commits", "merge_request_diff_files"}, Tables: []string{"merge_request_versions"},
		}, tree.Query[exportedDiff]{
			Columns: `'collected' AS state, v.created_at, v.created_at AS updated_at, NULLIF(v.base_sha, '') AS base_sha, NULLIF(v.head_sha, '') AS head_sha,
				NULLIF(v.start_sha, '') AS start_sha, v.commits_count, v.changes_count, true AS sorted, 'regular' AS diff_type`,
			From: "merge_request_versions v", ID: "v.id", Parent: "v.id", Where: readableTree,
			Fill: func(_ context.Context, _ *tree.Reading, rows []exportedDiff) error {
				for i := range rows {
					rows[i].RealSize = size(rows[i].FilesCount)
				}
				return nil
			},
		}),
		tree.Below(tree.Relation{Name: "merge_request_diff_commits"}, s.exportedCommits),
		tree.Below(tree.Relation{Name: "merge_request_diff_files"}, s.exportedFiles),
	}
}

// eachVersion calls fn with the repository and each version, where the reader may read code. One whose commits are not there any more is
// left out.
func (s *Service) eachVersion(ctx context.Context, r *tree.Reading, ids []int64, fn func(repository *gitcmd.Repo, v *Version) error) error {
	may, err := r.May(ctx, authz.ReadCode)
	if !may || err != nil {
		return err
	}
	var w db.Where
	w.In("v.id", ids)
	versions, err := db.Select[Version](ctx, s.DB, "SELECT "+db.Columns[Version]("v")+" FROM merge_request_versions v"+w.SQL()+" ORDER BY v.id", w.Args()...)
	if err != nil || len(versions) == 0 {
		return err
	}
	repository, err := s.Repos.Open(ctx, project.Of(r.At))
	if err != nil {
		return err
	}
	var heads []gitstore.ObjectID
	for i := range versions {
		heads = append(heads, idOf(versions[i].HeadSHA), idOf(versions[i].StartSHA), idOf(versions[i].BaseSHA))
	}
	absent, err := repository.Absent(ctx, heads)
	if err != nil {
		return fmt.Errorf("look for commits of merge requests: %w", err)
	}
	for i := range versions {
		v := &versions[i]
		if v.HeadSHA == "" || v.BaseSHA == "" || absent[idOf(v.HeadSHA)] || absent[idOf(v.StartSHA)] || absent[idOf(v.BaseSHA)] {
			continue
		}
		if err := fn(repository, v); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) exportedCommits(ctx context.Context, r *tree.Reading, ids []int64, yield func(parent int64, row exportedCommit) error) error {
	return s.eachVersion(ctx, r, ids, func(repository *gitcmd.Repo, v *Version) error {
		commits, err := repository.LogCommits(ctx, gitcmd.LogOptions{
			From: []gitstore.ObjectID{idOf(v.HeadSHA)}, Not: []gitstore.ObjectID{idOf(v.StartSHA)}, Limit: maxCommits,
		})
		if err != nil {
			return fmt.Errorf("read commits of a merge request: %w", err)
		}
		for i, c := range commits {
			one := exportedCommit{
				AuthoredDate: db.At(c.Author.When), CommittedDate: db.At(c.Committer.When), RelativeOrder: int64(i), SHA: c.ID.String(), Message: c.Message,
				AuthorName: c.Author.Name, AuthorEmail: c.Author.Email, CommitterName: c.Committer.Name, CommitterEmail: c.Committer.Email,
				Author: exportedPerson{c.Author.Name, c.Author.Email}, Committer: exportedPerson{c.Committer.Name, c.Committer.Email},
			}
			if err := yield(int64(v.ID), one); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Service) exportedFiles(ctx context.Context, r *tree.Reading, ids []int64, yield func(parent int64, row exportedFile) error) error {
	set := s.Settings.Current()
	return s.eachVersion(ctx, r, ids, func(repository *gitcmd.Repo, v *Version) error {
		d, err := repository.Diff(ctx, idOf(v.BaseSHA), idOf(v.HeadSHA), gitcmd.DiffOptions{
			MaxFiles: set.DiffMaxFiles, MaxLines: set.DiffMaxLines, MaxFileBytes: set.DiffMaxPatchBytes,
		})
		if err != nil {
			return fmt.Errorf("diff a merge request: %w", err)
		}
		for i := range d.Files {
			f := &d.Files[i]
			one := exportedFile{
				RelativeOrder: int64(i), New: f.New(), Renamed: f.Renamed(), Deleted: f.Deleted(), TooLarge: f.TooLarge, OldMode: mode(f.OldMode), NewMode: mode(f.NewMode),
				NewPath: f.NewPath, OldPath: f.OldPath, Binary: f.Binary, Patch: strings.ReplaceAll(f.Text(), "\x00", ""),
			}
			if err := yield(int64(v.ID), one); err != nil {
				return err
			}
		}
		return nil
	})
}

// mode is a mode of git in octal digits, 0 for a file that is not there.
func mode(m gitstore.Mode) string {
	if m == 0 {
		return "0"
	}
	return fmt.Sprintf("%06o", uint32(m))
}
