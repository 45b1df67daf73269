// Package api is the kit that REST endpoints are made with: it routes, decodes,
// authenticates, validates, renders, pages, documents and logs, once for all of them.
//
// An endpoint is one expression, a parameter struct and a handler:
//
//	api.Post("/projects/:id/issues/:issue_iid/notes", s.createIssueNote).
//		Doc("Add a note to an issue").Needs(authz.CreateNote).Scope()
//
//	type createNoteParams struct {
//		issuePath
//		Body     string `param:"body,required" doc:"Text of the note, in Markdown"`
//		Internal bool   `param:"internal" doc:"Show it to project members only"`
//	}
//
//	func (s *Server) createIssueNote(ctx context.Context, as authz.Actor, p createNoteParams) (noteEntity, error)
//
// The handler calls core and returns an entity; it never sees the request. What
// it may return besides a struct or a slice: None (204), List (a page of
// a list of the core, made with Listed or ListOf), Reply (another status or headers),
// Raw (bytes or a stream) and Text. Nil slices inside entities are rendered as [].
//
// # Routes
//
// A path has words, :name for one segment, word{.name} for an optional suffix,
// and *name last for all that follows. Every name is a parameter of the struct.
// GET and HEAD of /things/x.json mean the thing x where no thing is called x.json.
// Callers must be signed in unless the route is Public. Each route declares its
// scopes: Scope() for the ordinary api and read_api, Scope(authz.ScopeReadUser)
// for more, AnyScope for any valid token; Scoped does it for a group. New panics
// with a list of all declarations that cannot stand.
//
// # Parameters
//
// A field has the tag param:"name" with the options required (the key must be
// sent; null is a value), nonempty (not blank) and free (a path capture that may
// hold dots and slashes as references and file paths do, and that the endpoint
// validates). Further tags:
//
//	default:"20"          used when the parameter is absent or null
//	values:"opened,closed" or a method Values() []string on the type
//	not:"0"               values that are refused
//	min:"1" max:"12"      bounds of a number
//	alias:"old_name"      other names, read when the name is absent
//	header:"X-Thing"      read from a header
//	chars:"1000000"       how many characters a long text has at most; the body has room for them in any encoding
//	doc:"..."             what it means
//	misshapen:"..."       what a field of type Misshapen says of a value of the wrong type, instead of "x is invalid"
//
// A blank field holds a rule between parameters:
//
//	_ struct{} `exclusive:"a,b"`  // also atleastone, exactlyone, allornone; * is all above it
//
// Types: string, bool, integers, float64 and types made from them; time.Time,
// Time and Date, which read any usual notation; Ints and Strings, which read
// arrays and comma lists and are nil only when absent; slices, maps with string
// keys, structs; any; File; whatever has UnmarshalText. A *T is nil when absent
// or null; an Opt[T] tells absent, null and a value apart, as updates need.
// IDOrWord takes a number, none or any. Embed Page for the parameters of a list and give
// its Range to the core, add a RawBody field to read the body yourself, and an Undeclared
// field to learn the names of parameters that were sent and are not declared, which are
// ignored otherwise. A PUT or DELETE of what has the time of its last change is Timed:
// If-Unmodified-Since comes with the actor, and core checks it.
//
// The parameters of a request come from the query, then the body (form, multipart
// or JSON), then the path; what comes later wins. Wrong ones are answered with a
// 400 that names all of them; the handler only ever sees valid parameters.
//
// # Errors
//
// Return errs.Error for what the client may read: the table in errors.go gives
// status and wording. BadParam and Refusal are for parameters that no tag can
// judge. Everything else is logged once with the request id and shown as a 500.
//
// # Entities
//
// A response is a struct with json tags, in the order of the reference. Use Time,
// *Time or NullTime for moments, CommitTime for those of commits, Date for days.
// A field whose data comes with later work carries the tag later:"ci" and the
// reference's value for "none"; Kit.Later lists them.
package api
