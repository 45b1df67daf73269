package faults

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"tenon/internal/base/disktest"
	"tenon/test/servertest"
)

// delivering is a world that is delivered from while its server is killed.
type delivering struct {
	*world

	at     string // path of the project
	sha    string // of the default branch
	random *mathrand.Rand
	kills  int
}

// TestKill_delivery kills the server while deployments are recorded and approved, and releases are made with their tags: TENON_DELIVERY_KILLS times, else so
// often that the tests as a whole stay short. What was answered is there, nothing is there twice, a release has its tag or neither is there, and what had no
// answer can be asked for again.
func TestKill_delivery(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		w := newWorld(t, database)
		d := &delivering{world: w, at: fmt.Sprintf("/projects/%d", w.project), random: mathrand.New(mathrand.NewPCG(uint64(time.Now().UnixNano()), 0))}
		kills, rounds := servertest.Times(t, "TENON_DELIVERY_KILLS", 10), int64(0)
		d.sha = w.want(200, w.ann, "GET", d.at+"/repository/commits/main", "").text("id")
		w.want(201, w.ann, "POST", d.at+"/repository/commits", `{"branch":"ci","start_branch":"main","commit_message":"Configure [skip ci]","actions":[
			{"action":"create","file_path":".gitlab-ci.yml","content":"deploy: {script: make, environment: production}"}]}`)
		w.want(201, w.ann, "POST", d.at+"/protected_environments", `{"name":"production","deploy_access_levels":[{"access_level":30}],"approval_rules":[{"access_level":40}]}`)
		for n := 0; d.kills < kills; n++ {
			d.deployment(n)
			d.approval(n)
			d.release(n)
			rounds++
		}
		db := d.open()
		d.await("the evidence of releases, and the references of deployments", func() bool {
			refs := strings.Fields(d.git(d.repository(), "for-each-ref", "--format=%(refname)", "refs/environments/"))
			return count(t, db, "SELECT COUNT(*) FROM release_evidences") >= rounds && int64(len(refs)) == 2*rounds
		})
		for query, want := range map[string]int64{
			"SELECT COUNT(*) - COUNT(DISTINCT iid) FROM deployments":                                                                        0,
			"SELECT COUNT(*) FROM releases":                                                                                                 rounds,
			"SELECT COUNT(*) FROM release_evidences":                                                                                        rounds,
			"SELECT COUNT(*) FROM audit_events WHERE event_name = 'release_created'":                                                        rounds,
			"SELECT COUNT(*) FROM deployments d WHERE d.by_job AND d.job_id IS NOT NULL":                                                    rounds,
			"SELECT COUNT(*) FROM (SELECT d.job_id FROM deployments d WHERE d.by_job GROUP BY d.job_id HAVING COUNT(*) > 1) x":              0,
			"SELECT COUNT(*) FROM releases WHERE pending IS NOT NULL":                                                                       0,
			"SELECT COUNT(*) FROM (SELECT r.tag_name FROM releases r GROUP BY r.project_id, r.tag_name HAVING COUNT(*) > 1) x":              0,
			"SELECT COUNT(*) FROM (SELECT a.user_id FROM deployment_approvals a GROUP BY a.deployment_id, a.user_id HAVING COUNT(*) > 1) x": 0,
		} {
			if n := count(t, db, query); n != want {
				t.Errorf("%s: %d, want %d", query, n, want)
			}
		}
		t.Logf("killed %d times", d.kills)
	})
}

// killed sends a request, kills the server within a moment and starts it again. The answer is nil where none came back.
func (d *delivering) killed(token, method, path, body string) *answer {
	d.t.Helper()
	got := make(chan *answer, 1)
	go func() {
		a, err := d.call(d.t.Context(), token, method, path, body)
		if err != nil {
			a = nil
		}
		got <- a
	}()
	timer := time.NewTimer(time.Duration(d.random.IntN(60)) * time.Millisecond)
	<-timer.C
	d.s.Kill()
	d.kills++
	a := <-got
	d.s.Restart()
	d.moved()
	return a
}

// deployment records a deployment of another system, and its end.
func (d *delivering) deployment(n int) {
	d.t.Helper()
	body := fmt.Sprintf(`{"environment":"eu-%d","sha":%q,"ref":"main","tag":false,"status":"running"}`, n, d.sha)
	there := func() []deployed {
		return all[deployed](d.world, fmt.Sprintf("/deployments?environment=eu-%d", n))
	}
	a := d.killed(d.ann, "POST", d.at+"/deployments", body)
	list := there()
	switch {
	case a != nil && a.status == http.StatusCreated && len(list) != 1, len(list) > 1:
		d.t.Fatalf("deployments: %v, after the answer %v", list, a)
	case len(list) == 0:
		d.want(http.StatusCreated, d.ann, "POST", d.at+"/deployments", body)
		list = there()
	}
	one := fmt.Sprintf("%s/deployments/%d", d.at, list[0].ID)
	a = d.killed(d.ann, "PUT", one, `{"status":"success"}`)
	if got := d.want(http.StatusOK, d.ann, "GET", one, "").text("status"); a != nil && a.status == http.StatusOK && got != "success" || got != "success" && got != "running" {
		d.t.Errorf("the deployment is %s", got)
	}
	if got := d.want(http.StatusOK, d.ann, "PUT", one, `{"status":"success"}`).text("status"); got != "success" {
		d.t.Errorf("the deployment is %s once it has ended", got)
	}
	if list := there(); len(list) != 1 {
		d.t.Errorf("deployments: %v", list)
	}
}

// deployed is a deployment of a list.
type deployed struct {
	ID     int64  `json:"id"`
	Status string `json:"status"`
}

// approval approves a deployment that waits for it.
func (d *delivering) approval(n int) {
	d.t.Helper()
	newest := func() deployed {
		list := all[deployed](d.world, "/deployments?environment=production&sort=desc")
		if len(list) != n+1 {
			d.t.Fatalf("deployments: %v, want %d", list, n+1)
		}
		return list[0]
	}
	pipeline := d.want(http.StatusCreated, d.ben, "POST", d.at+"/pipeline", `{"ref":"ci"}`)
	waiting := newest()
	if waiting.Status != "blocked" {
		d.t.Fatalf("the deployment is %s", waiting.Status)
	}
	path := fmt.Sprintf("%s/deployments/%d", d.at, waiting.ID)
	a := d.killed(d.ann, "POST", path+"/approval", `{"status":"approved"}`)
	if a != nil && a.status == http.StatusCreated && newest().Status == "blocked" {
		d.t.Error("the approval is lost")
	}
	if newest().Status == "blocked" {
		d.want(http.StatusCreated, d.ann, "POST", path+"/approval", `{"status":"approved"}`)
	}
	if got := newest().Status; got != "created" {
		d.t.Errorf("the deployment is %s after its approval", got)
	}
	d.want(http.StatusBadRequest, d.ann, "POST", path+"/approval", `{"status":"approved"}`)
	d.want(http.StatusOK, d.ben, "POST", fmt.Sprintf("%s/pipelines/%d/cancel", d.at, pipeline.number("id")), "")
}

// release makes a release with its tag.
func (d *delivering) release(n int) {
	d.t.Helper()
	path, tag := fmt.Sprintf("%s/releases/v%d", d.at, n), fmt.Sprintf("%s/repository/tags/v%d", d.at, n)
	body := fmt.Sprintf(`{"tag_name":"v%d","ref":"main","tag_message":"Version %d","description":"What is new"}`, n, n)
	a := d.killed(d.ann, "POST", d.at+"/releases", body)
	status := func(path string) int {
		a, err := d.call(d.t.Context(), d.ann, "GET", path, "")
		if err != nil {
			d.t.Fatal(err)
		}
		return a.status
	}
	for deadline := time.Now().Add(time.Minute); ; pause(d.t.Context()) {
		if there := status(path); there == status(tag) && there == status(path) {
			break
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("the release: %d, its tag: %d", status(path), status(tag))
		}
	}
	switch got := status(path); {
	case a != nil && a.status == http.StatusCreated && got != http.StatusOK:
		d.t.Errorf("the release is lost: %d", got)
	case got == http.StatusNotFound:
		d.want(http.StatusCreated, d.ann, "POST", d.at+"/releases", body)
	}
	if got := d.want(http.StatusOK, d.ann, "GET", tag, ""); got.field("release") == nil {
		d.t.Errorf("the tag says nothing of its release: %s", got.body)
	}
}

// TestFullDisk_evidence collects evidence until the disk is full: the caller is answered why, no evidence is kept by half, and it goes on once there is room.
func TestFullDisk_evidence(t *testing.T) {
	servertest.Binary(t) // not onto the small disk
	disk := disktest.Small(t, "64m")
	t.Setenv("TMPDIR", disk)
	w := newWorld(t, "")
	at := fmt.Sprintf("/projects/%d", w.project)
	text := make([]byte, 1<<18)
	if _, err := rand.Read(text); err != nil {
		t.Fatal(err)
	}
	w.want(201, w.ann, "POST", at+"/releases", fmt.Sprintf(`{"tag_name":"v1","ref":"main","released_at":"2020-01-01","description":%q}`, hex.EncodeToString(text)))
	filler := disktest.Fill(t, disk, 0)
	kept, last := int64(0), new(answer)
	for range 40 { // the database may have room inside
		a, err := w.call(t.Context(), w.ann, "POST", at+"/releases/v1/evidence", "")
		if err != nil {
			t.Fatal(err)
		}
		if last = a; a.status != http.StatusOK {
			break
		}
		kept++
	}
	if last.status != http.StatusInsufficientStorage {
		t.Errorf("evidence on a full disk: got %d %.200s, want 507", last.status, last.body)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	w.want(200, w.ann, "POST", at+"/releases/v1/evidence", "")
	d := w.open()
	if n := count(t, d, "SELECT COUNT(*) FROM release_evidences"); n != kept+1 {
		t.Errorf("%d pieces of evidence, want the %d that were collected", n, kept+1)
	}
	if n := count(t, d, "SELECT COUNT(*) FROM release_evidences e WHERE LENGTH(e.content) < 524288 OR LENGTH(e.sha) <> 64"); n != 0 {
		t.Errorf("%d pieces of evidence are kept by half", n)
	}
}
