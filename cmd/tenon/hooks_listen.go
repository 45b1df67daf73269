package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const listenHelp = `Print the deliveries of a project's hooks as they happen: time, hook, number of the delivery, event, status of the answer and duration. It ends on Ctrl-C.

With --forward the body of each delivery is posted to a program on this computer, 127.0.0.1 and the port, with the headers that were recorded. What is secret is not recorded, so that the token and custom headers are missing; so is the effect of a custom template: the body is that of the event. What the program answers changes nothing on the server.

It asks the server for the newest deliveries of each hook, once a second or, where the project has more than 5 hooks, at most 5 hooks a second. Of more than 200 deliveries of a hook between two looks the oldest are left out, which is printed.`

const (
	// lookEvery is how often the deliveries of hooks are asked for.
	lookEvery = time.Second

	// perLook is how many hooks are asked about in that time.
	perLook = 5

	// maxBehind is how many pages of 20 deliveries are read of a hook at a time.
	maxBehind = 10

	// relist is after how many looks the hooks of the project are listed again.
	relist = 10

	// forwardTimeout is how long a local program may take for a delivery.
	forwardTimeout = 10 * time.Second

	// lookFailures is how many looks may fail, one after the other, before listen gives up.
	lookFailures = 30
)

// shownDelivery is what commands show of a delivery.
type shownDelivery struct {
	ID       int64             `json:"id"`
	Trigger  string            `json:"trigger"`
	Headers  map[string]string `json:"request_headers"`
	Body     json.RawMessage   `json:"request_data"`
	Answer   string            `json:"response_body"`
	Duration float64           `json:"execution_duration"`
	Status   string            `json:"response_status"`
	At       time.Time         `json:"created_at"`
}

// accepted reports whether the receiver took it.
func (d *shownDelivery) accepted() bool {
	code, err := strconv.Atoi(d.Status)
	return err == nil && code >= 200 && code < 400
}

// result says how a delivery ended.
func (d *shownDelivery) result() string {
	out := d.Status + " in " + time.Duration(d.Duration*float64(time.Second)).Round(time.Millisecond).String()
	if _, err := strconv.Atoi(d.Status); err != nil && d.Answer != "" {
		out = d.Answer
	}
	return out
}

// listener prints the deliveries of a project's hooks.
type listener struct {
	*hooksFlags
	project string
	forward string // URL of a local program, "" for none
	out     io.Writer
	errors  io.Writer

	hooks   []shownHook
	last    map[int64]int64 // the newest delivery of each hook that is known
	turn    int             // of the hook that is asked about next
	printed int
}

func (o *hooksFlags) listen() *cobra.Command {
	forward := ""
	c := &cobra.Command{
		Use: "listen PROJECT", Short: "Print deliveries of the hooks of a project as they happen", Args: cobra.ExactArgs(1), Long: listenHelp,
		Example: "  tenon hooks listen team/shop\n  tenon hooks listen team/shop --forward 3000\n  tenon hooks listen team/shop --forward 3000/gitlab --json",
		RunE: func(c *cobra.Command, args []string) error {
			l := &listener{hooksFlags: o, project: args[0], out: c.OutOrStdout(), errors: c.ErrOrStderr(), last: map[int64]int64{}}
			if forward != "" {
				at, err := local(forward)
				if err != nil {
					return err
				}
				l.forward = at
			}
			if err := o.server.open(); err != nil {
				return err
			}
			return l.run(c.Context())
		},
	}
	c.Flags().StringVar(&forward, "forward", "", "`port` of a program on this computer that deliveries are posted to, perhaps with a path: 3000/hooks")
	return c
}

// local is the URL of a program on this computer.
func local(text string) (string, error) {
	port, path, _ := strings.Cut(text, "/")
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", usageError{fmt.Errorf("--forward %q is no port, such as 3000 or 3000/hooks", text)}
	}
	out := "http://127.0.0.1:" + port + "/" + path
	if _, err := url.Parse(out); err != nil {
		return "", usageError{fmt.Errorf("--forward %q: %w", text, err)}
	}
	return out, nil
}

// run looks until it is interrupted.
func (l *listener) run(ctx context.Context) error {
	if err := l.list(ctx); err != nil {
		return err
	}
	for _, h := range l.hooks { // what was delivered before is not printed
		newest, err := l.page(ctx, h.ID, 1, 1)
		if err != nil {
			return err
		}
		if len(newest) > 0 {
			l.last[h.ID] = newest[0].ID
		}
	}
	to := ""
	if l.forward != "" {
		to = ", which are posted to " + l.forward
	}
	_, _ = fmt.Fprintf(l.errors, "tenon: waiting for deliveries of %d hooks of %s%s; Ctrl-C ends it\n", len(l.hooks), l.project, to)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	failures := 0
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			_, _ = fmt.Fprintf(l.errors, "tenon: %d deliveries were printed\n", l.printed)
			return nil
		case <-tick.C:
		}
		err := l.look(ctx, n)
		switch refused := (*refusal)(nil); {
		case err == nil:
			failures = 0
		case ctx.Err() != nil: // the next turn ends it
		case errors.As(err, &refused) && refused.status < http.StatusInternalServerError && refused.status != http.StatusTooManyRequests:
			return err
		default:
			if failures++; failures == 1 {
				_, _ = fmt.Fprintf(l.errors, "tenon: %v; trying again\n", err)
			}
			if failures == lookFailures {
				return err
			}
		}
	}
}

// list reads which hooks the project has. A hook that is new has no delivery that is known.
func (l *listener) list(ctx context.Context) error {
	hooks, err := pages[shownHook](ctx, &l.server, hooksOf(l.project), maxHooks)
	if err == nil {
		l.hooks = hooks
	}
	return err
}

// look prints what is new of some hooks.
func (l *listener) look(ctx context.Context, n int) error {
	if n%relist == 0 || len(l.hooks) == 0 {
		if err := l.list(ctx); err != nil {
			return err
		}
	}
	for range min(perLook, len(l.hooks)) {
		h := l.hooks[l.turn%len(l.hooks)]
		l.turn++
		err := l.printNew(ctx, &h)
		if refused := (*refusal)(nil); errors.As(err, &refused) && refused.status == http.StatusNotFound {
			if err := l.list(ctx); err != nil { // the hook was deleted, or the project was
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// page reads a page of the deliveries of a hook, the newest first.
func (l *listener) page(ctx context.Context, hook int64, size, number int) ([]shownDelivery, error) {
	var out []shownDelivery
	_, err := l.server.call(ctx, http.MethodGet, fmt.Sprintf("%s/%d/events?per_page=%d&page=%d", hooksOf(l.project), hook, size, number), &out)
	return out, err
}

// printNew prints the deliveries of a hook that are new, the oldest first.
func (l *listener) printNew(ctx context.Context, h *shownHook) error {
	var fresh []shownDelivery
	known, more := l.last[h.ID], true
	for number := 1; more && number <= maxBehind; number++ {
		list, err := l.page(ctx, h.ID, 20, number)
		if err != nil {
			return err
		}
		more = len(list) == 20
		for _, d := range list {
			if d.ID <= known {
				more = false
				break
			}
			fresh = append(fresh, d)
		}
	}
	slices.SortFunc(fresh, func(a, b shownDelivery) int { return cmp.Compare(a.ID, b.ID) })
	fresh = slices.CompactFunc(fresh, func(a, b shownDelivery) bool { return a.ID == b.ID }) // pages move while they are read
	if more {
		_, _ = fmt.Fprintf(l.errors, "tenon: more than %d deliveries of hook %d at a time: the oldest are left out\n", 20*maxBehind, h.ID)
	}
	for i := range fresh {
		if err := l.show(ctx, h, &fresh[i]); err != nil {
			return err
		}
		l.last[h.ID] = fresh[i].ID
	}
	return nil
}

// show prints a delivery and forwards it.
func (l *listener) show(ctx context.Context, h *shownHook, d *shownDelivery) error {
	answer := ""
	if l.forward != "" {
		whole := d
		if string(bytes.TrimSpace(d.Body)) == `{"oversize":true}` { // lists leave out large bodies
			whole = &shownDelivery{}
			if _, err := l.server.call(ctx, http.MethodGet, fmt.Sprintf("%s/%d/events/%d", hooksOf(l.project), h.ID, d.ID), whole); err != nil {
				return err
			}
		}
		answer = l.post(ctx, whole)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	l.printed++
	if l.json {
		return json.NewEncoder(l.out).Encode(struct {
			Hook      int64  `json:"hook_id"`
			Forwarded string `json:"forwarded,omitempty"`
			*shownDelivery
		}{h.ID, answer, d})
	}
	line := fmt.Sprintf("%s  hook %d (%s)  delivery %d  %s  %s", d.At.Local().Format(time.TimeOnly), h.ID, plainLine(h.title()), d.ID, d.Trigger, plainLine(d.result()))
	if answer != "" {
		line += "  forwarded: " + plainLine(answer)
	}
	_, err := fmt.Fprintln(l.out, line)
	return err
}

// post sends the body of a delivery to the local program, and says what it answered.
func (l *listener) post(ctx context.Context, d *shownDelivery) string {
	ctx, cancel := context.WithTimeout(ctx, forwardTimeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, l.forward, bytes.NewReader(d.Body))
	if err != nil {
		return err.Error()
	}
	for name, value := range d.Headers {
		if value != "[REDACTED]" {
			q.Header.Set(name, value)
		}
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true}, // without a proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	a, err := client.Do(q)
	if err != nil {
		if failed := (*url.Error)(nil); errors.As(err, &failed) {
			err = failed.Err
		}
		return err.Error() + " (does a program listen there?)"
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, 1<<20))
	_ = a.Body.Close()
	return strconv.Itoa(a.StatusCode)
}
