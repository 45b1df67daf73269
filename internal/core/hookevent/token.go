package hookevent

import (
	"context"
	"fmt"
	"time"

	"tenon/internal/base/db"
	"tenon/internal/core/authz"
	"tenon/internal/core/payload"
	"tenon/internal/core/project"
)

// expiring is an access token of a project or group that ends soon.
type expiring struct {
	payload.AccessTokenAttributes
}

func (expiring) kind() string { return "access_token" }

func (e *expiring) fill(ctx context.Context, s *Service, m *payload.Message) error {
	body, err := s.Payloads.AccessToken(ctx, m.Project, m.Namespace, e.AccessTokenAttributes)
	return setBody(m, body, err)
}

// remind is the job that records which access tokens end soon.
type remind struct{}

// Kind names the job.
func (remind) Kind() string { return "remind_hooks_of_tokens" }

const (
	remindEvery = 6 * time.Hour
	remindBatch = 100

	firstNotice = 7 // days before the end
	lastNotice  = 1
)

// ending is a row of remind.
type ending struct {
	ID          int64             `db:"id"`
	UserID      authz.UserID      `db:"user_id"`
	Name        string            `db:"name"`
	ExpiresOn   string            `db:"expires_on"`
	CreatedAt   db.Time           `db:"created_at"`
	NamespaceID authz.NamespaceID `db:"namespace_id"`
	ProjectID   *project.ID       `db:"project_id"`
}

// remind does the job: once for each token that ends within seven days, and once more for each that ends within one.
func (s *Service) remind(ctx context.Context, _ remind) error {
	for _, days := range []int{lastNotice, firstNotice} {
		for last := int64(0); ; {
			rows, err := s.ending(ctx, days, last)
			if err != nil {
				return err
			}
			for i := range rows {
				if err := s.DB.InTx(ctx, func(ctx context.Context) error { return s.notice(ctx, &rows[i], days) }); err != nil {
					return fmt.Errorf("record that a token ends soon: %w", err)
				}
				last = rows[i].ID
			}
			if len(rows) < remindBatch {
				break
			}
		}
	}
	return nil
}

// ending reads tokens that end within some days and more than a shorter notice before their end, about which nothing was recorded.
func (s *Service) ending(ctx context.Context, days int, last int64) ([]ending, error) {
	today := s.Now().UTC()
	after := today
	if days == firstNotice {
		after = today.AddDate(0, 0, lastNotice)
	}
	rows, err := db.Select[ending](ctx, s.DB, `SELECT t.id, t.user_id, t.name, t.expires_on, t.created_at, m.namespace_id, p.id AS project_id FROM access_tokens t
		JOIN members m ON m.user_id = t.user_id LEFT JOIN projects p ON p.namespace_id = m.namespace_id
		WHERE t.kind IN ('project', 'group') AND NOT t.revoked AND t.expires_on > ? AND t.expires_on <= ? AND t.id > ?
		AND NOT EXISTS (SELECT 1 FROM token_notices n WHERE n.token_id = t.id AND n.days = ?) ORDER BY t.id LIMIT ?`,
		after.Format(time.DateOnly), today.AddDate(0, 0, days).Format(time.DateOnly), last, days, remindBatch)
	if err != nil {
		return nil, fmt.Errorf("read tokens that end soon: %w", err)
	}
	return rows, nil
}

func (s *Service) notice(ctx context.Context, r *ending, days int) error {
	now := s.Now()
	if _, err := db.InsertRow(ctx, s.DB, "token_notices", db.Values{"token_id": r.ID, "days": days, "created_at": db.At(now)}, ""); err != nil {
		return err
	}
	at := authz.Place{Namespace: r.NamespaceID, Group: r.ProjectID == nil, ID: int64(r.NamespaceID)}
	if r.ProjectID != nil {
		at.ID = int64(*r.ProjectID)
	}
	return s.record(ctx, at, authz.System().Stamp(now), candidate{payload.ResourceAccessToken, func() source {
		return &expiring{payload.AccessTokenAttributes{UserID: r.UserID, CreatedAt: payload.Stamp(r.CreatedAt), ID: r.ID, Name: r.Name, ExpiresAt: &r.ExpiresOn}}
	}})
}
