package notify

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/core/authz"
	"tenon/internal/core/note"
	"tenon/internal/core/noteable"
)

// Thread is what an answer to a mail goes to, and whose it is. Of a commit an answer has the
// project alone: its Note is on the commit.
type Thread struct {
	User authz.UserID
	On   noteable.Ref
	Note note.ID // in whose discussion; 0 for none
}

// The purposes of keys: one that ends mail must not let its holder write.
const (
	replyKey       = "notify.reply"
	unsubscribeKey = "notify.unsubscribe"
)

// key makes the key of a thread for one purpose. It is derived, not stored: a new secret.key
// makes all keys useless.
func (s *Service) key(purpose string, t Thread) string {
	body := []byte{s.Kinds.Of(t.On.Kind).Code}
	for _, n := range []int64{int64(t.User), t.On.ID + t.On.Project, int64(t.Note)} { // one of the two is 0
		body = binary.AppendUvarint(body, uint64(n))
	}
	if hash, err := hex.DecodeString(t.On.Commit); err == nil && purpose == unsubscribeKey { // too long for an address
		body = append(body, hash...)
	}
	return s.Signer.Tag(purpose, body)
}

// open returns the thread of a key, NotFound where the server did not make it.
func (s *Service) open(purpose, key string) (Thread, error) {
	body, err := s.Signer.OpenTag(purpose, key)
	if err != nil || len(body) == 0 {
		return Thread{}, errs.Missing("")
	}
	var t Thread
	for _, kind := range s.Kinds.All() {
		if kind.Code == body[0] {
			t.On.Kind = kind.Kind
		}
	}
	var numbers [3]int64
	rest := body[1:]
	for i := range numbers {
		n, size := binary.Uvarint(rest)
		if size <= 0 {
			return Thread{}, errs.Missing("")
		}
		numbers[i], rest = int64(n), rest[size:]
	}
	t.User, t.On.ID, t.Note = authz.UserID(numbers[0]), numbers[1], note.ID(numbers[2])
	if t.On.Kind == noteable.Commit {
		t.On.ID, t.On.Project, t.On.Commit = 0, t.On.ID, hex.EncodeToString(rest)
	}
	return t, nil
}

// ReplyTo returns the thread of the key in an address that a mail was sent to, NotFound where
// there is none. Whether its user may still write there is for the caller to ask.
func (s *Service) ReplyTo(key string) (Thread, error) { return s.open(replyKey, key) }

// Unsubscription returns what the key of a link in a mail ends the mails of, NotFound where the
// server made no such key. It says nothing else of the thing: a reader of the mail has the key.
func (s *Service) Unsubscription(key string) (noteable.Kind, error) {
	t, err := s.open(unsubscribeKey, key)
	return t.On.Kind, err
}

// Unsubscribe ends the mails of a thread for the user of the key in a link. The
// key is the permission.
func (s *Service) Unsubscribe(ctx context.Context, key string) error {
	t, err := s.open(unsubscribeKey, key)
	if err != nil {
		return err
	}
	there, err := db.Get[bool](ctx, s.DB, "SELECT EXISTS (SELECT 1 FROM users WHERE id = ?)", t.User)
	if err != nil {
		return fmt.Errorf("look for user: %w", err)
	}
	on, err := s.about(ctx, t.On)
	if err != nil || on == nil || !there {
		return err // nothing is sent any more
	}
	if err := s.Subscriptions.End(ctx, t.User, on.target()); !errors.Is(err, db.ErrNotFound) {
		return err
	}
	return nil
}
