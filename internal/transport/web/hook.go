package web

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"tenon/internal/base/budget"
	"tenon/internal/base/errs"
	"tenon/internal/core"
	"tenon/internal/core/payload"
	"tenon/internal/core/project"
	"tenon/internal/core/webhook"
)

// hooks is the service of webhooks.
func (h *Handler) hooks() *webhook.Service { return core.Part[*webhook.Service](h.Services) }

func (x *visit) getHooks() (templ.Component, error) {
	p, err := x.project("Webhooks")
	if err != nil {
		return nil, err
	}
	list, err := x.hooks().List(x.r.Context(), x.as, p.Place(), x.part())
	if err != nil {
		return nil, err
	}
	x.title("Webhooks")
	x.sheet.API += "/hooks"
	older, newer := around(x, &list)
	return hookList(p.FullPath, list.Items, older, newer), nil
}

// hook begins a page about a hook.
func (x *visit) hook() (*project.Project, *webhook.Hook, error) {
	p, err := x.project("Webhooks")
	if err != nil {
		return nil, nil, err
	}
	id, err := x.arg("id")
	if err != nil {
		return nil, nil, err
	}
	h, err := x.hooks().Find(x.r.Context(), x.as, p.Place(), webhook.ID(id))
	if err != nil {
		return nil, nil, err
	}
	x.sheet.Crumbs = append(x.sheet.Crumbs, link{"Webhooks", at.Hooks(p.FullPath)})
	x.sheet.API += "/hooks/" + itoa(id)
	return p, h, nil
}

func (x *visit) getHook() (templ.Component, error) {
	p, h, err := x.hook()
	if err != nil {
		return nil, err
	}
	return x.hookPage(p, h)
}

// hookPage shows a hook with its deliveries.
func (x *visit) hookPage(p *project.Project, h *webhook.Hook) (templ.Component, error) {
	list, err := x.hooks().Attempts(x.r.Context(), x.as, p.Place(), h.ID, webhook.AttemptFilter{Range: x.part()})
	if err != nil {
		return nil, err
	}
	x.title(hookName(h))
	x.sheet.Badge, x.sheet.BadgeKind = hookState(h)
	older, newer := around(x, &list)
	return hookPage(&x.sheet, p.FullPath, h, list.Items, older, newer), nil
}

// postHookTest calls a hook with a sample of an event. What fails is said on the page of the hook.
func (x *visit) postHookTest() (templ.Component, error) {
	p, h, err := x.hook()
	if err != nil {
		return nil, err
	}
	trigger := payload.Trigger(x.field("trigger"))
	if slices.Contains(webhook.ProjectTriggers(), trigger) {
		_, err = x.hooks().Test(x.r.Context(), x.as, p.Place(), h.ID, trigger)
	} else {
		err = errs.Bad("There is no such event")
	}
	return x.hookCalled(p, h, "hook_tested", err)
}

// postHookResend makes a call again.
func (x *visit) postHookResend() (templ.Component, error) {
	p, h, err := x.hook()
	if err != nil {
		return nil, err
	}
	log, err := x.arg("log")
	if err != nil {
		return nil, err
	}
	_, err = x.hooks().Resend(x.r.Context(), x.as, p.Place(), h.ID, webhook.AttemptID(log))
	return x.hookCalled(p, h, "hook_resent", err)
}

// hookCalled leads to the page of a hook that was called, or shows there why that failed.
func (x *visit) hookCalled(p *project.Project, h *webhook.Hook, notice string, err error) (templ.Component, error) {
	switch {
	case err == nil:
		return x.goTo(withNotice(at.Hook(p.FullPath, int64(h.ID)), notice))
	case x.wrong(err):
		return x.hookPage(p, h)
	}
	return nil, err
}

func (x *visit) getHookDelivery() (templ.Component, error) {
	p, h, err := x.hook()
	if err != nil {
		return nil, err
	}
	log, err := x.arg("log")
	if err != nil {
		return nil, err
	}
	a, err := x.hooks().Attempt(x.r.Context(), x.as, p.Place(), h.ID, webhook.AttemptID(log))
	if err != nil {
		return nil, err
	}
	x.title("Delivery " + itoa(log))
	x.sheet.Crumbs = append(x.sheet.Crumbs, link{hookName(h), at.Hook(p.FullPath, int64(h.ID))})
	x.sheet.Badge, x.sheet.BadgeKind = attemptState(a)
	x.sheet.API += "/events/" + itoa(log)
	return deliveryPage(&x.sheet, p.FullPath, h, a), nil
}

// hookName is how pages call a hook.
func hookName(h *webhook.Hook) string {
	if h.Name != nil && *h.Name != "" {
		return shownTitle(*h.Name)
	}
	return "Webhook " + itoa(int64(h.ID))
}

// hookState says whether a hook is called.
func hookState(h *webhook.Hook) (text, kind string) {
	switch h.Status {
	case webhook.TemporarilyDisabled:
		return "Paused", "bad"
	case webhook.DisabledForGood:
		return "Disabled", "bad"
	}
	return "Executable", "good"
}

// attemptState is the answer of a receiver in a word.
func attemptState(a *webhook.Attempt) (text, kind string) {
	switch {
	case a.Status == 0:
		return "No answer", "bad"
	case a.Status < 200 || a.Status > 399:
		return strconv.Itoa(a.Status), "bad"
	}
	return strconv.Itoa(a.Status), "good"
}

// eventName names an event for people: merge requests for merge_requests_events and merge_request_hooks.
func eventName[S ~string](of S) string {
	name := strings.TrimSuffix(strings.TrimSuffix(string(of), "_events"), "_hooks")
	return strings.ReplaceAll(name, "_", " ")
}

// eventNames are those of some events.
func eventNames(list []payload.Trigger) string {
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = eventName(t)
	}
	return strings.Join(names, ", ")
}

// headerNames are the names of headers by the alphabet.
func headerNames(headers map[string]string) []string { return slices.Sorted(maps.Keys(headers)) }

// took is how long a call took.
func took(a *webhook.Attempt) string { return a.Duration.Round(time.Millisecond).String() }

// maxRequestShown is how many bytes of what was sent are on a page.
const maxRequestShown = 64 << 10

// requestShown is what was sent, in lines. Of a long body it is the beginning.
func requestShown(a *webhook.Attempt) string {
	if len(a.RequestData) > maxRequestShown {
		return budget.Begin(string(a.RequestData), maxRequestShown) + "\n[...]"
	}
	var out bytes.Buffer
	if json.Indent(&out, a.RequestData, "", "  ") != nil {
		return string(a.RequestData)
	}
	return out.String()
}
