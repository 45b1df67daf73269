package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// deliverySize is what environments, releases and feature flags are measured with.
type deliverySize struct {
	environments, deployments, releases, flags, changes int
	commits                                             int // whose merge requests one deployment ships
	jobs                                                int // that deployed before the server knew of deployments
}

var (
	fullDelivery  = deliverySize{environments: 200, deployments: 5000, releases: 100, flags: 50, changes: 200, commits: 5000, jobs: 1_000_000}
	quickDelivery = deliverySize{environments: 40, deployments: 200, releases: 40, flags: 10, changes: 20, commits: 500, jobs: 20_000}
)

// delivery is a project that delivers.
type delivery struct {
	*world
	deliverySize
	root   *api
	head   string
	flags  string // path of the feature flags for clients, whose instance ID is in instance
	secret string
}

// measureDelivery measures lists of environments, deployments and releases, feature flags, what a deployment's change costs, the links of a deployment
// that ships much, and the upgrade of a server whose jobs deployed before.
func measureDelivery(ctx context.Context, o options, folder string, s *server, out *report) error {
	d := &delivery{world: &world{url: s.url}, deliverySize: fullDelivery, root: newAPI(s.url, rootToken)}
	if o.quick {
		d.deliverySize = quickDelivery
	}
	for _, step := range []struct {
		name string
		run  func(ctx context.Context) (int, error)
	}{
		{"project", d.makeProject},
		{"environments", d.makeEnvironments},
		{"deployments", d.makeDeployments},
		{"releases", d.makeReleases},
		{"feature flags", d.makeFlags},
	} {
		if err := timed(ctx, step.name, step.run); err != nil {
			return err
		}
	}
	l := &loader{server: s, length: o.length}
	if err := errors.Join(vacuum(ctx, o.database), s.quiet(ctx), l.background(ctx)); err != nil {
		return err
	}
	ops, err := d.operations(ctx)
	if err != nil {
		return err
	}
	failed, err := l.measureAll(ctx, o, ops, out)
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d requests failed", failed)
	}
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"links", func() error { return d.measureLinks(ctx, o, folder, l, out) }},
		{"upgrade", func() error { return measureUpgrade(ctx, o, folder, d.jobs, out) }},
	} {
		if err == nil && o.only.MatchString(part.name) {
			err = part.run()
		}
	}
	return err
}

func (d *delivery) makeProject(ctx context.Context) (int, error) {
	m, err := d.root.post(ctx, "/projects", map[string]any{"name": "Delivery", "initialize_with_readme": true})
	if err != nil {
		return 0, err
	}
	d.id, d.project = m.ID, fmt.Sprintf("/projects/%d", m.ID)
	for i := range 8 {
		u, err := d.root.post(ctx, "/users", map[string]any{
			"username": fmt.Sprintf("deployer%d", i), "name": "Deployer", "email": fmt.Sprintf("deployer%d@example.com", i), "password": "correct horse battery", "skip_confirmation": true,
		})
		if err != nil {
			return 0, err
		}
		t, err := d.root.post(ctx, fmt.Sprintf("/users/%d/personal_access_tokens", u.ID), map[string]any{"name": "bench", "scopes": []string{"api"}})
		if err != nil {
			return 0, err
		}
		if _, err := d.root.post(ctx, d.project+"/members", map[string]any{"user_id": u.ID, "access_level": 40}); err != nil {
			return 0, err
		}
		d.tokens = append(d.tokens, t.Token)
	}
	return 1, d.readHead(ctx)
}

func (d *delivery) readHead(ctx context.Context) error {
	text, err := d.root.get(ctx, d.project+"/repository/commits/main")
	if err != nil {
		return err
	}
	var commit struct {
		ID string `json:"id"`
	}
	err = json.Unmarshal(text, &commit)
	d.head = commit.ID
	return err
}

// environmentName is one of some with tiers and folders of all kinds.
func environmentName(i int) string {
	return fmt.Sprintf("%s/%d", []string{"review", "staging", "production", "customer"}[i%4], i)
}

func (d *delivery) makeEnvironments(ctx context.Context) (int, error) {
	return each(ctx, d.environments, func(ctx context.Context, i int) error {
		_, err := d.root.post(ctx, d.project+"/environments", map[string]any{"name": environmentName(i), "external_url": fmt.Sprintf("https://e%d.example.com", i), "description": text(i)})
		return err
	})
}

func (d *delivery) makeDeployments(ctx context.Context) (int, error) {
	return each(ctx, d.deployments, func(ctx context.Context, i int) error {
		_, err := d.root.as(d.tokens[i%8]).post(ctx, d.project+"/deployments", map[string]any{
			"environment": environmentName(i % d.environments), "sha": d.head, "ref": "main", "tag": false, "status": []string{"success", "success", "failed"}[i%3],
		})
		return err
	})
}

func (d *delivery) makeReleases(ctx context.Context) (int, error) {
	for i := range 10 {
		if _, err := d.root.post(ctx, d.project+"/milestones", map[string]any{"title": fmt.Sprintf("m%d", i), "description": text(i)}); err != nil {
			return 0, err
		}
	}
	for i := range d.releases {
		var links []map[string]any
		for n := range 5 {
			links = append(links, map[string]any{"name": fmt.Sprintf("file %d", n), "url": fmt.Sprintf("https://example.com/%d/%d", i, n), "direct_asset_path": fmt.Sprintf("/bin/%d", n), "link_type": "package"})
		}
		_, err := d.root.as(d.tokens[i%8]).post(ctx, d.project+"/releases", map[string]any{
			"tag_name": fmt.Sprintf("v%d", i), "ref": "main", "name": fmt.Sprintf("Version %d", i), "description": text(i),
			"milestones": []string{fmt.Sprintf("m%d", i%10), fmt.Sprintf("m%d", (i+1)%10)}, "assets": map[string]any{"links": links},
		})
		if err != nil {
			return 0, err
		}
	}
	return d.releases, nil
}

func (d *delivery) makeFlags(ctx context.Context) (int, error) {
	list, err := d.root.post(ctx, d.project+"/feature_flags_user_lists", map[string]any{"name": "Friends", "user_xids": "ann,ben,cleo"})
	if err != nil {
		return 0, err
	}
	for i := range d.deliverySize.flags {
		_, err := d.root.post(ctx, d.project+"/feature_flags", map[string]any{"name": fmt.Sprintf("flag_%d", i), "strategies": []map[string]any{
			{"name": "flexibleRollout", "parameters": map[string]string{"groupId": "default", "rollout": "50", "stickiness": "userId"}, "scopes": []map[string]string{{"environment_scope": "production"}}},
			{"name": "gitlabUserList", "parameters": map[string]string{}, "user_list_id": list.ID, "scopes": []map[string]string{{"environment_scope": "review/*"}, {"environment_scope": "prod*"}}},
		}})
		if err != nil {
			return 0, err
		}
	}
	text, err := d.root.send(ctx, http.MethodPost, d.project+"/feature_flags_client", map[string]any{})
	if err != nil {
		return 0, err
	}
	var client struct {
		URL    string `json:"api_url"`
		Secret string `json:"instance_id"`
	}
	if err := json.Unmarshal(text, &client); err != nil {
		return 0, err
	}
	at, err := url.Parse(client.URL)
	if err != nil {
		return 0, err
	}
	d.flags, d.secret = at.Path+"/client/features", client.Secret
	return d.deliverySize.flags, nil
}

// unleash is the request of an Unleash client, with the tag of what it has.
func (d *delivery) unleash(tag string) []byte {
	line := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nUNLEASH-APPNAME: production\r\nUNLEASH-INSTANCEID: %s\r\n", d.flags, strings.TrimPrefix(d.url, "http://"), d.secret)
	if tag != "" {
		line += "If-None-Match: " + tag + "\r\n"
	}
	return []byte(line + "\r\n")
}

// tag returns the tag of the flags.
func (d *delivery) tag(ctx context.Context) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := conn.Write(d.unleash("")); err != nil {
		return "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", errors.New(resp.Status)
	}
	return resp.Header.Get("Etag"), nil
}

func (d *delivery) operations(ctx context.Context) ([]operation, error) {
	list := goal{rate: 1500, statements: 8, noGit: true}
	at := func(format string, args ...any) string { return d.project + fmt.Sprintf(format, args...) }
	if err := wait(ctx, 2*time.Second); err != nil { // what has just changed is not kept for clients
		return nil, err
	}
	tag, err := d.tag(ctx)
	if err != nil {
		return nil, err
	}
	// Deployments that run and are ended by the measurement: one to each of two environments without a folder, by turns.
	open := make([]int, 2*d.changes)
	for i := range open {
		m, err := d.root.post(ctx, at("/deployments"), map[string]any{"environment": []string{"production", "staging"}[i%2], "sha": d.head, "ref": "main", "tag": false, "status": "running"})
		if err != nil {
			return nil, err
		}
		open[i] = m.ID
	}
	end := d.write("end a deployment", goal{noGit: true}, http.MethodPut, http.StatusOK, func(i int) (string, map[string]any) {
		return at("/deployments/%d", open[i%len(open)]), map[string]any{"status": "success"}
	})
	end.most = d.changes
	return []operation{
		d.read("environments, page of 20", list, rows(20), func(i int) string { return at("/environments?per_page=20&page=%d", 1+i%(d.environments/20)) }),
		d.read("one environment", goal{noGit: true}, nil, func(i int) string { return at("/environments/%d", 1+i%d.environments) }),
		d.read("deployments, page of 20", list, rows(20), func(i int) string { return at("/deployments?per_page=20&page=%d", 1+i%5) }),
		d.read("deployments of an environment", list, nil, func(i int) string {
			return at("/deployments?per_page=20&environment=%s&order_by=updated_at&sort=desc&status=success", url.QueryEscape(environmentName(i%d.environments)))
		}),
		d.read("releases, page of 20", goal{rate: 1200, statements: 10, noGit: true}, rows(20), func(i int) string { return at("/releases?per_page=20&page=%d", 1+i%(d.releases/20)) }),
		{name: "feature flags for a client", goal: goal{rate: 5000, statements: 6, noGit: true}, wants: http.StatusOK, sends: func(int) []byte { return d.unleash("") }},
		{name: "the same, 304", goal: goal{rate: 5000, statements: 1, noGit: true}, wants: http.StatusNotModified, sends: func(int) []byte { return d.unleash(tag) }},
		end,
	}, nil
}
