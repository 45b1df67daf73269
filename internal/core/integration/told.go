package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/integration/kind"
)

// Reacting is a query, with its arguments, that has a row for each active integration of a place that is told of events with a
// trigger of webhooks. It is empty where no kind ever is.
func Reacting(at authz.NamespaceID, trigger string) (query string, args []any) {
	kinds := map[string][]string{} // by the flag
	for _, k := range kind.All() {
		for _, flag := range k.Flags(trigger) {
			if k.Reacts() {
				kinds[flag] = append(kinds[flag], k.Slug)
			}
		}
	}
	if len(kinds) == 0 {
		return "", nil
	}
	args = []any{at}
	var some []string
	for _, flag := range slices.Sorted(maps.Keys(kinds)) {
		var w db.Where
		w.In("i.kind", kinds[flag])
		w.And("i.events LIKE ?", `%"`+flag+`":true%`) // as Flags are stored
		some, args = append(some, strings.TrimPrefix(w.AndSQL(), " AND ")), append(args, w.Args()...)
	}
	return "SELECT 1 FROM integrations i WHERE i.namespace_id = ? AND i.active AND (" + strings.Join(some, " OR ") + ")", args
}

// Load returns the active integrations of a place by id: those that are named, or all. It asks for no permission: it is for what reacts
// to events.
func (s *Service) Load(ctx context.Context, at authz.NamespaceID, ids ...ID) ([]*Integration, error) {
	var w db.Where
	w.And("i.namespace_id = ?", at)
	s.active(&w)
	if len(ids) > 0 {
		w.In("i.id", ids)
	}
	out, err := s.read(ctx, authz.Place{Namespace: at}, w)
	if err != nil {
		return nil, fmt.Errorf("read integrations: %w", err)
	}
	return out, nil
}

// Opened returns the settings of an integration of a place with those that are sealed, for what calls the other service.
func (s *Service) Opened(i *Integration) (kind.Values, error) {
	return s.all(placeOf(i), i)
}
