package graphql

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/core/issue"
	"tenon/internal/transport/graphql/exec"
)

// oneOf refuses more than one argument of a group: those that were given are true.
func oneOf(group map[string]bool) error {
	given := 0
	for _, is := range group {
		if is {
			given++
		}
	}
	if given <= 1 {
		return nil
	}
	return argumentError("Only one of [" + strings.Join(slices.Sorted(maps.Keys(group)), ", ") + "] arguments is allowed at the same time.")
}

// present returns the texts of a list without its nulls.
func present(list []*string) []string {
	var out []string
	for _, s := range list {
		if s != nil {
			out = append(out, *s)
		}
	}
	return out
}

// iids reads numbers within a place: see number.
func iids[T ~int64](list []string) []T {
	var out []T
	for _, text := range list {
		out = append(out, T(number(text)))
	}
	return out
}

// number reads a number within a place, or that of a global id: what is none is -1, which finds
// nothing.
func number(text string) int64 {
	if id, err := readGID(text); err == nil {
		return cmp.Or(id.ID, -1)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return -1
	}
	return n
}

// numberOr is number for what may be left out, which is 0.
func numberOr(text *string) int64 {
	if zeroOr(text) == "" {
		return 0
	}
	return number(*text)
}

// weight reads a weight, nil for none, or a wildcard.
func weight(text *string) (*int64, filter.Wildcard, error) {
	if zeroOr(text) == "" {
		return nil, "", nil
	}
	if word := filter.Word(*text); word != "" {
		return nil, word, nil
	}
	n, err := strconv.ParseInt(*text, 10, 64)
	if err != nil {
		return nil, "", argumentError(fmt.Sprintf("%q is not a valid weight: an integer, none or any is.", *text))
	}
	return &n, "", nil
}

// lower returns enum values as core has them.
func lower[T ~string](list []string) []T {
	var out []T
	for _, s := range list {
		out = append(out, T(strings.ToLower(s)))
	}
	return out
}

// healths are the health statuses by their enum values.
var healths = map[string]issue.Health{"onTrack": issue.OnTrack, "needsAttention": issue.NeedsAttention, "atRisk": issue.AtRisk}

// personOr reads the id of a user, or a wildcard.
func personOr(id, word string) filter.Person {
	for _, text := range []string{id, word} {
		switch strings.ToUpper(text) {
		case "ANY":
			return filter.Person{Any: true}
		case "NONE":
			return filter.Person{None: true}
		}
	}
	if id == "" {
		return filter.Person{}
	}
	n := authz.UserID(number(id))
	return filter.One(&n)
}

// milestoneOf selects by titles, any of them, and a wildcard.
func milestoneOf(titles []string, word *string) filter.Milestone {
	m := filter.Milestone{Which: filter.Wildcard(strings.ToLower(zeroOr(word)))}
	if len(titles) == 1 {
		m.Title = titles[0]
	} else {
		m.Titles = titles
	}
	return m
}

// numbers returns the numbers of global ids.
func numbers[T ~int64](ids []globalID) []T {
	out := make([]T, len(ids))
	for i, id := range ids {
		out[i] = T(id.ID)
	}
	return out
}

// orZero returns what an argument sets: nil where it was not given, and zero for null.
func orZero[T any](o exec.Opt[T]) *T {
	if !o.Set {
		return nil
	}
	return new(zeroOr(o.Value))
}
