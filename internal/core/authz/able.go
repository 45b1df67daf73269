package authz

import (
	"context"
	"fmt"

	"tenon/internal/base/db"
)

// Able returns those of the users who are active and could do it with a project, or with an
// item in it, in the order of their ids. Own, where it is set, says whose the item is. It
// takes one statement.
func (p *Policy) Able(ctx context.Context, ability Ability, s Subject, users []UserID, own func(UserID) bool) ([]UserID, error) {
	if len(users) == 0 {
		return nil, nil
	}
	type row struct {
		ID       UserID `db:"id"`
		Admin    bool   `db:"admin"`
		Auditor  bool   `db:"auditor"`
		External bool   `db:"external"`
		Bot      bool   `db:"bot"`
		Level    Level  `db:"level"`
	}
	var w db.Where
	w.Raw("u.state = 'active' AND u.user_type <> 'ghost'")
	w.In("u.id", users)
	level, args := p.levelOf("n.id", "u.id")
	rows, err := db.Select[row](ctx, p.db, "SELECT u.id, u.admin, u.auditor, u.external, u.user_type <> 'human' AS bot, "+level+` AS level
		FROM users u JOIN namespaces n ON n.id = ?`+w.SQL()+" ORDER BY u.id", append(append(args, s.Namespace), w.Args()...)...)
	if err != nil {
		return nil, fmt.Errorf("read access levels: %w", err)
	}
	out := make([]UserID, 0, len(rows))
	for _, u := range rows {
		s.Level, s.Known = u.Level, true
		s.Own = own != nil && own(u.ID)
		may, err := p.Can(ctx, Actor{UserID: u.ID, Admin: u.Admin, Auditor: u.Auditor, External: u.External, Bot: u.Bot}, ability, s)
		if err != nil {
			return nil, err
		}
		if may {
			out = append(out, u.ID)
		}
	}
	return out, nil
}
