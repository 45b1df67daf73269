// Package httpkit is what every transport over HTTP does alike: it finds the credentials of a
// request in all their forms and turns them into an actor, holds scopes, sudo and throttles
// against it, gives requests their number, writes the line of the log and the metrics, and
// keeps a panic from ending more than its request. How a refusal looks is each transport's own.
package httpkit
