package api

import (
	"errors"
	"net/http"
	"strings"

	"tenon/internal/base/errs"
	"tenon/internal/core/account"
	"tenon/internal/core/award"
	"tenon/internal/core/badge"
	"tenon/internal/core/board"
	"tenon/internal/core/ci"
	"tenon/internal/core/deploy"
	"tenon/internal/core/importexport"
	"tenon/internal/core/integration"
	"tenon/internal/core/mergerequest"
	"tenon/internal/core/milestone"
	"tenon/internal/core/namespace"
	"tenon/internal/core/note"
	"tenon/internal/core/packages"
	"tenon/internal/core/project"
	"tenon/internal/core/release"
	"tenon/internal/core/repo"
	"tenon/internal/core/runner"
	"tenon/internal/core/search"
	"tenon/internal/core/stats"
	"tenon/internal/core/timelog"
	"tenon/internal/core/token"
	"tenon/internal/core/variable"
	"tenon/internal/core/webhook"
)

// wording is how the contract answers to an error with a code.
type wording struct {
	status int
	say    func(e *errs.Error) string
	key    string // where it is not "", the message is an object with what is said under this key; see inError
}

// inError is the key of a wording that is the error of the body, and no message.
const inError = "-error"

// wordings is the table from codes to statuses and messages; the codes that it does not have look
// like the others of their kind.
var wordings = map[errs.Code]wording{
	token.CodeNoToken:              {http.StatusNotFound, plainly("404 Not Found"), ""},
	account.CodeTaken:              {http.StatusNotFound, after(""), ""},
	award.CodeInvalid:              {http.StatusNotFound, noAward, ""},
	board.CodeList:                 {http.StatusBadRequest, after(""), "error"},
	ci.CodeNoPipeline:              {http.StatusForbidden, plainly("403 Forbidden"), ""}, // as documented, where one would expect 404
	ci.CodeTransition:              {http.StatusBadRequest, noTransition, ""},
	importexport.CodeFileName:      {http.StatusUnprocessableEntity, plainly("You need to upload a GitLab project export archive (ending in .gz)."), "error"},
	importexport.CodeNoArchive:     {http.StatusNotFound, plainly("404 Not found or has expired"), ""},
	importexport.CodeNotReady:      {http.StatusNotFound, plainly("The project export file is not available yet"), ""},
	importexport.CodeNoRelation:    {http.StatusNotFound, plainly("Export not found"), ""},
	importexport.CodeNoFile:        {http.StatusNotFound, plainly("Export file not found"), ""},
	importexport.CodeNoBatch:       {http.StatusNotFound, plainly("Batch not found"), ""},
	importexport.CodeNoBatchFile:   {http.StatusNotFound, plainly("Batch file not found"), ""},
	importexport.CodeBatched:       {http.StatusBadRequest, plainly("Export is batched"), ""},
	importexport.CodeNotBatched:    {http.StatusBadRequest, plainly("Export is not batched"), ""},
	importexport.CodeEntity:        {http.StatusBadRequest, after(""), inError},
	importexport.CodeNotPortable:   {http.StatusBadRequest, plainly("relation is not portable"), inError},
	importexport.CodeGroupNotReady: {http.StatusNotFound, plainly("The group export file is not available yet"), ""},
	deploy.CodeUnpaired:            {http.StatusBadRequest, plainly("400 Bad request - `finished_at` filter and `finished_at` sorting must be paired"), ""},
	deploy.CodeUnfinished:          {http.StatusBadRequest, plainly("400 Bad request - `finished_at` filter must be combined with `success` status filter."), ""},
	deploy.CodeTwoTimes:            {http.StatusBadRequest, plainly("400 Bad request - Both `updated_at` filter and `finished_at` filter can not be specified"), ""},
	integration.CodeInvalid:        {http.StatusBadRequest, plainly("400 Bad Request"), ""},
	integration.CodeNoDefault:      {http.StatusBadRequest, plainly("Default integration not found."), ""},
	integration.CodeUnavailable:    {http.StatusBadRequest, plainly("400 Integration not available"), ""},
	mergerequest.CodeLocked:        {http.StatusConflict, plainly("409 Conflict: Resource lock"), ""},
	milestone.CodeNotCreated:       {http.StatusBadRequest, hash("Failed to create milestone "), ""},
	milestone.CodeNotUpdated:       {http.StatusBadRequest, hash("Failed to update milestone "), ""},
	namespace.CodeNotInvitable:     {http.StatusNotFound, plainly("Not Found"), ""},
	namespace.CodeNotSaved:         {http.StatusBadRequest, hash("Failed to save group "), ""},
	note.CodeInvalid:               {http.StatusBadRequest, hash("400 Bad request - Note "), ""},
	project.CodeNotTransferred:     {http.StatusBadRequest, hash("Failed to transfer project "), ""},
	runner.CodeNoRegistration:      {http.StatusGone, plainly("410 Gone - runner registration disallowed"), ""},
	release.CodeMissing:            {http.StatusNotFound, plainly("404 Not Found"), ""},
	repo.CodeNoRevision:            {http.StatusNotFound, plainly("404 Not Found"), ""},
	packages.CodeOff:               {http.StatusNotFound, plainly("404 Not Found"), ""},
	packages.CodeInvalid:           {http.StatusBadRequest, after(""), inError},
	stats.CodeDenied:               {http.StatusUnauthorized, plainly("You do not have permission to access dora metrics."), ""},
	search.CodeOneProject:          {http.StatusBadRequest, plainly("Scope not supported without Elasticsearch!"), ""},

	webhook.CodeURL:     {http.StatusUnprocessableEntity, after(""), inError},
	webhook.CodeFilter:  {http.StatusUnprocessableEntity, after(""), inError},
	webhook.CodeHeaders: {http.StatusUnprocessableEntity, after(""), inError},

	timelog.CodeEstimate: {http.StatusBadRequest, reason, ""},
	timelog.CodeSpent:    {http.StatusBadRequest, after(""), ""},

	badge.CodeOfGroup: {http.StatusBadRequest, plainly("400 Bad request - To delete a Group badge please use the Group endpoint"), ""},

	namespace.CodeTopLevel:  {http.StatusBadRequest, plainly("`permanently_remove` option is only available for subgroups."), ""},
	project.CodeUnpaired:    {http.StatusBadRequest, plainly("400 Bad request - `updated_at` filter and `updated_at` sorting must be paired"), ""},
	namespace.CodeWrongPath: {http.StatusBadRequest, plainly("`full_path` is incorrect. You must enter the complete path for the subgroup."), ""},
	project.CodeWrongPath:   {http.StatusBadRequest, plainly("`full_path` is incorrect. You must enter the complete path for the project."), ""},

	variable.CodeAmbiguous: {
		http.StatusConflict, plainly("There are multiple variables with provided parameters. Please use 'filter[environment_scope]'"), "",
	},

	mergerequest.CodeNotMergeable: {http.StatusMethodNotAllowed, after("405 Method Not Allowed - "), ""},
}

// plainly returns a message that is always the same.
func plainly(text string) func(e *errs.Error) string {
	return func(*errs.Error) string { return text }
}

// after puts words before the message of the error.
func after(words string) func(e *errs.Error) string {
	return func(e *errs.Error) string { return words + e.Message }
}

// reason returns the message of the error as the contract has it in a hash.
func reason(e *errs.Error) string { return `400 Bad request - {:reason=>"` + e.Message + `"}` }

// hash puts words before the fields, written as the contract has them in messages:
// {:path=>["has already been taken"]}.
func hash(words string) func(e *errs.Error) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	return func(e *errs.Error) string {
		fields := make([]string, len(e.Fields))
		for i, f := range e.Fields {
			messages := make([]string, len(f.Messages))
			for j, m := range f.Messages {
				messages[j] = `"` + escape.Replace(m) + `"`
			}
			fields[i] = ":" + f.Name + "=>[" + strings.Join(messages, ", ") + "]"
		}
		return words + "{" + strings.Join(fields, ", ") + "}"
	}
}

// noAward is the answer to an award emoji that breaks a rule: the contract says that it was not
// found.
func noAward(e *errs.Error) string {
	return "404 Award Emoji Name " + strings.TrimPrefix(e.Error(), "name ") + " Not Found"
}

// noTransition is the answer to a commit status that cannot get where it was reported to be.
func noTransition(e *errs.Error) string {
	stuck, ok := errors.AsType[*ci.TransitionError](e)
	if !ok {
		return e.Message
	}
	return "Cannot transition status via :" + stuck.Event + " from :" + string(stuck.From) +
		` (Reason(s): Status cannot transition via "` + stuck.Event + `")`
}
