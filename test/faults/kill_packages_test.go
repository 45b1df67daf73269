package faults

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/internal/base/debian/debiantest"
	"tenon/test/servertest"
)

// TestKill_packages kills the server while packages of every kind are uploaded, processed and published: TENON_PACKAGE_KILLS times, else so often that the tests
// as a whole stay short. What was accepted is published whole, what was not is published whole or not at all, every index fits its Release file, and
// no object is without its row for longer than the sweep, nor a row without its object.
func TestKill_packages(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		k := &killedDepot{depot: newDepot(t, database), random: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))}
		kills := servertest.Times(t, "TENON_PACKAGE_KILLS", 5)
		for n := 0; n < kills; n++ {
			k.round(n)
		}
		k.processed()
		k.wantShown(sources, k.accepted...)
		k.wantShown(debs, append(k.direct, k.accepted...)...)
		versions := 0
		for _, s := range k.series {
			k.whole(s.registry, s.name, s.accepted)
			versions += s.accepted
		}
		if failed := k.packagesOf("error"); len(failed) > 0 {
			t.Errorf("failed: %v", failed)
		}
		t.Logf("killed %d times; %d uploads with .changes, %d direct ones and %d versions of npm, PyPI and Maven were accepted", kills, len(k.accepted), len(k.direct), versions)
		k.sweep()
	})
}

type killedDepot struct {
	*depot

	random           *rand.Rand
	accepted, direct []string // names of packages
	series           []*series
}

// series are the versions of one name that were published before the server was killed.
type series struct {
	*registry

	name     string
	accepted int
}

// round uploads until the server is killed, starts it again, and looks at the distribution.
func (k *killedDepot) round(n int) {
	k.t.Helper()
	var group sync.WaitGroup
	var mu sync.Mutex
	stop := make(chan struct{})
	upload := func(kind string, files func(name string) []string, to *[]string) {
		group.Go(func() { // ends with the server
			for i := 0; ; i++ {
				name := fmt.Sprintf("%s%d-%d", kind, n, i)
				if !k.puts(files(name)...) {
					return
				}
				mu.Lock()
				*to = append(*to, name)
				mu.Unlock()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	var tools []string
	upload("src", source, &k.accepted)
	upload("bin", func(name string) []string {
		return []string{"debian/" + name + "_1_amd64.deb?distribution=sid&component=main", debiantest.Deb(debiantest.Control(name, "1", "amd64", ""))}
	}, &k.direct)
	upload("tool", func(name string) []string {
		return []string{"generic/" + name + "/1/tool", "the same bytes", "generic/" + name + "/1/other", strings.Repeat(name, 10_000)}
	}, &tools)
	for _, r := range registries() {
		s := &series{registry: r, name: fmt.Sprintf("%s%d", r.kind, n)}
		k.series = append(k.series, s)
		group.Go(func() { // ends with the server
			for k.publishes(r, s.name, s.accepted) {
				s.accepted++
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	timer := time.NewTimer(time.Duration(k.random.IntN(700)) * time.Millisecond)
	<-timer.C
	k.s.Kill()
	close(stop)
	group.Wait()
	k.s.Restart()
	k.moved()
	indices, err := k.update(k.t.Context())
	if err != nil {
		k.t.Fatalf("the distribution after a start: %v", err)
	}
	both, binary := shown(indices, sources), shown(indices, debs)
	for name := range binary {
		if strings.HasPrefix(name, "src") && !both[name] {
			k.t.Errorf("%s is published by half", name)
		}
	}
	for name := range both {
		if !binary[name] {
			k.t.Errorf("%s is published by half", name)
		}
	}
}
