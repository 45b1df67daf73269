package app

import "net/http"

// Handler answers the requests of all transports over HTTP, for programs that run the server in
// their own process, such as tests.
func (a *App) Handler() http.Handler { return a.http.Handler }

// Statements is how many SQL statements the server has run.
func (a *App) Statements() uint64 { return a.db.Statements() }

// Processes is how many processes of git the server has started.
func (a *App) Processes() int64 { return a.git.Started() }
