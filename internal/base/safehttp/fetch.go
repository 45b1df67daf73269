package safehttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// ErrTooLarge says that an answer has more bytes than were wanted.
var ErrTooLarge = errors.New("the answer is too large")

// Fetch gets what is at a URL, at most so many bytes. An address that may not be reached is a *[BlockedError], an answer other than
// 200 a *[StatusError].
func (d *Dialer) Fetch(ctx context.Context, url string, timeout time.Duration, most int64) ([]byte, error) {
	if _, err := d.CheckURL(url); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	askFor(request)
	answer, err := d.Client(timeout).Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, &StatusError{Status: answer.StatusCode}
	}
	body, err := d.Guard(answer)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	if int64(len(content)) > most {
		return nil, ErrTooLarge
	}
	return content, nil
}
