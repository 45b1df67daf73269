package ci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"tenon/internal/base/safehttp"
	"tenon/internal/core/ciconfig"
)

// remoteTimeout is how long the server of a remote include may take.
const remoteTimeout = 10 * time.Second

// remote fetches an included file from its URL, through the rules for what users ask the server to connect to.
func (r *reader) remote(ctx context.Context, url string) (ciconfig.File, error) {
	if _, err := r.outbound.CheckURL(url); err != nil {
		return ciconfig.File{}, &ciconfig.FetchError{Reason: "the URL is blocked: " + reasonOf(err)}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return ciconfig.File{}, &ciconfig.FetchError{Reason: "the URL is not valid"}
	}
	answer, err := r.outbound.Client(remoteTimeout).Do(request)
	var blocked *safehttp.BlockedError
	switch {
	case errors.As(err, &blocked):
		return ciconfig.File{}, &ciconfig.FetchError{Reason: "the URL is blocked: " + blocked.Reason}
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return ciconfig.File{}, &ciconfig.FetchError{Reason: "a timeout error"}
	case err != nil:
		return ciconfig.File{}, &ciconfig.FetchError{Reason: "a socket error"}
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return ciconfig.File{}, &ciconfig.FetchError{Reason: fmt.Sprintf("HTTP code `%d` error", answer.StatusCode)}
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, ciconfig.MaxBytes+1))
	if err != nil {
		return ciconfig.File{}, &ciconfig.FetchError{Reason: "a socket error"}
	}
	if len(text) > ciconfig.MaxBytes {
		return ciconfig.File{}, ciconfig.ErrTooLarge
	}
	return ciconfig.File{Text: text, Place: ciconfig.Place{Path: url}, Raw: url}, nil
}

// reasonOf gives why a URL is blocked.
func reasonOf(err error) string {
	var blocked *safehttp.BlockedError
	if errors.As(err, &blocked) {
		return blocked.Reason
	}
	return err.Error()
}
