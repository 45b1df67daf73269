package ratelimit

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// Exceeded is the error of an event that is one too many.
type Exceeded struct {
	Usage
	After time.Duration // to wait before the next try
	Text  string        // what the caller reads; "" has the caller's usual words

	// Barred says that the caller is refused for where it comes from, not for a number of requests: as 403, without the headers.
	Barred bool
}

// Error says what happened.
func (e *Exceeded) Error() string { return "rate limit " + e.Limit.Name + " exceeded" }

// Headers says it as clients read it: the limit is per minute, whatever the window.
func (e *Exceeded) Headers(h http.Header) {
	if e.Barred {
		return
	}
	perMinute := (int64(e.Limit.Most)*60 + seconds(e.Limit.Every) - 1) / seconds(e.Limit.Every)
	for name, value := range map[string]string{
		"Ratelimit-Name":      e.Limit.Name,
		"Ratelimit-Limit":     strconv.FormatInt(perMinute, 10),
		"Ratelimit-Observed":  strconv.Itoa(e.Observed),
		"Ratelimit-Remaining": "0",
		"Ratelimit-Reset":     strconv.FormatInt(e.Reset.Unix(), 10),
		"Ratelimit-Resettime": e.Reset.UTC().Format(http.TimeFormat),
		"Retry-After":         strconv.FormatInt(seconds(e.After), 10),
	} {
		h.Set(name, value)
	}
}

// Status is that of the refusal.
func (e *Exceeded) Status() int {
	if e.Barred {
		return http.StatusForbidden
	}
	return http.StatusTooManyRequests
}

// Body is what the caller of a throttled request reads, as plain text.
func (e *Exceeded) Body() string {
	if e.Text == "" {
		return "Retry later\n"
	}
	return e.Text + "\n"
}

// Answer refuses a request with the headers and the body.
func (e *Exceeded) Answer(w http.ResponseWriter) {
	e.Headers(w.Header())
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(e.Status())
	_, _ = io.WriteString(w, e.Body()) // a client that is gone reads nothing
}

// seconds rounds up, at least to one.
func seconds(d time.Duration) int64 { return max(int64((d+time.Second-1)/time.Second), 1) }
