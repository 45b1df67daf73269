package epic

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/reference"
)

// Refers names the references that lead to what the package has.
func (s *Service) Refers() reference.Kind { return reference.Epic }

// Referred returns those of the epics that texts refer to which the actor may read, in one
// statement.
func (s *Service) Referred(ctx context.Context, as authz.Actor, sought reference.Query) (map[reference.Key]*reference.Target, error) {
	may, err := s.Policy.Can(ctx, as, authz.ReadEpic, authz.Subject{})
	if err != nil || !may {
		return nil, err
	}
	numbers := map[authz.NamespaceID][]int64{}
	var groups []authz.NamespaceID
	for _, key := range sought.Keys {
		if key.Group != 0 && key.Number != 0 {
			if numbers[key.Group] == nil {
				groups = append(groups, key.Group)
			}
			numbers[key.Group] = append(numbers[key.Group], key.Number)
		}
	}
	if len(groups) == 0 {
		return nil, nil
	}
	slices.Sort(groups)
	var parts []string
	var args []any
	for _, g := range groups {
		marks, more := db.Marks(numbers[g])
		parts, args = append(parts, "e.group_id = ? AND e.iid IN ("+marks+")"), append(append(args, g), more...)
	}
	var w db.Where
	w.And("("+strings.Join(parts, " OR ")+")", args...)
	s.readable(&w, as)
	list, err := db.Select[Epic](ctx, s.DB, "SELECT "+columns+" FROM "+tables+w.SQL()+" ORDER BY e.id", w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("epics that texts refer to: %w", err)
	}
	out := make(map[reference.Key]*reference.Target, len(list))
	for i := range list {
		e := &list[i]
		out[reference.Key{Group: e.GroupID, Number: int64(e.IID)}] = &reference.Target{
			Kind: reference.Epic, ID: int64(e.ID), GroupID: e.GroupID, Path: e.Path, Number: int64(e.IID), Title: e.Title, State: string(e.State),
			URL: s.URLs.Epic(e.Path, int64(e.IID)),
		}
	}
	return out, nil
}
