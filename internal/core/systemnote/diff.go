package systemnote

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/core/weburl"
)

// LinesChanged tells threads on a diff that a new version has changed their line.
func (s *Service) LinesChanged(ctx context.Context, e note.LinesChanged) error {
	for _, thread := range e.Threads {
		err := s.notes.Record(ctx, note.System{
			On: noteable.Ref{Kind: noteable.MergeRequest, ID: int64(e.RequestID)}, ProjectID: e.Project.ID, AuthorID: e.By.UserID, At: e.At,
			Discussion: thread.Discussion,
		}, changedLine(e, thread))
		if err != nil {
			return err
		}
	}
	return nil
}

func changedLine(e note.LinesChanged, thread note.ChangedThread) string {
	to, _, _ := strings.Cut((&weburl.Site{}).MergeRequestDiff(e.Project.FullPath, int64(e.IID), int64(e.VersionID), ""), "&") // with its base
	if thread.LineCode != "" {
		to += "#" + thread.LineCode
	}
	return fmt.Sprintf("changed this line in [version %d of the diff](%s)", e.Version, to)
}
