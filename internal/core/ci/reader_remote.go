package ci

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"tenon/internal/base/safehttp"
	"tenon/internal/core/ciconfig"
)

// remoteTimeout is how long the server of a remote include may take.
const remoteTimeout = 10 * time.Second

// remote fetches an included file from its URL, through the rules for what users ask the server to connect to.
func (r *reader) remote(ctx context.Context, url string) (ciconfig.File, error) {
	text, err := r.Outbound.Fetch(ctx, url, remoteTimeout, ciconfig.MaxBytes)
	var blocked *safehttp.BlockedError
	var status *safehttp.StatusError
	var slow net.Error
	switch {
	case err == nil:
		return ciconfig.File{Text: text, Location: ciconfig.Location{Path: url}, Raw: url}, nil
	case ctx.Err() != nil:
		return ciconfig.File{}, err
	case errors.Is(err, safehttp.ErrTooLarge):
		return ciconfig.File{}, ciconfig.ErrTooLarge
	case errors.Is(err, safehttp.ErrTooComplex):
		return ciconfig.File{}, &ciconfig.FetchError{Reason: "a response that is too complex"}
	case errors.As(err, &blocked):
		return ciconfig.File{}, &ciconfig.FetchError{Reason: "the URL is blocked: " + blocked.Reason}
	case errors.As(err, &status):
		return ciconfig.File{}, &ciconfig.FetchError{Reason: fmt.Sprintf("HTTP code `%d` error", status.Status)}
	case errors.As(err, &slow) && slow.Timeout():
		return ciconfig.File{}, &ciconfig.FetchError{Reason: "a timeout error"}
	}
	return ciconfig.File{}, &ciconfig.FetchError{Reason: "a socket error"}
}
