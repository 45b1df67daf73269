package systemnote

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/weburl"
)

// LinesChanged tells threads on a diff that a new version has changed their line.
func (s *Service) LinesChanged(ctx context.Context, e note.LinesChanged) error {
	for chunk := range slices.Chunk(e.Threads, threadsAtOnce) {
		h := note.System{
			On: noteable.Ref{Kind: noteable.MergeRequest, ID: int64(e.RequestID)}, ProjectID: e.Project.ID, AuthorID: e.By.UserID, At: e.At,
		}
		bodies := make([]string, len(chunk))
		for i, thread := range chunk {
			h.Discussions, bodies[i] = append(h.Discussions, thread.Discussion), changedLine(e, thread)
		}
		if err := s.Notes.Record(ctx, h, bodies...); err != nil {
			return err
		}
	}
	return nil
}

// threadsAtOnce is how many threads get their note in one statement.
const threadsAtOnce = 200

func changedLine(e note.LinesChanged, thread note.ChangedThread) string {
	to, _, _ := strings.Cut((&weburl.Site{}).MergeRequestDiff(e.Project.FullPath, int64(e.IID), int64(e.VersionID), ""), "&") // with its base
	if thread.LineCode != "" {
		to += "#" + thread.LineCode
	}
	return fmt.Sprintf("changed this line in [version %d of the diff](%s)", e.Version, to)
}
