package importexport

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/namespace"
)

// groupBatch is how many groups are read at a time.
const groupBatch = 100

// groups writes a group and those below it that the user may export, each after the one that it is in.
func (s *Service) groups(ctx context.Context, a *archive, as authz.Actor, at authz.Place) error {
	ids, err := s.Namespaces.GroupsBelow(ctx, as, at.Namespace)
	if err != nil {
		return err
	}
	ids = slices.Insert(ids, 0, at.Namespace)
	var list strings.Builder
	for _, id := range ids {
		fmt.Fprintln(&list, int64(id))
	}
	if err := a.text("tree/groups/_all.ndjson", list.String()); err != nil {
		return err
	}
	for some := range slices.Chunk(ids, groupBatch) {
		found, err := s.Namespaces.ByIDs(ctx, as, some)
		if err != nil {
			return err
		}
		for _, id := range some {
			g := found[id]
			if g == nil {
				return failure{"Groups were deleted while they were exported."}
			}
			if err := s.group(ctx, a, as, g); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Service) group(ctx context.Context, a *archive, as authz.Actor, g *namespace.Group) error {
	folder := fmt.Sprintf("tree/groups/%d", g.ID)
	return s.part(ctx, a, as, g.Place(), part{root: groupRoot, file: folder + ".json", folder: folder, files: groupFiles})
}
