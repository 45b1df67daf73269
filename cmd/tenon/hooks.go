package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

const hooksHelp = `List and test the hooks of a project, send their deliveries again, and watch them, on a server that runs.

PROJECT is the path of a project, such as team/shop, or its id. $TENON_TOKEN is an access token with the scope api of a Maintainer or Owner of the project.`

// maxHooks is how many hooks a project may have.
const maxHooks = 100

// hooksFlags are those of tenon hooks.
type hooksFlags struct {
	server remote
	json   bool

	progress *progress
}

// hooks are the commands about hooks of a project.
func (f *flags) hooks() *cobra.Command {
	o := &hooksFlags{progress: f.progress}
	c := group("hooks", "List, test and watch the webhooks of a project", o.list(), o.test(), o.resend(), o.listen())
	c.Long = hooksHelp
	o.server.define(c)
	c.PersistentFlags().BoolVar(&o.json, "json", false, "print JSON")
	return c
}

// shownHook is what commands show of a hook.
type shownHook struct {
	ID       int64      `json:"id"`
	URL      string     `json:"url"`
	Name     *string    `json:"name"`
	Status   string     `json:"alert_status"`
	Until    *time.Time `json:"disabled_until"`
	Reason   *string    `json:"disabled_reason"`
	Template *string    `json:"custom_webhook_template"`
}

// title names a hook.
func (h *shownHook) title() string {
	if h.Name != nil && *h.Name != "" {
		return *h.Name
	}
	return h.URL
}

// state says whether a hook is called, and why not.
func (h *shownHook) state() string {
	out := h.Status
	if h.Until != nil {
		out += " until " + h.Until.Local().Format(time.DateTime)
	}
	if h.Reason != nil {
		out += ": " + *h.Reason
	}
	return out
}

// hooksOf is the path of the hooks of a project.
func hooksOf(project string) string { return "/projects/" + url.PathEscape(project) + "/hooks" }

// number is an id on the command line.
func number(what, text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 {
		return 0, usageError{fmt.Errorf("%q is not the id of a %s", text, what)}
	}
	return id, nil
}

func (o *hooksFlags) list() *cobra.Command {
	return &cobra.Command{
		Use: "list PROJECT", Short: "List the hooks of a project", Args: cobra.ExactArgs(1),
		Long:    "List the hooks of a project with the events that they are called for, and why one is not called.",
		Example: "  tenon hooks list team/shop\n  tenon hooks list 7 --json --url https://code.example.com",
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.server.open(); err != nil {
				return err
			}
			all, err := pages[json.RawMessage](c.Context(), &o.server, hooksOf(args[0]), maxHooks)
			if err != nil {
				return err
			}
			if o.json {
				return json.NewEncoder(c.OutOrStdout()).Encode(append([]json.RawMessage{}, all...))
			}
			if len(all) == 0 {
				_, err := fmt.Fprintln(c.ErrOrStderr(), "tenon: the project has no hooks (those of its groups and of the instance are listed elsewhere)")
				return err
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			_, _ = fmt.Fprintln(w, "ID\tHOOK\tEVENTS\tSTATUS")
			for _, text := range all {
				var h shownHook
				events, err := read(text, &h)
				if err != nil {
					return err
				}
				_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", h.ID, plainLine(h.title()), strings.Join(events, " "), plainLine(h.state()))
			}
			return w.Flush()
		},
	}
}

// read decodes a hook and returns the events that it is called for.
func read(text json.RawMessage, h *shownHook) ([]string, error) {
	if err := json.Unmarshal(text, h); err != nil {
		return nil, fmt.Errorf("read hook: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("read hook: %w", err)
	}
	var events []string
	for _, name := range triggers() {
		if fields[name] == true {
			events = append(events, strings.TrimSuffix(name, "_events"))
		}
	}
	return events, nil
}

// triggers are the events of hooks of a project.
func triggers() []string {
	return []string{
		"push_events", "tag_push_events", "issues_events", "confidential_issues_events", "note_events", "confidential_note_events", "merge_requests_events",
		"job_events", "pipeline_events", "wiki_page_events", "deployment_events", "feature_flag_events", "releases_events", "milestone_events", "emoji_events",
		"resource_access_token_events", "vulnerability_events",
	}
}

// plainLine is a text of others as a terminal may show it, in one line.
func plainLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}

func (o *hooksFlags) test() *cobra.Command {
	return &cobra.Command{
		Use: "test PROJECT ID [TRIGGER]", Short: "Call a hook with a sample of an event", Args: cobra.RangeArgs(2, 3),
		Long: "Call a hook of a project with a sample of an event, push where TRIGGER says no other one. A call that succeeds enables a hook that is paused or disabled.\n\nTriggers:\n  " +
			strings.ReplaceAll(strings.Join(triggers(), "\n  "), "_events", ""),
		Example: "  tenon hooks test team/shop 3\n  tenon hooks test team/shop 3 merge_requests",
		RunE: func(c *cobra.Command, args []string) error {
			id, err := number("hook", args[1])
			if err != nil {
				return err
			}
			trigger := "push_events"
			if len(args) > 2 {
				trigger = strings.TrimSuffix(args[2], "_events") + "_events"
			}
			if err := o.server.open(); err != nil {
				return err
			}
			o.progress.tell(fmt.Sprintf("calling hook %d (at most 10 seconds)", id))
			var out struct {
				Message string `json:"message"`
			}
			path := fmt.Sprintf("%s/%d", hooksOf(args[0]), id)
			_, err = o.server.call(c.Context(), http.MethodPost, path+"/test/"+url.PathEscape(trigger), &out)
			o.progress.clear()
			if err != nil {
				return err
			}
			var log []shownDelivery
			if _, err := o.server.call(c.Context(), http.MethodGet, path+"/events?per_page=1", &log); err != nil || len(log) == 0 {
				return err
			}
			return o.called(c, &log[0])
		},
	}
}

// called prints the delivery that a command made, and fails where the receiver refused it.
func (o *hooksFlags) called(c *cobra.Command, d *shownDelivery) error {
	if o.json {
		if err := json.NewEncoder(c.OutOrStdout()).Encode(d); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintf(c.OutOrStdout(), "delivery %d: %s\n", d.ID, d.result()); err != nil {
		return err
	}
	if !d.accepted() {
		return fmt.Errorf("the receiver did not accept it: %s", plainLine(d.result()))
	}
	return nil
}

func (o *hooksFlags) resend() *cobra.Command {
	return &cobra.Command{
		Use: "resend PROJECT ID DELIVERY", Short: "Send a delivery of a hook again", Args: cobra.ExactArgs(3),
		Long:    "Call a hook again as in one of its deliveries, with the same body and Idempotency-Key. DELIVERY is its number, which tenon hooks listen shows. A success enables a hook that is paused or disabled.",
		Example: "  tenon hooks resend team/shop 3 1204",
		RunE: func(c *cobra.Command, args []string) error {
			id, err := number("hook", args[1])
			if err != nil {
				return err
			}
			delivery, err := number("delivery", args[2])
			if err != nil {
				return err
			}
			if err := o.server.open(); err != nil {
				return err
			}
			o.progress.tell(fmt.Sprintf("calling hook %d again (at most 10 seconds)", id))
			var out struct {
				Status int `json:"response_status"`
			}
			_, err = o.server.call(c.Context(), http.MethodPost, fmt.Sprintf("%s/%d/events/%d/resend", hooksOf(args[0]), id, delivery), &out)
			o.progress.clear()
			if err != nil {
				return err
			}
			if o.json {
				if err := json.NewEncoder(c.OutOrStdout()).Encode(out); err != nil {
					return err
				}
			} else if _, err := fmt.Fprintf(c.OutOrStdout(), "the receiver answered %d\n", out.Status); err != nil {
				return err
			}
			if out.Status < 200 || out.Status > 399 {
				return fmt.Errorf("the receiver did not accept it: it answered %d", out.Status)
			}
			return nil
		},
	}
}
