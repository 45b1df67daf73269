// Package migrations holds the database schema as numbered SQL files, one per step
// for both engines.
package migrations

import "embed"

// FS holds the files NNNN_name.sql.
//
//go:embed *.sql
var FS embed.FS
