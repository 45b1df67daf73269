// Package exec answers GraphQL requests, one level of the answer at a time.
//
// A field is answered for all objects of its level with one call: its function gets every
// parent and returns as many values. A list of a hundred issues with their labels thus asks for
// labels once, whatever the list, and how many statements a request takes follows from its
// document alone. Fields are answered in the order of the document, one after another.
//
// A [Schema] is the types, written in the language of GraphQL, and a function for each field:
// [Value] takes a field from its parent, [Batch] reads it for all parents, [Root] and
// [Mutation] begin at the roots, and [Struct] takes every field that a Go struct has under the
// same name. [Schema.Problems] says what does not fit together.
//
// A request is parsed, validated and weighed ([Schema.Prepare]) before any of it is answered
// ([Schema.Run]).
package exec
