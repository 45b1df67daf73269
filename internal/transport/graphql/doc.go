// Package graphql answers GraphQL requests, on the same core as the REST interface.
//
// The types stand in schema/*.graphql, one file per subject, and what answers their fields in the
// Go file of the same name. A function asks core for a whole level of the answer at once (see
// package exec) and decides nothing: who may see what, what is a rule and how a URL looks is the
// business of core. Values of types are views of core, such as [issue.View]; what is global about an
// id, and the form of cursors, is in id.go and page.go.
//
// To add a subject: write its types, bind their fields in a method of [binder] and call that in
// [newSchema]. TestSchema says what is missing.
package graphql
