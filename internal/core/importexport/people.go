package importexport

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/tree"
)

// maxPeople bounds how many members of an archive are looked for.
const maxPeople = 100_000

// person is what an archive has of a user: newer ones have the public address, older ones the address.
type person struct {
	UserID int64 `json:"user_id"`
	User   *struct {
		ID     int64  `json:"id"`
		Name   string `json:"username"`
		Public string `json:"public_email"`
		Email  string `json:"email"`
	} `json:"user"`
}

// people finds the users here who are members in the archive: by an address that they proved to read, where the importing user is an
// administrator, or they are members of the place already, or the user itself. It returns them and the names of all members at the source, by
// their numbers there.
func (s *Service) people(ctx context.Context, w *tree.Writing, root *os.Root, files []string) (users map[int64]authz.UserID, names map[int64]string, err error) {
	named := map[int64]member{}
	for _, name := range files {
		if err := readPeople(ctx, root, name, named); err != nil {
			return nil, nil, err
		}
	}
	if len(named) == 0 {
		return nil, nil, nil
	}
	addresses := make([]string, 0, len(named))
	for _, one := range named {
		if one.email != "" {
			addresses = append(addresses, one.email)
		}
	}
	slices.Sort(addresses)
	owners, err := s.Accounts.AddressOwners(ctx, slices.Compact(addresses))
	if err != nil {
		return nil, nil, err
	}
	may, err := s.mayMatch(ctx, w, owners)
	if err != nil {
		return nil, nil, err
	}
	users, names = map[int64]authz.UserID{}, map[int64]string{}
	for number, one := range named {
		names[number] = one.name
		if id, ok := owners[one.email]; ok && may[id] {
			users[number] = id
		}
	}
	return users, names, nil
}

// member is a member at the source.
type member struct{ email, name string }

// readPeople adds the members of a file, with the address of each.
func readPeople(ctx context.Context, root *os.Root, name string, named map[int64]member) error {
	return batches(ctx, root, name, false, func(lines []tree.Line) error {
		for _, line := range lines {
			var p person
			if len(named) == maxPeople || json.Unmarshal(line.Text, &p) != nil || p.User == nil {
				continue
			}
			address := p.User.Public
			if address == "" {
				address = p.User.Email
			}
			if number := max(p.UserID, p.User.ID); number != 0 {
				named[number] = member{db.Fold(address), p.User.Name}
			}
		}
		return nil
	})
}

// mayMatch selects the users who may own what is imported.
func (s *Service) mayMatch(ctx context.Context, w *tree.Writing, owners map[string]authz.UserID) (map[authz.UserID]bool, error) {
	may := map[authz.UserID]bool{}
	var ids []authz.UserID
	for _, id := range owners {
		may[id] = w.As.Admin || id == w.As.UserID
		ids = append(ids, id)
	}
	if w.As.Admin {
		return may, nil
	}
	slices.Sort(ids)
	for part := range slices.Chunk(slices.Compact(ids), db.MaxArgs) {
		var where db.Where
		where.And("a.namespace_id = ?", w.At.Namespace)
		where.In("m.user_id", part)
		found, err := db.Select[authz.UserID](ctx, s.DB, "SELECT DISTINCT m.user_id FROM members m JOIN namespace_ancestors a ON a.ancestor_id = m.namespace_id"+
			where.SQL()+" ORDER BY m.user_id", where.Args()...)
		if err != nil {
			return nil, fmt.Errorf("members of the place: %w", err)
		}
		for _, id := range found {
			may[id] = true
		}
	}
	return may, nil
}
