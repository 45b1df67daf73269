package api

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// rule is a condition on several parameters. It is in the struct as a blank
// field, `_ struct{} `+"`exclusive:\"a,b\"`"+`, and is reported at its place. The name * stands
// for all parameters above it in the same struct.
type rule struct {
	kind  ruleKind
	names []string
}

type ruleKind string

const (
	exclusive  ruleKind = "exclusive"  // at most one
	atLeastOne ruleKind = "atleastone" // one or more
	exactlyOne ruleKind = "exactlyone" // one
	allOrNone  ruleKind = "allornone"  // every one, or none
)

func ruleOf(t reflect.Type, sf reflect.StructField, above []field) *rule {
	for _, kind := range []ruleKind{exclusive, atLeastOne, exactlyOne, allOrNone} {
		names := tagList(sf, string(kind))
		if slices.Equal(names, []string{"*"}) {
			names = nil
			for i := range above {
				names = append(names, above[i].name)
			}
		}
		if len(names) > 1 {
			return &rule{kind: kind, names: names}
		}
	}
	panic(fmt.Sprintf("api: %s has a blank field without a rule for two or more parameters", t))
}

func (f *field) ruleNames() []string {
	if f.rule == nil {
		return nil
	}
	return f.rule.names
}

// check returns the sentence for a broken rule, "" where it holds.
func (r *rule) check(p *plan, given *object, name func(string) string) string {
	var sent []string
	for _, n := range r.names {
		if _, ok := p.lookup(p.find(n), n, given); ok {
			sent = append(sent, n)
		}
	}
	broken := func(names []string, sentence string) string {
		full := slices.Clone(names)
		for i, n := range full {
			full[i] = name(n)
		}
		return strings.Join(full, ", ") + " " + sentence
	}
	switch {
	case r.kind == allOrNone && len(sent) > 0 && len(sent) < len(r.names):
		return broken(r.names, "provide all or none of parameters")
	case r.kind == atLeastOne && len(sent) == 0:
		return broken(r.names, "are missing, at least one parameter must be provided")
	case r.kind == exactlyOne && len(sent) == 0:
		return broken(r.names, "are missing, exactly one parameter must be provided")
	case (r.kind == exactlyOne || r.kind == exclusive) && len(sent) > 1:
		return broken(sent, "are mutually exclusive")
	}
	return ""
}

// lookup returns what was sent for a parameter, under its name or an alias.
func (p *plan) lookup(f *field, name string, given *object) (any, bool) {
	if v, ok := given.get(name); ok {
		return v, true
	}
	if f != nil {
		for _, alias := range f.aliases {
			if v, ok := given.get(alias); ok {
				return v, true
			}
		}
	}
	return nil, false
}
