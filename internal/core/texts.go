package core

import (
	"tenon/internal/base/db"
	"tenon/internal/core/account"
	"tenon/internal/core/issue"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/note"
	"tenon/internal/core/project"
	"tenon/internal/core/snippet"
)

// Texts are all texts that lists search, to be indexed.
func Texts() []db.Trigrams {
	return []db.Trigrams{account.Texts, project.Texts, issue.Texts, mergerequest.Texts, milestone.Texts, note.Texts, snippet.Texts}
}
