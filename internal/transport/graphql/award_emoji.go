package graphql

import (
	"context"
	"fmt"
	"strings"

	"tenon/internal/base/page"
	"tenon/internal/core/authz"
	"tenon/internal/core/award"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
	"tenon/internal/transport/graphql/exec"
)

// awards binds the emoji that users awarded, and the mutations.
func (b *binder) awards() {
	awardsOf(b, "MergeRequest", each(onRequest), b.noteable)
	awardsOf(b, "Epic", b.onEpics, b.noteable)
	awardsOf(b, "Note", func(_ context.Context, _ authz.Actor, notes []*comment) ([]*comment, error) { return notes, nil }, b.noteAwarded)
	one(b, "AwardEmoji.user", "users", func(a *award.Award) authz.UserID { return a.UserID }, b.usersByIDs)
	value(b, "AwardEmoji.description", func(a *award.Award) string { return a.Emoji().Description })
	value(b, "AwardEmoji.emoji", func(a *award.Award) string { return a.Emoji().Text })
	value(b, "AwardEmoji.unicode", func(a *award.Award) string { return codePoints(a.Emoji().Text) })
	value(b, "AwardEmoji.unicodeVersion", func(a *award.Award) string { return a.Emoji().Version })
	exec.Connection[*award.Award](b.Schema, "AwardEmoji")
	exec.Struct[*award.Award](b.Schema, "AwardEmoji")
	b.awardMutations()
}

// codePoints writes the characters of a text as numbers, joined by dashes: those of the flag of France
// are 1f1eb-1f1f7.
func codePoints(text string) string {
	var out []string
	for _, r := range text {
		out = append(out, fmt.Sprintf("%x", r))
	}
	return strings.Join(out, "-")
}

// noteable finds what emoji are awarded to.
func (b *binder) noteable(ctx context.Context, as authz.Actor, at spot) (noteable.Target, error) {
	return b.Notes.Target(ctx, as, at.on)
}

// noteAwarded is noteable for a note.
func (b *binder) noteAwarded(ctx context.Context, as authz.Actor, n *comment) (noteable.Target, error) {
	return b.Notes.NoteTarget(ctx, as, n.on, n.ID)
}

// awardsOf binds the awards of things of one type, the oldest first: at says where all of them are, and
// target finds one of them.
func awardsOf[P, S any](b *binder, typ string, at func(ctx context.Context, as authz.Actor, things []P) ([]S, error), target func(ctx context.Context, as authz.Actor, at S) (noteable.Target, error)) {
	exec.Batch(b.Schema, typ+".awardEmoji", func(ctx context.Context, c *exec.Call[paging], of []P) ([]*exec.Page[*award.Award], error) {
		spots, err := at(ctx, c.As, of)
		if err != nil {
			return nil, err
		}
		return lists(ctx, part(b, c, c.Args, maxPage), spots, func(ctx context.Context, at S, r page.Range) (page.Page[*award.Award], error) {
			to, err := target(ctx, c.As, at)
			if err != nil {
				return page.Page[*award.Award]{}, err
			}
			found, err := b.Awards.List(ctx, c.As, to, r)
			return page.Map(found, func(a *award.Award) *award.Award { return a }), err
		}, same)
	})
}

// awardable finds what a global id names, as something to award emoji to.
func (b *binder) awardable(ctx context.Context, as authz.Actor, id globalID) (noteable.Target, error) {
	switch id.Model {
	case "Note", "DiscussionNote", "DiffNote":
		_, at, err := b.note(ctx, as, id)
		if err != nil {
			return noteable.Target{}, err
		}
		return b.Notes.NoteTarget(ctx, as, at.on, note.ID(id.ID))
	}
	at, err := b.noteableOf(ctx, as, id)
	if err != nil {
		return noteable.Target{}, err
	}
	return b.Notes.Target(ctx, as, at.on)
}

func (b *binder) awardMutations() {
	type input struct {
		AwardableID globalID
		Name        string
	}
	type payload struct{ AwardEmoji *award.Award }
	exec.Mutation(b.Schema, "awardEmojiAdd", func(ctx context.Context, c *exec.Call[input]) (payload, error) {
		to, err := b.awardable(ctx, c.As, c.Args.AwardableID)
		if err != nil {
			return payload{}, err
		}
		made, err := b.Awards.Add(ctx, c.As, to, c.Args.Name)
		return payload{made}, err
	})
	exec.Mutation(b.Schema, "awardEmojiRemove", func(ctx context.Context, c *exec.Call[input]) (payload, error) {
		to, err := b.awardable(ctx, c.As, c.Args.AwardableID)
		if err != nil {
			return payload{}, err
		}
		return payload{}, b.Awards.RemoveByName(ctx, c.As, to, c.Args.Name)
	})
	type toggled struct {
		payload
		ToggledOn bool
	}
	exec.Mutation(b.Schema, "awardEmojiToggle", func(ctx context.Context, c *exec.Call[input]) (toggled, error) {
		to, err := b.awardable(ctx, c.As, c.Args.AwardableID)
		if err != nil {
			return toggled{}, err
		}
		made, err := b.Awards.Toggle(ctx, c.As, to, c.Args.Name)
		return toggled{payload{made}, made != nil}, err
	})
}
