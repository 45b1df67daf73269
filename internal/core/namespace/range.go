package namespace

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
)

const settingAddressRanges = "ip_restriction_ranges"

// parseRanges reads addresses and subnets with commas between them; ok is false where one is neither.
func parseRanges(list string) (ranges []netip.Prefix, ok bool) {
	ok = true
	for part := range strings.SplitSeq(list, ",") {
		text := strings.TrimSpace(part)
		if text == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if addr, single := netip.ParseAddr(text); single == nil {
			addr = addr.WithZone("")
			prefix, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			ok = false
			continue
		}
		ranges = append(ranges, prefix.Masked())
	}
	return ranges, ok
}

// bounds returns the first and the last address of a subnet as the table has them.
func bounds(p netip.Prefix) (low, high string) {
	first := p.Addr().As16()
	free := p.Addr().BitLen() - p.Bits()
	last := first
	for i := range last {
		bits := min(max(free-8*(len(last)-1-i), 0), 8)
		last[i] |= byte(1<<bits - 1)
	}
	return authz.AddressKey(netip.AddrFrom16(first)), authz.AddressKey(netip.AddrFrom16(last))
}

// writeRanges stores from where a group is reached, in the transaction of ctx. A list that cannot be read lets no address in.
func (s *Service) writeRanges(ctx context.Context, id ID, list *string) error {
	if _, err := s.DB.Exec(ctx, "DELETE FROM group_address_ranges WHERE namespace_id = ?", id); err != nil {
		return fmt.Errorf("write ranges of group: %w", err)
	}
	if list == nil || strings.TrimSpace(*list) == "" {
		return nil
	}
	s.Policy.HoldAddresses() // before the commit: it only has the policy ask
	ranges, ok := parseRanges(*list)
	if !ok {
		s.Log.WarnContext(ctx, "the addresses of a group cannot be read: it is closed to all but its owners and administrators", "group_id", id)
		ranges = nil
	}
	type row struct {
		NamespaceID ID     `db:"namespace_id"`
		Low         string `db:"low"`
		High        string `db:"high"`
	}
	rows := []row{}
	for _, p := range ranges {
		low, high := bounds(p)
		rows = append(rows, row{id, low, high})
	}
	if len(rows) == 0 {
		rows = append(rows, row{NamespaceID: id})
	}
	for i := range rows {
		if _, err := db.InsertRow(ctx, s.DB, "group_address_ranges", &rows[i], "ON CONFLICT (namespace_id, low, high) DO NOTHING"); err != nil {
			return fmt.Errorf("write ranges of group: %w", err)
		}
	}
	return nil
}

// rangesChanged writes the ranges of a group where its settings changed them, in the transaction of ctx.
func (s *Service) rangesChanged(ctx context.Context, before, after *Group) error {
	var was *string
	if before != nil {
		was = before.Settings().IPRestrictionRanges
	}
	is := after.Settings().IPRestrictionRanges
	if is == was || is != nil && was != nil && *is == *was {
		return nil
	}
	return s.writeRanges(ctx, after.ID, is)
}

// Open puts in force from where groups are reached. It is called at the start, and reads lists that an older program
// stored.
func (s *Service) Open(ctx context.Context) error {
	type row struct {
		ID       ID     `db:"id"`
		Settings string `db:"settings"`
	}
	unread, err := db.Select[row](ctx, s.DB, `SELECT g.namespace_id AS id, g.settings FROM group_address_ranges r JOIN groups g ON g.namespace_id = r.namespace_id
		WHERE r.low = '' ORDER BY g.namespace_id`)
	if err != nil {
		return fmt.Errorf("read ranges of groups: %w", err)
	}
	for _, r := range unread {
		g := Group{ID: r.ID, SettingsJSON: r.Settings}
		if err := s.DB.InTx(ctx, func(ctx context.Context) error { return s.writeRanges(ctx, g.ID, g.Settings().IPRestrictionRanges) }); err != nil {
			return err
		}
	}
	some, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM group_address_ranges)")
	if err != nil {
		return fmt.Errorf("read ranges of groups: %w", err)
	}
	if some {
		s.Policy.HoldAddresses()
	}
	return nil
}
