package audit

import (
	"reflect"
	"strings"

	"tenon/internal/core/account"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
	"tenon/internal/core/namespace"
	"tenon/internal/core/project"
)

// values are those of an attribute that changed, with its name in words. An entry of one that is secret has no values.
type values struct {
	event, label string
	from, to     any
	secret       bool
	message      string // "" for the usual one
}

// changedTo is the entry of an attribute that changed.
func changedTo(f change.Fact, v values) Entry {
	of := change.RecordValue(v.event, v.label, v.from, v.to)
	switch {
	case v.secret:
		of = change.Record(v.event, "Changed "+v.label, "change", v.label)[0]
	case v.message != "":
		of.Message = v.message
	}
	return entry(f, of)
}

// settings calls fn with the fields of two structs that differ, by their names in JSON.
func settings[T any](was, is T, fn func(v values)) {
	a, b := reflect.ValueOf(was), reflect.ValueOf(is)
	for i := range a.NumField() {
		name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
		if from, to := a.Field(i).Interface(), b.Field(i).Interface(); name != "" && change.Text(from) != change.Text(to) {
			fn(values{event: name, label: name, from: from, to: to})
		}
	}
}

// userUpdated has an entry for each attribute of an account that says who it is or what it may do.
func userUpdated(e account.UserUpdated) []Entry {
	var out []Entry
	add := func(v values, changed bool) {
		if changed {
			out = append(out, asUser(e.Row(), changedTo(e.Changed(), v)))
		}
	}
	was, is := e.Before, e.Row()
	add(values{event: "user_email_address_updated", label: "email address", from: was.Email, to: is.Email}, was.Email != is.Email)
	add(values{event: "user_password_updated", label: "password", secret: true}, e.NewPassword)
	add(values{event: "user_username_updated", label: "username", from: was.Username, to: is.Username}, was.Username != is.Username)
	add(values{event: "user_name_updated", label: "name", from: was.Name, to: is.Name}, was.Name != is.Name)
	add(values{event: "user_admin_status_updated", label: "admin status", from: was.Admin, to: is.Admin}, was.Admin != is.Admin)
	add(values{event: "user_auditor_status_updated", label: "auditor status", from: was.Auditor, to: is.Auditor}, was.Auditor != is.Auditor)
	add(values{event: "user_external_status_updated", label: "external status", from: was.External, to: is.External}, was.External != is.External)
	return out
}

// ofPlace adds to out the entry of an attribute of a project or group, which is about the path that it had.
func ofPlace(out *[]Entry, f change.Fact, kind, path string) func(v values) {
	return func(v values) {
		v.event = kind + "_" + v.event + "_updated"
		one := changedTo(f, v)
		one.EntityPath = path
		*out = append(*out, one)
	}
}

// featureWords are the names of features in events and in words, where they are not the names of the API.
var featureWords = map[string]string{
	"builds": "CI/CD", "forking": "forks", "operations": "operations access", "metrics_dashboard": "metrics dashboard",
}

// projectUpdated has an entry for each attribute of a project that changed.
func projectUpdated(e project.Updated) []Entry {
	var out []Entry
	f := e.Fact.Changed()
	columns, add := f.Changes(), ofPlace(&out, f, "project", e.Before.FullPath)
	for _, name := range e.Attributes {
		v := values{event: name, label: name, from: columns[name].Before, to: columns[name].After}
		feature, access := strings.CutSuffix(name, "_access_level")
		switch {
		case access:
			label := featureWords[feature]
			if label == "" {
				label = strings.ReplaceAll(feature, "_", " ")
			}
			add(values{event: "feature_" + name, label: label, from: e.Before.Access(feature), to: e.Row().Access(feature)})
		case name == "visibility":
			add(values{event: "visibility_level", label: "visibility_level", from: levelWord(e.Before.Visibility), to: levelWord(e.Row().Visibility)})
		case name == "path":
			add(values{event: name, label: name, from: e.Before.FullPath, to: e.Row().FullPath})
		case name == "name":
			add(values{event: name, label: name, from: e.Before.FullName, to: e.Row().FullName})
		case name == "topics":
			v.from, v.to = strings.Join(e.Before.Topics(), ","), strings.Join(e.Row().Topics(), ",")
			v.message = "topics changed to: '{to}'"
			add(v)
		case name == "default_branch":
			v.message = "Default branch changed from {from} to {to}"
			add(v)
		case name == "merge_method":
			v.message = "Changed merge method to {to}"
			add(v)
		case name == "settings":
			settings(e.Before.Settings(), e.Row().Settings(), add)
		default:
			add(v)
		}
	}
	return out
}

// groupUpdated has an entry for each attribute of a group that changed.
func groupUpdated(e namespace.GroupUpdated) []Entry {
	var out []Entry
	f := e.GroupFact.Changed()
	columns, add := f.Changes(), ofPlace(&out, f, "group", e.Before.FullPath)
	for _, name := range e.Attributes {
		switch name {
		case "visibility":
			add(values{event: "visibility_level", label: name, from: levelWord(e.Before.Visibility), to: levelWord(e.Row().Visibility)})
		case "path":
			add(values{event: name, label: name, from: e.Before.FullPath, to: e.Row().FullPath})
		case "settings":
			settings(e.Before.Settings(), e.Row().Settings(), add)
		default:
			add(values{event: name, label: name, from: columns[name].Before, to: columns[name].After})
		}
	}
	return out
}

// levelWord is a visibility as audit events spell it.
func levelWord(v authz.Visibility) string {
	word := v.String()
	return strings.ToUpper(word[:1]) + word[1:]
}
