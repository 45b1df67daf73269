package graphql

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"tenon/internal/transport/graphql/exec"
)

// gidPrefix begins every global id.
const gidPrefix = "gid://gitlab/"

// gid makes the global id of a thing: its model and its number, or its digest.
func gid[T ~int64 | ~string](model string, id T) string {
	return gidPrefix + model + "/" + fmt.Sprint(id)
}

// globalID is a global id that was read from a request.
type globalID struct {
	Model string
	ID    int64  // 0 where it is no number
	Text  string // of the id
}

// UnmarshalText reads one. Arguments of the type ID are not looked at before.
func (g *globalID) UnmarshalText(text []byte) error {
	id, err := readGID(string(text))
	if err != nil {
		return argumentError(err.Error())
	}
	*g = id
	return nil
}

// MarshalText writes it as it was read.
func (g globalID) MarshalText() ([]byte, error) {
	return []byte(gidPrefix + g.Model + "/" + g.Text), nil
}

func readGID(text string) (globalID, error) {
	rest, ok := strings.CutPrefix(text, "gid://")
	if !ok {
		return globalID{}, fmt.Errorf("%q is not a valid Global ID", text)
	}
	if rest, ok = strings.CutPrefix(rest, "gitlab/"); !ok {
		return globalID{}, fmt.Errorf("%q is not a Gitlab Global ID", text)
	}
	model, id, ok := strings.Cut(rest, "/")
	if !ok || model == "" || id == "" || strings.Contains(id, "/") {
		return globalID{}, fmt.Errorf("%q is not a valid Global ID", text)
	}
	g := globalID{Model: model, Text: id}
	if n, err := strconv.ParseInt(id, 10, 64); err == nil && n > 0 {
		g.ID = n
	}
	return g, nil
}

// models are the models that ids of a type may name where that is not the name of the type alone.
var models = map[string][]string{
	"NoteID":               {"Note", "DiscussionNote", "DiffNote"},
	"LabelID":              {"Label", "ProjectLabel", "GroupLabel"},
	"DiscussionID":         {"Discussion", "IndividualNoteDiscussion", "DiffDiscussion"},
	"NoteableID":           {"Issue", "MergeRequest", "Snippet", "PersonalSnippet", "ProjectSnippet", "Epic", "WorkItem"},
	"AwardableID":          {"Issue", "MergeRequest", "Snippet", "PersonalSnippet", "ProjectSnippet", "Epic", "WorkItem", "Note", "DiscussionNote", "DiffNote"},
	"TodoableID":           {"Issue", "MergeRequest", "Epic", "WorkItem"},
	"SnippetID":            {"Snippet", "PersonalSnippet", "ProjectSnippet"},
	"IssuableID":           {"Issue", "MergeRequest", "Epic"},
	"IssueID":              {"Issue", "WorkItem"},
	"WorkItemID":           {"WorkItem", "Issue", "Epic"},
	"NamespaceID":          {"Namespace", "Group", "Namespaces::UserNamespace"},
	"IterationsCadenceID":  {"Iterations::Cadence"},
	"EpicTreeSortingID":    {"Epic", "EpicIssue"},
	"WorkItemsTypeID":      {"WorkItems::Type"},
	"JobID":                {"CommitStatus", "Ci::Build", "Ci::Bridge", "GenericCommitStatus"},
	"CiBuildID":            {"Ci::Build"},
	"CiProcessableID":      {"Ci::Processable", "Ci::Build", "Ci::Bridge"},
	"CiPipelineID":         {"Ci::Pipeline"},
	"CiPipelineScheduleID": {"Ci::PipelineSchedule"},
	"CiRunnerID":           {"Ci::Runner"},
	"CiRunnerManagerID":    {"Ci::RunnerManager"},
	"CiStageID":            {"Ci::Stage"},
	"CiJobArtifactID":      {"Ci::JobArtifact"},
	"ReleasesLinkID":       {"Releases::Link"},

	"PackagesPackageID":     {"Packages::Package"},
	"PackagesPackageFileID": {"Packages::PackageFile"},
}

// scalars says how values of scalar types are read and written. A scalar whose name ends in ID
// holds a global id.
func (b *binder) scalars() {
	for name, def := range b.Types().Types {
		if def.Kind != ast.Scalar || def.BuiltIn {
			continue
		}
		switch model, isID := strings.CutSuffix(name, "ID"); {
		case name == "GlobalID":
			b.Scalar(name, exec.Scalar{Read: readAnyID})
		case isID && model != "":
			b.Scalar(name, exec.Scalar{Read: readerOfIDs(model, models[name])})
		case name == "Time":
			b.Scalar(name, exec.Scalar{Read: readTime})
		case name == "Date", name == "ISO8601Date":
			b.Scalar(name, exec.Scalar{Read: readDate, Write: writeDate})
		case name == "BigInt":
			b.Scalar(name, exec.Scalar{Read: readBig, Write: func(v any) any { return fmt.Sprint(v) }})
		}
	}
}

// readAnyID reads a global id of any model.
func readAnyID(v any) (any, error) {
	text, _, err := textOfID(v)
	return text, err
}

func readerOfIDs(model string, allowed []string) func(v any) (any, error) {
	if allowed == nil {
		allowed = []string{model}
	}
	return func(v any) (any, error) {
		text, id, err := textOfID(v)
		if err == nil && !slices.Contains(allowed, id.Model) {
			err = fmt.Errorf("%q does not represent an instance of %s", text, model)
		}
		return text, err
	}
}

func textOfID(v any) (string, globalID, error) {
	text, ok := v.(string)
	if !ok {
		return "", globalID{}, fmt.Errorf("%q is not a valid Global ID", fmt.Sprint(v))
	}
	id, err := readGID(text)
	return text, id, err
}

// forms of a time, the most exact first.
var timeForms = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05", time.DateOnly}

func readTime(v any) (any, error) {
	text, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("no time information in %q", fmt.Sprint(v))
	}
	for _, form := range timeForms {
		if t, err := time.Parse(form, text); err == nil {
			if t.Year() < 0 || t.Year() > 9999 {
				return nil, errors.New("argument out of range")
			}
			return t.UTC().Format(time.RFC3339Nano), nil
		}
	}
	if len(text) >= 8 && strings.Trim(text[:8], "0123456789-") == "" {
		return nil, errors.New("argument out of range")
	}
	return nil, fmt.Errorf("no time information in %q", text)
}

func readDate(v any) (any, error) {
	text, ok := v.(string)
	if !ok {
		return nil, errors.New("invalid date")
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil, errors.New("invalid date")
	}
	return t.Format(time.DateOnly), nil
}

func writeDate(v any) any {
	if t, ok := v.(time.Time); ok {
		if t.IsZero() {
			return nil
		}
		return t.Format(time.DateOnly)
	}
	return fmt.Sprint(v)
}

func readBig(v any) (any, error) {
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a whole number", fmt.Sprint(v))
	}
	return n, nil
}
