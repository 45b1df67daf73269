// Package instance makes sure that a data folder and a database belong together, and that one
// server at a time uses them.
package instance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"tenon/internal/base/db"
)

// File is the name of the file in the data folder that holds the id of the instance.
const File = "instance-id"

// Server is a process that uses a data folder and a database.
type Server struct {
	Host   string    `json:"host"`
	Folder string    `json:"folder"`
	PID    int       `json:"pid"`
	Since  time.Time `json:"since"`
}

// This describes the running process on a data folder.
func This(folder string, now time.Time) Server {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return Server{Host: host, Folder: folder, PID: os.Getpid(), Since: now.UTC().Truncate(time.Second)}
}

// String names the server for people.
func (s Server) String() string {
	return fmt.Sprintf("process %d on %s with the data folder %s, started %s", s.PID, s.Host, s.Folder, s.Since.Format(time.RFC3339))
}

func (s Server) same(o Server) bool {
	return s.Host == o.Host && s.Folder == o.Folder && s.PID == o.PID && s.Since.Equal(o.Since)
}

// Row is what a database knows about its instance.
type Row struct {
	ID     string `db:"id"`
	Server string `db:"server"` // JSON of a Server
}

// Holder is the server that uses the database, or used it last; nil where none did.
func (r *Row) Holder() *Server {
	var s Server
	if r == nil || json.Unmarshal([]byte(r.Server), &s) != nil || s.PID == 0 {
		return nil
	}
	return &s
}

// Find returns the row of a database, nil where it has none. It works on a schema of any age.
func Find(ctx context.Context, d *db.DB) (*Row, error) {
	if there, err := d.HasTable(ctx, "instance"); err != nil || !there {
		return nil, err
	}
	row, err := db.Get[Row](ctx, d, "SELECT id, server FROM instance WHERE one = 1")
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read instance: %w", err)
	}
	return &row, nil
}

// ReadID returns the id in a data folder, "" where it has none.
func ReadID(folder string) (string, error) {
	text, err := os.ReadFile(filepath.Join(folder, File))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read id of the instance: %w", err)
	}
	id := strings.TrimSpace(string(text))
	if id == "" || len(id) > 100 || strings.ContainsAny(id, " \t\r\n") {
		return "", fmt.Errorf("the file %s does not hold the id of an instance: restore it from a backup, or remove it where the folder has its database",
			filepath.Join(folder, File))
	}
	return id, nil
}

// WriteID puts an id into a data folder, on disk before it returns.
func WriteID(folder, id string) error {
	if err := renameio.WriteFile(filepath.Join(folder, File), []byte(id+"\n"), 0o600); err != nil {
		return fmt.Errorf("write id of the instance: %w", err)
	}
	return nil
}

// NewID makes an id.
func NewID() string { return strings.ToLower(rand.Text()) }

// Facts are what a start knows about a data folder and a database that may not have ids yet.
type Facts struct {
	Folder   string // path of the data folder
	Database string // as it may be printed
	Used     bool   // the database has users
	Filled   bool   // the folder has repositories
}

// Match fails where the folder and the database belong to different instances, and changes
// nothing. One of them may be without an id: it is of an older version then, or new; but a
// database in use does not come with a new folder, nor a folder with repositories with a new
// database.
func Match(ctx context.Context, d *db.DB, f Facts) error {
	inFolder, err := ReadID(f.Folder)
	if err != nil {
		return err
	}
	row, err := Find(ctx, d)
	if err != nil {
		return err
	}
	switch {
	case row != nil && inFolder != "" && row.ID != inFolder:
		return fmt.Errorf("the data folder %s belongs to the instance %s, and the database %s to the instance %s%s: "+
			"name the two that belong together with --data and --database", f.Folder, inFolder, f.Database, row.ID, lastUsed(row))
	case row != nil && inFolder == "" && f.Used:
		return fmt.Errorf("the database %s belongs to the instance %s%s, and the data folder %s has no file %s: name the folder of this instance with --data "+
			"(where %s is that folder, write the id into it: echo %s > %s)",
			f.Database, row.ID, lastUsed(row), f.Folder, File, f.Folder, row.ID, filepath.Join(f.Folder, File))
	case row == nil && inFolder != "" && !f.Used && f.Filled:
		return fmt.Errorf("the data folder %s belongs to the instance %s and has its repositories, and the database %s is empty: name the database of "+
			"this instance with --database, or restore it from a backup (for a new instance name an empty folder with --data)",
			f.Folder, inFolder, f.Database)
	}
	return nil
}

// lastUsed names the server that used a database last.
func lastUsed(row *Row) string {
	if s := row.Holder(); s != nil {
		return " (last used by " + s.String() + ")"
	}
	return ""
}

// Join returns the folder and the database the same id, where one or both have none, notes
// which server uses them, and returns the id. Call it after Match and on the current schema.
func Join(ctx context.Context, d *db.DB, folder string, by Server) (string, error) {
	id, err := ReadID(folder)
	if err != nil {
		return "", err
	}
	row, err := Find(ctx, d)
	if err != nil {
		return "", err
	}
	if id == "" {
		id = NewID()
		if row != nil {
			id = row.ID
		}
		if err := WriteID(folder, id); err != nil { // first: a database in use with an id needs a folder with one
			return "", err
		}
	}
	if row == nil {
		err := d.InTx(ctx, func(ctx context.Context) error {
			_, err := d.Exec(ctx, "INSERT INTO instance (one, id, server, created_at) VALUES (1, ?, '', ?)", id, db.At(by.Since))
			return err
		})
		if err != nil {
			return "", fmt.Errorf("write id of the instance: %w", err)
		}
	}
	return id, note(ctx, d, by)
}

// note writes which server uses the database.
func note(ctx context.Context, d *db.DB, by Server) error {
	text, err := json.Marshal(by)
	if err != nil {
		return fmt.Errorf("encode server: %w", err)
	}
	if _, err := d.Exec(ctx, "UPDATE instance SET server = ? WHERE one = 1", string(text)); err != nil {
		return fmt.Errorf("note server: %w", err)
	}
	return nil
}
