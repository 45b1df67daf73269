package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/repo"
	"tenon/internal/transport/rest/api"
)

// lineRange chooses lines, from 1.
type lineRange struct {
	Start int `param:"start,required" min:"1" doc:"First line of the range"`
	End   int `param:"end,required" min:"1" doc:"Last line of the range"`
}

type blameParams struct {
	fileParams
	Range *lineRange `param:"range" doc:"Line range; defaults to all lines"`
}

// blameCommit is a commit as blame shows it.
type blameCommit struct {
	ID             string         `json:"id"`
	ParentIDs      []string       `json:"parent_ids"`
	Message        string         `json:"message"`
	AuthoredDate   api.CommitTime `json:"authored_date"`
	AuthorName     string         `json:"author_name"`
	AuthorEmail    string         `json:"author_email"`
	CommittedDate  api.CommitTime `json:"committed_date"`
	CommitterName  string         `json:"committer_name"`
	CommitterEmail string         `json:"committer_email"`
}

type blameEntity struct {
	Commit blameCommit `json:"commit"`
	Lines  []string    `json:"lines"`
}

// blame says which commit wrote which lines. It answers HEAD with what there is to know
// of the file.
func (s *Server) blame(ctx context.Context, as authz.Actor, in blameParams) (api.Reply[[]blameEntity], error) {
	var none api.Reply[[]blameEntity]
	if err := in.check(); err != nil {
		return none, err
	}
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return none, err
	}
	var lines lineRange
	if in.Range != nil {
		if lines = *in.Range; lines.Start > lines.End {
			return none, errs.Bad("range[start] must be less than or equal to range[end]")
		}
	}
	f, err := s.Repos.File(ctx, as, p, in.FilePath, in.Ref, repo.WithLastCommit)
	if err != nil {
		return none, err
	}
	defer f.Blob.Close()
	if f.Blob.Size > maxBlamed {
		return none, errs.New(errs.TooLarge, "")
	}
	var sum [sha256.Size]byte
	digest, count := sha256.New(), lineCount(1)
	if _, err := io.Copy(io.MultiWriter(digest, &count), f.Blob); err != nil {
		return none, fmt.Errorf("read file: %w", err)
	}
	digest.Sum(sum[:0])
	if lines.End > 0 {
		count = min(count, lineCount(lines.End-lines.Start+1))
	}
	if count > maxBlamedLines {
		return none, errs.New(errs.TooLarge, "")
	}
	blamed, err := s.Repos.Blame(ctx, as, p, in.FilePath, in.Ref, repo.Lines{First: lines.Start, Last: lines.End})
	if err != nil {
		return none, err
	}
	out := make([]blameEntity, len(blamed))
	for i, b := range blamed {
		c := s.commitEntity(p, b.Commit)
		out[i] = blameEntity{
			Commit: blameCommit{
				ID: c.ID, ParentIDs: c.ParentIDs, Message: c.Message,
				AuthoredDate: c.AuthoredDate, AuthorName: c.AuthorName, AuthorEmail: c.AuthorEmail,
				CommittedDate: c.CommittedDate, CommitterName: c.CommitterName, CommitterEmail: c.CommitterEmail,
			},
			Lines: append([]string{}, b.Lines...),
		}
	}
	e := s.fileEntity(f, in.Ref, sum)
	return api.Reply[[]blameEntity]{Header: e.headers(), Body: out}, nil
}

// maxBlamed bounds a file whose lines are looked for in history, in bytes, and maxBlamedLines how many of its lines are.
const (
	maxBlamed      = 20 << 20
	maxBlamedLines = 200_000
)

// lineCount counts the lines of what is written.
type lineCount int

// Write counts a piece.
func (n *lineCount) Write(p []byte) (int, error) {
	*n += lineCount(bytes.Count(p, []byte{'\n'}))
	return len(p), nil
}
