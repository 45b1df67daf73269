package sshkey

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/page"
	"tenon/internal/core/authz"
)

// What stands here serves the package that says where deploy keys are enabled: nothing
// of it asks for a permission.

// CreateDeploy stores a deploy key, in the caller's transaction.
func (s *Service) CreateDeploy(ctx context.Context, as authz.Actor, in DeployInput) (*Key, error) {
	k, err := s.build(DeployKey, in.Input)
	if err != nil {
		return nil, err
	}
	k.Public = in.Public
	if as.SignedIn() {
		k.MakerID = &as.UserID
	}
	if err := s.insert(ctx, k); err != nil {
		return nil, err
	}
	return s.load(ctx, "k.id = ?", k.ID)
}

// DeployInput is what a deploy key is made of.
type DeployInput struct {
	Input
	Public bool // every project may enable it
}

// FindDeploy returns a deploy key.
func (s *Service) FindDeploy(ctx context.Context, id ID) (*Key, error) {
	return s.load(ctx, "k.id = ? AND k.kind = ?", id, DeployKey)
}

// DeployWith returns the deploy key with this public half, or NotFound.
func (s *Service) DeployWith(ctx context.Context, text string) (*Key, error) {
	p, err := parse(text)
	if err != nil {
		return nil, errs.Missing("Key")
	}
	return s.load(ctx, "k.fingerprint_sha256 = ? AND k.kind = ?", ssh.FingerprintSHA256(p.key), DeployKey)
}

// Titles returns the titles of keys, which every caller may see beside what refers to them.
func (s *Service) Titles(ctx context.Context, ids []ID) (map[ID]string, error) {
	found, err := s.Load(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[ID]string, len(found))
	for id, k := range found {
		out[id] = k.Title
	}
	return out, nil
}

// Load returns the keys with these ids. It asks for no permission and is for core.
func (s *Service) Load(ctx context.Context, ids []ID) (map[ID]*Key, error) {
	out := make(map[ID]*Key, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var w db.Where
	w.In("k.id", ids)
	rows, err := db.Select[Key](ctx, s.DB, "SELECT "+keyColumns()+" FROM "+tables+w.SQL(), w.Args()...)
	if err != nil {
		return nil, fmt.Errorf("keys by id: %w", err)
	}
	for _, k := range s.refreshedAll(rows) {
		out[k.ID] = k
	}
	return out, nil
}

// ListDeploy returns all deploy keys by id, or only those that are public or not.
func (s *Service) ListDeploy(ctx context.Context, public *bool, r page.Range) (page.Page[*Key], error) {
	var w db.Where
	w.And("k.kind = ?", DeployKey)
	if public != nil {
		w.And("k.public = ?", *public)
	}
	return s.page(ctx, w, r)
}

// RenameDeploy gives a deploy key another title, in the caller's transaction.
func (s *Service) RenameDeploy(ctx context.Context, id ID, title string) error {
	title = strings.TrimSpace(title)
	var f errs.Fields
	if checkTitle(&f, title); f.Err() != nil {
		return f.Err()
	}
	row := db.Row{Table: "ssh_keys", ID: id, Now: s.Now, Columns: keyColumns(), From: tables, Alias: "k"}
	_, err := db.Update(ctx, s.DB, row, func(_ context.Context, k *Key) error {
		if k.Kind != DeployKey {
			return errs.Missing("Key")
		}
		k.Title = title
		return nil
	})
	if errors.Is(err, db.ErrNotFound) {
		return errs.Missing("Key")
	}
	if err != nil {
		return fmt.Errorf("rename deploy key: %w", err)
	}
	return nil
}

// DropOrphans deletes those of the deploy keys that no project uses and none may enable,
// in the caller's transaction.
func (s *Service) DropOrphans(ctx context.Context, ids ...ID) error {
	for _, id := range ids {
		row := db.Row{Table: "ssh_keys", ID: id}
		row.And.And("kind = ? AND NOT public AND NOT EXISTS (SELECT 1 FROM deploy_key_projects d WHERE d.key_id = ssh_keys.id)", DeployKey)
		if _, err := db.Drop(ctx, s.DB, row); err != nil {
			return fmt.Errorf("drop deploy key: %w", err)
		}
	}
	return nil
}

// Prefixed puts a word before the attributes that a refusal names: deploy keys of
// projects are refused as parts of something else.
func Prefixed(err error, word string) error {
	e, ok := errors.AsType[*errs.Error](err)
	if !ok || len(e.Fields) == 0 {
		return err
	}
	out := *e
	out.Fields = make([]errs.Field, len(e.Fields))
	for i, f := range e.Fields {
		out.Fields[i] = errs.Field{Name: word + f.Name, Messages: f.Messages}
	}
	return &out
}
