package rest

import (
	"strconv"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/filter"
	"tenon/internal/transport/rest/api"
)

// userOrName selects by the id of a user, nil for none given, or by a username.
func userOrName(id *int64, name string) filter.Person {
	if id == nil {
		return filter.Person{Username: name}
	}
	return filter.One(new(authz.UserID(*id)))
}

// idOrName selects by the id of a user or a wildcard, or by a username or a wildcard.
func idOrName(id api.IDOrWord, name string) filter.Person {
	switch {
	case id.None, strings.EqualFold(name, "none"):
		return filter.Person{None: true}
	case id.Any, strings.EqualFold(name, "any"):
		return filter.Person{Any: true}
	case id.IsZero():
		return filter.Person{Username: name}
	}
	return filter.One(new(authz.UserID(id.ID)))
}

// idsOrWords selects by the ids of users, or by wildcards; what is neither is no user.
func idsOrWords(ids api.Strings) []filter.Person {
	var out []filter.Person
	for _, text := range ids {
		if text == "" {
			continue
		}
		who := idOrName(api.IDOrWord{}, text)
		if !who.None && !who.Any {
			id, err := strconv.ParseInt(text, 10, 64)
			who = filter.Person{ID: authz.UserID(id), Nothing: err != nil || id <= 0}
		}
		out = append(out, who)
	}
	return out
}

// namesOrWords selects by usernames, or by wildcards.
func namesOrWords(names api.Strings) []filter.Person {
	var out []filter.Person
	for _, name := range names {
		if name != "" {
			out = append(out, idOrName(api.IDOrWord{}, strings.TrimPrefix(name, "@")))
		}
	}
	return out
}

// oneName is the value of a parameter that takes a list of one username.
func oneName(names api.Strings) (string, error) {
	switch {
	case len(names) > 1:
		return "", api.BadParam("assignee_username allows one value, but found " + strconv.Itoa(len(names)) + ": " + strings.Join(names, ", "))
	case len(names) == 1:
		return names[0], nil
	}
	return "", nil
}
