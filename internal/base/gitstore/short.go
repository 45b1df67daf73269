package gitstore

import (
	"strings"

	"tenon/internal/base/budget"
)

// Short is the commit as it stands inside other things: its texts are cut, and copied where they are, so that it does not hold the whole. It
// is the commit itself where nothing is cut.
func (c *Commit) Short() *Commit {
	out := *c
	short := true
	for _, text := range []*string{&out.Message, &out.Author.Name, &out.Author.Email, &out.Committer.Name, &out.Committer.Email, &out.Encoding, &out.Signed} {
		if len(*text) > budget.MaxRepeated {
			*text, short = strings.Clone(budget.Cut(*text)), false
		}
	}
	if short && len(c.Raw) <= budget.MaxRepeated {
		return c
	}
	out.Raw = nil
	return &out
}

// Short is the tag for a list, which shows a part of it: see [Commit.Short].
func (t *Tag) Short() *Tag {
	out := *t
	short := true
	for _, text := range []*string{&out.Name, &out.Message, &out.Tagger.Name, &out.Tagger.Email, &out.Signed} {
		if len(*text) > budget.MaxRepeated {
			*text, short = strings.Clone(budget.Cut(*text)), false
		}
	}
	if short {
		return t
	}
	return &out
}
