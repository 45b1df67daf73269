package authz

import (
	"encoding/hex"
	"net/netip"
	"slices"

	"tenon/internal/base/db"
)

// Barred is the level of an actor from whose address a group does not let itself, and everything below it, be reached: it is as if
// absent.
const Barred Level = -1

// HoldAddresses puts in force that groups restrict addresses. Until it is called the policy asks for none.
func (p *Policy) HoldAddresses() { p.addresses.Store(true) }

// holds reports whether addresses count for the actor: tokens of jobs pass while their job runs, and the server's own work has
// no address. The settings name addresses that reach every group.
func (p *Policy) holds(as Actor) bool {
	return p.addresses.Load() && as.Address != "" && as.Job.ID == 0 && (p.Everywhere == nil || !p.Everywhere(as.Address))
}

// AddressKey is an address as group_address_ranges has it: its order is that of the addresses.
func AddressKey(a netip.Addr) string {
	bytes := a.WithZone("").As16()
	return hex.EncodeToString(bytes[:])
}

// barredSQL returns a condition that holds for the namespace in column where it is in a group, or is one, that does not let in
// the actor's address. Only groups from this depth on count: 0 is the namespace itself.
func barredSQL(as Actor, column string, depth int) (cond string, args []any) {
	cond = `EXISTS (SELECT 1 FROM namespace_ancestors ba JOIN group_address_ranges br ON br.namespace_id = ba.ancestor_id
		WHERE ba.namespace_id = ` + column + ` AND ba.depth >= ?`
	args = []any{depth}
	if from, err := netip.ParseAddr(as.Address); err == nil { // another text lies in no range
		cond += ` AND NOT EXISTS (SELECT 1 FROM group_address_ranges bi WHERE bi.namespace_id = br.namespace_id AND bi.low <= ? AND bi.high >= ?)`
		key := AddressKey(from)
		args = append(args, key, key)
	}
	return cond + ")", args
}

// outsideSQL returns a condition that holds for the namespace in column where the actor does not reach it from its address, or by External;
// "" where neither counts.
func (p *Policy) outsideSQL(as Actor, column string) (cond string, args []any) {
	if p.holds(as) {
		cond, args = barredSQL(as, column, 0)
	}
	if !p.decides(as) {
		return cond, args
	}
	denied, more := p.deniedSQL(as, column)
	if cond == "" {
		return denied, more
	}
	return "(" + cond + " OR " + denied + ")", slices.Concat(args, more)
}

// within narrows a condition on the namespace in column to those that the actor reaches from its address, and by External.
func (p *Policy) within(as Actor, column, cond string, args []any) (string, []any) {
	outside, more := p.outsideSQL(as, column)
	if outside == "" {
		return cond, args
	}
	return "(" + cond + " AND NOT " + outside + ")", slices.Concat(args, more)
}

// Within adds to a query the condition that the actor reaches the namespace in column from its address, and by External. Queries need it that
// ask for no visibility because the actor sees everything.
func (p *Policy) Within(as Actor, column string, w *db.Where) {
	if outside, args := p.outsideSQL(as, column); outside != "" {
		w.And("NOT "+outside, args...)
	}
}

// owned reports whether an ability is one that administrators and owners of a group keep where their address does not reach it:
// to read the group and to change it, so that they do not lock themselves out.
func owned(ability Ability) bool { return ability == ReadGroup || ability == AdminGroup }
