// Package clients drives the built server with the Go client that people use and with
// real git: the main job of a team, from the first account to the merged branch.
package clients
